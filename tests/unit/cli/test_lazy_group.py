"""The help of groups of commands: texts of a table, so that it imports no command."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from kafka_groups.broker.profile import DEFAULT_PROFILE, PROFILES
from kafka_groups.cli.lazy_group import LazyGroup
from kafka_groups.cli.main import main


def below(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, with the words that call them."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from below(found, (*path, name))


COMMANDS = dict(below(main))


def test_each_text_is_the_first_sentence_of_the_help_of_its_command() -> None:
    groups = {path: command for path, command in COMMANDS.items() if isinstance(command, LazyGroup)}
    texts = {
        (*path, name): group.text_of(name)
        for path, group in groups.items()
        for name in group.list_commands(click.Context(group))
    }
    assert texts == {path: COMMANDS[path].get_short_help_str(1_000) for path in texts}


def test_every_group_of_commands_has_such_a_table() -> None:
    assert [
        path
        for path, command in COMMANDS.items()
        if isinstance(command, click.Group) and not isinstance(command, LazyGroup)
    ] == []


def test_h_is_help_also_after_a_use_without_the_group() -> None:
    group = LazyGroup(modules={"ask": (__name__, "ask", "Ask.")})
    name, command, arguments = group.resolve_command(click.Context(group), ["ask"])
    assert command is not None
    command.make_context(name, arguments)
    assert CliRunner().invoke(group, ["ask", "-h"]).exit_code == 0


@click.command
def ask() -> None:
    """Ask."""


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_h_is_help_everywhere(path: tuple[str, ...]) -> None:
    short, long = (CliRunner().invoke(main, [*path, option]) for option in ("-h", "--help"))
    assert (short.exit_code, short.stdout) == (0, long.stdout)
    assert short.stdout.startswith("Usage: main")


HEAVY = {"kio", "rich.console", "kafka_groups.admin.aio", "kafka_groups.client", "kafka_groups.broker"}


def test_the_help_of_commands_imports_no_client_and_no_broker() -> None:
    modules = {
        module
        for command in COMMANDS.values()
        if isinstance(command, LazyGroup)
        for name in command.list_commands(click.Context(command))
        for module in [command.module_of(name)]
    }
    program = (
        f"import importlib, sys\nfor each in {sorted(modules)}: importlib.import_module(each)\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_the_broker_has_the_releases_that_it_can_act_as() -> None:
    (option,) = [each for each in COMMANDS[("broker",)].params if each.name == "profile"]
    assert isinstance(option.type, click.Choice)
    assert (tuple(option.type.choices), option.default) == (tuple(PROFILES), DEFAULT_PROFILE.name)
