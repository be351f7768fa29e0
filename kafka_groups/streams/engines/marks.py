"""The file next to a store's files that says who has written them, and whether they may be opened.

It is apart from LMDB's own files, because opening those may end the process if a crash of the machine has torn them.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import asdict, field, frozen
from attrs.validators import instance_of

from kafka_groups.types import TopicPartition

__all__ = ["FORMAT", "Mark", "read_json", "read_mark", "write_json", "write_mark", "write_whole"]

FORMAT: Final = 1
_NAME = "mark.json"


@frozen(kw_only=True)
class Mark:
    """The knowledge of a task's files that is stored next to them.

    Attributes:
        boot_id: The boot of the machine in which they were opened last.
        is_clean: Whether they were closed, with everything on the disk.
        openings: How often they were opened since the last commit, as far as that was known at the last opening.
        transaction: LMDB's number of the last commit before that.
        owner: Another text for each opening.
        is_compacting: Whether the process that opened them began with a compact copy.
        positions: The positions in changelogs at the clean end, by `topic-partition`.
        stores: How each store is laid out, by its name.
        is_damaged: Whether the process that had them open has died of them.
        format: The format of all files.
        engine: What has written them.
    """

    boot_id: str = field(validator=instance_of(str))
    stores: Mapping[str, str] = field(validator=instance_of(dict))
    is_clean: bool = field(default=False, validator=instance_of(bool))
    openings: int = field(default=1, validator=instance_of(int))
    transaction: int = field(default=0, validator=instance_of(int))
    owner: str = field(default="", validator=instance_of(str))
    is_compacting: bool = field(default=False, validator=instance_of(bool))
    positions: Mapping[str, int] = field(factory=dict, validator=instance_of(dict))
    is_damaged: bool = field(default=False, validator=instance_of(bool))
    format: int = FORMAT
    engine: str = "lmdb"


def positions_text(positions: Mapping[TopicPartition, int]) -> dict[str, int]:
    """Return positions as a mark has them."""
    return {f"{place.topic}-{place.partition}": offset for place, offset in positions.items()}


def read_mark(folder: Path) -> Mark | None:
    """Return the mark of a folder; None if there is none, or none that can be read."""
    found = read_json(folder / _NAME)
    try:
        return None if found is None else Mark(**found)
    except TypeError:
        return None


def write_mark(folder: Path, mark: Mark) -> None:
    """Write the mark of a folder, so that it is whole after a crash of the machine, too.

    Raises:
        OSError: It cannot be written.
    """
    write_json(folder / _NAME, asdict(mark))


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in a file; None if there is none, or nothing that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write an object into a file, as `write_whole` writes a text.

    Raises:
        OSError: It cannot be written.
    """
    write_whole(path, json.dumps(content, indent=2, sort_keys=True))


def write_whole(path: Path, text: str) -> None:
    """Write a file that has its whole content from the moment when it exists, also after a crash of the machine.

    Raises:
        OSError: It cannot be written.
    """
    unfinished = path.with_suffix(".new")
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
