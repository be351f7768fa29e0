"""The part of an admin client that sends and receives: questions, and the engine that drives them."""

import asyncio
import logging
import os

from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.asker import QuestionAsker
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.engine import ClientEngine
from kafka_groups.client.event_loop import check_loop
from kafka_groups.client.loggers import write_event
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import ClosedError, KafkaGroupsError

__all__ = ["AdminClient", "admin_client"]


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
        assembly.rate_limited_log.level = warning_level
        self._asker = QuestionAsker(assembly, request_timeout_ms, self._started)
        self._engine = assembly.engine((self._asker.manager,), self._after_turn)
        self._is_closed = False
        self._process_id = os.getpid()

    def __repr__(self) -> str:
        return f"<AdminClient {self._assembly!r}: {len(self._asker.manager)} calls>"

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
        return self._asker.within(timeout_ms)

    async def close(self) -> None:
        """Close all connections. Calls that are under way fail."""
        self._is_closed = True
        self._asker.manager.fail(ClosedError("The admin client was closed."))
        await self._engine.stop()

    def _started(self) -> ClientEngine:
        if self._is_closed:
            raise ClosedError("The admin client was closed.")
        check_loop(self, "an admin client", self._engine.loop)
        if self._engine.loop is None:
            self._process_id = os.getpid()
            self._engine.start()
        return self._engine

    def _after_turn(self) -> None:
        errors = self._assembly.errors
        for event in errors.events.take():
            write_event(self._assembly.rate_limited_log, event)
        while errors:  # a failed authentication, a wrong protocol, or brokers that have never answered
            try:
                errors.raise_first()
            except KafkaGroupsError as error:
                self._asker.manager.fail(error)
            if errors.fatal is not None:
                return


def admin_client(config: ClientConfig, environment: Environment) -> AdminClient:
    """Return a client with connections of its own, which authenticates as the configuration says."""
    return AdminClient(Assembly(config, environment, BackgroundErrors()), request_timeout_ms=config.request_timeout_ms)
