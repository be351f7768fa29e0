"""The designs under faults that are drawn from seeds: nothing is lost, and no record is used up by us."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.faults.conftest import Struck
from tests.faults.drivers import Drivers
from tests.faults.harness import run_plan
from tests.faults.plan import DESIGNS, classes_of, draw
from tests.faults.report import Report, table
from tests.faults.targets import Target

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]


def _explain(report: Report) -> str:
    plan = report.plan
    again = f"run it again: python -m tests.faults {plan.design} {plan.seed} --broker {plan.broker}"
    return "\n  ".join([f"{report.line()}\n{again}", *map(str, plan.faults), *report.failures, *report.violations])


def test_nothing_is_lost_whatever_strikes(
    target: Target, fault_design: str, fault_seed: int, drivers: Drivers, struck: Struck
) -> None:
    report = run_plan(draw(fault_design, target.kind, fault_seed), target, drivers)

    struck.setdefault((target.kind, fault_design), Counter()).update(report.struck)
    print(report.line())  # noqa: T201 - shown with -rP, and when it fails
    assert not report.violations, _explain(report)
    assert report.produced == report.plan.records


def test_every_class_of_fault_struck(
    fault_broker: str,
    struck: Struck,
    pytestconfig: pytest.Config,
    record_property: Callable[[str, object], None],
) -> None:
    """In the seeds before, where there were enough of them for every class to be a main fault."""
    few = pytestconfig.getoption("--fault-seeds") < 20
    missing = []
    for design in DESIGNS:
        counts, classes = struck.get((fault_broker, design), Counter()), classes_of(design, fault_broker)
        record_property("to_show", f"faults that struck {design} on {fault_broker}:\n{table(counts, classes)}")
        missing += [f"{fault_broker} {design}: {kind}" for kind in classes if not counts[kind]]
    assert few or not missing, missing
