"""The argument of a batch handler: values, their records, and decisions about single ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.share.delivery.records import ShareRecord
from kafka_groups.share.workers.rules.failures.signals import Reject, Retry

__all__ = ["Batch"]

V = TypeVar("V")


class Batch(Sequence[V], Generic[V]):
    """The values of some records. When the handler returns, all records that it did not decide about are accepted.

    If the handler raises, its decisions are undone, and the batch is run again in halves, to find the bad record.

    Args:
        values: The parsed values.
        records: Their records.
        has_outputs: Whether the handler has an `output`, so that `output` may be called.
    """

    def __init__(
        self, values: Sequence[V], records: Sequence[ShareRecord[bytes, Any]], *, has_outputs: bool = True
    ) -> None:
        self._values = values
        self._records = records
        self._has_outputs = has_outputs
        self._decided: dict[int, Exception] = {}
        self._outputs: dict[int, list[object]] = {}
        self._is_over = False

    def __repr__(self) -> str:
        return f"<Batch of {len(self)} records>"

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[V]:
        return iter(self._values)

    @overload
    def __getitem__(self, index: int) -> V: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[V]: ...

    def __getitem__(self, index: int | slice) -> V | Sequence[V]:
        return self._values[index]

    @property
    def records(self) -> Sequence[ShareRecord[bytes, Any]]:
        """The records, in the order of the values, with keys, headers and delivery counts."""
        return self._records

    def retry(self, index: int, error: Exception | str | None = None, *, after: float | None = None) -> None:
        """Have one record retried, in a later batch.

        Args:
            index: Its position in the batch.
            error: Why: an error, which the rules of the handler judge as if the handler had raised it; or a reason.
            after: Seconds to wait, as for `Retry`; None waits as the handler's `retries` say.

        Raises:
            ConfigurationError: There is no such position, or another argument is invalid.
            IllegalStateError: The handler has returned.
        """
        if isinstance(error, Exception):
            self._decide(index, error)
        # A class would end up as the text of a `Retry`, and no rule for it would apply.
        elif isinstance(error, type):
            raise ConfigurationError(f"error={error.__name__} is a class: give an error, as in {error.__name__}(…)")
        else:
            self._decide(index, Retry(error or "the handler asked for a retry", after=after))

    def reject(self, index: int, reason: str = "rejected by the handler") -> None:
        """Reject one record: it is copied to the dead-letter topic if there is one, and never redelivered.

        Raises:
            ConfigurationError: There is no such position.
            IllegalStateError: The handler has returned.
        """
        self._decide(index, Reject(reason))

    def output(self, index: int, *records: object) -> None:
        """Write results for one record, to the `output` of the handler. The record is accepted when they are confirmed.

        They are dropped if the record is retried or rejected, or if the handler raises. Several calls for a record add
        to each other.

        Args:
            index: Its position in the batch.
            *records: Values, or `ProducerRecord`s. None writes nothing.

        Raises:
            ConfigurationError: There is no such position, or the handler has no `output`.
            IllegalStateError: The handler has returned.
        """
        if not self._has_outputs:
            raise ConfigurationError(
                f"batch.output({index!r}, ...): the handler has no output: declare one with"
                ' @worker.batch_handler(..., output="topic")'
            )
        self._outputs.setdefault(self._position(index), []).extend(records)

    def _decide(self, index: object, error: Exception) -> None:
        # The last decision about a record counts.
        self._decided[self._position(index)] = error

    def _position(self, index: object) -> int:
        # The records may be settled already, and a decision that comes too late must not be dropped in silence.
        if self._is_over:
            raise IllegalStateError("the batch handler has returned: decide about records before it returns")
        if isinstance(index, bool) or not isinstance(index, int) or not -len(self) <= index < len(self):
            raise ConfigurationError(f"index={index!r}: the batch has the positions 0 to {len(self) - 1}")
        return index % len(self)  # negative positions count from the end, as in any sequence

    def end(self) -> Mapping[int, Exception]:
        """Make the decisions final, and return them by position. For the worker only."""
        self._is_over = True
        return self._decided

    def outputs(self) -> Mapping[int, list[object]]:
        """Return the results to write, by position, without those of records that are retried or rejected.

        For the worker only.
        """
        return {index: records for index, records in self._outputs.items() if index not in self._decided}
