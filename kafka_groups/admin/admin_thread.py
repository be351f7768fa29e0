"""The part of the blocking admin client that is not generated: its constructor, its thread, and waiting for calls."""

import threading
import warnings
import weakref
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar, Unpack

from kafka_groups.admin.aio import AsyncKafkaAdmin
from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import AdminConfig
from kafka_groups.config.clients.keywords import AdminKeywords
from kafka_groups.errors import ClosedError
from kafka_groups.net.loop_thread import LoopThread

__all__ = ["_AdminThread"]

T = TypeVar("T")


class _AdminThread:
    """An asynchronous admin client on a background thread, which starts with the first call."""

    def __init__(
        self,
        config: AdminConfig | Mapping[str, object] | None = None,
        /,
        *,
        environment: Environment | None = None,
        **keywords: Unpack[AdminKeywords],
    ) -> None:
        self._admin: AsyncKafkaAdmin = AsyncKafkaAdmin(config, environment=environment, **keywords)
        self._thread = LoopThread("kafka-admin")
        self._starting = threading.Lock()
        self._is_started = self._is_closed = False
        self._finalizer = weakref.finalize(self, _abandon, self._thread, self._admin)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._admin!r}>"

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.alive and self._thread.is_running:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a call of the asynchronous client to its end."""
        try:
            self._start()
        except BaseException:  # also Ctrl-C: a coroutine that never runs must be closed
            coroutine.close()
            raise
        return self._thread.run(coroutine)

    def _start(self) -> None:
        with self._starting:
            if self._is_closed:
                raise ClosedError("The admin client was closed.")
            if not self._is_started:
                self._thread.start()
                self._is_started = True

    def _close(self) -> None:
        self._is_closed = True
        self._finalizer()


def _abandon(thread: LoopThread, admin: AsyncKafkaAdmin) -> None:
    """Drop the connections and end the thread; runs where the client was closed or garbage-collected."""
    thread.stop(last=admin.close() if thread.is_running else None)
