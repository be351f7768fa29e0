"""Random runs of a producer: writes and faults in any order by the seed, and a look at the logs in the end."""

import random
from collections.abc import Callable
from itertools import count
from types import MappingProxyType

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from tests.support.producing.partition_of_producers import POISON
from tests.support.producing.producer_world import ProducerWorld

__all__ = ["FAULTS", "MOST_IN_FLIGHT", "PARTITIONS", "RandomRun", "run_of"]

PARTITIONS, NODES = 2, 2
MOST_IN_FLIGHT = 5
LAST_NUMBER = 2**31 - 1
FAULTS = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
_HARMLESS = 4
"""How many actions of a run are without faults, for each with one."""


class RandomRun:
    """A world, and what may happen to it.

    Args:
        rng: Chooses everything.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.numbers = count()
        self.may_raise_epochs = False
        settings = AccumulatorSettings(batch_bytes=rng.choice([100, 250, 10_000]), linger_ms=rng.choice([0, 5]))
        self.world = ProducerWorld(PARTITIONS, NODES, settings, rng)
        self.world.first_epoch = rng.choice([0, 0, 32_765])
        if rng.random() < 0.3:
            self._begin_before_the_last_number()

    def _begin_before_the_last_number(self) -> None:
        for partition in range(PARTITIONS):
            self.world.write(partition, [b"%d" % next(self.numbers)])
        self.world.settle()
        at = LAST_NUMBER - self.rng.randrange(30)
        for log in self.world.logs:
            log.continue_at(at)
        for each in self.world.produce._partitions.values():
            each.batches.numbers.last_confirmed = at

    def _partition(self) -> int:
        return self.rng.randrange(PARTITIONS)

    # ---------------------------------------------------------------------------------- without faults

    def write(self) -> None:
        """Write some records, of which brokers may refuse one."""
        values = [b"%d" % next(self.numbers) for _ in range(self.rng.randrange(1, 12))]
        if self.rng.random() < 0.15:
            at = self.rng.randrange(len(values))
            values[at] = POISON + values[at]
        self.world.write(self._partition(), values)
        if self.rng.random() < 0.7:
            self.world.turn()

    def pass_time(self) -> None:
        self.world.pass_time(self.rng.choice([1, 5, 100, 1_000]))

    def handle(self) -> None:
        for _ in range(self.rng.randrange(1, 6)):
            self.world.handle(self.rng.randrange(NODES))

    def deliver(self) -> None:
        for _ in range(self.rng.randrange(1, 6)):
            self.world.deliver(self.rng.randrange(NODES))

    # ------------------------------------------------------------------------------------- with faults

    def disconnect(self) -> None:
        self.world.disconnect(self.rng.randrange(NODES), self.rng.randrange(6))

    def move(self) -> None:
        self.world.gives_hints = self.rng.random() < 0.5
        self.world.move(self._partition(), self.rng.randrange(NODES))

    def fail(self) -> None:
        faults = self.rng.choices(FAULTS, k=self.rng.randrange(1, 4))
        self.world.faults[self._partition()].extend(faults)

    def configure(self) -> None:
        log = self.world.logs[self._partition()]
        log.max_bytes = self.rng.choice([60, 90, 150, 10_000, 10_000])
        log.names_records = self.rng.random() < 0.7

    def forget(self) -> None:
        self.world.logs[self._partition()].forget()

    def restart_broker(self) -> None:
        self.world.logs[self._partition()].keep_last_batches()

    def make_again(self) -> None:
        self.world.make_again()

    # --------------------------------------------------------------------------------------------- end

    def act(self, name: str) -> None:
        """Do one thing, and look whether the rules hold all the time."""
        self.may_raise_epochs |= name in FAULTY and name != "configure"
        getattr(self, name)()
        for each in self.world.produce._partitions.values():
            assert sum(sent.is_in_flight for sent in each.batches.sent) <= MOST_IN_FLIGHT
            assert each.batches.numbers.producer.epoch <= LAST_EPOCH
        assert self.world.accumulator.held_bytes >= 0

    def end(self) -> None:
        """Let everything end well, and look at the logs."""
        self.world.settle()
        self.world.check()
        epoch = self.world.identity.producer.epoch
        assert self.may_raise_epochs or epoch in (-1, self.world.first_epoch), "an epoch was raised without need"


HARMLESS = ("write", "pass_time", "handle", "deliver")
FAULTY = ("disconnect", "move", "fail", "configure", "forget", "restart_broker", "make_again")
LAST_EPOCH = 32_766

PROFILES: MappingProxyType[str, tuple[str, ...]] = MappingProxyType({
    "refusals": ("configure",),
    "lost answers": ("disconnect", "fail", "configure"),
    "everything": FAULTY,
    "all but forgetting": ("disconnect", "move", "fail", "configure"),
})  # fmt: skip
"""The faults of a run. With fewer kinds of them, more can be said about the logs."""


def run_of(seed: int, steps: int = 60, on_step: Callable[[str], None] = lambda _name: None) -> None:
    """Run by a seed.

    Raises:
        AssertionError: A record was lost, written twice, or is in the wrong order.
    """
    rng = random.Random(seed)
    run = RandomRun(rng)
    faults = rng.choice([*PROFILES.values()])
    for _ in range(steps):
        name = rng.choice(HARMLESS) if rng.randrange(_HARMLESS + 1) else rng.choice(faults)
        on_step(name)
        run.act(name)
        if rng.random() < 0.02:
            run.end()
    run.end()
