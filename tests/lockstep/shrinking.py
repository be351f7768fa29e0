"""Makes the steps of a run fewer, as long as both clusters still answer differently in the end."""

from tests.lockstep.running import Outcome, Replay, TakeSteps

_MOST_RUNS = 150


async def shrunk(outcome: Outcome, run: TakeSteps, most_runs: int = _MOST_RUNS) -> Outcome:
    """The shortest run that was found with a difference in the same fields.

    Blocks of steps are left out, large ones first, and each run ends at its first difference.
    """
    size, runs = max(len(outcome.steps) // 2, 1), 0
    while size >= 1 and runs < most_runs:
        smaller = None
        for at in range(0, len(outcome.steps) - 1, size):
            runs += 1
            tried = await run(Replay([*outcome.steps[:at], *outcome.steps[at + size :]]))
            if tried.kind & outcome.kind:
                smaller = tried
                break
        if smaller is None:
            size //= 2
        else:
            outcome, size = smaller, min(size, max(len(smaller.steps) // 2, 1))
    return outcome
