"""Processes of a worker with retry topics are killed again and again while they hold records that wait."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from attrs import frozen

from kafka_groups.net.clock import SystemClock
from kafka_groups.share.workers.running.checks.retry_topic_checks import retry_topic_configs
from tests.support.cluster_client import Topic
from tests.support.conditions import wait_until
from tests.support.workers.retried_verdicts import RetriedRecords
from tests.support.workers.retried_worker import (
    SETTINGS_VARIABLE,
    RetriedEntry,
    RetriedJournal,
    RetriedNature,
    RetriedSettings,
    RetriedStep,
)
from tests.support.workers.worker_brokers import Place, WorkerBroker, wait_s
from tests.support.workers.worker_fleet import WorkerFleet

__all__ = ["KillPlan", "KilledRetries", "kill_plan_of"]

PARTITIONS = 2
PAUSE_S = 0.5
"""Between two kills."""
BROKER_OUTAGE_S = 5.0
PATIENCE_S = 180.0
_WEIGHTS: Mapping[RetriedNature, int] = MappingProxyType({
    RetriedNature.GOOD: 10, RetriedNature.SOON: 80, RetriedNature.LATE: 5, RetriedNature.BOTH: 3, RetriedNature.BAD: 2,
})  # fmt: skip
_GROUP: Mapping[str, str] = MappingProxyType({
    "share.heartbeat.interval.ms": "100",
    "share.assignment.interval.ms": "0",
    "share.session.timeout.ms": "3000",
    "share.record.lock.duration.ms": "6000",
})  # fmt: skip


@frozen
class KillPlan:
    """The processes, and how often one of them is killed.

    Attributes:
        seed: Where it comes from.
        processes: The number of processes.
        is_supervised: Whether the worker starts and watches them itself.
        small_s: The smaller delay of the retry topics.
        large_s: The larger delay.
        kills: How often a process is killed that holds records which wait.
        records_per_kill: How many records are written before each.
        broker_outages: How often the broker is killed meanwhile.
        forwards: Whether records that wait are forwarded before their deliveries are used up.
    """

    seed: int
    processes: int
    is_supervised: bool = False
    small_s: int = 2
    large_s: int = 20
    kills: int = 50
    records_per_kill: int = 30
    broker_outages: int = 0
    forwards: bool = True


def kill_plan_of(seed: int, *, is_real: bool) -> KillPlan:
    """Return the plan of a seed. The first is short; a third of the others have outages of the broker, too.

    With the same seed, a real Kafka gets the other number of processes.
    """
    if seed == 0:
        return KillPlan(seed, processes=4, small_s=1, large_s=6, kills=12)
    turn = seed + int(is_real)
    return KillPlan(
        seed, processes=(1, 4)[turn % 2], is_supervised=turn % 4 == 3, broker_outages=2 if seed % 3 == 2 else 0
    )


class KilledRetries:
    """A run of a plan.

    Args:
        broker: A broker, which may be killed if the plan says so.
        plan: The plan.
        directory: For the journal and the log.
    """

    def __init__(self, broker: WorkerBroker, plan: KillPlan, directory: Path) -> None:
        self._broker, self._plan = broker, plan
        self._journal = directory / "journal"
        self._journal.touch()
        self._topic, self._dead = broker.new_topic(PARTITIONS), broker.new_topic().name
        self._group_id = broker.new_group(_GROUP)
        broker.alter_group(self._retry_group, _GROUP)
        self._settings = RetriedSettings(
            broker.servers, self._group_id, self._topic.name, self._dead, f"{self._topic.name}.retry",
            plan.small_s, plan.large_s, str(self._journal), plan.forwards,
        )  # fmt: skip
        self._choose = random.Random(plan.seed)
        self._written: dict[Place, RetriedNature] = {}
        self._killed: set[int] = set()
        self._lines, self._last = RetriedJournal(self._journal), dict[str, RetriedEntry]()
        self._clock = SystemClock()
        self.fleet = self._fleet(directory / "log")

    @property
    def _retry_group(self) -> str:
        return f"{self._group_id}-retry"

    def _fleet(self, log: Path) -> WorkerFleet:
        inside, outside = (self._plan.processes, 1) if self._plan.is_supervised else (1, self._plan.processes)
        command = ["-m", "tests.support.workers.retried_worker", str(inside)]
        variables = {SETTINGS_VARIABLE: self._settings.argument}
        return WorkerFleet(command, outside, log, variables, is_supervised=self._plan.is_supervised)

    def run(self) -> RetriedRecords:
        """Write records and kill processes by turns, wait until everything is settled, and stop the worker."""
        retry_topics = [
            self._broker.new_topic(PARTITIONS, name=each.topic, configs=retry_topic_configs(each.delay_ms))
            for each in self._settings.topics.topics
        ]
        begun_ms = self._clock.now_ms()
        with self.fleet as fleet:
            for number in range(self._plan.kills):
                self._write()
                self._kill_one()
                self._may_lose_broker(number)
            kills_ms = self._clock.now_ms() - begun_ms
            self._wait_until_settled(retry_topics)
            statuses = fleet.end()
        assert set(statuses) == {0}, (statuses, fleet.log_tail())
        letters = self._broker.letters(self._dead)
        entries = RetriedJournal(self._journal).new_entries()
        return RetriedRecords(self._written, entries, letters, len(self._killed), kills_ms)

    def _write(self) -> None:
        natures = self._choose.choices([*_WEIGHTS], [*_WEIGHTS.values()], k=self._plan.records_per_kill)
        partition = self._choose.randrange(PARTITIONS)
        first = self._broker.produce(self._topic, [nature.value.encode() for nature in natures], partition)
        self._written.update({(partition, first + index): nature for index, nature in enumerate(natures)})

    def _kill_one(self) -> None:
        """Kill the process that holds the record which has had the most deliveries while its delay is not over.

        The death of a process that holds nothing would prove nothing.
        """
        self._wait_for_holders()
        wait_s(PAUSE_S)
        holders = self._wait_for_holders()
        victim = max(sorted(holders), key=lambda process: (holders[process], self._choose.random()))
        self.fleet.kill(victim)
        self._killed.add(victim)

    def _wait_for_holders(self) -> Mapping[int, int]:
        found: dict[int, int] = {}

        def is_found() -> bool:
            found.update(self._holders())
            return bool(found)

        wait_until(is_found, PATIENCE_S, self.fleet.log_tail)
        return found

    def _holders(self) -> Mapping[int, int]:
        """The processes that hold records whose delay is not over, and the most deliveries that such a record had."""
        self._last.update({entry.place: entry for entry in self._lines.new_entries()})
        alive = set(self.fleet.running) - self._killed
        waiting = [each for each in self._last.values() if each.step is RetriedStep.WAIT and each.process in alive]
        return {each.process: each.delivery_count for each in sorted(waiting, key=lambda each: each.delivery_count)}

    def _may_lose_broker(self, number: int) -> None:
        outages = self._plan.broker_outages
        if outages and (number + 1) % (self._plan.kills // outages) == 0:
            self._broker.is_away_for(BROKER_OUTAGE_S)

    def _wait_until_settled(self, retry_topics: Sequence[Topic]) -> None:
        self._broker.wait_for_lag(self._group_id, self._topic, timeout_s=PATIENCE_S)
        # A record may move from either topic to the other, until both are empty at a time.
        wait_until(
            lambda: all(self._broker.lag(self._retry_group, topic) == 0 for topic in [*retry_topics, *retry_topics]),
            PATIENCE_S,
            lambda: [self._broker.lag(self._retry_group, topic) for topic in retry_topics],
        )
