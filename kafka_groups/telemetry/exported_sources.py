"""The clients that an exporter reads: added and removed at any time, and told apart by their labels."""

from threading import Lock
from types import TracebackType
from typing import Self

from attrs import evolve, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.telemetry.sources import TelemetrySource, source_of

__all__ = ["ExportHandle", "ExportedSources"]

_CLIENT_ID = "client_id"


@frozen(eq=False)
class _Entry:
    measured: object
    source: TelemetrySource


class ExportedSources:
    """The sources of one exporter. Any thread may use it.

    Clients with equal labels would be one time series. If they have a `client_id`, the later ones get a number: `shop`,
    `shop-2`, `shop-3`. The number of a removed client is reused.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: tuple[_Entry, ...] = ()

    @property
    def sources(self) -> tuple[TelemetrySource, ...]:
        """The sources with their final labels, in the order in which they came."""
        return tuple(entry.source for entry in self._entries)

    def add(self, clients: tuple[object, ...]) -> tuple[TelemetrySource, ...]:
        """Add clients and return their sources with their final labels.

        Raises:
            ConfigurationError: One of them has no metrics, is exported already, or cannot be told apart from another.
        """
        with self._lock:
            entries = self._entries
            for client in clients:
                entries = (*entries, _entry(client, entries))
            added = entries[len(self._entries) :]
            self._entries = entries
            return tuple(entry.source for entry in added)

    def remove(self, sources: tuple[TelemetrySource, ...]) -> None:
        """Remove sources that `add` has returned. Those that are not there any more are ignored."""
        with self._lock:
            self._entries = tuple(entry for entry in self._entries if not any(entry.source is each for each in sources))


def _entry(client: object, others: tuple[_Entry, ...]) -> _Entry:
    if any(other.measured is client for other in others):
        raise ConfigurationError(f"{client!r} is exported already. Export each client once.")
    source = source_of(client)
    same_kind = [other.source for other in others if other.source.families == source.families]
    taken = {other.labels for other in same_kind}
    if source.labels not in taken:
        return _Entry(client, source)
    labels = dict(source.labels)
    if _CLIENT_ID not in labels:
        raise ConfigurationError(f"Cannot export {client!r}: another client of its kind has the same labels, {labels}.")
    numbered = (
        tuple({**labels, _CLIENT_ID: f"{labels[_CLIENT_ID]}-{number}"}.items()) for number in range(2, len(taken) + 3)
    )
    return _Entry(client, evolve(source, labels=next(each for each in numbered if each not in taken)))


class ExportHandle:
    """Clients whose metrics an exporter has. It can remove them.

    Args:
        exported: The sources of the exporter.
        sources: Those of the clients.
    """

    def __init__(self, exported: ExportedSources, sources: tuple[TelemetrySource, ...]) -> None:
        self._exported = exported
        self._sources = sources

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {[dict(source.labels) for source in self._sources]}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the metrics of the clients. May be called again."""
        self._exported.remove(self._sources)
