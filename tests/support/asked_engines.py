"""An engine as queries of other threads see it: each call is a question of its own."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.state.engine import KeyedBytes, Notes

__all__ = ["Asked"]


@frozen
class AskedTable:
    """A table of such an engine."""

    engine: TaskEngine
    store: str
    name: str

    def get(self, key: bytes) -> bytes | None:
        with self.engine.moment(self.store) as reader:
            return reader.table(self.name).get(key)

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        with self.engine.moment(self.store) as reader:
            return iter(list(reader.table(self.name).scan(low, high, reverse=reverse)))


@frozen
class Asked:
    """Asks for one store."""

    engine: TaskEngine
    store: str

    @property
    def notes(self) -> Notes:
        with self.engine.moment(self.store) as reader:
            return dict(reader.notes)

    def table(self, name: str) -> AskedTable:
        return AskedTable(self.engine, self.store, name)

    def tables(self, prefix: str) -> list[str]:
        with self.engine.moment(self.store) as reader:
            return reader.tables(prefix)
