"""The durations of the operations of a handler's clients."""

import asyncio
from contextlib import nullcontext

import pytest

from kafka_groups.share import Reject
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, reach, simulate


class Operations:
    """A middleware that measures the operations of clients, as traces do."""

    def __init__(self) -> None:
        self.meters = self
        self.noted: list[tuple[str, str, str | None, str | None]] = []
        self.seconds: dict[str, float] = {}
        self.count = 0

    def __call__(self, attempt: object) -> nullcontext[None]:
        return nullcontext()

    def operation(
        self, kind: str, seconds: float, *, topic: str, group: str | None = None, error_type: str | None = None
    ) -> None:
        """Note an operation."""
        self.noted.append((kind, topic, group, error_type))
        self.seconds[kind] = seconds

    def sent(self, count: int, *, topic: str, error_type: str | None = None) -> None:
        """Count messages."""
        self.count += count


def test_a_middleware_can_measure_the_operations_of_the_clients() -> None:
    async def program(world: WorkerWorld) -> None:
        operations = Operations()
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD)
        async def handle(value: bytes) -> None:
            raise Reject("not wanted")

        world.letters.is_down = True
        async with world.running(worker, middleware=[operations]):
            await asyncio.sleep(5)
            await world.produce([b"1"])
            await reach(lambda: operations.noted[1:])
            world.letters.is_down = False
            await reach(lambda: ("settle", TOPIC, "g", None) in operations.noted)
        assert operations.noted[0] == ("receive", TOPIC, "g", None)
        assert ("send", DEAD, None, "kafka_groups.errors.DeliveryFailedError") in operations.noted
        assert ("send", DEAD, None, None) in operations.noted
        assert operations.count == world.letters.tries >= 2
        assert operations.seconds["send"] == pytest.approx(0.01)
        assert all(0 <= seconds < 1.1 for seconds in operations.seconds.values())

    simulate(program)
