"""The result of a simulation."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted

__all__ = ["SimulationFailedError", "SimulationReport"]

_MOST_SHOWN = 10


@frozen
class SimulationReport:
    """The result of a simulation.

    Attributes:
        seed: The seed.
        violations: Events that must never happen, such as a record held by two members or never finished.
        faults: The number of times that each fault occurred, by its name in `SeededFaults`.
        produced: The number of produced records.
        accepted: The number of accepted records, over all groups.
        virtual_s: The duration of the run in virtual seconds.
        digest: A digest of every frame and event. Two runs of a seed have the same one.
    """

    seed: int
    violations: tuple[str, ...]
    faults: Mapping[str, int]
    produced: int
    accepted: int
    virtual_s: float
    digest: str


class SimulationFailedError(KafkaGroupsError, AssertionError):
    """A simulation ended with violations.

    Args:
        report: The result of the simulation.

    Attributes:
        report: The result of the simulation.
    """

    def __init__(self, report: SimulationReport) -> None:
        found = report.violations
        more = [f"… and {len(found) - _MOST_SHOWN} more"] if len(found) > _MOST_SHOWN else []
        super().__init__(
            "\n  ".join([f"{counted(len(found), 'violation')} with seed {report.seed}:", *found[:_MOST_SHOWN], *more])
        )
        self.report = report
