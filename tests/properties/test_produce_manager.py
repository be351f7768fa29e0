"""The rules of a producer against naive brokers: answers lost, leaders moved, batches refused and divided, epochs."""

import random
from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from tests.support.producing.partition_of_producers import POISON
from tests.support.producing.producer_world import ProducerWorld

PARTITIONS, NODES = 2, 2
FAULTS = (
    ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT,
)  # fmt: skip
partitions, nodes = st.integers(0, PARTITIONS - 1), st.integers(0, NODES - 1)


class ProducingMachine(RuleBasedStateMachine):
    """Random writes and faults, in any order."""

    @initialize(seed=st.integers(0, 9), near_the_end=st.booleans(), last_epochs=st.booleans())
    def begin(self, seed: int, near_the_end: bool, last_epochs: bool) -> None:
        rng = random.Random(seed)
        self.numbers = count()
        self.world = ProducerWorld(PARTITIONS, NODES, AccumulatorSettings(batch_bytes=250, linger_ms=5), rng)
        self.world.first_epoch = 32_765 if last_epochs else 0
        self.may_raise_epochs = False
        if near_the_end:
            self._begin_before_the_last_number()

    def _begin_before_the_last_number(self) -> None:
        """Have the numbers of all partitions wrap soon."""
        world = self.world
        for partition in range(PARTITIONS):
            self.write(partition, 1, None)
        world.settle()
        for partition, log in enumerate(world.logs):
            [known] = log._producers.values()
            known.batches[-1] = (2**31 - 4, 2**31 - 4, 0)
            [state] = [each for each in world.produce._partitions.values() if each.name.partition == partition]
            state.batches.numbers.last_confirmed = 2**31 - 4

    @rule(partition=partitions, number=st.integers(1, 12), poisoned=st.none() | st.integers(0, 11))
    def write(self, partition: int, number: int, poisoned: int | None) -> None:
        values = [b"%d" % next(self.numbers) for _ in range(number)]
        if poisoned is not None and poisoned < number:
            values[poisoned] = POISON + values[poisoned]
        self.world.write(partition, values)
        self.world.turn()

    @rule(ms=st.sampled_from([1, 5, 100, 1_000]))
    def pass_time(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule(node=nodes, times=st.integers(1, 5))
    def handle(self, node: int, times: int) -> None:
        for _ in range(times):
            self.world.handle(node)

    @rule(node=nodes, times=st.integers(1, 5))
    def deliver(self, node: int, times: int) -> None:
        for _ in range(times):
            self.world.deliver(node)

    @rule(node=nodes, handled=st.integers(0, 5))
    def disconnect(self, node: int, handled: int) -> None:
        self.may_raise_epochs = True
        self.world.disconnect(node, handled)

    @rule(partition=partitions, node=nodes, hints=st.booleans())
    def move(self, partition: int, node: int, hints: bool) -> None:
        self.may_raise_epochs = True
        self.world.gives_hints = hints
        self.world.move(partition, node)

    @rule(partition=partitions, faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=3))
    def fail(self, partition: int, faults: list[ErrorCode]) -> None:
        self.may_raise_epochs = True
        self.world.faults[partition].extend(faults)

    @rule(partition=partitions, max_bytes=st.sampled_from([90, 150, 200, 10_000]), names=st.booleans())
    def configure(self, partition: int, max_bytes: int, names: bool) -> None:
        self.world.logs[partition].max_bytes = max_bytes
        self.world.logs[partition].names_records = names

    @rule(partition=partitions)
    def forget(self, partition: int) -> None:
        self.may_raise_epochs = True
        self.world.logs[partition].forget()

    @rule(partition=partitions)
    def restart_broker(self, partition: int) -> None:
        self.may_raise_epochs = True
        self.world.logs[partition].keep_last_batches()

    @rule()
    def make_again(self) -> None:
        self.may_raise_epochs = True
        self.world.make_again()

    @rule()
    def settle(self) -> None:
        self.world.settle()
        self.world.check()
        producer = self.world.identity.producer
        assert self.may_raise_epochs or producer.epoch in (-1, self.world.first_epoch), "an epoch raised without need"

    @invariant()
    def at_most_five_in_flight(self) -> None:
        if hasattr(self, "world"):
            for each in self.world.produce._partitions.values():
                assert sum(sent.is_in_flight for sent in each.batches.sent) <= 5
                assert each.batches.numbers.producer.epoch <= 32_766
            assert self.world.accumulator.held_bytes >= 0

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.settle()


TestProducing = ProducingMachine.TestCase
TestProducing.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
