"""The part of an admin client that sends and receives: calls, and the engine that drives them."""

import asyncio
import logging
import os
from typing import TypeVar

from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.call import Call, CallSettings
from kafka_groups.client.calls.manager import CallManager
from kafka_groups.client.calls.questions import Asking, Question
from kafka_groups.client.calls.results import Results
from kafka_groups.client.event_loop import check_loop
from kafka_groups.client.loggers import write_event
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import BootstrapError, ClosedError, KafkaGroupsError

__all__ = ["AdminClient", "admin_client"]

K = TypeVar("K")
V = TypeVar("V")


class AdminClient:
    """Asks brokers questions on one event loop. The first question starts it.

    Args:
        assembly: What all clients are made of.
        request_timeout_ms: How long a request waits for its response.
        warning_level: The level at which it logs what would be warnings, such as brokers that cannot be reached. By
            default `logging.INFO`, because the caller gets the error.
    """

    def __init__(self, assembly: Assembly, *, request_timeout_ms: int, warning_level: int = logging.INFO) -> None:
        self._assembly = assembly
        self._clock = assembly.clock
        self._request_timeout_ms = request_timeout_ms
        assembly.rate_limited_log.level = warning_level
        self._manager = CallManager()
        self._engine = assembly.engine((self._manager,), self._after_turn)
        self._is_closed = False
        self._process_id = os.getpid()

    def __repr__(self) -> str:
        return f"<AdminClient {self._assembly!r}: {len(self._manager)} calls>"

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that the client lives on, while it runs."""
        return self._engine.loop

    @property
    def is_running(self) -> bool:
        """True while the client may have connections."""
        return self._engine.is_running

    @property
    def is_forked(self) -> bool:
        """True in another process than the one that started the client and owns its connections."""
        return self._process_id != os.getpid()

    def within(self, timeout_ms: int) -> Asking:
        """Return a function that asks questions, all of them together for at most this long."""
        deadline_ms = self._clock.now_ms() + timeout_ms

        async def ask(question: Question[K, V]) -> Results[K, V]:
            settings = CallSettings(deadline_ms, timeout_ms, self._request_timeout_ms)
            return await self._ask(question, settings)

        return ask

    async def close(self) -> None:
        """Close all connections. Calls that are under way fail."""
        self._is_closed = True
        self._manager.fail(ClosedError("The admin client was closed."))
        await self._engine.stop()

    async def _ask(self, question: Question[K, V], settings: CallSettings) -> Results[K, V]:
        self._start()
        done = asyncio.Event()
        call = Call(question, self._assembly.metadata, self._assembly.backoff(), settings, done.set)
        self._manager.begin(call)
        try:
            self._engine.turn()
            await done.wait()
        finally:
            self._manager.drop(call)
        return self._result_of(call, settings)

    def _result_of(self, call: Call[K, V], settings: CallSettings) -> Results[K, V]:
        if call.failure is not None:
            raise call.failure
        reachability = self._assembly.reachability
        # If no broker has ever answered, that is the reason for all timeouts, and the caller should hear of it.
        if call.has_timed_out and reachability.last_answer_ms is None:
            raise BootstrapError(f"No broker has answered for {settings.timeout_ms} ms. {reachability.summary()}")
        return call.results

    def _start(self) -> None:
        if self._is_closed:
            raise ClosedError("The admin client was closed.")
        check_loop(self, "an admin client", self._engine.loop)
        if self._engine.loop is None:
            self._process_id = os.getpid()
            self._engine.start()

    def _after_turn(self) -> None:
        errors = self._assembly.errors
        for event in errors.events.take():
            write_event(self._assembly.rate_limited_log, event)
        while errors:  # a failed authentication, a wrong protocol, or brokers that have never answered
            try:
                errors.raise_first()
            except KafkaGroupsError as error:
                self._manager.fail(error)
            if errors.fatal is not None:
                return


def admin_client(config: ClientConfig, environment: Environment) -> AdminClient:
    """Return a client with connections of its own, which authenticates as the configuration says."""
    return AdminClient(Assembly(config, environment, BackgroundErrors()), request_timeout_ms=config.request_timeout_ms)
