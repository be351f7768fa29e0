"""Asks the questions of one client: calls that its engine drives, and callers that wait for them."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from kafka_groups.client.assembly import Assembly
from kafka_groups.client.calls.call import Call, CallSettings
from kafka_groups.client.calls.manager import CallManager
from kafka_groups.client.calls.questions import Asking, Question
from kafka_groups.client.calls.refusals import explained_results
from kafka_groups.client.calls.results import Results
from kafka_groups.client.engine import ClientEngine
from kafka_groups.client.requests import Lane
from kafka_groups.errors import BootstrapError

__all__ = ["QuestionAsker"]

K = TypeVar("K")
V = TypeVar("V")


class QuestionAsker:
    """Asks questions on the event loop of a client, any number at a time.

    Args:
        assembly: The parts of the client.
        request_timeout_ms: How long a request waits for its response.
        engine: Returns the client's engine, which it starts if need be. It raises an error if the client was closed.

    Attributes:
        manager: The request manager of the questions. The engine must drive it.
    """

    def __init__(self, assembly: Assembly, request_timeout_ms: int, engine: Callable[[], ClientEngine]) -> None:
        self.manager = CallManager()
        self._assembly = assembly
        self._request_timeout_ms = request_timeout_ms
        self._engine = engine

    def __repr__(self) -> str:
        return f"<QuestionAsker: {len(self.manager)} calls>"

    def within(self, timeout_ms: int, lane: Lane = Lane.CONTROL) -> Asking:
        """Return a function that asks questions, all of them together for at most this long."""
        deadline_ms = self._assembly.clock.now_ms() + timeout_ms

        async def ask(question: Question[K, V]) -> Results[K, V]:
            return await self._ask(question, CallSettings(deadline_ms, timeout_ms, self._request_timeout_ms, lane))

        return ask

    async def _ask(self, question: Question[K, V], settings: CallSettings) -> Results[K, V]:
        engine = self._engine()
        done = asyncio.Event()
        call = Call(question, self._assembly.metadata, self._assembly.backoff(), settings, done.set)
        self.manager.begin(call)
        try:
            engine.turn()
            await done.wait()
        finally:  # also when the caller is cancelled: nobody waits for the answer any more
            self.manager.drop(call)
        return self._result_of(call, settings)

    def _result_of(self, call: Call[K, V], settings: CallSettings) -> Results[K, V]:
        if call.failure is not None:
            raise call.failure
        reachability = self._assembly.reachability
        # If no broker has ever answered, that is the reason for all timeouts, and the caller should hear of it.
        if call.has_timed_out and reachability.last_answer_ms is None:
            raise BootstrapError(f"No broker has answered for {settings.timeout_ms} ms. {reachability.summary()}")
        return explained_results(call.results, call.question, self._assembly.principal)
