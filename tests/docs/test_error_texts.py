"""The pages that explain errors and lines of logs by their text quote texts that the package has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka_groups

ROOT = Path(kafka_groups.__file__).parent
GUIDES = ROOT.parent / "docs" / "how-to"
PAGE = GUIDES / "error-texts.md"
PAGE_OF_APPLICATIONS = GUIDES / "streams" / "errors.md"
_VALUE = re.compile(r"%[sd]|%r")


def texts_of(path: Path) -> str:
    """All texts of a module, with a mark where a value is filled in."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(_VALUE.sub("…", node.value))
    return "\n".join(found)


@pytest.fixture(scope="module")
def texts() -> str:
    """All texts of the package."""
    return "\n".join(map(texts_of, ROOT.rglob("*.py")))


def test_each_quoted_text_is_one_of_the_package(texts: str) -> None:
    quoted = re.findall(r'^### "(.+)"$', PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(quoted) > 15
    assert [text for text in quoted if text not in texts] == []


def test_each_text_in_the_tables_about_applications_is_one_of_the_package(texts: str) -> None:
    quoted = list(texts_in_tables(PAGE_OF_APPLICATIONS.read_text(encoding="utf-8")))
    assert len(quoted) > 25
    assert [text for text in quoted if text not in texts] == []


def texts_in_tables(page: str) -> Iterator[str]:
    """The quoted texts in the first columns of tables of errors and lines of logs."""
    for table in re.findall(r"^\| (?:Text|Line of the log) \|.*\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE):
        yield from re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
