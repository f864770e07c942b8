"""How lines are counted that some work reaches (tools/reached_lines.py)."""

import pytest
import reached_lines

TEXT = """LIMIT = 3


class Kept:
    def one(self):
        return 1

    @property
    def two(self):
        return lambda: 2


@body(enough=5)
def walk():
    pass
"""


@pytest.mark.parametrize(
    "reached, found",
    [
        (set(), (15, 0, 0)),  # not imported
        ({1}, (15, 7, 3)),  # the module; what is compiled counts with it
        ({1, 5}, (15, 7, 5)),
        ({1, 10}, (15, 7, 6)),  # a lambda is of the function it stands in
        ({1, 5, 8}, (15, 7, 8)),
    ],
)
def test_functions_that_are_reached_count_whole(reached, found):
    assert reached_lines.count(TEXT, reached) == found


def test_versions_are_compared_by_room_and_by_what_their_commands_end_with():
    old = {"codes": {"run a": 0, "run b": 0}, "lines": {"ptxsim/a.py": [5, 1, 2], "ptxsim/isa/b.py": [7, 3, 0]}}
    new = {"codes": {"run a": 0, "run b": 1}, "lines": {"ptxsim/isa/b.py": [9, 4, 4]}}
    first, second, _, *rooms = reached_lines.compare(old, new)
    assert (first, second) == ("2 commands, 1 end with another code", "run b")
    assert [row.split() for row in rooms] == [
        ["-", *["5", "0", "1", "0", "2", "0", "3", "0"]], ["isa", *["7", "9", "3", "4", "0", "4", "3", "8"]], ["total", *["12", "9", "4", "4", "2", "4", "6", "8"]],
    ]  # fmt: skip
