"""The part of the blocking admin client that is not generated: its constructor, its thread, and waiting for calls."""

import warnings
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar, Unpack

from kafka_groups.admin.aio import AsyncKafkaAdmin
from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import AdminConfig
from kafka_groups.config.clients.keywords import AdminKeywords
from kafka_groups.net.client_thread import ClientThread

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
        self._thread = ClientThread("admin client", "kafka-admin", self._admin.close)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._admin!r}>"

    def __del__(self) -> None:
        thread = getattr(self, "_thread", None)
        if thread is not None and thread.is_running:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a call of the asynchronous client to its end."""
        return self._thread.run(coroutine)

    def _close(self) -> None:
        self._thread.close()
