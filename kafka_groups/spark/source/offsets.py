"""The offset in the checkpoint of a query: the number of the batch, and the run that made it."""

from collections.abc import Mapping
from typing import Self

from attrs import frozen

from kafka_groups.errors import IllegalStateError

__all__ = ["SourceOffset"]

_VERSION = 1


@frozen
class SourceOffset:
    """The end of a batch.

    A query cannot go back to an offset of a share group: unacknowledged records are redelivered. So this offset only
    counts batches, and names the run of the source that holds the locks of the records.

    Attributes:
        seq: Number of the batch, in the order of the query; 0 is before the first.
        run: Id of the run, that is, of one source runner process, from the start of a query to its end.
        failures: How many runs in a row before this one ended without finishing a batch.
    """

    seq: int
    run: str
    failures: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the value that Spark writes to the checkpoint."""
        offset: dict[str, object] = {"v": _VERSION, "seq": self.seq, "run": self.run}
        return {**offset, "failures": self.failures} if self.failures else offset

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Self:
        """Read an offset from a checkpoint.

        Raises:
            IllegalStateError: Another source, or another version of this one, wrote it.
        """
        version, seq, run, failures = value.get("v"), value.get("seq"), value.get("run"), value.get("failures", 0)
        if not (isinstance(seq, int) and isinstance(run, str) and isinstance(failures, int)) or version != _VERSION:
            raise IllegalStateError(
                f"{dict(value)} is not an offset of the source kafka-share (version {_VERSION}). The checkpoint is of"
                " another source or to a newer release; use the release that wrote it, or another checkpointLocation"
            )
        return cls(seq, run, failures)
