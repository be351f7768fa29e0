"""Each command that a page, an error or a docstring names is one that there is."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import kafka_groups
from kafka_groups.cli.main import main
from tests.docs.blocks import ROOT

PACKAGE = Path(kafka_groups.__file__).parent
QUOTED = re.compile(r"`kafka-groups((?:\s+[a-z][a-z-]*)+)")
TYPED = re.compile(r"^(?:\$ |\.venv/bin/)?kafka-groups((?: [a-z][a-z-]*)+)", re.MULTILINE)
JOINED = re.compile(r'"\s*\n\s*f?"')
OLD = {ROOT / "docs" / "changelog.md"}


def named(text: str, *patterns: re.Pattern[str]) -> Iterator[list[str]]:
    """The words of each command in a text: those of the command, and of its arguments as far as they are words."""
    return (words.split() for pattern in patterns for words in pattern.findall(text))


def joined(source: str) -> str:
    """A module whose texts of several lines are in one."""
    return JOINED.sub("", source)


def unknown(words: list[str]) -> str | None:
    """The first word of a command that there is not, or None."""
    command: click.Command | None = main
    for word in words:
        if not isinstance(command, click.Group):
            return None
        command = command.get_command(click.Context(command), word)
        if command is None:
            return word
    return None


def test_commands_in_errors_and_docstrings_exist() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: kafka-groups {' '.join(words)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for words in named(joined(path.read_text(encoding="utf-8")), QUOTED)
        if unknown(words) is not None
    ]
    assert found == []


def test_commands_on_pages_exist() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [
        f"{page.relative_to(ROOT)}: kafka-groups {' '.join(words)}"
        for page in pages
        if page not in OLD
        for words in named(page.read_text(encoding="utf-8"), QUOTED, TYPED)
        if unknown(words) is not None
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("reset it: `kafka-groups streams-groups reset {}`", "streams-groups"),
        ("see `kafka-groups streams\n    offset reset`", "offset"),
        ('"Reset it: `kafka-groups streams-groups "\n        f"reset {name}`"', "streams-groups"),
        ("Run it:\n\nkafka-groups stream list", "stream"),
        ("`kafka-groups streams offsets reset shop` and `kafka-groups streams`", None),
    ],
)
def test_a_command_that_there_is_not_is_found(text: str, word: str | None) -> None:
    found = [unknown(words) for words in named(joined(text), QUOTED, TYPED)]
    assert found
    assert {each for each in found if each is not None} == ({word} if word else set())
