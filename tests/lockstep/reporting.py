"""Outcomes as text: steps that can be pasted into a test, and what differed."""

from collections import Counter

from tests.lockstep.running import Outcome


def report(outcome: Outcome) -> str:
    """One line if all was the same, else the steps and the differences of the last one."""
    met = ", ".join(f"{name} ({count})" for name, count in Counter(outcome.allowed).items())
    if outcome.is_same:
        return f"{len(outcome.steps)} steps alike" + (f"; allowed: {met}" if met else "")
    steps = "".join(f"\n    {step!r}," for step in outcome.steps)
    found = "".join(f"\n    {difference}" for difference in outcome.found)
    return f"different after {len(outcome.steps)} steps:{steps}\n  differences:{found}"
