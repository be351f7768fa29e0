"""A driver whose loop was kept from running: handlers in threads end after its turn has begun."""

import pytest

from kafka_groups.net.clock import Clock
from kafka_groups.share import Retry
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.share.workers.running.slots import Mailbox
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import WorkerWorld, has, reach, simulate

WAIT_MS = 1_000


class LateClock:
    """A clock that a test sets forward."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.late_ms = 0

    def now_ms(self) -> int:
        return self._clock.now_ms() + self.late_ms

    def wall_ms(self) -> int:
        return self._clock.wall_ms() + self.late_ms


def test_a_retry_waits_from_the_end_of_its_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Mailbox.take

    async def program(world: WorkerWorld) -> None:
        world.clock = clock = LateClock(world.clock)
        begun_ms: list[int] = []
        ended_ms: list[int] = []

        def take_late(mailbox: Mailbox) -> RunResult | None:
            result = take(mailbox)
            if result is not None:
                clock.late_ms += 50
                ended_ms.append(clock.now_ms())
            return result

        monkeypatch.setattr(Mailbox, "take", take_late)
        worker = world.worker()

        @worker.handler(TOPIC)
        async def handle(value: bytes) -> None:
            begun_ms.append(clock.now_ms())
            if len(begun_ms) == 1:
                raise Retry(after=WAIT_MS / 1000)

        await world.produce([b"1"])
        async with world.running(worker):
            await reach(lambda: has(ended_ms, 2))
        assert begun_ms[1] >= ended_ms[0] + WAIT_MS

    simulate(program)
