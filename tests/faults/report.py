"""What came of a run, and what must hold of it."""

from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import frozen

from tests.faults.ledger import Key, Ledger
from tests.faults.plan import DELIVERY_LIMIT, Kind, Plan


@frozen
class Report:
    """One run.

    Attributes:
        plan: What was to happen.
        seconds: How long it took.
        produced: How many records there were.
        lost: Records that are not in the sink.
        strange: Rows of the sink that nobody produced, or with another value.
        lag: What the group has still to deliver to an end; None when it is not known.
        redelivered: How many records came more than once.
        rewrites: How many rows were written although they were there.
        highest_delivery_count: Of any record.
        struck: Which faults have struck, and how often.
        failures: What the pipeline failed with and was started again after.
        problems: What else must not be.
    """

    plan: Plan
    seconds: float
    produced: int
    lost: tuple[Key, ...]
    strange: tuple[Key, ...]
    lag: int | None
    redelivered: int
    rewrites: int
    highest_delivery_count: int
    struck: Counter[Kind]
    failures: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def violations(self) -> list[str]:
        """What breaks the promise; nothing does, in a good run."""
        found = list(self.problems)
        if self.lost:
            found.append(f"{len(self.lost)} of {self.produced} records are lost, such as {self.lost[:3]}")
        if self.strange:
            found.append(f"{len(self.strange)} rows of the sink are not what was produced, such as {self.strange[:3]}")
        if self.lag != 0:
            found.append(f"{self.lag} records are left in the group")
        if self.plan.delivery_limit == DELIVERY_LIMIT <= self.highest_delivery_count:
            found.append(f"a record was delivered {self.highest_delivery_count} times, the limit is {DELIVERY_LIMIT}")
        return found

    def line(self) -> str:
        """The run in one line."""
        plan = self.plan
        verdict = "; ".join(self.violations) or "nothing lost"
        struck = ", ".join(f"{kind} {count}" for kind, count in sorted(self.struck.items())) or "no fault"
        return (
            f"{plan.design} on {plan.broker}, seed {plan.seed} ({plan.mode}, {plan.master}): {self.seconds:.1f} s, "
            f"{self.produced} produced, {self.redelivered} redelivered, {self.rewrites} written again, at most "
            f"{self.highest_delivery_count} deliveries; {struck}; {verdict}"
        )


def judge(ledger: Ledger, produced: Mapping[Key, bytes]) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
    """The keys that are missing in the sink, and those that are wrong there."""
    values = ledger.values()
    lost = tuple(sorted(produced.keys() - values.keys()))
    strange = tuple(sorted(key for key, value in values.items() if produced.get(key) != value))
    return lost, strange


def table(struck: Mapping[Kind, int], expected: Iterable[Kind] = Kind) -> str:
    """Classes of faults and how often each struck."""
    return "\n".join(f"  {struck.get(kind, 0):5}  {kind}" for kind in expected)
