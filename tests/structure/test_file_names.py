"""One name, one idea: in a part of the package no two files have the same name, nor one the plural of the other's.

Some folders are alike on purpose: what each group, coordinator and demo has is in files of the same names, and so has
what members of each type of group have. What the DSL says of an operator has the name of the processor. Asynchronous
variants are all in files called `aio`.
"""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
Alike = tuple[tuple[str, ...], ...]
"""Sets of folders that are alike, or whose folders are."""

CHECKED: Mapping[str, Alike] = {
    "admin": (),
    "assignment": (),
    "broker": (("coordinators",),),
    "cli": (("demo",),),
    "client": (),
    "config": (),
    "errors": (),
    "librdkafka": (),
    "net": (),
    "processes": (),
    "protocol": (),
    "records": (),
    "serdes": (),
    "share": (),
    "spark": (),
    "streams": (("dsl", "processors"), ("member/coordinated", "member/classic")),
    "telemetry": (),
    "testing": (),
}
"""The parts of the package, each with its folders that are alike."""


def doubles(part: Path, alike: Alike = ()) -> dict[str, set[str]]:
    """The names that several files have, in the singular, with their places."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path in part.rglob("*.py"):
        if path.stem not in ("__init__", "aio"):
            places[singular(path.stem)].add(place_of(path.relative_to(part), alike))
    return {name: found for name, found in places.items() if len(found) > 1}


def place_of(path: Path, alike: Alike) -> str:
    """A file's place: its path, or the folders that are alike and that it is in one of."""
    found = [folders for folders in alike if any(path.is_relative_to(folder) for folder in folders)]
    return " and ".join(found[0]) if found else str(path)


def singular(name: str) -> str:
    """A name whose words have lost their last s."""
    return "_".join(word.removesuffix("s") for word in name.split("_"))


def test_every_part_is_checked() -> None:
    assert CHECKED.keys() == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@pytest.mark.parametrize("part", CHECKED)
def test_each_file_name_stands_once(part: str) -> None:
    assert doubles(PACKAGE / part, CHECKED[part]) == {}


def test_a_name_that_stands_twice_is_found(tmp_path: Path) -> None:
    for name in ("a/outcome.py", "outcomes.py", "a/x/group.py", "a/y/groups.py", "a/__init__.py", "__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert doubles(tmp_path, (("a",),)) == {"outcome": {"a", "outcomes.py"}}
    assert doubles(tmp_path, (("a/x", "a/y"),)).keys() == {"outcome"}
    assert doubles(tmp_path).keys() == {"outcome", "group"}
