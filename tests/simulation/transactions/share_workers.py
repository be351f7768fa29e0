"""A share group that reads committed records."""

from collections.abc import Mapping

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.transactions.book import Book

__all__ = ["ShareWorkers"]

_GROUP = "workers"
_WORKERS = 2


class ShareWorkers:
    """The workers of the group.

    Args:
        world: Where they live.
        book: Is told what was delivered.
        topic: What they read.

    Attributes:
        delivered: All values that reached one of them.
    """

    def __init__(self, world: SimulatedWorld, book: Book, topic: str) -> None:
        self._world = world
        self._book = book
        self._topic = topic
        self.delivered: set[bytes] = set()

    def start(self) -> None:
        """Start them at the beginning of the topic."""
        configs = {"share.auto.offset.reset": "earliest", "share.isolation.level": "read_committed"}
        self._world.cluster.alter_group_configs(_GROUP, configs)
        for number in range(_WORKERS):
            self._world.start(self._work, name=f"worker-{number}", restart_on=KafkaGroupsError)

    async def finish(self, found: Mapping[int, list[bytes]]) -> None:
        """Wait until the group has nothing more to do: it was given what ordinary readers found, and nothing else."""
        await self._world.settle()
        wanted = {value for values in found.values() for value in values}
        for what, values in (("not delivered", wanted - self.delivered), ("delivered", self.delivered - wanted)):
            if values:
                self._world.violations.append(f"share group: {what}: {sorted(values)}")

    async def _work(self) -> None:
        async with self._world.consumer(group_id=_GROUP) as consumer:
            await consumer.subscribe([self._topic])
            while True:
                for record in await consumer.poll(timeout=5):
                    value = record.value or b""
                    self.delivered.add(value)
                    self._book.seen(value)
