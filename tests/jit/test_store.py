"""Compiled code that others may have written is not executed: folders, parents and objects that are not the user's alone."""

import os
import stat

import pytest

from ptxsim.jit import store
from ptxsim.jit.store import ObjectStore

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners are POSIX's")
CODE = b"machine code" * 20


def give_away(path, monkeypatch):
    """Let a file or folder belong to somebody else."""
    if os.getuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(store.os, "getuid", lambda: 12345)


def folder(tmp_path):
    made = tmp_path / "above" / "cache"
    ObjectStore(made).put("key", CODE)
    assert ObjectStore(made).get("key") == CODE
    return made


def is_refused(place) -> None:
    with pytest.warns(RuntimeWarning, match="compiled code is not kept"):
        found = ObjectStore(place)
    assert found.folder is None and found.get("key") is None
    found.put("key", CODE)
    assert found.get("key") == CODE  # from memory


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o757, 0o1777])
@pytest.mark.parametrize("part", ["objects", "", ".."])
def test_folders_that_others_can_write_to(tmp_path, mode, part):
    place = folder(tmp_path)
    (place / part).resolve().chmod(mode)
    if part != "objects" and mode == 0o1777:  # as /tmp: what lies there stays whose it is
        assert ObjectStore(place).get("key") == CODE
    else:
        is_refused(place)


@pytest.mark.parametrize("part", ["objects", "", ".."])
def test_folders_of_others(tmp_path, monkeypatch, part):
    place = folder(tmp_path)
    give_away((place / part).resolve(), monkeypatch)
    is_refused(place)


def test_a_link_into_a_folder_of_all(tmp_path):
    place = folder(tmp_path)
    place.parent.chmod(0o777)
    (tmp_path / "link").symlink_to(place)
    is_refused(tmp_path / "link")


def test_what_is_made_is_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        place = tmp_path / "new"
        ObjectStore(place).put("key", CODE)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (place, place / "objects", place / "objects" / "key")]
    assert not any(mode & 0o022 for mode in modes)


def poison(path, how, monkeypatch):
    whole = path.read_bytes()
    match how:
        case "given away":
            if os.getuid():
                pytest.skip("only root gives files away")
            os.chown(path, 12345, 12345)
        case "group may write" | "all may write":
            path.chmod(0o664 if how.startswith("group") else 0o606)
        case "link":
            path.rename(path.with_name("elsewhere"))
            path.symlink_to(path.with_name("elsewhere"))
        case "pipe":
            path.unlink()
            os.mkfifo(path)
        case "folder":
            path.unlink()
            path.mkdir()
        case "another's content":
            path.write_bytes(path.with_name("other").read_bytes())
        case "changed":
            path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        case "cut":
            path.write_bytes(whole[:40])
        case "empty":
            path.write_bytes(b"")


@pytest.mark.parametrize(
    "how",
    ["given away", "group may write", "all may write", "link", "pipe", "folder", "another's content", "changed", "cut", "empty"],
)  # fmt: skip
def test_poisoned_objects(tmp_path, monkeypatch, how):
    place = folder(tmp_path)
    ObjectStore(place).put("other", b"other" + CODE)
    poison(place / "objects" / "key", how, monkeypatch)
    found = ObjectStore(place)
    assert found.get("key") is None and found.get("other") == b"other" + CODE
    found.put("key", CODE)
    assert found.get("key") == CODE
