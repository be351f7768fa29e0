"""Attempts: one call of a handler, as the handler, its middleware and traces see it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from contextvars import ContextVar

from attrs import define, field

from kafka_groups.errors import IllegalStateError
from kafka_groups.functions import ASYNC_GENERATOR_MANAGER, GENERATOR_MANAGER
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of
from kafka_groups.share.workers.rules.steps import InvokeHandler

__all__ = ["Attempt", "Middleware", "current_attempt", "entered_before", "set_current"]

Middleware = Callable[["Attempt"], AbstractContextManager[object] | AbstractAsyncContextManager[object]]
"""Returns a context manager around an attempt. Asynchronous ones are for handlers declared with `async def` only."""


@define(eq=False)
class Attempt:
    """One call of a handler.

    Attributes:
        handler: The name of the handler.
        group: The share group.
        client_id: The client id of the worker's consumer.
        records: The record, or the records of a batch.
        number: 1 for the first attempt with this delivery, 2 for the next, and so on; with retry topics, the attempts
            before count as well. Halves of a failed batch are further attempts.
        is_batch: Whether the handler gets a batch.
    """

    handler: str
    group: str
    client_id: str
    records: Sequence[AnyRecord]
    number: int = 1
    is_batch: bool = False
    _run: InvokeHandler[AnyRecord] | None = field(default=None, repr=False)

    @property
    def record(self) -> AnyRecord:
        """The record, or the first of a batch."""
        return self.records[0]

    @property
    def delivery_count(self) -> int:
        """The number of deliveries of the record, this one included."""
        return self.record.delivery_count

    @property
    def origin(self) -> RecordOrigin:
        """The place of the record, or of the first of a batch, in the topic that the handler first got it from.

        It stays the same when the record moves through retry topics, so it identifies the record, for example to notice
        that its work was done before.
        """
        return origin_of(self.record)

    @property
    def origins(self) -> Sequence[RecordOrigin]:
        """The origins of all records, in their order."""
        return tuple(map(origin_of, self.records))

    @property
    def lock_lost(self) -> bool:
        """True once the lock of a record was lost: another worker may be processing it."""
        lost = self._run.lost if self._run is not None else ()
        return any((delivery_of(record).topic_partition, record.offset) in lost for record in self.records)


_CURRENT: ContextVar[Callable[[], Attempt] | None] = ContextVar("kafka_groups_attempt", default=None)


def current_attempt() -> Attempt:
    """Return the attempt that runs in this thread or task.

    Raises:
        IllegalStateError: No handler runs here.
    """
    attempt = _CURRENT.get()
    if attempt is None:
        raise IllegalStateError("current_attempt() is for handlers of a Worker, while they run")
    return attempt()


def set_current(attempt: Callable[[], Attempt] | None) -> None:
    """Set what `current_attempt` returns in this thread or task. For the worker only."""
    _CURRENT.set(attempt)


def entered_before(manager: object) -> str | None:
    """Return what is wrong with a context manager that cannot be entered again; None if it can be entered.

    Other objects may be shared, and often are: a lock, a pool, a tracker of what is in progress. Only those made from a
    generator are known to serve once. They forget their arguments when they are entered.
    """
    if not isinstance(manager, (GENERATOR_MANAGER, ASYNC_GENERATOR_MANAGER)) or hasattr(manager, "args"):
        return None
    return (
        "returned the same context manager again, which was entered before and serves only once: call the function that"
        " is decorated with contextmanager or asynccontextmanager"
    )
