"""Counts records that were delivered, accepted, redelivered and lost, and checks the counts."""

from collections.abc import Iterator, Mapping

from attrs import define, frozen

from kafka_groups.cli.demo.flights import Delays

__all__ = ["PlainOutcome", "PlainTally"]


@define
class PlainTally:
    """The numbers of records that the workers have reported.

    Attributes:
        delivered: Deliveries to workers. A record that was delivered twice counts twice.
        redelivered: Deliveries of records that had been delivered before.
        accepted: Records whose acceptance the broker confirmed.
        failed: Acknowledgements that the broker refused, or whose result is unknown.
        held: Records that the killed worker had not acknowledged.
    """

    delivered: int = 0
    redelivered: int = 0
    accepted: int = 0
    failed: int = 0
    held: int = 0

    def add(self, report: Mapping[str, int]) -> None:
        """Add the numbers of a report."""
        for name, records in report.items():
            setattr(self, name, getattr(self, name) + records)

    @property
    def in_flight(self) -> int:
        """Records that the running workers hold."""
        return self.delivered - self.accepted - self.failed - self.held


@frozen(kw_only=True)
class PlainOutcome:
    """The results of a run: the counts, and the delays as computed by the workers and as expected."""

    published: int
    stored: int
    delivered: int
    accepted: int
    redelivered: int
    computed: tuple[Mapping[str, Delays], Mapping[str, Delays]]
    expected: tuple[Mapping[str, Delays], Mapping[str, Delays]]

    @property
    def lost(self) -> int:
        """Published records that no worker stored."""
        return self.published - self.stored

    @property
    def holds(self) -> bool:
        """True if every record is accounted for, the kill took place, and the delays are exactly right."""
        return not any(self.faults())

    def faults(self) -> Iterator[str]:
        """Return what is wrong, in words."""
        if self.lost:
            yield f"{self.lost:,} published records were not stored"
        if self.accepted != self.published:
            yield f"{self.accepted:,} of {self.published:,} published records were accepted"
        if not self.redelivered:
            yield "no record was redelivered, so the kill had no effect"
        if self.computed != self.expected:
            yield "the delays differ from those of the plain computation"
