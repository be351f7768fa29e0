"""Putting a file where readers look, in one step: all of it or nothing.

On a local disk the bytes go to a hidden file next to the final one (Spark and most readers pass over names that begin
with a dot), are synced, and renamed. An object store shows an object when its upload is complete, so it needs no
other name. Anything else that pyarrow reaches (HDFS) is written under a hidden name and moved.
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
        """Make the file, or replace it; returns when it is durable.

        Args:
            directory: The folders below the storage's own; made if need be.
            name: The file's name.
            content: Its bytes, as anything with a buffer.
        """
        ...


def storage_of(path: str, filesystem: Any = None) -> Storage:
    """The storage for a path or URI.

    Args:
        path: A local path, or a URI that pyarrow understands.
        filesystem: The `pyarrow.fs.FileSystem` that `path` is on, if given.

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
    """A directory of the host, or one that is mounted there."""

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
            hidden.unlink(missing_ok=True)
            raise
        sync_directory(folder)


@frozen
class ObjectStorage:
    """A folder of a bucket: an object is seen when it is complete."""

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
    """A name that readers pass over and that no other writer uses."""
    return f".{name}.{secrets.token_hex(8)}.tmp"


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
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
