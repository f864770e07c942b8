"""Compiled objects on disk: found again by key, written by atomic rename, bounded in size; in memory if the disk refuses."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

LIMIT = 256 << 20  # bytes of all objects; the ones unused for longest go first
MOST = 4000  # objects; looking through them must not take long
AT_ONCE = 500  # deleted in one go
_MAGIC = b"ptxsim object 1\n"
_CHECK = 16  # bytes of the checksum after it


def _check(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECK).digest()


class ObjectStore:
    """A folder of objects. `folder` None asks PTXSIM_CACHE_DIR or the user's cache folder; an empty name keeps to memory."""

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
            path.mkdir(parents=True, exist_ok=True)
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
            data = path.read_bytes()
            with contextlib.suppress(OSError):
                os.utime(path)
        except OSError:
            return None
        head = len(_MAGIC) + _CHECK
        content = data[head:]
        return content if data[:head] == _MAGIC + _check(content) else None

    def put(self, key: str, data: bytes) -> None:
        if self.folder is not None and self._writable:
            try:
                handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new")
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _check(data) + data)
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
