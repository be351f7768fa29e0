"""Records that flow into a topic while something strikes, with a note of what was written where."""

import random
import threading
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, Message, Producer

from tests.support.cluster_client import Topic
from tests.support.workers.journaled_worker import Nature
from tests.support.workers.worker_brokers import Place

__all__ = ["RecordFlow"]

PARTITIONS = 3
_KEYS = 12
_PAUSE_S = 0.05
_PER_PAUSE = 5
_GOOD_BETWEEN = 12
_PATIENCE_S = 60.0


class RecordFlow:
    """Writes records, good ones and now and then a bad one, until it is ended.

    Args:
        servers: The brokers.
        topic: The topic.
        poisons: How many records there are of each bad nature.
        choose: Chooses when they come.

    Attributes:
        written: The nature of each record that was written.
    """

    def __init__(self, servers: str, topic: Topic, poisons: Mapping[Nature, int], choose: random.Random) -> None:
        self._producer = Producer({
            "bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0, "log_level": 2,
        })  # fmt: skip
        self._topic = topic.name
        self._choose = choose
        bad = [nature for nature, count in poisons.items() for _ in range(count)]
        choose.shuffle(bad)
        self._bad = deque(bad)
        self._sent = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write_until_over, name="record-flow")
        self.written: dict[Place, Nature] = {}
        self.errors: list[KafkaError] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def end(self) -> None:
        """Write what is left of the bad records, and wait until everything is written."""
        self.__exit__(None, None, None)
        while self._bad:
            self._write(self._bad.popleft())
        assert self._producer.flush(_PATIENCE_S) == 0
        assert self.errors == []

    def _write_until_over(self) -> None:
        while not self._is_over.wait(_PAUSE_S):
            for _ in range(_PER_PAUSE):
                self._write(self._next())
            self._producer.poll(0)

    def _next(self) -> Nature:
        if self._bad and self._choose.randrange(_GOOD_BETWEEN) == 0:
            return self._bad.popleft()
        return Nature.GOOD

    def _write(self, nature: Nature) -> None:
        key = f"key-{self._choose.randrange(_KEYS)}"
        self._sent += 1

        def written(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.errors.append(error)
                return
            self.written[message.partition() or 0, message.offset() or 0] = nature

        self._producer.produce(self._topic, nature.value.encode(), key.encode(), on_delivery=written)
