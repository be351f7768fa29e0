"""Makes a script shorter, as long as something still fails with it."""

from collections.abc import Callable, Sequence

from tests.topologies.scripts import Script, Step

__all__ = ["shrunk", "written_out"]

_MOST_RUNS = 300


def shrunk(script: Script, fails: Callable[[Script], bool]) -> tuple[Step, ...]:
    """The shortest script that was found with which it fails. Leaves out blocks of steps, large ones first.

    Args:
        script: A script with which it fails.
        fails: Whether it fails with another script.
    """
    steps, size, runs = tuple(script), max(len(script) // 2, 1), 0
    while size and runs < _MOST_RUNS:
        for start in range(0, len(steps), size):
            shorter = steps[:start] + steps[start + size :]
            runs += 1
            if fails(shorter):
                steps = shorter
                break
        else:
            size //= 2
    return steps


def written_out(script: Sequence[Step]) -> str:
    """A script as Python has it, a step a line."""
    return "\n".join(f"    {step!r}," for step in script)
