"""Pages whose commands run in one folder print what the pages show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main
from tests.docs.blocks import PAGES, ROOT, commands_of, files_of, picture_of

SHOWING = [page for page in PAGES if any(commands_of(page))]
TUTORIAL = ROOT / "docs" / "tutorial-streams.md"
TAKE_LONG = {ROOT / "docs" / "tutorial-assignor.md", ROOT / "docs" / "how-to" / "streams" / "engines.md"}
"""Their commands run tests. What the package has of the same kind is tested anyway."""


class Shell:
    """A folder in which the commands of a page run."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", [*sys.path])

    def save(self, files: dict[str, str]) -> None:
        """Save the files of a page."""
        for name, content in files.items():
            (self._folder / name).write_text(content)
            self._monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)  # that of another page or test

    def run(self, command: str, shown: str) -> str:
        """Run a command, and return what it prints. A file that `cat` shows first is made, as readers make it."""
        program, *arguments = command.split()
        if program == "cat":
            return self._cat(self._folder / arguments[0], shown)
        return {"kafka-groups": self._kafka_groups, "pytest": self._pytest}[program](arguments)

    def _cat(self, path: Path, shown: str) -> str:
        if not path.exists():
            path.write_text(shown)
        return path.read_text()

    def _kafka_groups(self, arguments: list[str]) -> str:
        done = CliRunner().invoke(main, arguments)
        assert (done.exit_code, done.stderr) == (0, "")
        return done.stdout

    def _pytest(self, arguments: list[str]) -> str:
        program = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            program, cwd=self._folder, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


def without_durations(text: str) -> str:
    return re.sub(r"\d+\.\d+s", "0.00s", text)


def test_there_are_pages_with_commands() -> None:
    assert {TUTORIAL, *TAKE_LONG} <= set(SHOWING)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page in TAKE_LONG else [], id=page.stem) for page in SHOWING],
)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(tmp_path, monkeypatch)
    shell.save(files_of(page))
    for command, shown in commands_of(page):
        assert without_durations(shell.run(command, shown)) == without_durations(shown), command


def test_every_file_of_a_page_is_used_by_its_commands_or_files() -> None:
    for page in SHOWING:
        words = " ".join(command for command, _ in commands_of(page))
        imported = {
            line.split()[1] for code in files_of(page).values() for line in code.splitlines() if is_import(line)
        }
        for name in files_of(page):
            assert Path(name).stem in {*re.split(r"[ :.]", words), *imported}, (page, name)


def is_import(line: str) -> bool:
    return line.startswith(("import ", "from "))


def test_picture_of_the_tutorial_is_that_of_its_topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(tmp_path, monkeypatch)
    shell.save(files_of(TUTORIAL))
    printed = shell.run("kafka-groups streams topology words:build --mermaid", "")
    assert picture_of(TUTORIAL, "words.py").strip() == printed.strip()
