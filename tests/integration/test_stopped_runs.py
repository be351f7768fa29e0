"""A run of these tests that is stopped tells what it was at."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = """
import threading
from pathlib import Path

def test_fails() -> None:
    while not Path("hangs").exists():
        threading.Event().wait(0.01)
    assert "apples" == "pears"

def test_hangs() -> None:
    Path("hangs").touch()
    threading.Event().wait(60)
"""


@pytest.mark.slow
def test_a_run_that_is_stopped_shows_failures_and_what_hangs(tmp_path: Path) -> None:
    test = tmp_path / "tests" / "test_stopped.py"
    test.parent.mkdir()
    test.write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-n", "2", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={tmp_path}"]
    command += ["-p", "tests.conftest", "-p", "no:cacheprovider", str(test)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        before: list[str] = []
        while "failed in its call" not in (line := run.stdout.readline()):
            assert line, before
            before.append(line)
        run.send_signal(signal.SIGTERM)
        after = run.stdout.read()
    assert "apples" in after
    assert "still running: tests/test_stopped.py::test_hangs" in after
    assert "in test_hangs" in after, "the stack of its process"
    assert "1 failed" in after
