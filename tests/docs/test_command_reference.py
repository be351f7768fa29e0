"""The reference of the command has every command with every option, and no other."""

import re
from collections.abc import Iterator

import click

from kafka_groups.cli.main import main
from tests.docs.blocks import ROOT

USAGE = re.search(r"```text\n(.*?)```", (ROOT / "docs" / "reference" / "command.md").read_text(), re.DOTALL)
CONNECTION = {"--bootstrap-servers", "--config", "--timeout"}
"""Options of the commands for administration, described once."""


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, with the words that call them."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(click.Context(command)):
        found = command.get_command(click.Context(command), name)
        assert found is not None
        yield from commands(found, (*path, name))


def usage() -> dict[tuple[str, ...], str]:
    """The lines of each command in the reference."""
    assert USAGE is not None
    entries = re.split(r"^(?=kafka-groups )", USAGE[1], flags=re.MULTILINE)[1:]
    words = [re.match(r"(?:[a-z-]+ )*(?:[a-z-]+(?=\n|$))?", entry) for entry in entries]
    return {tuple(found[0].split()): entry for found, entry in zip(words, entries, strict=True) if found}


def options_of(command: click.Command) -> list[set[str]]:
    """The names of each option: the option, its aliases, and that which turns it off."""
    return [{*each.opts, *each.secondary_opts} for each in command.params if isinstance(each, click.Option)]


def test_every_command_is_in_the_reference_with_its_options() -> None:
    shown = usage()
    for path, command in commands(main, ("kafka-groups",)):
        assert path in shown, path
        documented = set(re.findall(r"(?<![\w-])-(?:[a-z](?![a-z-])|-[a-z-]+)", shown[path]))
        options = options_of(command)
        for names in options:
            assert not names.isdisjoint(documented | CONNECTION), (path, names)
        assert documented <= set[str]().union(*options), path


def test_the_reference_has_no_other_commands() -> None:
    assert set(usage()) - {("kafka-groups", "--version")} == {path for path, _ in commands(main, ("kafka-groups",))}
