"""What ptxas computes of constants, as tried with ptxas, is what the definitions say (Facts.folds)."""

from ptxsim.isa.bind import Binder
from ptxsim.syntax.parser import parse_body
from ptxsim.types import parse_target
from tests.helpers import DATA
from tests.isa.generate import Names


def test_what_the_assembler_computes_of_constants():
    binder, wrong = Binder(parse_target("sm_90a"), (9, 0)), []
    for line in (DATA / "folded.tsv").read_text().splitlines()[1:]:
        statement, folds = line.split("\t")
        bound = binder.bind(parse_body(f"{statement};")[0], Names())
        find = bound.definition.facts.folds
        if (find is not None and find(bound.modifiers)) != (folds == "yes"):
            wrong.append(line)
    assert not wrong, "\n".join(wrong)
