"""Write files atomically: readers see all of a file or nothing.

On a local disk the bytes go to a hidden file next to the final one, which is synced and renamed. Spark and most readers
skip names that start with a dot. An object store shows an object when its upload is complete, so no other name is
needed. On other storage that pyarrow supports (HDFS), the file is written under a hidden name and moved.
"""

import os
import secrets
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen
from pyarrow import fs

__all__ = ["LocalStorage", "MovingStorage", "ObjectStorage", "Storage", "hidden_name", "storage_of", "sync_directory"]

_OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})


class Storage(Protocol):
    """A place for files under one directory."""

    def put(self, directory: tuple[str, ...], name: str, content: Any) -> None:
        """Create or replace the file; returns when it is durable.

        Args:
            directory: The folder below the storage's own; created if it does not exist.
            name: The file's name.
            content: Its bytes, as an object with a buffer.
        """
        ...


def storage_of(path: str, filesystem: Any = None) -> Storage:
    """Return the storage for a path or URI.

    Args:
        path: A local path, or a URI that pyarrow understands.
        filesystem: The `pyarrow.fs.FileSystem` of `path`; None to find it.

    Raises:
        ValueError: pyarrow does not know the URI's scheme.
    """
    if filesystem is None and "://" not in path:
        return LocalStorage(Path(path).absolute())
    if filesystem is None:
        filesystem, path = fs.FileSystem.from_uri(path)
    if isinstance(filesystem, fs.LocalFileSystem):
        return LocalStorage(Path(path).absolute())
    if filesystem.type_name in _OBJECT_STORES:
        return ObjectStorage(filesystem, path.rstrip("/"))
    return MovingStorage(filesystem, path.rstrip("/"))


@frozen
class LocalStorage:
    """A directory of the host, local or mounted."""

    root: Path

    def put(self, directory: tuple[str, ...], name: str, content: Any) -> None:
        """Write a hidden file, sync it, rename it and sync the directory."""
        folder = self.root.joinpath(*directory)
        _make_directories(folder)
        hidden = folder / hidden_name(name)
        try:
            with hidden.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            hidden.replace(folder / name)
        except BaseException:
            # Errors of the disk, and Ctrl-C: the hidden file is of no use any more. It is raised, and the records are
            # redelivered.
            hidden.unlink(missing_ok=True)
            raise
        sync_directory(folder)


@frozen
class ObjectStorage:
    """A folder of a bucket: an object is visible when it is complete."""

    filesystem: Any
    root: str

    def put(self, directory: tuple[str, ...], name: str, content: Any) -> None:
        """Upload the object."""
        path = "/".join([self.root, *directory, name])
        stream = self.filesystem.open_output_stream(path)
        # Not a `with` block: it would complete the object also after an error, with a part of the bytes.
        stream.write(content)
        stream.close()


@frozen
class MovingStorage:
    """A directory of a file system that renames in one step."""

    filesystem: Any
    root: str

    def put(self, directory: tuple[str, ...], name: str, content: Any) -> None:
        """Write a hidden file and move it."""
        folder = "/".join([self.root, *directory])
        self.filesystem.create_dir(folder, recursive=True)
        hidden = f"{folder}/{hidden_name(name)}"
        with self.filesystem.open_output_stream(hidden) as stream:
            stream.write(content)
        self.filesystem.move(hidden, f"{folder}/{name}")


def hidden_name(name: str) -> str:
    """Return a name that readers skip and that no other writer uses."""
    return f".{name}.{secrets.token_hex(8)}.tmp"


def sync_directory(path: Path) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_directories(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_directories(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_directory(folder.parent)
