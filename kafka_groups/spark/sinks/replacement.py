"""Replace files by new ones so that no row is ever missing, even if the replacement is interrupted.

The new files are complete, durable and in place before the first old one is deleted. To finish an interrupted
replacement, run it again with the same plan.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
from attrs import frozen
from pyarrow import fs

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.spark.sinks.storage import sync_directory

__all__ = ["Replaced", "Replacement", "ReplacementError", "path_of_uri", "replace_files"]

_HIDDEN = (".", "_")
_PYARROW_SCHEMES = {"s3a": "s3", "s3n": "s3"}


class ReplacementError(KafkaGroupsError):
    """The new files do not hold all rows of the old ones; nothing was deleted."""


@frozen
class Replacement:
    """A plan: which files replace which.

    Attributes:
        directory: The directory that readers read, as an absolute path or a URI.
        staging: Name of the hidden directory in it with the new files, in their final folders.
        replaced: URIs of the old files.
        rows: The number of rows in the new files.
    """

    directory: str
    staging: str
    replaced: tuple[str, ...]
    rows: int


@frozen
class Replaced:
    """The result: how many files and rows replaced the old ones."""

    files: int
    rows: int


def replace_files(plan: Replacement) -> Replaced:
    """Publish the new files and delete the old ones.

    Raises:
        ReplacementError: The new files do not have the rows that they should have.
        OSError: The storage failed; try again.
    """
    files = _files_of(plan.directory)
    mark = f"{plan.staging.lstrip('.')}-"
    staged = list(files.below(plan.staging))
    published = [path for path in files.below("") if path.rpartition("/")[2].startswith(mark)]
    everywhere = [*published, *(f"{plan.staging}/{path}" for path in staged)]
    # Files that an earlier attempt has published count as well: it may have ended before it deleted the old ones. If
    # the sum is wrong, a file is missing, and deleting the old ones would lose rows.
    rows = sum(map(files.rows, everywhere))
    if rows != plan.rows:
        raise ReplacementError(f"the new files in {plan.directory} have {counted(rows, 'row')} and not {plan.rows}")
    # New files are published before old ones are deleted, so that readers see every row at least once at any time.
    for path in staged:
        folder, _, name = path.rpartition("/")
        files.publish(f"{plan.staging}/{path}", f"{folder}/{mark}{name}".lstrip("/"))
    for uri in plan.replaced:
        files.delete(uri)
    files.delete_directory(plan.staging)
    return Replaced(files=len(everywhere), rows=rows)


class _Files(Protocol):
    """The files of a directory, by relative paths with slashes."""

    def below(self, folder: str) -> Iterator[str]:
        """Return the visible files of a folder, by relative paths."""
        ...

    def rows(self, path: str) -> int:
        """Return how many rows a Parquet file has."""
        ...

    def publish(self, path: str, target: str) -> None:
        """Make a file durable and move it."""
        ...

    def delete(self, uri: str) -> None:
        """Delete a file if it exists."""
        ...

    def delete_directory(self, folder: str) -> None:
        """Delete a folder and its content."""
        ...


def _files_of(directory: str) -> _Files:
    split = urlsplit(directory)
    if split.scheme in ("", "file"):
        return _LocalFiles(Path(path_of_uri(directory)))
    filesystem, path = _filesystem_of(directory)
    return _RemoteFiles(filesystem, path.rstrip("/"))


def path_of_uri(uri: str) -> str:
    """Return the unescaped path of a file URI; a path is returned unchanged."""
    return unquote(urlsplit(uri).path) if uri.startswith("file:") else uri


def _filesystem_of(uri: str) -> tuple[Any, str]:
    scheme, colon, rest = uri.partition(":")
    filesystem, path = fs.FileSystem.from_uri(f"{_PYARROW_SCHEMES.get(scheme, scheme)}{colon}{rest}")
    return filesystem, path


def _visible(path: str) -> bool:
    # As Spark has it: a folder of a column whose name begins with an underscore is visible.
    return not any(part.startswith(_HIDDEN) and "=" not in part for part in path.split("/"))


@frozen
class _LocalFiles:
    root: Path

    def below(self, folder: str) -> Iterator[str]:
        base = self.root / folder
        paths = (path.relative_to(base).as_posix() for path in base.rglob("*.parquet"))
        return filter(_visible, paths)

    def rows(self, path: str) -> int:
        return int(pq.read_metadata(self.root / path).num_rows)

    def publish(self, path: str, target: str) -> None:
        old, new = self.root / path, self.root / target
        with old.open("rb") as file:
            os.fsync(file.fileno())
        new.parent.mkdir(parents=True, exist_ok=True)
        old.replace(new)
        sync_directory(new.parent)

    def delete(self, uri: str) -> None:
        Path(path_of_uri(uri)).unlink(missing_ok=True)

    def delete_directory(self, folder: str) -> None:
        fs.LocalFileSystem().delete_dir(str(self.root / folder))


@frozen
class _RemoteFiles:
    filesystem: Any
    root: str

    def below(self, folder: str) -> Iterator[str]:
        base = f"{self.root}/{folder}".rstrip("/")
        found = self.filesystem.get_file_info(fs.FileSelector(base, allow_not_found=True, recursive=True))
        paths = (info.path[len(base) + 1 :] for info in found if info.path.endswith(".parquet"))
        return filter(_visible, paths)

    def rows(self, path: str) -> int:
        return int(pq.read_metadata(f"{self.root}/{path}", filesystem=self.filesystem).num_rows)

    def publish(self, path: str, target: str) -> None:
        self.filesystem.create_dir(f"{self.root}/{target}".rpartition("/")[0], recursive=True)
        self.filesystem.move(f"{self.root}/{path}", f"{self.root}/{target}")

    def delete(self, uri: str) -> None:
        _, path = _filesystem_of(uri)
        if self.filesystem.get_file_info(path).type is not fs.FileType.NotFound:
            self.filesystem.delete_file(path)

    def delete_directory(self, folder: str) -> None:
        self.filesystem.delete_dir(f"{self.root}/{folder}")
