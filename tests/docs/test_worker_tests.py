"""The documentation's tests of workers pass, and have the types that they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, programs

PROGRAMS = [program for program in programs() if program.page == ROOT / "docs" / "how-to" / "test-workers.md"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of tests for each program."""
    for number, program in enumerate(PROGRAMS):
        code = program.code.replace('pytest_plugins = ["kafka_groups.testing.pytest_plugin"]\n', "")
        (tmp_path / f"test_program_{number}.py").write_text(f"# {program}\n{code}")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["kafka_groups.testing.pytest_plugin"]\n')
    return tmp_path


def run(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_all_tests_of_the_page_pass(folder: Path) -> None:
    shown = sum(program.code.count("\ndef test_") for program in PROGRAMS)
    assert shown >= 9
    done = run(folder, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", str(folder))
    assert f"{shown} passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_they_have_the_types_that_they_say(folder: Path) -> None:
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    done = run(folder, "mypy", "--strict", *settings, *sorted(path.name for path in folder.glob("test_*.py")))
    assert done.returncode == 0, done.stdout + done.stderr
