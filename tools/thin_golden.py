"""Thins the recorded golden data to one trial a form: tools/thin_golden.py ../shared/golden tests/data/golden

Forms that share inputs share the chosen trial, so the arrays stay shared. Which trial is taken varies over the classes.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np


def thin(source: Path, family: str, target: Path) -> None:
    """Write FAMILY.json.gz, .npz and .ptx.gz with one trial of every form."""
    data = json.loads((source / f"{family}.json").read_text())
    arrays = np.load(source / f"{family}.npz")
    kept: dict[str, Any] = {}
    forms = []
    for form in data["forms"]:
        key = form.get("in") or form.get("uni") or form.get("img")
        trial = zlib.crc32(key.encode()) % form["trials"]
        thinned = {k: v for k, v in form.items() if k not in ("note",)}
        thinned["trials"] = 1
        thinned["classes"] = [[name, 0, 1] for name, start, end in form["classes"] if start <= trial < end]
        for part in ("in", "out", "img", "uni"):
            name = form.get(part)
            if name and name not in kept:
                array = arrays[name]
                kept[name] = array if len(array) == 1 else array[trial : trial + 1]
        forms.append(thinned)
    text = json.dumps({"family": family, "forms": forms}, separators=(",", ":"))
    (target / f"{family}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    np.savez_compressed(target / f"{family}.npz", **kept)
    shutil.copyfile(source / f"{family}.ptx.gz", target / f"{family}.ptx.gz")


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.ptx.gz")):
        thin(source, path.name.partition(".")[0], target)


if __name__ == "__main__":
    main()
