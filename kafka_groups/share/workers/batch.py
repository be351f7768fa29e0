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
    """

    def __init__(self, values: Sequence[V], records: Sequence[ShareRecord[bytes, Any]]) -> None:
        self._values = values
        self._records = records
        self._decided: dict[int, Exception] = {}
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

    def _decide(self, index: object, error: Exception) -> None:
        # The records may be settled already, and a decision that comes too late must not be dropped in silence.
        if self._is_over:
            raise IllegalStateError("the batch handler has returned: decide about records before it returns")
        if isinstance(index, bool) or not isinstance(index, int) or not -len(self) <= index < len(self):
            raise ConfigurationError(f"index={index!r}: the batch has the positions 0 to {len(self) - 1}")
        # Negative positions count from the end, as in any sequence. The last decision about a record counts.
        self._decided[index % len(self)] = error

    def end(self) -> Mapping[int, Exception]:
        """Make the decisions final, and return them by position. For the worker only."""
        self._is_over = True
        return self._decided
