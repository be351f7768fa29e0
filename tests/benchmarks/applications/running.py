"""Applications in processes of their own, watched from outside: committed offsets, CPU time, memory."""

import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import attrs
import psutil
from attrs import evolve, field, frozen
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.benchmarks.applications.environments import interpreter
from tests.benchmarks.applications.java_program import java_application
from tests.benchmarks.applications.works import IN_MEMORY, JOB_VARIABLE
from tests.benchmarks.children import Child, child
from tests.benchmarks.topics import new_topic, unique_name

__all__ = ["JAVA", "OURS", "Moment", "RunningApplication", "StreamsJob", "application", "new_job"]

OURS, JAVA = "ours", "java"
_TIMEOUT_S = 180.0
_POLL_S = 0.05
_COORDINATOR_IS_COMING = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
"""What a broker that has just started answers for a while."""


@frozen(kw_only=True)
class StreamsJob:
    """What an application is to do.

    Attributes:
        client: `ours`, `java`, `quix` or `faust`.
        work: One of `works`.
        servers: The cluster.
        source: The topic that it reads.
        target: The topic that it writes.
        group: Its group, and its application id.
        partitions: Of the source.
        workers: Of ours; the others have one.
        commit_ms: How often it commits.
        directory: For its state.
        guarantee: What it promises after a failure.
        store: Where the stores of ours are (`default_dsl_store`).
        gets_per_second: Questions of ours to its own store of counts.
        other: Another topic that ours reads, in tasks of their own.
        settings: More keys of ours.
    """

    client: str
    work: str
    servers: str
    source: str
    target: str
    group: str
    partitions: int
    workers: int = 1
    commit_ms: int = 1000
    directory: str = ""
    guarantee: str = "at_least_once"
    store: str = IN_MEMORY
    gets_per_second: int = 0
    other: str = ""
    settings: Mapping[str, str] = field(factory=dict)


@frozen
class Moment:
    """What an application had done at one time.

    Attributes:
        at_s: The time, in seconds of the machine's monotonic clock.
        committed: Records of the source that it has committed.
        cpu_s: CPU seconds of its processes.
        resident_bytes: Resident memory of its processes.
    """

    at_s: float
    committed: int
    cpu_s: float
    resident_bytes: int


class RunningApplication:
    """An application that runs; made by `application`."""

    def __init__(self, job: StreamsJob, running: Child, watched: str) -> None:
        self._job, self._child, self._watched = job, running, watched
        self._admin = AdminClient({"bootstrap.servers": job.servers, "log_level": 3})

    def seconds_until_running(self) -> float:
        """Wait until all workers of ours are RUNNING; how long that took."""
        line = self._child.line()
        if not line:
            raise self._child.failed("the application failed")
        return float(line)

    @property
    def is_running(self) -> bool:
        """Whether all workers of ours are RUNNING. `seconds_until_running` may be called afterwards."""
        return bool(select.select([self._child.output], [], [], 0)[0])

    def gets_per_second(self) -> float:
        """Let it ask no more; how many answers ours had in a second."""
        self._child.close_input()
        line = self._child.line()
        if not line:
            raise self._child.failed("the application failed")
        return float(line)

    def leave(self) -> None:
        """Let it leave its group, so that the next application with its id gets the tasks at once."""
        self._child.close_input()
        if self._child.process.wait(_TIMEOUT_S) != 0:
            raise self._child.failed("the application failed at its end")

    def moment(self) -> Moment:
        """What it has done until now."""
        processes = self._processes()
        times = [process.cpu_times() for process in processes]
        cpu_s = sum(each.user + each.system for each in times)
        resident = sum(process.memory_info().rss for process in processes)
        return Moment(time.monotonic(), self._committed(), cpu_s, resident)

    def commits(self, timeout_s: float = _TIMEOUT_S) -> Iterator[Moment]:
        """Each commit, as it is seen. Fails if none is seen for so long."""
        last, deadline_s = 0, time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            now = self.moment()
            if now.committed > last:
                last, deadline_s = now.committed, time.monotonic() + timeout_s
                yield now
            time.sleep(_POLL_S)
        raise self._child.failed(f"{self._job.client} committed nothing for {timeout_s:.0f} s")

    def wait_until_committed(self, records: int) -> Moment:
        """Wait until it has committed so many records."""
        return next(moment for moment in self.commits() if moment.committed >= records)

    def _processes(self) -> list[psutil.Process]:
        if self._child.process.poll() is not None:
            raise self._child.failed(f"{self._job.client} ended")
        first = psutil.Process(self._child.pid)
        return [first, *first.children(recursive=True)]

    def _committed(self) -> int:
        partitions = [TopicPartition(self._watched, number) for number in range(self._job.partitions)]
        asked = ConsumerGroupTopicPartitions(self._job.group, partitions)
        deadline_s = time.monotonic() + _TIMEOUT_S
        while True:
            (answer,) = self._admin.list_consumer_group_offsets([asked]).values()
            try:
                return sum(max(0, each.offset) for each in answer.result(_TIMEOUT_S).topic_partitions)
            except KafkaException as error:
                if error.args[0].code() not in _COORDINATOR_IS_COMING or time.monotonic() > deadline_s:
                    raise
            time.sleep(_POLL_S)


def new_job(
    client: str, work: str, servers: str, source: str, partitions: int, **more: int | str | Mapping[str, str]
) -> StreamsJob:
    """Return a job with a group and an output topic of its own."""
    target = new_topic(servers, partitions)
    return StreamsJob(client=client, work=work, servers=servers, source=source, partitions=partitions, target=target,
                      group=unique_name("application"), **more)  # type: ignore[arg-type]  # fmt: skip


@contextmanager
def application(
    job: StreamsJob, checkout: Path | None = None, watched: str | None = None
) -> Iterator[RunningApplication]:
    """Run an application; it is killed at the end of the block. Ours is that of another checkout if one is given.

    Its offsets are watched in its source, or in another topic.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        told = evolve(job, directory=directory)
        with child(_command(told), checkout, _environment(told), passes_errors_on=False) as running:
            try:
                yield RunningApplication(told, running, watched or job.source)
            finally:
                running.process.kill()


def _command(job: StreamsJob) -> list[str]:
    if job.client == OURS:
        return [sys.executable, "-m", "tests.benchmarks.applications.our_program"]
    if job.client == JAVA:
        return java_application(job)
    return [str(interpreter(job.client)), str(Path(__file__).with_name(f"{job.client}_program.py"))]


def _environment(job: StreamsJob) -> Mapping[str, str]:
    kept = os.environ if job.client == OURS else {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return {**kept, JOB_VARIABLE: json.dumps(attrs.asdict(job))}
