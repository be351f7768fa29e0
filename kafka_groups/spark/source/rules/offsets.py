"""The offset in the checkpoint of a query: the number of the batch, and the run that made it."""

from collections.abc import Mapping
from typing import Self

from attrs import frozen

from kafka_groups.errors import IllegalStateError

__all__ = ["SourceOffset"]

_VERSION = 1
_COUNTS = ("failures", "deliveries", "since")


@frozen
class SourceOffset:
    """The end of a batch.

    A query cannot go back to an offset of a share group: unacknowledged records are redelivered. So this offset only
    counts batches, and names the run of the source that holds the locks of the records.

    Attributes:
        seq: Number of the batch, in the order of the query; 0 is before the first.
        run: Id of the run, that is, of one source runner process, from the start of a query to its end.
        failures: The number of consecutive runs before this one that ended without finishing a batch.
        deliveries: The highest delivery count of the records in hand when the batch was sealed. If the run fails, they
            come with the next higher one.
        failing_since_ms: Time of day when runs began to fail; 0 if none failed.
        is_mark: Whether the batch is empty and only keeps all this, because the run waits. It is not a failed run if it
            ends before Spark has finished the batch.
    """

    seq: int
    run: str
    failures: int = 0
    deliveries: int = 0
    failing_since_ms: int = 0
    is_mark: bool = False

    def to_json(self) -> dict[str, object]:
        """Return the value that Spark writes to the checkpoint."""
        offset: dict[str, object] = {"v": _VERSION, "seq": self.seq, "run": self.run}
        more = {
            "failures": self.failures,
            "deliveries": self.deliveries,
            "since": self.failing_since_ms,
            "mark": self.is_mark,
        }
        # Zeros are left out, so that the offsets of a query without failures stay short in the checkpoint.
        return {**offset, **{name: value for name, value in more.items() if value}}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Self:
        """Read an offset from a checkpoint.

        Raises:
            IllegalStateError: Another source, or another version of this one, wrote it.
        """
        version, seq, run = value.get("v"), value.get("seq"), value.get("run")
        given = [value.get(name, 0) for name in _COUNTS]
        counts = tuple(count for count in given if isinstance(count, int))
        if not (isinstance(seq, int) and isinstance(run, str)) or list(counts) != given or version != _VERSION:
            raise IllegalStateError(
                f"{dict(value)} is not an offset of the source kafka-share (version {_VERSION}). The checkpoint belongs"
                " to another source or to a newer release; use the release that wrote it, or another checkpointLocation"
            )
        failures, deliveries, since_ms = counts
        return cls(seq, run, failures, deliveries, since_ms, bool(value.get("mark")))
