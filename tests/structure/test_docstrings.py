"""Docstrings of the package are sentences or name a thing: none begins with "What", "How" or "Whether"."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
_FRAGMENT = re.compile(r"(Whether|What|How|Which|Who|Whose|When|Where|Why)\b")
_BEGINS_A_STRING = re.compile(rf"""["'](\\\n)?{_FRAGMENT.pattern}""")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def fragments(paths: Iterable[Path]) -> list[str]:
    """The docstrings that begin like a subordinate clause, with their places."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(paths)}
    return [
        f"{path.name}:{line}: {text.splitlines()[0]}"
        for path, source in sources.items()
        if _BEGINS_A_STRING.search(source)  # parsing all modules takes seconds
        for line, text in docstrings(ast.parse(source))
        if _FRAGMENT.match(text)
    ]


def docstrings(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The docstrings of modules, classes, functions and attributes: all strings that stand alone, with their lines."""
    for node in ast.walk(module):
        for line in getattr(node, "body", ()) if isinstance(node, _DOCUMENTED) else ():
            if (
                isinstance(line, ast.Expr)
                and isinstance(line.value, ast.Constant)
                and isinstance(line.value.value, str)
            ):
                yield line.lineno, line.value.value


def test_no_docstring_is_a_fragment() -> None:
    assert fragments(PACKAGE.rglob("*.py")) == []


def test_fragments_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""What it does."""\n\nLIMIT = 3\n"""How many there may be."""\n')
    (tmp_path / "b.py").write_text('class B:\n    """A thing."""\n\n    def is_open(self): """Whether it is open."""\n')
    assert fragments(tmp_path.glob("*.py")) == [
        "a.py:1: What it does.",
        "a.py:4: How many there may be.",
        "b.py:4: Whether it is open.",
    ]
