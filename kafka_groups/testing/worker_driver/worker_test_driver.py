"""Runs a worker's handlers in memory, in virtual time."""

import asyncio
import enum
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from types import MappingProxyType, TracebackType
from typing import Self

from attrs import evolve

from kafka_groups.config.clients.timeouts import checked_seconds
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.errors.texts import counted
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.health import HAS_STOPPED, Health, stopped_health
from kafka_groups.share.workers.lifespans import enter_lifespan
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.running.checks.preflight import check_group_dead_letters
from kafka_groups.share.workers.running.handler_group import HandlerGroup
from kafka_groups.share.workers.running.opened_dependencies import open_dependencies
from kafka_groups.share.workers.worker import Worker, parts_of
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.worker_driver.deliveries import Outcome, WorkerDelivery
from kafka_groups.testing.worker_driver.handler import DrivenHandler, DriverStage, driven_handlers
from kafka_groups.testing.worker_driver.handler_loop import HandlerLoop
from kafka_groups.testing.worker_driver.overrides import DependencyOverrides, with_overrides
from kafka_groups.testing.worker_driver.records import (
    GivenHeaders,
    LogContent,
    RawValue,
    RecordLog,
    content_of,
    content_of_record,
    delivered,
)
from kafka_groups.testing.worker_driver.turning import WorkerTurns
from kafka_groups.testing.worker_driver.written_records import WrittenRecord, WrittenRecords

__all__ = ["WorkerTestDriver"]

_DEFAULT_LIMIT = 5
_DEFAULT_LOCKS = 2_000
_NAMED_AT_MOST = 10
_NO_OVERRIDES: DependencyOverrides = MappingProxyType({})
_SURROUNDINGS = "the worker's lifespan or a dependency"


class _Missing(enum.Enum):
    VALUE = "value"


class _EvenRandom(random.Random):
    """Draws the middle of each range, so that waits have no jitter."""

    def random(self) -> float:
        return 0.5


class WorkerTestDriver:
    """Runs the handlers of a worker in memory: no broker, no network, and virtual time.

    Parsing, middleware, retries, dead letters, key order, batches and the breaker are those of production. You take the
    place of the brokers: you deliver records, and let time pass.

    ```python
    with WorkerTestDriver(worker) as test:
        payment = test.deliver("payments", Payment(5), key=b"ann")
        test.advance(seconds=30)
        assert (payment.outcome, payment.attempts) == (Outcome.ACCEPTED, 2)
    ```

    Each method returns when the worker has done everything that it can do at that time. Handlers declared with `def`
    run in the thread of the test, one call after the other; no virtual time passes while they run. Those declared with
    `async def` run on a private event loop, and `asyncio.sleep` takes virtual time. The lifespan is entered with the
    `with` block. Locks are always renewed, and acknowledgements are confirmed at once.

    Args:
        worker: The worker. It must not run.
        delivery_limit: The group's `share.delivery.count.limit`.
        record_locks: The group's `share.partition.max.record.locks`.
        group_dead_letters: The group's own dead-letter topic (`errors.deadletterqueue.topic.name`), if it has one.
        seed: The seed of jitter. None leaves jitter out: waits have exactly their nominal length.
        overrides: Factories that handlers inject, and those that are called instead, as in
            `{open_database: open_fake}`. A replacement injects what its own parameters say, not what the original does.

    Raises:
        ConfigurationError: The worker has no handler, a handler does not fit the group, nothing injects an overridden
            factory, or a replacement does not fit.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        delivery_limit: int = _DEFAULT_LIMIT,
        record_locks: int = _DEFAULT_LOCKS,
        group_dead_letters: str | None = None,
        seed: int | None = None,
        overrides: DependencyOverrides = _NO_OVERRIDES,
    ) -> None:
        _check_positive("delivery_limit", delivery_limit)
        _check_positive("record_locks", record_locks)
        self._parts = parts_of(worker)
        if not self._parts.handlers:
            raise ConfigurationError(f"{worker!r}: declare a handler with @worker.handler(topic) before you test it")
        self._specs = with_overrides(self._parts.handlers, overrides)
        for spec in self._specs:
            check_group_dead_letters(spec, self._parts.settings.group_id, group_dead_letters)
        self._worker = worker
        self._group = HandlerGroup(delivery_limit, record_locks, group_dead_letters)
        self._rng = _EvenRandom() if seed is None else random.Random(seed)
        self._written = WrittenRecords()
        self._log = RecordLog()
        self._stage: DriverStage | None = None
        self._exit_stack = AsyncExitStack()
        self._handlers: dict[str, DrivenHandler] = {}
        self._turns: WorkerTurns | None = None

    def __repr__(self) -> str:
        return f"<WorkerTestDriver of {self._worker!r}>"

    # ------------------------------------------------------------------------------------------- opening

    def __enter__(self) -> Self:
        """Enter the worker's lifespan, and make the dependencies that live as long as a process.

        Raises:
            IllegalStateError: It was entered before, or an event loop runs in this thread.
            WorkerTestError: The lifespan or a dependency waits for something that does not happen here.
        """
        if self._stage is not None:
            raise IllegalStateError(f"{self!r} was entered before: make a new one for each test")
        _check_no_loop()
        self._stage = stage = self._new_stage()
        try:
            self._set_up(stage)
        except BaseException:  # of the user's lifespan or factories, or Ctrl-C: the loop must not stay open
            stage.loop.end()
            raise
        return self

    def _new_stage(self) -> DriverStage:
        loop = HandlerLoop()
        return DriverStage(
            settings=self._parts.settings,
            group=self._group,
            clock=VirtualClock(loop),
            loop=loop,
            rng=self._rng,
            written=self._written,
            gate=ProcessGate(),
            log=self._log,
        )

    def _set_up(self, stage: DriverStage) -> None:
        for topic in (*self._dead_letter_topics, *self._output_topics, *self._retry_topics):
            self._written.add_topic(topic)
        self._turns = stage.loop.complete(self._enter_surroundings(stage), _SURROUNDINGS)

    async def _enter_surroundings(self, stage: DriverStage) -> WorkerTurns:
        """Enter what is around the handlers, and make these, in the order of production."""
        async with AsyncExitStack() as stack:
            await enter_lifespan(stack, self._parts.lifespan)
            opened = await open_dependencies(stack, self._specs)
            furnished = evolve(stage, settings=evolve(stage.settings, opened=opened))
            for spec in self._specs:
                for handler in driven_handlers(spec, furnished):
                    self._handlers.update(dict.fromkeys(handler.spec.topics, handler))
            turns = WorkerTurns(self._each_handler, stage.loop, stage.clock)
            turns.raise_refused()
            self._exit_stack = stack.pop_all()
        return turns

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the worker as SIGTERM does, and leave its dependencies and its lifespan.

        Attempts that then run on, beyond `shutdown_timeout`, are cancelled.
        """
        turns, loop = self._running, self._open.loop
        try:
            if error is None and not turns.is_stopped:
                self.stop()
        finally:
            turns.is_stopped = True
            try:
                loop.complete(self._exit_stack.__aexit__(kind, error, trace), _SURROUNDINGS)
            finally:
                loop.end()

    @property
    def _open(self) -> DriverStage:
        if self._stage is None:
            raise self._closed
        return self._stage

    @property
    def _running(self) -> WorkerTurns:
        if self._turns is None:
            raise self._closed
        return self._turns

    @property
    def _closed(self) -> IllegalStateError:
        return IllegalStateError(f"{self!r} is not open: use `with WorkerTestDriver(worker) as test`")

    @property
    def _each_handler(self) -> Sequence[DrivenHandler]:
        return tuple(dict.fromkeys(self._handlers.values()))

    # ---------------------------------------------------------------------------------------- delivering

    def deliver(  # noqa: PLR0913, the parts of a record
        self,
        topic: str,
        value: object = _Missing.VALUE,
        *,
        raw: bytes | None = None,
        key: bytes | str | None = None,
        headers: GivenHeaders = (),
        partition: int = 0,
        delivery_count: int = 1,
        timestamp: int | None = None,
    ) -> WorkerDelivery:
        """Deliver a record, and run what can run now.

        Args:
            topic: A topic of the worker.
            value: The value, which the handler's serde serialises, so that its parsing is tested as well. None is null.
            raw: The bytes of the value, instead of `value`.
            key: The key; text is encoded as UTF-8.
            headers: Names and values of headers, in order.
            partition: The number of the partition.
            delivery_count: The number of deliveries, this one included.
            timestamp: Milliseconds since the epoch; by default the virtual time.

        Returns:
            The delivery, which shows what happens to the record.

        Raises:
            ConfigurationError: The worker does not read the topic, or an argument is invalid.
            SerializationError: The value does not fit the serde.
            IllegalStateError: The worker has stopped, or a handler calls this.
            WorkerTestError: A handler used a socket or a process.
            HandlerResultError: A handler returned work that is not done.
        """
        if (value is _Missing.VALUE) == (raw is None):
            raise ConfigurationError("give deliver() either a value or raw bytes. A null value is None")
        given = value if raw is None else RawValue(raw)
        content = self._content(topic, given, key=key, headers=headers, timestamp=timestamp)
        return self._deliver(topic, partition, [content], delivery_count)[0]

    def deliver_batch(  # noqa: PLR0913, the parts of records
        self,
        topic: str,
        values: Sequence[object],
        *,
        keys: Sequence[bytes | str | None] | None = None,
        headers: GivenHeaders = (),
        partition: int = 0,
        delivery_count: int = 1,
        timestamp: int | None = None,
    ) -> list[WorkerDelivery]:
        """Deliver records that arrive together, and run what can run now.

        Args:
            topic: A topic of the worker.
            values: Their values, as for `deliver`. Give `RawValue(b"...")` for bytes that no serde has written.
            keys: Their keys, if they have any.
            headers: The headers of each of them.
            partition: The number of their partition.
            delivery_count: The number of deliveries of each, this one included.
            timestamp: Milliseconds since the epoch; by default the virtual time.

        Returns:
            Their deliveries, in the same order.

        Raises:
            ConfigurationError: As for `deliver`; or there are no values, or not as many keys.
            SerializationError: A value does not fit the serde.
            IllegalStateError: The worker has stopped, or a handler calls this.
        """
        if not values or (keys is not None and len(keys) != len(values)):
            count = "no keys" if keys is None else counted(len(keys), "key")
            raise ConfigurationError(
                f"{counted(len(values), 'value')} and {count}: give at least one value, and a key for each"
            )
        every_header = tuple(headers)
        contents = [
            self._content(topic, value, key=key, headers=every_header, timestamp=timestamp)
            for value, key in zip(values, keys or [None] * len(values), strict=True)
        ]
        return self._deliver(topic, partition, contents, delivery_count)

    def redeliver(self, delivery: WorkerDelivery) -> WorkerDelivery:
        """Deliver a record again that was released, or whose lock was lost. Its delivery count grows by one.

        Returns:
            The new delivery.

        Raises:
            IllegalStateError: The broker would not redeliver it: it is in hand, it was accepted or rejected, or this
                was its last delivery.
        """
        if delivery.outcome not in (Outcome.RELEASED, Outcome.LOST):
            raise IllegalStateError(f"{delivery!r}: a broker redelivers records that were released or lost")
        if delivery.delivery_count >= self._group.delivery_limit:
            raise IllegalStateError(
                f"{delivery!r}: the broker has archived it, because it has reached delivery_limit="
                f"{self._group.delivery_limit}"
            )
        record = delivery.current
        handler = self._handler_of(record.topic)
        records = delivered(record.topic, record.partition, [content_of_record(record)], delivery.delivery_count + 1)
        return self._take(handler, records, delivery.delivery_count + 1)[0]

    def _content(
        self, topic: str, value: object, *, key: bytes | str | None, headers: GivenHeaders, timestamp: int | None
    ) -> LogContent:
        serde = self._handler_of(topic).spec.value
        at_ms = self._open.clock.wall_ms() if timestamp is None else timestamp
        return content_of(topic, value, serde, key=key, headers=headers, timestamp=at_ms)

    def _deliver(
        self, topic: str, partition: int, contents: Sequence[LogContent], delivery_count: int
    ) -> list[WorkerDelivery]:
        if partition < 0:
            raise ConfigurationError(f"partition={partition!r}: give a number, 0 or more")
        limit = self._group.delivery_limit
        if not 1 <= delivery_count <= limit:
            raise ConfigurationError(f"delivery_count={delivery_count!r}: give 1 to delivery_limit={limit}")
        handler = self._handler_of(topic)
        self._check_takes_records()
        placed = self._log.append(topic, partition, contents)
        return self._take(handler, delivered(topic, partition, placed, delivery_count), delivery_count)

    def _take(self, handler: DrivenHandler, records: Sequence[AnyRecord], delivery_count: int) -> list[WorkerDelivery]:
        self._check_takes_records()
        deliveries = handler.take(records, delivery_count, self._now_ms)
        self._running.turn()
        return deliveries

    def _check_takes_records(self) -> None:
        turns = self._running
        turns.check_in_test("deliver")
        if turns.is_stopped:
            reason = "" if turns.stopped_by is None else f" because of {turns.stopped_by!r}"
            raise IllegalStateError(f"the worker has stopped{reason}: it takes no more records")

    def _handler_of(self, topic: str) -> DrivenHandler:
        _ = self._running
        if topic not in self._handlers:
            raise ConfigurationError(
                f"topic={topic!r}: no handler of {self._worker!r} reads it. Topics: {_listed(self._handlers)}"
            )
        return self._handlers[topic]

    def lose_lock(self, delivery: WorkerDelivery | AnyRecord) -> None:
        """Lose the lock of a record that the worker has in hand, as after the end of a session.

        An attempt of an `async def` is cancelled. A `def` runs on, and `current_attempt().lock_lost` turns true: call
        this within such a handler, with its record, to test that.

        Args:
            delivery: The delivery, or the record.

        Raises:
            IllegalStateError: The worker does not have the record in hand.
        """
        record = delivery.current if isinstance(delivery, WorkerDelivery) else delivery
        handler = self._handler_of(record.topic)
        if not handler.holds(record):
            raise IllegalStateError(f"{delivery!r}: its lock cannot be lost, as the record is not in hand")
        handler.lose(record, self._now_ms)
        if not self._running.is_turning:
            self._running.turn()

    # ------------------------------------------------------------------------------------------- writes

    def dead_letters(self, topic: str) -> list[WrittenRecord]:
        """Return the dead letters in a topic, oldest first.

        The copies in the group's own topic always have key and value here; brokers leave them out, unless the group has
        `errors.deadletterqueue.copy.record.enable`.

        Args:
            topic: The `dead_letters` of a handler, or `group_dead_letters`.

        Raises:
            ConfigurationError: It is neither.
        """
        _ = self._running
        if topic not in self._dead_letter_topics:
            raise ConfigurationError(
                f"topic={topic!r}: no handler of {self._worker!r} writes dead letters to it. Topics for dead letters:"
                f" {_listed(self._dead_letter_topics)}"
            )
        return self._written.of(topic)

    def outputs(self, topic: str) -> list[WrittenRecord]:
        """Return the records that handlers have written to an output, oldest first.

        Their keys and values are the bytes that the serdes of the output have written. The driver does not deliver them
        to a handler that reads the topic: use `deliver` for that.

        Args:
            topic: A topic of the `output` of a handler.

        Raises:
            ConfigurationError: It is not an output.
        """
        _ = self._running
        if topic not in self._output_topics:
            raise ConfigurationError(
                f"topic={topic!r}: it is not an output of a handler of {self._worker!r}. Outputs:"
                f" {_listed(self._output_topics)}"
            )
        return self._written.of(topic)

    def retry_topic(self, topic: str) -> list[WrittenRecord]:
        """Return the records that were written to a retry topic, oldest first, also those that have left it.

        They go on by themselves: let time pass with `advance`.

        Args:
            topic: A topic of the `retry_topics` of a handler.

        Raises:
            ConfigurationError: It is not one.
        """
        _ = self._running
        if topic not in self._retry_topics:
            raise ConfigurationError(
                f"topic={topic!r}: it is not a retry topic of a handler of {self._worker!r}. Retry topics:"
                f" {_listed(self._retry_topics)}"
            )
        return self._written.of(topic)

    @property
    def _retry_topics(self) -> Sequence[str]:
        return [name for spec in self._specs if spec.retry_topics is not None for name in spec.retry_topics.names]

    @property
    def _dead_letter_topics(self) -> Sequence[str]:
        topics = (*(spec.dead_letters for spec in self._specs), self._group.dead_letter_topic)
        return [topic for topic in topics if topic is not None]

    @property
    def _output_topics(self) -> Sequence[str]:
        return [output.topic for spec in self._specs for output in spec.outputs]

    def fail_writes(self, topic: str) -> None:
        """Let a topic take no records from now on, as if it did not exist. Records in hand wait for it.

        Args:
            topic: A topic that a handler writes to.

        Raises:
            ConfigurationError: No handler writes to it.
        """
        self._check_written(topic)
        self._written.fail(topic)

    def restore_writes(self, topic: str) -> None:
        """Let a topic take records again. Those that have waited are written at once.

        Args:
            topic: A topic that a handler writes to.

        Raises:
            ConfigurationError: No handler writes to it.
        """
        self._check_written(topic)
        self._written.restore(topic)
        if not self._running.is_turning:
            self._running.turn()

    def _check_written(self, topic: str) -> None:
        _ = self._running
        if topic not in self._written.topics:
            raise ConfigurationError(
                f"topic={topic!r}: no handler of {self._worker!r} writes to it. Topics: {_listed(self._written.topics)}"
            )

    # ---------------------------------------------------------------------------------------------- time

    @property
    def now(self) -> datetime:
        """The virtual time. It begins on 2026-01-01, and `datetime.now` does not follow it."""
        return datetime.fromtimestamp(self._open.clock.wall_ms() / 1000, tz=UTC)

    @property
    def _now_ms(self) -> int:
        return self._open.clock.now_ms()

    def advance(self, seconds: float = 0) -> None:
        """Let virtual time pass, and run everything that is due.

        Args:
            seconds: How long; 0 runs what can run now, for example after a test has set an event.

        Raises:
            IllegalStateError: A handler calls this.
            WorkerTestError: A handler used a socket or a process.
            HandlerResultError: A handler returned work that is not done.
        """
        turns = self._running
        turns.check_in_test("advance")
        turns.advance(checked_seconds(seconds, "seconds"))

    def stop(self, timeout: float | None = None) -> None:
        """Stop the worker as SIGTERM does: run what is held for a while, and release the rest.

        Args:
            timeout: How long, in virtual seconds; None is the worker's `shutdown_timeout`.
        """
        turns = self._running
        turns.check_in_test("stop")
        grace_ms = self._parts.settings.shutdown_ms
        if timeout is not None:
            grace_ms = round(1000 * checked_seconds(timeout, "timeout"))
        turns.stop(grace_ms)

    # ----------------------------------------------------------------------------------------- questions

    def health(self) -> Health:
        """Return the worker's health, as `Worker.health` does."""
        handlers = self._each_handler
        errors = {
            each.spec.name: error for each in handlers if (error := each.handling.outcomes.stopped_by) is not None
        }
        if errors:
            return stopped_health(errors)
        is_live = all(handler.is_live for handler in handlers)
        if self._running.is_stopped:
            return Health(is_live, is_ready=False, reasons=(HAS_STOPPED,))
        reasons = tuple(reason for handler in handlers for reason in handler.unready)
        return Health(is_live, is_live and not reasons, reasons)

    def is_breaker_open(self, topic: str) -> bool:
        """Return whether the handler of a topic considers its sink down.

        Raises:
            ConfigurationError: The worker does not read the topic.
        """
        return self._handler_of(topic).handling.breaker.is_open

    @property
    def stopped_by(self) -> Exception | None:
        """The error for which a rule stopped the worker (`OnError.STOP`); None otherwise."""
        return self._running.stopped_by


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name}={value!r}: give a whole number, 1 or more")


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise IllegalStateError(
        "A WorkerTestDriver has an event loop of its own, and another one is running. Use it in a test that is not"
        " async; handlers may be"
    )


def _listed(topics: object) -> str:
    names = sorted(map(repr, topics)) if isinstance(topics, Sequence | dict) else []
    return (", ".join(names[:_NAMED_AT_MOST]) + (", …" if len(names) > _NAMED_AT_MOST else "")) or "none"
