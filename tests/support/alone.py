"""Run a check in a process of its own, which nothing that other tests left behind disturbs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["alone"]

_ROOT = Path(__file__).parents[2]
_WITHIN_S = 100


def alone(check: Callable[[], None]) -> None:
    """Run a function of a module, such as a check of what is open. Its warnings are errors.

    Clients of other tests that still end, and their native threads, open and close descriptors at any time.

    Raises:
        AssertionError: It has raised an error, or has written to standard error, as Python does about a leak.
    """
    program = f"from {check.__module__} import {check.__qualname__} as check; check()"
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
