"""What may be declared, where and since when."""

from __future__ import annotations

import pytest

from ptxsim.session import check

MODULE = ".version {}\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n{{ {} }}\nret;\n}}\n"


@pytest.mark.parametrize(
    ("text", "version", "found"),
    [
        (".reg .b128 q;", "8.3", None),
        (".reg .b128 q;", "8.2", "wrong-version"),
        (".reg .v4 .f32 q;", "8.0", None),
        (".reg .v4 .f64 q;", "8.0", "illegal-form"),
        (".reg .b32 q = 4;", "8.0", "illegal-form"),
        (".shared .b32 q = 4;", "8.0", "illegal-form"),
        (".const .b32 q = 4;", "8.0", None),
        (".shared .align 3 .b8 q[64];", "8.0", "illegal-form"),
        (".shared .align 256 .b8 q[64];", "8.0", None),
        (".shared .align 0 .b8 q[64];", "8.0", "illegal-form"),
        (".shared .v4 .f64 q;", "8.0", "illegal-form"),
        (".local .b32 q = 4;", "8.0", "illegal-form"),
        (".shared .pred q;", "8.0", "illegal-form"),
        (".reg .v2 .pred q;", "8.0", "illegal-form"),
        (".reg .pred q;", "8.0", None),
        (".reg .b32 q[4];", "8.0", "illegal-form"),
        (".shared .b32 q[WARP_SZ];", "8.0", None),
        (".shared .b32 q[4*4];", "8.0", "syntax-error"),
        (".shared .b32 q[(4)];", "8.0", "syntax-error"),
        (".shared .b32 q[-4];", "8.0", "syntax-error"),
        (".align 8 .shared .b32 q[4];", "8.0", None),
        ('.pragma "used_bytes_mask 0xf";', "8.2", "wrong-version"),
        ('.pragma "used_bytes_mask 0xf";', "8.3", None),
        ('.pragma "nounroll";', "7.0", None),
    ],
)
def test_declarations_of_a_scope(text, version, found):
    findings = check(MODULE.format(version, text))
    assert [(finding.name, finding.line) for finding in findings] == ([(found, 5)] if found else [])
