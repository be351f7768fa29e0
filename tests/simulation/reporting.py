"""The report of a simulation, whether something was wrong or not."""

from collections.abc import Callable

from kafka_groups.testing.simulation import SimulationFailedError, SimulationReport

__all__ = ["explained", "report_of"]

_MOST_SHOWN = 10


def report_of(simulation: Callable[[], SimulationReport]) -> SimulationReport:
    """Run a simulation, and return its report, which may have violations."""
    try:
        return simulation()
    except SimulationFailedError as error:
        return error.report


def explained(report: SimulationReport, option: str = "") -> str:
    """Return how to run a seed again, with an option of the command, and what was wrong."""
    shown = "".join(f"\n  {violation}" for violation in report.violations[:_MOST_SHOWN])
    again = " ".join(["python -m tests.simulation", *([option] if option else []), str(report.seed)])
    return f"{len(report.violations)} violations (run it again: {again}){shown}"
