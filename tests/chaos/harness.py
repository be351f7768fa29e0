"""Runs processes of the example, strikes them by the seed, and compares their counts with the records."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import psutil
from attrs import define, field, frozen
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position
from streams_member_flights import CARRIER, TASKS, Application, consumer_of, create_topic, restored, text

from kafka_groups import KafkaAdmin, TopicPartition
from kafka_groups.net.clock import SystemClock
from kafka_groups.testing import EmbeddedCluster, KafkaProcess
from tests.chaos.plan import Act, Plan, Strike
from tests.chaos.process import SLOW_S
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import EMBEDDED_PROPERTIES

ROOT: Final = Path(__file__).parents[2]
_GROUP: Final = {"streams.session.timeout.ms": "3000", "streams.heartbeat.interval.ms": "500"}
_SETTINGS: Final = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}
_PAUSE_S: Final = 5.0
"""Longer than the session."""
_RECORDS_A_SECOND: Final = 1_000
_END_S: Final = 240.0
_TURN_S: Final = 0.05
_SIGNALS: Final = {
    Act.KILL: signal.SIGKILL,
    Act.LEAVE: signal.SIGTERM,
    Act.PAUSE: signal.SIGSTOP,
    Act.PAUSE_MIDWAY: signal.SIGUSR2,
    Act.SLOW: signal.SIGUSR1,
}


@contextmanager
def running_broker(kind: str) -> Iterator[str]:
    """A broker of this kind (`embedded` or `kafka`) with short sessions, by its address."""
    if kind == "kafka":
        with KafkaProcess(properties={"group.streams.assignment.interval.ms": "0"}) as kafka:
            yield kafka.bootstrap_servers
    else:
        with EmbeddedCluster(settings={**EMBEDDED_PROPERTIES, **_SETTINGS}) as cluster:
            yield cluster.bootstrap_servers


@frozen
class Report:
    """What a run came to.

    Attributes:
        plan: Its plan.
        struck: How often each act struck.
        lives: How often a process started again with a new member, because it had lost its tasks.
        outdated: Records of members that had lost the task, after a later owner's claim. Readers ignore them.
        produced: The records by carrier.
        counted: The same, as the changelogs have them.
        committed: The sum of the committed offsets.
    """

    plan: Plan
    struck: Counter[Act]
    lives: int
    outdated: int
    produced: Counter[str]
    counted: Counter[str]
    committed: int

    @property
    def is_exact(self) -> bool:
        """Whether each record was counted once."""
        return self.counted == self.produced and self.committed == self.produced.total()

    def __str__(self) -> str:
        struck = ", ".join(f"{self.struck[act]} x {act}" for act in Act)
        return (
            f"{self.plan}: {'exact' if self.is_exact else 'WRONG'}; produced {self.produced.total():,}, counted"
            f" {self.counted.total():,}, committed {self.committed:,}; {struck}; {self.lives} new members after lost"
            f" tasks, {self.outdated} outdated records ignored"
        )


@define(eq=False)
class _Slot:
    """A place for one process after the other."""

    number: int
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    expected: set[int] = field(factory=set)
    is_pausing: bool = False
    resumes_ms: int | None = None
    busy_until_ms: int = 0
    starts: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether its process has begun to work, and handles signals."""
        return self.log.read_text(errors="replace").count("ready\n") == self.starts

    @property
    def is_stopped(self) -> bool:
        """Whether its process does not run, because of SIGSTOP."""
        return self.process is not None and psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED


class Chaos:
    """One run. Call `run` once.

    Args:
        plan: What to do.
        servers: The broker's address.
        directory: Where the processes' logs go.
    """

    def __init__(self, plan: Plan, servers: str, directory: Path) -> None:
        self._plan = plan
        self._application = Application(servers, unique("chaos"), plan.broker == "kafka")
        self._slots = [_Slot(number, directory / f"process-{number}.log") for number in range(plan.processes)]
        self._producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 2})
        self._values = random.Random(plan.seed)
        self._produced: Counter[str] = Counter()
        self._struck: Counter[Act] = Counter()
        self._failures: list[str] = []
        self._clock = SystemClock()
        self._admin = KafkaAdmin(bootstrap_servers=servers)

    def __repr__(self) -> str:
        return f"<Chaos {self._plan}>"

    def run(self) -> Report:
        """Run the plan, and wait until all records are counted.

        Raises:
            AssertionError: A process failed, or records are not counted in time.
        """
        create_topic(self._application)
        with self._admin:
            self._admin.alter_group_configs({self._application.name: _GROUP}).checked()
            try:
                self._strike_all()
                self._start_all()
                self._wait_until_counted()
                self._leave_all()
            finally:
                self._kill_all()
            assert not self._failures, "\n".join(self._failures)
            return self._report(self._committed())

    # ------------------------------------------------------------------------------------- the strikes

    def _strike_all(self) -> None:
        started_ms, tick = self._clock.now_ms(), threading.Event()
        for strike in self._plan.strikes():
            while (now_ms := self._clock.now_ms()) < started_ms + strike.at_ms:
                self._produce((now_ms - started_ms) * _RECORDS_A_SECOND // 1_000)
                self._look_after(now_ms)
                tick.wait(_TURN_S)
            self._strike(strike)
        assert self._producer.flush(60) == 0

    def _produce(self, total: int) -> None:
        for _ in range(total - self._produced.total()):
            carrier = f"{self._values.choice('ABCDEFGH')}{self._values.choice('XY')}"
            self._producer.produce(self._application.name, ",".join(["-"] * CARRIER + [carrier]))
            self._produced[carrier] += 1
        self._producer.poll(0)

    def _strike(self, strike: Strike) -> None:
        slot, now_ms = self._slots[strike.slot], self._clock.now_ms()
        process = slot.process
        if process is None:
            self._start(slot)
            return
        if slot.is_pausing or now_ms < slot.busy_until_ms or slot.expected or not slot.is_ready:
            return
        process.send_signal(_SIGNALS[strike.act])
        self._struck[strike.act] += 1
        if strike.act in (Act.PAUSE, Act.PAUSE_MIDWAY):
            slot.is_pausing = True
        elif strike.act is Act.SLOW:
            slot.busy_until_ms = now_ms + round(SLOW_S * 1000)
        else:
            slot.expected = {-signal.SIGKILL} if strike.act is Act.KILL else {0}

    def _look_after(self, now_ms: int) -> None:
        for slot in self._slots:
            if slot.is_pausing and slot.resumes_ms is None and slot.is_stopped:
                slot.resumes_ms = now_ms + round(_PAUSE_S * 1000)
            if slot.resumes_ms is not None and now_ms >= slot.resumes_ms:
                self._resume(slot)
            if slot.process is not None and slot.process.poll() is not None:
                self._ended(slot, slot.process.returncode)

    def _start(self, slot: _Slot) -> None:
        command = [sys.executable, "-m", "tests.chaos.process", self._application.servers, self._application.name]
        command += ["--transactions"] if self._application.transactions else []
        environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'examples'}"}
        with slot.log.open("ab") as log:
            slot.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=ROOT
            )
        slot.expected = set()
        slot.starts += 1
        self._struck[Act.START] += 1

    def _ended(self, slot: _Slot, status: int) -> None:
        if status not in slot.expected:
            said = slot.log.read_text(errors="replace")[-3_000:]
            self._failures.append(f"process {slot.number} ended with status {status}: {said}")
        slot.process = None

    def _resume(self, slot: _Slot) -> None:
        slot.is_pausing, slot.resumes_ms = False, None
        if slot.process is not None:
            slot.process.send_signal(signal.SIGCONT)

    # ------------------------------------------------------------------------------------------ the end

    def _start_all(self) -> None:
        self._look_after(self._clock.now_ms())
        for slot in self._slots:
            if slot.process is None:
                self._start(slot)

    def _wait_until_counted(self) -> None:
        try:
            wait_until(self._is_counted, _END_S)
        except AssertionError as error:
            said = "\n".join(f"{slot}\n{slot.log.read_text(errors='replace')[-1_500:]}" for slot in self._slots)
            group = self._admin.describe_streams_groups([self._application.name])
            raise AssertionError(
                f"{self._committed():,} of {self._produced.total():,} records were counted, {error}: {group}\n{said}"
            ) from error

    def _is_counted(self) -> bool:
        self._look_after(self._clock.now_ms())
        works = all(slot.is_ready and slot.resumes_ms is None for slot in self._slots)
        is_counted = works and self._committed() == self._produced.total()
        return is_counted or bool(self._failures)

    def _committed(self) -> int:
        name = self._application.name
        partitions = [TopicPartition(name, at) for at in range(TASKS)]
        groups = self._admin.describe_streams_group_offsets({name: partitions})
        offsets = groups.values[name].values if name in groups.values else {}
        return sum(each.offset or 0 for each in offsets.values())

    def _leave_all(self) -> None:
        for slot in self._slots:
            if slot.process is not None and not slot.expected:
                slot.process.terminate()
                slot.expected = {0}
        for slot in self._slots:
            if slot.process is not None:
                self._ended(slot, slot.process.wait(60))

    def _kill_all(self) -> None:
        for slot in self._slots:
            if slot.process is not None:
                slot.process.kill()
                slot.process.wait()

    def _report(self, committed: int) -> Report:
        stores = [restored(self._application, partition) for partition in range(TASKS)]
        said = "".join(slot.log.read_text(errors="replace") for slot in self._slots)
        return Report(
            plan=self._plan,
            struck=self._struck,
            lives=said.count("starts again"),
            outdated=sum(self._outdated(partition) for partition in range(TASKS)),
            produced=self._produced,
            counted=sum((store.flights for store in stores), Counter()),
            committed=committed,
        )

    def _outdated(self, partition: int) -> int:
        """How many records of a changelog were written with an epoch that is lower than that of a claim before."""
        place, seen, outdated = Position(self._application.changelog, partition, 0), 0, 0
        with closing(consumer_of(self._application.servers)) as consumer:
            for epoch in _epochs(consumer, place):
                outdated += epoch < seen
                seen = max(seen, epoch)
        return outdated


def _epochs(consumer: Consumer, place: Position) -> Iterator[int]:
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.assign([place])
    while consumer.position([place])[0].offset < end:
        for message in consumer.consume(10_000, 0.2):
            yield json.loads(text(message.value()))[0]
