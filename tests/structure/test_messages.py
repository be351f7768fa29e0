"""Messages: errors in them have their class, no full stop is doubled, and one thing is not counted as several."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import kafka_groups
from kafka_groups.errors.texts import counted

PACKAGE = Path(kafka_groups.__file__).parent
TEXTS = PACKAGE / "errors" / "texts.py"
"""Makes the texts: `named`, `sentences`, `counted`."""

KAFKAS_WORDS = PACKAGE / "broker"
"""Has the texts of Kafka's brokers, also where they count one thing as several."""

LARGE_NUMBERS = PACKAGE / "cli" / "demo"
"""Counts flights by the thousand."""

BROAD = {"Exception", "BaseException"}
TEXT_MAKERS = {"named", "shown", "str", "text_of"}
TEXT_NAMES = re.compile(r"(^|_)(cause|detail|error|exc|failure|fault|message|reason)$")
COUNTABLE = (
    "attempt batch broker call cell client column connection consumer copy delivery event field file handler key "
    "member message offset operator partition problem process rebalance record row session store task topic "
    "transaction update value violation worker"
)
PLURALS = "|".join(counted(2, noun).removeprefix("2 ") for noun in COUNTABLE.split())
SEVERAL = re.compile(rf"^ ((more|other|published|worker) )?({PLURALS})\b(?!=)")
SEVERAL_LOGGED = re.compile(rf"%[ds]{SEVERAL.pattern[1:]}")


def modules(pattern: str) -> dict[Path, ast.Module]:
    """The modules of the package whose text matches, as parsing all of them takes seconds."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")) if path != TEXTS}
    return {path: ast.parse(text) for path, text in texts.items() if re.search(pattern, text)}


def raw_errors(module: ast.Module) -> Iterator[int]:
    """The lines that show any exception without its class, or by code of its class that may raise."""
    for handler in ast.walk(module):
        if isinstance(handler, ast.ExceptHandler) and handler.name and is_broad(handler.type):
            yield from (node.lineno for node in ast.walk(handler) if shows(node, handler.name))  # type: ignore[attr-defined]


def is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(is_broad, kind.elts))
    return isinstance(kind, ast.Name) and kind.id in BROAD


def shows(node: ast.AST, name: str) -> bool:
    """Whether this is a variable in a text, or an argument of `str`, `repr` or of a method that logs."""
    if isinstance(node, ast.FormattedValue):
        return is_variable(node.value, name)
    if not isinstance(node, ast.Call) or not any(is_variable(each, name) for each in node.args):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called in {"str", "repr", "debug", "info", "warning", "error", "exception", "critical", "warn"}


def is_variable(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def doubled_stops(module: ast.Module) -> Iterator[int]:
    """The lines where a full stop follows a text that may have one, or begins a text that follows another one."""
    handled = {each.name for each in ast.walk(module) if isinstance(each, ast.ExceptHandler) and each.name}
    inner = {id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in node.values[1:]}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and id(node) not in inner and re.match(r"\. +\S", str(node.value)):
            yield node.lineno
        for shown, text in interpolated(node):
            is_repr = shown.conversion == ord("r")
            if re.match(r"\.(\s|$)", text) and not is_repr and may_end(shown.value, handled):
                yield shown.lineno


def interpolated(node: ast.AST) -> Iterator[tuple[ast.FormattedValue, str]]:
    """Each value in an f-string, with the text behind it."""
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    for value, text in pairwise(parts):
        if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
            yield value, str(text.value)


def may_end(value: ast.expr, handled: set[str]) -> bool:
    """Whether an expression shows an error, or a text that somebody else has written."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in TEXT_MAKERS:
            return True
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in handled or TEXT_NAMES.search(name):
            return True
    return False


def several_of_one(module: ast.Module) -> Iterator[int]:
    """The lines that write a number and a plural, whatever the number is. Constants, and `__repr__`, may do that."""
    hidden = {id(node) for each in ast.walk(module) if is_representation(each) for node in ast.walk(each)}
    for node in ast.walk(module):
        if id(node) in hidden:
            continue
        for shown, text in interpolated(node):
            if SEVERAL.match(text) and not (isinstance(shown.value, ast.Name) and shown.value.id.isupper()):
                yield shown.lineno
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SEVERAL_LOGGED.search(node.value):
            yield node.lineno


def is_representation(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__repr__"


@pytest.mark.parametrize(
    ("rule", "pattern", "exempt"),
    [
        (raw_errors, r"except .*\b(Base)?Exception\b.* as ", ()),
        (doubled_stops, r"[\"}]\.[\"\s]", ()),
        (several_of_one, rf"(\"|}}|%[ds]){SEVERAL.pattern[1:]}", (KAFKAS_WORDS, LARGE_NUMBERS)),
    ],
    ids=["an error has its class", "no doubled full stop", "singular and plural"],
)
def test_messages(rule: Callable[[ast.Module], Iterator[int]], pattern: str, exempt: tuple[Path, ...]) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, module in modules(pattern).items()
        if not any(path.is_relative_to(folder) for folder in exempt)
        for line in rule(module)
    ]
    assert found == [], "use named, sentences and counted of kafka_groups.errors.texts"


CAUGHT = "try: ...\nexcept Exception as e:\n    {}"


@pytest.mark.parametrize("shown", ['f"failed: {e}"', 'f"failed: {e!r}"', "str(e)", '_log.info("failed: %s", e)'])
def test_an_error_without_its_class_is_found(shown: str) -> None:
    assert list(raw_errors(ast.parse(CAUGHT.format(shown)))) == [3]


@pytest.mark.parametrize("shown", ['f"failed: {named(e)}"', "handle(e)", '_log.exception("failed")'])
def test_an_error_with_its_class_may_be_shown(shown: str) -> None:
    assert list(raw_errors(ast.parse(CAUGHT.format(shown)))) == []
    narrow = CAUGHT.replace("Exception", "OSError").format('f"failed: {e}"')
    assert list(raw_errors(ast.parse(narrow))) == []


@pytest.mark.parametrize(
    "text",
    [
        'f"failed: {named(e)}. Skip it"',
        'f"failed: {self.error}."',
        'f"{str(e)}.\\n"',
        'a + ". To skip it"',
        'f". Skip {it}"',
    ],
)
def test_a_stop_that_may_be_doubled_is_found(text: str) -> None:
    assert list(doubled_stops(ast.parse(text))) == [1]


@pytest.mark.parametrize("text", ['f"failed: {e!r}. Skip it"', 'f"{topic}. Skip it"', 'f"{error.code}.csv"', '"."'])
def test_other_stops_are_left_alone(text: str) -> None:
    assert list(doubled_stops(ast.parse(text))) == []


@pytest.mark.parametrize(
    "text", ['f"has {n} members"', 'f"{len(tasks)} other processes."', '"lost %d records of %s"', 'f"{n:,} deliveries"']
)
def test_one_thing_that_may_be_counted_as_several_is_found(text: str) -> None:
    assert list(several_of_one(ast.parse(text))) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "f\"has {counted(n, 'member')}\"",
        'f"at most {MOST} records"',
        'f"{n} ms"',
        'f"{n} recordsets"',
        'def __repr__(self):\n    return f"<{self.n} records>"',
    ],
)
def test_other_numbers_are_left_alone(text: str) -> None:
    assert list(several_of_one(ast.parse(text))) == []
