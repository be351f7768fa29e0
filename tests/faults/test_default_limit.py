"""With Kafka's default of five deliveries: outages of the sink, stops at every stage, and records that kill workers."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.faults.drivers import Drivers
from tests.faults.harness import run_plan
from tests.faults.plan import IN_DRIVER, IN_TASK, KAFKAS_DELIVERY_LIMIT, Fault, Kind, Plan, Point
from tests.faults.targets import Target

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(900)]

_MODES = {"workers": "query", "source": "processing-time"}
_STALL_S = 500.0
_SHORT_BACKOFF_MS = 50
"""After five stops in a row the waits would be minutes."""
"""A source that has seen four runs fail waits for three minutes."""


def _plan(design: str, name: str, *faults: Fault, is_long: bool = False, **changes: Any) -> Any:
    plan = Plan(
        design=design,
        broker="embedded",
        seed=1,
        mode=_MODES[design],
        records=600,
        sub_batches=1,
        faults=faults,
        delivery_limit=KAFKAS_DELIVERY_LIMIT,
        **changes,
    )
    return pytest.param(plan, id=f"{design}-{name}", marks=[pytest.mark.long] if is_long else [])


def _outage(design: str, lasts_s: int) -> Any:
    fault = Fault(Kind.SINK_AWAY, Point.BEFORE, after_calls=2, lasts_ms=1_000 * lasts_s)
    return _plan(design, f"outage-{lasts_s}s", fault, is_long=lasts_s != 3)


def _stops(kind: Kind, points: Sequence[Point]) -> tuple[Fault, ...]:
    return tuple(Fault(kind, point, after_calls=1 + number) for number, point in enumerate(points))


PLANS = (
    _outage("workers", 3),
    _outage("workers", 10),
    _outage("workers", 60),
    _outage("source", 3),
    _outage("source", 10),
    _outage("source", 60),
    _plan("workers", "poison", poison=333),
    _plan("source", "poison", poison=333, is_long=True),
    _plan("workers", "stops", *_stops(Kind.QUERY_STOPPED, (*IN_DRIVER, *IN_TASK))),
    _plan(
        "source",
        "stops",
        *_stops(Kind.QUERY_STOPPED, (*IN_DRIVER, *IN_TASK)),
        backoff_ms=_SHORT_BACKOFF_MS,
    ),
    _plan(
        "source",
        "SIGTERM",
        *_stops(Kind.RUNNER_TERMINATED, (*IN_DRIVER, *IN_TASK)),
        backoff_ms=_SHORT_BACKOFF_MS,
    ),
    _plan(
        "source",
        "outage-and-stops",
        Fault(Kind.SINK_AWAY, Point.BEFORE, lasts_ms=3_000),
        *_stops(Kind.QUERY_STOPPED, IN_TASK),
    ),
)


@pytest.mark.parametrize("target", ["embedded"], indirect=True)
@pytest.mark.parametrize("plan", PLANS)
def test_no_record_is_lost_without_a_copy(target: Target, plan: Plan, drivers: Drivers) -> None:
    report = run_plan(plan, target, drivers, stall_s=_STALL_S)
    print(report.line())  # noqa: T201 - shown with -rP, and when it fails
    assert not report.violations, "\n  ".join([report.line(), *report.failures, *report.violations])
    planned = {fault.kind for fault in plan.faults} | ({Kind.POISON} if plan.poison is not None else set())
    assert planned <= set(report.struck), "a fault that does not strike tests nothing"
