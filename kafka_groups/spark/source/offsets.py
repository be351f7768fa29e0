"""What Spark keeps in the checkpoint of a query that reads a share group: which batch it was, and whose."""

from collections.abc import Mapping
from typing import Self

from attrs import frozen

from kafka_groups.errors import IllegalStateError

__all__ = ["SourceOffset"]

_VERSION = 1


@frozen
class SourceOffset:
    """The end of a batch.

    A share group has no offsets of its own that a query could go back to: what is not acknowledged is delivered
    again. So an offset only counts the batches, and names the run of the source that holds the locks of its records.

    Attributes:
        seq: Number of the batch, in the order of the query; 0 is before the first.
        run: Id of the run: of one source runner process, from the start of a query to its end.
        failures: How many runs in a row before this one ended without finishing a batch.
    """

    seq: int
    run: str
    failures: int = 0

    def to_json(self) -> dict[str, object]:
        """What Spark writes into the checkpoint."""
        offset: dict[str, object] = {"v": _VERSION, "seq": self.seq, "run": self.run}
        return {**offset, "failures": self.failures} if self.failures else offset

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Self:
        """The offset that was written into a checkpoint.

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
