"""Runs a seed in a process of its own, and says which of the planted defects some seeds find."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka_groups.testing.simulation import SimulationReport

__all__ = ["is_caught", "run_elsewhere"]

_ROOT = Path(__file__).parents[2]

RunWorld = Callable[..., SimulationReport]


def run_elsewhere(run: RunWorld, seed: int, *, hash_seed: int = 1, collector: str = "enable()") -> str:
    """The digest of a run in a process of its own, the first that runs there."""
    program = (
        f"import gc; gc.{collector}; from {run.__module__} import {run.__name__} as run; print(run({seed}).digest)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=100,
    )
    return ended.stdout.strip()


def is_caught(run: RunWorld, seeds: Sequence[int], first: int | None = None) -> bool:
    """Whether one of the seeds sees something wrong, or fails.

    Args:
        run: What to run.
        seeds: The seeds.
        first: The one that is known to see it. It is tried first, so that the others cost no time while it does.
    """
    for seed in sorted(seeds, key=lambda seed: seed != first):
        try:
            if run(seed).violations:
                return True
        except Exception:
            return True
    return False
