"""One word, one thing: no two classes or type aliases of the package have the same name."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
TYPE_VARIABLES = {"TypeVar", "TypeVarTuple", "ParamSpec"}
"""They have the same names everywhere, as they mean nothing outside of a signature."""


def doubles(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The names that several classes or aliases have, with their places."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(paths):
        module = ast.parse(path.read_text(encoding="utf-8"))
        for name, line in (*classes(module), *aliases(module)):
            places[name].append(f"{path.name}:{line}")
    return {name: found for name, found in places.items() if len(found) > 1}


def classes(module: ast.Module) -> Iterator[tuple[str, int]]:
    """The classes, inner ones too, with their lines."""
    yield from ((node.name, node.lineno) for node in ast.walk(module) if isinstance(node, ast.ClassDef))


def aliases(module: ast.Module) -> Iterator[tuple[str, int]]:
    """The type aliases, with their lines: names like those of classes that the module assigns."""
    for node in module.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and not is_type_variable(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            yield from ((name, node.lineno) for name in names if is_like_a_class(name))


def is_like_a_class(name: str) -> bool:
    """Whether a name is written in capitalised words: `_Place`, but not `PLACE`, `_M` or `place`."""
    word = name.lstrip("_")
    return word[:1].isupper() and word != word.upper() and "_" not in word


def is_type_variable(value: ast.expr | None) -> bool:
    """Whether a value is the call that makes a type variable."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in TYPE_VARIABLES


def test_each_class_name_stands_once() -> None:
    assert doubles(PACKAGE.rglob("*.py")) == {}


def test_a_name_that_stands_twice_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Fetched: ...\n")
    (tmp_path / "b.py").write_text("class Other:\n    class Fetched: ...\n")
    assert doubles(tmp_path.glob("*.py")) == {"Fetched": ["a.py:1", "b.py:2"]}


def test_an_alias_is_a_name_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Fetched: ...\nPlace = tuple[int, int]\nKeys: TypeAlias = dict[str, int]\n")
    (tmp_path / "b.py").write_text("Fetched = int\nPlace = tuple[str, int]\nKeys = frozenset[str]\n")
    assert doubles(tmp_path.glob("*.py")) == {
        "Fetched": ["a.py:1", "b.py:1"],
        "Place": ["a.py:2", "b.py:2"],
        "Keys": ["a.py:3", "b.py:3"],
    }


def test_type_variables_and_values_may_have_the_same_names(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text('Ts = TypeVarTuple("Ts")\nLIMIT = 3\n_M = Metric[int]\nrows = 2\n')
    assert doubles(tmp_path.glob("*.py")) == {}
