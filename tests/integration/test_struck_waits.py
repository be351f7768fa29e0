"""Signals at random moments end every way in which the main thread waits, while another thread is busy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.struck_waits import WAITS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "rounds",
    [
        2,
        pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(400)]),
        pytest.param(1_000, marks=[pytest.mark.long, pytest.mark.timeout(3_600)]),
    ],
)
def test_no_signal_is_missed(rounds: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.struck_waits", str(rounds), str(rounds)],
        cwd=ROOT, capture_output=True, text=True, timeout=60 + 3 * rounds, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lost = json.loads(done.stdout)
    assert len(lost) > len(WAITS)
    assert not any(lost.values()), lost
