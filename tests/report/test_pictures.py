import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.fragments import fragment_layout
from ptxsim.layout.shared_layout import SharedLayout
from ptxsim.report import pictures, tensor_memory_pictures
from ptxsim.report.drawing import PALETTE
from ptxsim.report.gallery import drawings, gallery

ALL = dict(drawings())


def test_every_picture_has_a_name_of_its_own():
    assert len(ALL) == len(list(drawings())) and len(ALL) > 100


@pytest.mark.thin(9)
@pytest.mark.parametrize("name", ALL)
def test_text_fits_and_the_other_forms_are_well_formed(name):
    drawing = ALL[name]
    text = drawing.text()
    assert max(map(len, text.splitlines())) <= 100 and drawing.title in text
    assert re.sub(r"\x1b\[[0-9;]*m", "", drawing.text(colour=True)).split() == text.split()
    image = ElementTree.fromstring(drawing.svg())
    cells = [cell for panel in drawing.panels for row in panel.cells for cell in row]
    shapes = [shape for shape in image if shape.tag.endswith("rect")]
    assert len(shapes) == sum(cell.colour is not None for cell in cells)
    texts = [text.text for group in image if group.tag.endswith("}g") for text in group]
    assert texts == [cell.text for cell in cells if cell.text]
    assert all(float(s.get("x")) + float(s.get("width")) <= float(image.get("width")) for s in shapes)
    assert drawing.latex().count(r"\begin{") == drawing.latex().count(r"\end{")
    assert json.loads(json.dumps(drawing.to_dict()))["title"] == drawing.title


FRAGMENTS = [
    ("mma", "m16n8k16", "A", "f16"), ("mma", "m16n8k16", "B", "f16"), ("mma", "m8n8k4", "D", "f32"),
    ("mma", "m8n8k128", "B", "b1"), ("wmma", "m8n32k16", "C", "f32"), ("wmma", "m16n16k16", "A", "f16"),
    ("ldmatrix", "m8n8.x2", "D", "b16", "trans"), ("mma", "m16n8k8", "A", "f64"),
]  # fmt: skip


@pytest.mark.parametrize("key", FRAGMENTS, ids=str)
def test_cells_name_the_true_owner(key):
    fragment = fragment_layout(*key)
    drawing = pictures.fragment_map(fragment)
    seen = 0
    for index, panel in enumerate(drawing.panels):
        for label, line in zip(panel.rows, panel.cells):
            for top, cell in zip(panel.columns, line):
                lane, first, last = re.fullmatch(r"T(\d+) [a-d](\d+)(?:-(\d+))?", cell.text).groups()
                places = [(r, c) for r in span(label) for c in span(top)]
                for element, place in zip(range(int(first), int(last or first) + 1), places, strict=True):
                    where = (index, *place) if len(fragment.shape) == 3 else place
                    assert (int(lane), element) == fragment.owners(*where)[0]
                    seen += 1
    assert seen == np.prod(fragment.shape)


def span(label):
    first, _, last = label.partition("-")
    return range(int(first), int(last or first) + 1)


def test_wide_accumulators_are_cut_and_say_so():
    text = pictures.fragment_drawing(fragment_layout("wgmma", "m64n256k16", "D", "f32")).text()
    assert "columns from 32 on continue alike, 4 elements for every 8 columns" in text


def test_row_pointers_count_and_explain():
    text = pictures.row_pointers("m8n8.x4", np.arange(32) * 128).text()
    assert "32 wavefronts, 4 without conflicts: 8 rows, 128 B apart: all on the same 4 banks" in text
    assert "row 3: T11 0x0580" in text
    assert "lanes 8-31 give no address" in pictures.row_pointers("m8n8.x1", pitch=16).text()
    assert "T16" in pictures.fragment_drawing(fragment_layout("ldmatrix", "m16n16.x2", "D", "b8", "trans")).text()


def test_atoms_show_the_xor():
    panel = pictures.swizzle_atom_map("128B").panels[0]
    assert [cell.text for cell in panel.cells[3]] == ["27", "26", "25", "24", "31", "30", "29", "28"]
    assert pictures.swizzle_atom_map("32B", "MN").title.endswith("2x8 units of 16 bytes")
    assert "8x4 units" in (text := pictures.swizzle_atoms("64B").text()) and "4x8 units" in text
    with pytest.raises(PtxError):
        pictures.swizzle_atoms("256B")


def test_tiles_and_what_descriptors_read():
    layout = SharedLayout("MN", "32B", "bf16", m=2, k=2)
    drawing = pictures.shared_tile(layout)
    assert int(drawing.panels[0].cells[1][9].text) == layout.offset(8, 9) // 16
    assert layout.cute() in drawing.text()
    reads = pictures.descriptor_reads(Descriptor(0x400, 16, 1024, "128B"), rows=16)
    assert reads.title.startswith("0x4000004000010040 reads") and reads.panels[0].rows[0] == "0x0400"
    assert reads.panels[0].cells[1][1].text == "r1 k0"
    wrong = pictures.descriptor_reads(Descriptor(0x480, 16, 0, "128B"), rows=16)
    assert any("swizzle-start" in note for note in wrong.notes) and any("more than once" in n for n in wrong.notes)
    assert "..." in pictures.descriptor_reads(Descriptor(0, 0x1000, 0x2000), rows=16).panels[0].rows


@pytest.mark.slow
def test_gallery_writes_four_forms_of_each(tmp_path):
    written = gallery(tmp_path / "new")
    assert len(written) == 4 * len(ALL) + 1 and written[-1].name == "index.html"
    assert all(file.stat().st_size > 50 for file in written)


def test_the_colours_are_readable_for_colour_blind_eyes():
    """Machado, Oliveira and Fernandes, 2009: what protan, deutan and tritan eyes see of linear RGB."""
    seen = {
        "normal": np.eye(3),
        "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    }
    white = np.array([0.9505, 1, 1.089])
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    encoded = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour, _ in PALETTE]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    assert ((linear @ to_xyz[1] + 0.05) / 0.05 >= 7).all()
    for matrix in seen.values():
        xyz = np.clip(linear @ np.array(matrix).T, 0, 1) @ to_xyz.T / white
        x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
        lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
        distance = np.linalg.norm(lab[:, None] - lab, axis=2) + 100 * np.eye(len(lab))
        assert distance.min() > 10


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        ("tcgen05.ld.32x32b.x4", "T31 r0-3"), ("tcgen05.ld.sync.aligned.16x256b.x1.b32", "T31 r2-3"),
        ("tcgen05.st.16x64b.x2.unpack::16b", "T3 r1"), ("tcgen05.st.16x32bx2.x2", "T31 r0-1"),
        ("tcgen05.ld.32x32b.x1.pack::16b", "T31 r0"), ("tcgen05.mma.m64n16", "m48-63 n8-15"),
        ("tcgen05.mma.cta_group::2.m128n64", "m48-63 n32-39"), ("tcgen05.mma.ws.m32n64", "m16-31 n48-55"),
        ("tcgen05.scales.m128.4X", "row 127: b0-3"),
    ],
)  # fmt: skip
def test_tensor_memory(form, cell):
    drawing = tensor_memory_pictures.picture(form)
    assert cell in {each.text for line in drawing.panels[0].cells for each in line}
    assert cell in drawing.render("text")


def test_no_picture_of_tensor_memory():
    assert tensor_memory_pictures.picture("mma.m16n8k16.f16") is None
    for form in ("tcgen05.ld.32x32b", "tcgen05.mma.m48n16", "tcgen05.mma.m64n12", "tcgen05.commit"):
        with pytest.raises(PtxError, match="no picture"):
            tensor_memory_pictures.picture(form)
