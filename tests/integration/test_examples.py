"""Every example runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ARGUMENTS = {"flights.py": ["--flights", "20000"]}


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(ARGUMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ARGUMENTS)
def test_example_ends_well(name: str) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *ARGUMENTS[name]]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False, env=environment)
    said = [line for line in done.stderr.splitlines() if not re.match(r"%\d\|", line)]  # librdkafka remarks on retries
    assert (done.returncode, said) == (0, []), done.stdout
    assert done.stdout.splitlines()[-1] == "The share group's result equals the plain computation."
