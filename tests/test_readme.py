"""The README's Python runs as it stands."""

import re

from tests.helpers import ROOT


def test_python_of_the_readme_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
