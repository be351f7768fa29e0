"""Questions to brokers from code that blocks, also while it blocks the event loop of its own thread."""

import warnings
from typing import TypeVar

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.net.client_thread import ClientThread

__all__ = ["BlockingQuestions"]

K = TypeVar("K")
V = TypeVar("V")

_MARGIN_S = 1.0
"""A call ends at its deadline by itself. If its thread does not even do that, the caller waits for this much longer."""


class BlockingQuestions:
    """Asks brokers questions over connections and a thread of its own, which begin with the first question.

    It is for code in the middle of which nothing can be awaited, such as a user's function that an event loop calls.
    Any thread may ask, several at a time. After a fork, only the parent can go on.

    Args:
        config: Names the brokers.
        environment: Network, clock and randomness.
        name: The name of the thread.
    """

    def __init__(self, config: ClientConfig, environment: Environment, name: str) -> None:
        self._client = admin_client(config, environment)
        self._thread = ClientThread(f"client of {name}", name, self._client.close)

    def __repr__(self) -> str:
        return f"<BlockingQuestions: {self._client!r}>"

    def __del__(self) -> None:
        thread = getattr(self, "_thread", None)
        if thread is not None and thread.is_running:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def ask(self, question: Question[K, V], timeout_ms: int) -> Results[K, V]:
        """Ask a question and block until every key has an answer or an error, or the time is up.

        Raises:
            OperationTimeoutError: No answer in time. Normally, keys without an answer have this error in the results.
            ClosedError: The questions were closed.
            IllegalStateError: Called in a process that was forked from the one that asked first.
            KafkaGroupsError: Nothing could be asked, for example because authentication failed, or because no broker
                has ever answered.
        """
        try:
            return self._thread.run(self._answered(question, timeout_ms), timeout_ms / 1000 + _MARGIN_S)
        except OperationTimeoutError:
            raise
        except TimeoutError as error:
            raise OperationTimeoutError(f"Could not {question.what} within {timeout_ms} ms.") from error

    def close(self) -> None:
        """Drop all connections and end the thread. Questions under way fail."""
        self._thread.close()

    async def _answered(self, question: Question[K, V], timeout_ms: int) -> Results[K, V]:
        return await self._client.within(timeout_ms)(question)
