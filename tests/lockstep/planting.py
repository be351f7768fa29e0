"""Defects planted in the embedded broker: random runs must find them, and shrink them to a few steps."""

from collections.abc import Callable

import pytest

from tests.lockstep.reporting import report
from tests.lockstep.running import Outcome, Replay, Source, TakeSteps
from tests.lockstep.shrinking import shrunk

__all__ = ["check_found_and_shrunk"]

_SHORT = 8
_SEEDS = 20


async def check_found_and_shrunk(run: TakeSteps, choose: Callable[[int], Source], patch: pytest.MonkeyPatch) -> None:
    """Check that some seed finds what is planted, with few steps, and that without it these steps are alike.

    Args:
        run: Takes steps on both clusters.
        choose: Makes the steps of a seed.
        patch: Has planted the defect, and is undone.
    """
    found = await shrunk(await _first_difference(run, choose), run)
    assert len(found.steps) <= _SHORT, report(found)
    patch.undo()
    assert (await run(Replay(found.steps))).is_same


async def _first_difference(run: TakeSteps, choose: Callable[[int], Source]) -> Outcome:
    for seed in range(_SEEDS):
        outcome = await run(choose(seed))
        if not outcome.is_same:
            return outcome
    raise AssertionError(f"{_SEEDS} seeds did not find it")
