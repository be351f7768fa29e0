"""Every command that prints a document or names refuses to do both."""

import click
import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main
from tests.unit.cli.test_lazy_group import COMMANDS

VALUES = {
    "topic:partition=offset": "orders:0=1",
    "partition@offset": "0@1",
    "integer range": "1",
}
"""Values of arguments by the names of their types; others are names."""

BOTH = {
    path: command
    for path, command in COMMANDS.items()
    if {"--json", "--quiet"} <= {name for each in command.params for name in each.opts}
}


def needed(command: click.Command) -> list[str]:
    """The arguments and options without which a command does not begin."""
    words: list[str] = []
    for each in command.params:
        if each.required:
            words += [each.opts[0]] if isinstance(each, click.Option) else []
            words.append(next(iter(each.type.choices)) if isinstance(each.type, click.Choice) else value_of(each))
    return words


def value_of(parameter: click.Parameter) -> str:
    return VALUES.get(parameter.type.name, "orders:1")


def test_there_are_such_commands() -> None:
    assert {("groups", "list"), ("topics", "create"), ("offsets", "describe"), ("dead-letters", "list")} <= set(BOTH)


@pytest.mark.parametrize("path", BOTH, ids=" ".join)
def test_a_document_and_names_at_once_are_refused(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*path, *needed(BOTH[path]), "--json", "--quiet"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Give either --json or --quiet." in done.stderr
