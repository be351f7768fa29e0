"""The report of a simulation, whether something was wrong or not."""

from collections.abc import Callable

from kafka_groups.testing.simulation import SimulationFailedError, SimulationReport

__all__ = ["report_of"]


def report_of(simulation: Callable[[], SimulationReport]) -> SimulationReport:
    """Run a simulation, and return its report, which may have violations."""
    try:
        return simulation()
    except SimulationFailedError as error:
        return error.report
