"""The documentation's programs with topologies and workers pass `mypy --strict`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, files_of, programs

TYPED = ("StreamsBuilder()", "Topology()", "Worker(", "WorkerTestDriver(")
CHECKED = [program for program in programs() if any(name in program.code for name in TYPED)]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def check(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Check the files of a folder, with the settings of this project."""
    names = sorted(path.name for path in folder.glob("*.py"))
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    command = [sys.executable, "-m", "mypy", "--strict", *settings, *names]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_programs_have_the_types_that_they_say(tmp_path: Path) -> None:
    for name in TYPED:
        assert any(name in program.code for program in CHECKED), name
    for number, program in enumerate(CHECKED):
        (tmp_path / f"program_{number}.py").write_text(f"# {program}\n{program.code}")
    for page in PAGES:
        for name, content in files_of(page).items():
            (tmp_path / name).write_text(content)
    done = check(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "wrong.py").write_text("import words\n\nwords.build().describe().no_such_method()\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert 'wrong.py:3: error: "str" has no attribute "no_such_method"' in done.stdout
