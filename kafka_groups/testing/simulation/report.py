"""What a simulation came to."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError

__all__ = ["SimulationFailedError", "SimulationReport"]

_MOST_SHOWN = 10


@frozen
class SimulationReport:
    """What a simulation came to.

    Attributes:
        seed: The seed.
        violations: What must never happen and did, such as a record that two members held, or that nobody finished.
        faults: How often each fault struck, by the name that it has in `SeededFaults`.
        produced: How many records were produced.
        accepted: How many records were accepted, over all groups.
        virtual_s: How long the run took, in virtual seconds.
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
        report: What it came to.

    Attributes:
        report: What it came to.
    """

    def __init__(self, report: SimulationReport) -> None:
        found = report.violations
        more = [f"… and {len(found) - _MOST_SHOWN} more"] if len(found) > _MOST_SHOWN else []
        super().__init__(
            "\n  ".join([f"{len(found)} violations with seed {report.seed}:", *found[:_MOST_SHOWN], *more])
        )
        self.report = report
