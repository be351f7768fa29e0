"""The connections of a worker: one engine for its reader, its writer and its questions."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.calls.asker import QuestionAsker
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.engine import ClientEngine
from kafka_groups.client.event_loop import check_loop
from kafka_groups.client.loggers import write_event
from kafka_groups.client.metadata import Metadata, topic_refusals
from kafka_groups.client.requests import RequestManager
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import ClosedError, IllegalStateError, KafkaGroupsError
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["RecordsClient"]

_CLOSED = "The client of the records was closed."


class RecordsClient:
    """Connections to the brokers, metadata and questions of one worker, on its own event loop.

    Add the request managers of readers and writers first. The first call of `turn`, `wait` or `within` starts it on the
    running loop. Nothing is sent or received while the program of that loop runs.

    Args:
        config: How to reach the brokers.
        environment: Network, clock and randomness.
        metadata_max_age_ms: Age at which the metadata is fetched again (`metadata.max.age.ms`).
    """

    def __init__(
        self, config: ClientConfig, environment: Environment | None = None, *, metadata_max_age_ms: int = 300_000
    ) -> None:
        environment = environment or Environment()
        self._steady_clock = environment.clock
        self._assembly = Assembly(config, environment, BackgroundErrors(), for_records=True)
        self._topics = self._assembly.metadata_manager(max_age_ms=metadata_max_age_ms, allow_auto_create=False)
        self._topics.refusals = self._refusals
        self._asker = QuestionAsker(self._assembly, config.request_timeout_ms, self._started)
        self._managers: list[RequestManager] = [self._topics, self._asker.manager]
        self._wanted: dict[str, frozenset[str]] = {}
        self._denied: dict[str, Callable[[str], KafkaGroupsError]] = {}
        self._engine: ClientEngine | None = None
        self._is_closed = False
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}

    def __repr__(self) -> str:
        return (
            f"<RecordsClient {self._assembly!r}: {len(self._topics.topics)} topics, {len(self._asker.manager)} calls>"
        )

    @property
    def clock(self) -> Clock:
        """The clock of the request managers. The time in which user code blocks the loop does not count."""
        return self._assembly.clock

    @property
    def steady_clock(self) -> Clock:
        """The clock of the environment, for times that pass elsewhere: it also runs while user code blocks the loop."""
        return self._steady_clock

    @property
    def metadata(self) -> Metadata:
        """Leaders and ids of the wanted topics, as far as they are known."""
        return self._assembly.metadata

    @property
    def errors(self) -> BackgroundErrors:
        """Errors that no call waits for. The caller that polls raises them; a fatal one ends the client."""
        return self._assembly.errors

    @property
    def missing_topics(self) -> frozenset[str]:
        """The wanted topics that do not exist, as of the last response."""
        return self._topics.missing

    def features_of(self, node_id: int) -> Mapping[str, int]:
        """Return the levels of finalized features that a broker told when its control connection was last opened."""
        return self._assembly.features_of(node_id)

    def backoff(self) -> BackoffTimer:
        """Return a new back-off with the configured waits."""
        return self._assembly.backoff()

    def add(self, manager: RequestManager) -> None:
        """Take in a request manager, which each turn asks before those that are here.

        Raises:
            IllegalStateError: The client has been started.
        """
        if self._engine is not None:
            raise IllegalStateError(f"{self!r} has been started: add {manager!r} before its first turn.")
        self._managers.insert(len(self._managers) - 2, manager)

    # ---------------------------------------------------------------------------------------- metadata

    def explain_denied(self, whose: str, denied: Callable[[str], KafkaGroupsError]) -> None:
        """Have errors about topics that brokers refuse to describe say what to grant.

        Args:
            whose: Who wants the topics: see `want_topics`.
            denied: Returns the error for a topic.
        """
        self._denied[whose] = denied

    def want_topics(self, topics: Iterable[str], whose: str = "") -> None:
        """Keep the metadata of topics fresh. New ones are asked for in the next turn.

        Args:
            topics: The topics, in place of those that were wanted before with the same `whose`.
            whose: Who wants them, such as the reader or the writer.
        """
        self._wanted[whose] = frozenset(topics)
        wanted = frozenset[str]().union(*self._wanted.values())
        if wanted != self._topics.topics:
            self._topics.set_topics(wanted)

    def _refusals(self, code: ErrorCode, topics: Sequence[str]) -> Iterator[KafkaGroupsError]:
        explained = self._explained(topics) if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED else {}
        yield from explained.values()
        if unexplained := [topic for topic in topics if topic not in explained]:
            yield from topic_refusals(code, unexplained, principal=self._assembly.principal)

    def _explained(self, topics: Sequence[str]) -> Mapping[str, KafkaGroupsError]:
        return {
            topic: denied(topic)
            for whose, denied in self._denied.items()
            for topic in topics
            if topic in self._wanted.get(whose, ())
        }

    def refresh_metadata(self) -> None:
        """Ask for the metadata again in the next turn, or when the back-off allows it."""
        self._topics.request_update()

    # --------------------------------------------------------------------------------------- questions

    def within(self, timeout_ms: int) -> Asking:
        """Return a function that asks questions, all of them together for at most this long."""
        return self._asker.within(timeout_ms)

    # ----------------------------------------------------------------------------------------- driving

    def turn(self) -> None:
        """Send what the managers have to send now. Call it after any change; it does not wait."""
        self._started().turn()

    async def wait(self, timeout_ms: int, until: Callable[[], bool], *, heeds_errors: bool = True) -> None:
        """Let the engine work until a condition holds after a turn, or the time is up.

        Args:
            timeout_ms: The longest wait.
            until: The condition.
            heeds_errors: Whether it also ends when an error has to be raised.
        """
        self._started().turn()

        def is_over() -> bool:
            return until() or (heeds_errors and bool(self.errors))

        if is_over():
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = is_over
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_ms / 1_000):
                    await waiter
        finally:
            del self._waiting[waiter]

    async def close(self) -> None:
        """Close all connections. Calls that are under way fail."""
        self._is_closed = True
        self._asker.manager.fail(ClosedError(_CLOSED))
        if self._engine is not None:
            await self._engine.stop()
        self._write_log()

    def _started(self) -> ClientEngine:
        if self._is_closed:
            raise ClosedError(_CLOSED)
        if self._engine is None:
            self._engine = self._assembly.engine(self._managers, self._after_turn)
            self._engine.start()
        check_loop(self, "a client of records", self._engine.loop)
        return self._engine

    def _after_turn(self) -> None:
        self._write_log()
        if self.errors.fatal is not None:
            self._asker.manager.fail(self.errors.fatal)
        for waiter, is_over in self._waiting.items():
            if not waiter.done() and is_over():
                waiter.set_result(None)

    def _write_log(self) -> None:
        for event in self.errors.events.take():
            write_event(self._assembly.rate_limited_log, event)
