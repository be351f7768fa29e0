"""Controls: designs that look right must be seen to lose or strand records, or the other runs prove nothing."""

import attrs
import pytest

from tests.faults.drivers import Drivers
from tests.faults.handling import Job
from tests.faults.harness import run_plan
from tests.faults.plan import ONCE, Fault, Kind, Plan, Point
from tests.faults.targets import Target

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.spark,
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.parametrize("target", ["embedded"], indirect=True),
]

_SMALL = Plan(
    "naive", "embedded", 0, records=300, records_per_batch=100, partitions=1, max_records=100, tasks=1, mode=ONCE,
    sub_batches=1,
)  # fmt: skip


def test_polling_in_read_loses_what_a_second_action_reads(target: Target, drivers: Drivers) -> None:
    twice = Fault(Kind.DOUBLE_ACTION, Point.BATCH, after_calls=0)
    plan = attrs.evolve(_SMALL, design="naive-read", faults=(twice,))

    report = run_plan(plan, target, drivers)

    assert report.struck == {Kind.DOUBLE_ACTION: 1}
    assert report.failures == ()
    assert report.lag is not None
    # At least what one poll brings is neither in the sink nor in the group. On a busy machine the query ends early.
    assert len(report.lost) - report.lag >= 100, report.line()


def test_acknowledging_in_commit_strands_the_last_batch_without_any_fault(target: Target, drivers: Drivers) -> None:
    report = run_plan(attrs.evolve(_SMALL, design="naive-commit"), target, drivers)

    assert report.failures == ()
    assert report.lost == ()
    assert report.lag == 100, report.line()


def test_acknowledging_in_commit_loses_what_a_restart_reads_again(target: Target, drivers: Drivers) -> None:
    """The sink skips a micro-batch that it has; what came in it the second time is acknowledged all the same."""
    fails = Fault(Kind.RAISES_BETWEEN, Point.AFTER, after_calls=0)
    plan = attrs.evolve(_SMALL, design="naive-commit", faults=(fails,))

    report = run_plan(plan, target, drivers, changes=(_skipping, _with_larger_batches))

    assert report.struck == {Kind.RAISES_BETWEEN: 1}
    assert len(report.lost) >= 100, report.line()  # more if the machine is busy, as for a poll above
    assert report.lag is not None
    assert report.lag >= 100


def _skipping(job: Job) -> Job:
    return attrs.evolve(job, once_per_batch=True)


def _with_larger_batches(job: Job) -> Job:
    return attrs.evolve(job, once_per_batch=True, max_records=2 * job.max_records)
