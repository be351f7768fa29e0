"""Workers with retry topics on an embedded cluster in virtual time."""

from collections.abc import Sequence
from typing import Any

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share import RetryTopics, Worker
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from tests.unit.share.workers.worlds import DEAD, Letters, WorkerWorld

PREFIX = "orders.retry"
LOG_APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


class ClusterLetters(Letters):
    """Takes dead letters, and writes all other records to the cluster.

    Args:
        world: Has the cluster.
    """

    def __init__(self, world: WorkerWorld) -> None:
        super().__init__()
        self._world = world
        self.forwarded: list[RecordToWrite] = []

    async def write(self, letters: Sequence[RecordToWrite]) -> DeliveryFailedError | None:
        """Write records."""
        if (error := await super().write(letters)) is not None:
            return error
        for record in letters:
            if record.topic != DEAD:
                self.forwarded.append(record)
                append(self._world, record)
        self.written = [letter for letter in self.written if letter.record.topic == DEAD]
        return None


def append(world: WorkerWorld, record: RecordToWrite) -> None:
    """Append a record to a topic of the cluster."""
    headers: Any = record.headers
    world.cluster.produce(record.topic, [record.value], keys=[record.key], headers=headers, partition=record.partition)


class RetryStage:
    """The retry topics of the handler `sell`, and what is in them.

    Args:
        world: Has the cluster.
        delays: The delays in seconds.
        partitions: The partitions of each topic.
    """

    def __init__(self, world: WorkerWorld, delays: tuple[int, ...] = (2, 20), partitions: int = 1) -> None:
        self.world = world
        self.topics = RetryTopics(PREFIX, delays=delays)
        for topic in self.topics.names:
            world.cluster.create_topic(topic, partitions, configs=LOG_APPEND_TIME)
        world.letters = self.letters = ClusterLetters(world)

    def options(self, **options: Any) -> dict[str, Any]:
        """Return the options of the handler."""
        return {"name": "sell", "dead_letters": DEAD, "retry_topics": self.topics} | options

    def worker(self) -> Worker:
        """Return a worker without handlers."""
        return self.world.worker()

    def fail(
        self, value: bytes, wait_s: float, *, handler: str = "sell", deaths: int = 0, partition: int | None = None
    ) -> None:
        """Write a record to the topic for its wait."""
        wait_ms, wall_ms = round(1000 * wait_s), self.world.clock.wall_ms()
        topic = self.topics.topic_for(wait_ms)
        assert topic is not None
        state = RetryState(
            group="g",
            handler=handler,
            origin=RecordOrigin("orders", 0, 7, wall_ms),
            attempts=1,
            retries=1,
            deaths=deaths,
            first_failure_ms=wall_ms,
            due_ms=wall_ms + wait_ms,
        )
        headers = (("own", b"1"), *state.headers())
        append(self.world, RecordToWrite(topic.topic, b"k", value, headers, partition=partition))
