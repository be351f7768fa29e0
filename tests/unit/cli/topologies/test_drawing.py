"""`kafka-groups streams topology`."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_groups.cli.main import main
from tests.unit.cli.topologies.programs import PROGRAM


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "app_of_tests", raising=False)
    (tmp_path / "app_of_tests.py").write_text(PROGRAM)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["streams", "topology", "app_of_tests:build", *arguments])


@pytest.mark.parametrize(
    ("option", "beginning"),
    [(None, "Topologies:\n   Sub-topology: 0"), ("--mermaid", "flowchart TD\n"), ("--dot", "digraph topology {\n")],
)
def test_forms(option: str | None, beginning: str) -> None:
    done = run() if option is None else run(option)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(beginning)


def test_a_picture_needs_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("--svg")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Install Graphviz, or use Mermaid" in done.stderr


def test_a_picture_by_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "dot"
    command.write_text("#!/bin/sh\necho '<svg/>'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert run("--svg").stdout == "<svg/>\n\n"


def test_only_one_form() -> None:
    done = run("--svg", "--dot")
    assert done.exit_code == 2
    assert "Give one of --mermaid, --dot and --svg." in done.stderr
