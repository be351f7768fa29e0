"""One word, one thing: no two classes of the package have the same name."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent


def doubles(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The names that several classes have, with their places."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(paths):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.name}:{node.lineno}")
    return {name: found for name, found in places.items() if len(found) > 1}


def test_each_class_name_stands_once() -> None:
    assert doubles(PACKAGE.rglob("*.py")) == {}


def test_a_name_that_stands_twice_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Fetched: ...\n")
    (tmp_path / "b.py").write_text("class Other:\n    class Fetched: ...\n")
    assert doubles(tmp_path.glob("*.py")) == {"Fetched": ["a.py:1", "b.py:2"]}
