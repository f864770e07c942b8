"""Compiled objects on disk: found again by key, written by atomic rename, bounded in size; in memory if the disk refuses.

What is read here is executed, so no other user may have written it. That is asked of the file system: the folder, every folder
above it and each object belong to the user or to root, and no other may write there. A secret that objects are signed with would need a
file that is safe in just this way, and says no more.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import warnings
from pathlib import Path

LIMIT = 256 << 20  # bytes of all objects; the ones unused for longest go first
MOST = 4000  # objects; looking through them must not take long
AT_ONCE = 500  # deleted in one go
_MAGIC = b"ptxsim object 2\n"
# No link, no pipe.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CHECK = 16  # bytes of the checksum after it


def _check(key: str, data: bytes) -> bytes:
    return hashlib.blake2b(
        data, digest_size=_CHECK, key=hashlib.blake2b(key.encode(), digest_size=32).digest()
    ).digest()


def _is_own(status: os.stat_result, sticky: bool = False) -> bool:
    """Whether only the user, or root, can have written what has this status. `sticky`: or changed what others put there."""
    if not hasattr(os, "getuid"):
        return True
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid in (0, os.getuid()) and (not others or (sticky and bool(status.st_mode & stat.S_ISVTX)))


def distrust(folder: Path) -> str | None:
    """Why what lies in a folder may be another user's, or None. Raises OSError."""
    real = folder.resolve(strict=True)
    for place in (real, *real.parents):
        if not _is_own(place.stat(), sticky=place != real):
            return f"{place} belongs to another user, or others may write there"
    return None


class ObjectStore:
    """A folder of objects. `folder` None asks PTXSIM_CACHE_DIR or the user's cache folder; an empty name keeps to memory, and so does
    a folder that others can write to, with a warning."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, limit: int = LIMIT, most: int = MOST):
        self.limit, self.most = limit, most
        self._memory: dict[str, bytes] = {}
        self._written = 0
        self._writable = True
        self.folder = self._prepare(os.environ.get("PTXSIM_CACHE_DIR") if folder is None else folder)

    @staticmethod
    def _prepare(folder: str | os.PathLike[str] | None) -> Path | None:
        try:
            if folder is None:
                import platformdirs

                folder = platformdirs.user_cache_dir("ptxsim")
            if not str(folder):
                return None
            path = Path(folder) / "objects"
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.mkdir(exist_ok=True, mode=0o700)
            if why := distrust(path):
                message = f"compiled code is not kept: {why}; PTXSIM_CACHE_DIR names another folder, or none"
                warnings.warn(message, RuntimeWarning, stacklevel=2)
                return None
            return path
        except OSError:
            return None

    def get(self, key: str) -> bytes | None:
        """The object of a key, or None; a file that is no whole object counts as missing."""
        if key in self._memory:
            return self._memory[key]
        if self.folder is None:
            return None
        path = self.folder / key
        try:
            with open(os.open(path, os.O_RDONLY | _CAREFULLY), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or not _is_own(status):
                    return None
                data = file.read()
            with contextlib.suppress(OSError):
                os.utime(path)
        except OSError:
            return None
        head = len(_MAGIC) + _CHECK
        content = data[head:]
        return content if data[:head] == _MAGIC + _check(key, content) else None

    def put(self, key: str, data: bytes) -> None:
        if self.folder is not None and self._writable:
            try:
                handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new")
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _check(key, data) + data)
                os.replace(name, self.folder / key)
                self._written += 1
                if self._written % 32 == 1:
                    self._trim()
                return
            except OSError:  # what lies there can still be read
                self._writable = False
        self._memory[key] = data

    def _trim(self) -> None:
        """Delete the objects unused for longest until the rest fits the limit."""
        entries = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    entries.append((status.st_mtime, status.st_size, entry.path))
        total, count = sum(size for _, size, _ in entries), len(entries)
        for _, size, path in sorted(entries)[:AT_ONCE]:
            if total <= self.limit and count <= self.most:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                total, count = total - size, count - 1
