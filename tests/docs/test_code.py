import ast
import importlib.util
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from kafka_groups.cli.main import main
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.testing import EmbeddedCluster
from tests.docs.blocks import PAGES, ROOT, Program, programs, shell_lines
from tests.docs.running import ORDERS, PROMPT, REGISTRY_VARIABLE, ended, produce_orders, start
from tests.support.schema_registry import schema_registry

RUN = [program for program in programs() if program.run and not program.on_spark]
ENDLESS = [program for program in RUN if program.endless]
SIGNALLED = [program for program in RUN if program.stops_at_signals and not program.in_streams_group]
ENDING = [
    program for program in RUN if not program.endless and not program.stops_at_signals and not program.runs_worker
]


def slow_but_first(program: Program) -> Any:
    """The program, in the slow tests if it is not the first of the README or of another page for beginners."""
    is_first = program is next(each for each in ENDING if each.page == program.page)
    is_begun_with = is_first and program.page.name.startswith(("README", "index", "install", "tutorial"))
    return pytest.param(program, marks=[] if is_begun_with else [pytest.mark.slow])


def slow_but_readmes(program: Program) -> Any:
    """The program, in the slow tests if it is not one of the README's."""
    return pytest.param(program, marks=[] if program.page == ROOT / "README.md" else [pytest.mark.slow])


@pytest.fixture(autouse=True)
def programs_can_be_interrupted() -> Iterator[None]:
    """A shell starts background jobs with SIGINT ignored, which programs inherit; a handler is not inherited."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty schema registry."""
    with schema_registry() as url:
        monkeypatch.setenv(REGISTRY_VARIABLE, url)
        yield


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """A broker with some orders. The group of the documentation has no configuration."""
    with EmbeddedCluster(settings=PROMPT) as cluster:
        cluster.create_topic("orders")
        produce_orders("orders", cluster.bootstrap_servers)
        yield cluster


@pytest.fixture
def bootstrap_servers(cluster: EmbeddedCluster) -> str:
    """A broker with some orders, and the group of the documentation starting at the first of them."""
    cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
    return cluster.bootstrap_servers


EXPECTED = re.compile(r" in task \d+_\d+ dropped a record at \S+ offset \d+: \w+_exception_handler has ")
"""The warning about records that handlers skip: some programs show just that."""

SAVED_BY_READERS = {"application"}
FILES_OF_READERS = ("orders.txt",)
"""Modules that pages tell readers to make from an earlier program."""


def test_there_is_code_to_test() -> None:
    assert len(ENDLESS) >= 3
    assert len(ENDING) >= 5
    assert any(program.page == ROOT / "README.md" for program in ENDLESS)


@pytest.mark.parametrize("program", programs(), ids=str)
def test_imported_names_exist(program: Program) -> None:
    for node in ast.walk(ast.parse(program.code)):
        if isinstance(node, ast.ImportFrom) and node.module not in SAVED_BY_READERS:
            assert node.module is not None
            module = importlib.import_module(node.module)
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                assert hasattr(module, alias.name) or importlib.util.find_spec(name) is not None, name


@pytest.mark.parametrize("program", [slow_but_first(each) for each in ENDING], ids=str)
def test_program_ends_well(program: Program, bootstrap_servers: str, tmp_path: Path) -> None:
    process = start(program, bootstrap_servers, tmp_path)
    _, errors = ended(process)
    assert (process.returncode, [line for line in errors.splitlines() if not EXPECTED.search(line)]) == (0, [])


@pytest.mark.parametrize("program", [slow_but_readmes(each) for each in ENDLESS], ids=str)
def test_endless_program_shows_each_order_and_ends_at_an_interrupt(
    program: Program, bootstrap_servers: str, tmp_path: Path
) -> None:
    assert_shows_each_order_and_ends_at_an_interrupt(start(program, bootstrap_servers, tmp_path))


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", SIGNALLED, ids=str)
def test_program_that_handles_signals_ends_well_and_has_its_orders_accepted(
    program: Program, number: signal.Signals, bootstrap_servers: str, tmp_path: Path
) -> None:
    process = start(program, bootstrap_servers, tmp_path)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(ORDERS)]
    process.send_signal(number)
    more, errors = ended(process)
    assert (process.returncode, more, errors) == (0, "", "")
    assert len(set(lines)) == ORDERS
    with KafkaShareConsumer(bootstrap_servers=bootstrap_servers, group_id="invoices") as other:
        other.subscribe(["orders"])
        again = [record.offset for record in other.poll(timeout=5.0)]
    assert again in ([], [ORDERS - 1])  # the last one may have been under way


def assert_shows_each_order_and_ends_at_an_interrupt(process: "subprocess.Popen[str]") -> list[str]:
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(ORDERS)]
    process.send_signal(signal.SIGINT)
    more, errors = ended(process)
    assert all(lines), errors
    assert len(set(lines)) == ORDERS
    assert more == ""
    assert errors.splitlines()[-1] == "KeyboardInterrupt", errors
    assert "Warning" not in errors
    return lines


def test_tutorial_prints_what_it_says(tmp_path: Path) -> None:
    (tutorial,) = (program for program in RUN if program.page.name == "tutorial.md")
    process = start(tutorial, "", tmp_path)
    output, errors = ended(process)
    assert errors == ""
    assert output.splitlines() == [f"order {number} (delivery 1)" for number in range(10)]


def commands_of(line: str) -> list[list[str]]:
    """The words of each command of a line. Redirections stay among them, as no line of ours has any."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|&")
    words.whitespace_split = True
    words.commenters = ""
    commands: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set("|&"):
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def test_commands_in_the_documentation_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in FILES_OF_READERS:
        (tmp_path / file).touch()
    checked = 0
    for line in shell_lines():
        for words in commands_of(line):
            if words and Path(words[0]).name == "kafka-groups":
                checked += 1
                name, command, arguments = main.resolve_command(click.Context(main), words[1:])
                assert command is not None
                command.make_context(name, list(arguments))
    assert checked >= 3


def test_readme_marks_both_of_its_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    for mark in ("demo command", "test command"):
        match = re.search(rf"<!-- {mark} -->\n```sh\n(?P<command>.*)\n```", readme)
        assert match is not None
        assert match["command"].startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_readme_examples_are_short() -> None:
    examples = [program for program in programs() if program.page == ROOT / "README.md"]
    assert [example.on_spark for example in examples] == [False, False, False, True, False]
    for example in examples:
        assert sum(1 for line in example.code.splitlines() if line.strip()) <= 16


def test_extras_in_the_documentation_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    for page in PAGES:
        for extras in re.findall(r"pip install (?:-e )?'(?:\.|kafka-groups)\[([a-z,]+)\]'", page.read_text()):
            for extra in extras.split(","):
                assert re.search(rf"^{extra} = \[", project, re.MULTILINE), (page, extra)
