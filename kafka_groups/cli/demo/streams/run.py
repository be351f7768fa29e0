"""One run of the demo of streams groups: three processes count flights; one of them joins late, and one is killed."""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from attrs import frozen

from kafka_groups.admin import AsyncKafkaAdmin, StreamsGroupDescription
from kafka_groups.cli.demo.child_process import ChildProcess
from kafka_groups.cli.demo.flights import TOTAL_FLIGHTS, flight_lines, flight_of_line, flights_path
from kafka_groups.cli.demo.kafka import prepared_kafka
from kafka_groups.cli.demo.progress import Progress, ProgressView
from kafka_groups.cli.demo.publish import Publisher, client_keys
from kafka_groups.cli.demo.run_options import RunOptions
from kafka_groups.cli.demo.streams.outcome import StreamsOutcome
from kafka_groups.cli.demo.streams.watch import ChangelogWatch
from kafka_groups.data_plane.deliveries import OutgoingRecord
from kafka_groups.data_plane.topics import delete_topics
from kafka_groups.errors import BrokerError, KafkaGroupsError, NetworkError, OperationTimeoutError
from kafka_groups.net.clock import SystemClock

__all__ = ["StreamsDemo", "StreamsDemoOptions"]

_TICK_SECONDS: Final = 0.25
_STOP_SECONDS: Final = 40.0
_SESSION: Final = {
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.heartbeat.interval.ms": "1000",
}
"""The embedded broker gives the tasks of a killed process away after six seconds; Kafka's default is 45."""


class CountingProcessError(KafkaGroupsError):
    """A process that counts flights ended by itself."""


@frozen(kw_only=True)
class StreamsDemoOptions(RunOptions):
    """The options of a run.

    Attributes:
        partitions: Number of partitions of the topic, and of tasks.
    """

    partitions: int = 6


class CountingProcess(ChildProcess):
    """A process with a member of the group."""

    def __init__(self, number: int, command: Sequence[str], log: Path) -> None:
        self.number = number
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - the demo's own command
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        super().__init__(process, log)


class StreamsDemo:
    """One run of the demo. Call `run` once, inside the progress's context."""

    def __init__(self, options: StreamsDemoOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        self._clock = SystemClock()
        self._started_ms = self._clock.now_ms()
        self._processes: dict[int, CountingProcess] = {}
        self._total = min(options.limit or TOTAL_FLIGHTS, TOTAL_FLIGHTS)
        self._members = 0
        self._counted_at_kill = 0
        self._watch: ChangelogWatch
        self._admin: AsyncKafkaAdmin
        self._publisher: Publisher

    def __repr__(self) -> str:
        return f"<StreamsDemo {self._options.name}>"

    async def run(self) -> StreamsOutcome:
        """Run the demo and return its results.

        Raises:
            KafkaGroupsError: A requirement is missing, the broker refused a request, a process ended unexpectedly, or
                the run timed out.
        """
        flights = flights_path()
        async with contextlib.AsyncExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-groups-demo-")))
            topics = {self._options.name: self._options.partitions}
            servers = await prepared_kafka(stack, self._options, topics, directory, self._progress, _SESSION)
            self._publisher = Publisher(servers)
            stack.callback(self._publisher.stop)
            self._admin = await stack.enter_async_context(AsyncKafkaAdmin(bootstrap_servers=servers))
            self._watch = stack.enter_context(ChangelogWatch(servers, self._options.name, self._options.partitions))
            stack.callback(self._kill_all)
            await self._work_in_time(servers, directory, flights)
            await self._stop_processes()
            await asyncio.to_thread(self._watch.read_to_end)
            await self._delete_group()
            expected = await asyncio.to_thread(_counted_plainly, flights, self._options.limit)
            return StreamsOutcome(self._publisher.confirmed, self._counted_at_kill, self._watch.flights(), expected)

    async def _work_in_time(self, servers: str, directory: Path, flights: Path) -> None:
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                await self._work(servers, directory, flights)
        except TimeoutError as error:
            done = f"{self._watch.counted:,} of {self._publisher.confirmed:,} flights were counted"
            raise OperationTimeoutError(f"Timed out after {self._options.timeout_seconds:.0f} s. {done}.") from error

    async def _work(self, servers: str, directory: Path, flights: Path) -> None:
        lines = flight_lines(flights, self._options.limit)
        third = self._total // 3
        for number in range(2):
            self._start(number, servers, directory)
        await self._publish(lines, third)
        await self._until_tasks_are_shared(2)
        self._start(2, servers, directory)
        await self._until_tasks_are_shared(3)
        self._progress.note("The third process has its share of the tasks")
        publishing = asyncio.create_task(self._publish(lines, third))
        await self._until(lambda: self._watch.counted > third)
        self._kill(0)
        await publishing
        await self._publish(lines, self._total)
        await self._until_tasks_are_shared(2)
        self._progress.note("The others have the tasks of the killed process, and their counts from the changelog")
        await self._until(lambda: self._watch.counted >= self._total)

    # --------------------------------------------------------------------------------------- processes

    def _start(self, number: int, servers: str, directory: Path) -> None:
        name = self._options.name
        command = [sys.executable, "-m", "kafka_groups.cli.demo.streams.worker", "--bootstrap-servers", servers]
        command += ["--application", name, "--topic", name]
        if self._options.bootstrap_servers is not None:  # readers wait for the transaction of the killed process
            command += ["--transactions"]
        self._processes[number] = CountingProcess(number, command, directory / f"worker-{number}.log")
        self._progress.note(f"Started process {number} (pid {self._processes[number].pid}) of the application {name}")

    def _kill(self, number: int) -> None:
        process = self._processes.pop(number)
        process.kill()
        self._counted_at_kill = self._watch.counted
        self._progress.note(
            f"Process {number} (pid {process.pid}) killed with SIGKILL after {self._counted_at_kill:,} flights"
        )

    def _check_processes(self) -> None:
        for number, process in self._processes.items():
            if not process.running:
                raise CountingProcessError(f"Process {number} {process.last_words()}")

    async def _stop_processes(self) -> None:
        for process in self._processes.values():
            process.terminate()
        async with asyncio.timeout(_STOP_SECONDS):
            statuses = await asyncio.gather(*(process.ended() for process in self._processes.values()))
        if any(statuses):
            self._check_processes()

    def _kill_all(self) -> None:
        for process in self._processes.values():
            if process.running:
                process.kill()

    async def _delete_group(self) -> None:
        """Leave nothing behind on a Kafka that was there before; an embedded broker ends with the demo."""
        if self._options.bootstrap_servers is not None:
            (await self._admin.delete_streams_groups([self._options.name])).checked()
            servers = client_keys(self._options.bootstrap_servers)
            await asyncio.to_thread(delete_topics, servers, [self._watch.changelog])

    # ------------------------------------------------------------------------------------------ waiting

    async def _publish(self, lines: Iterator[str], count: int) -> None:
        records = (
            OutgoingRecord(self._options.name, flight_of_line(line).tail_number.encode(), line.encode())
            for line in islice(lines, count)
        )
        await asyncio.to_thread(self._publisher.run, records)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while True:
            await asyncio.to_thread(self._watch.read)
            self._progress.show(self._view())
            self._check_processes()
            if condition():
                return

    async def _until_tasks_are_shared(self, members: int) -> None:
        """Wait until the group is stable, with so many members that have tasks."""
        while True:
            group = await self._described()
            self._members = len(group.members) if group is not None else 0
            await asyncio.to_thread(self._watch.read)
            self._progress.show(self._view())
            self._check_processes()
            if group is not None and _is_shared(group, members):
                return
            await asyncio.sleep(_TICK_SECONDS)

    async def _described(self) -> StreamsGroupDescription | None:
        name = self._options.name
        try:
            return (await self._admin.describe_streams_groups([name])).values.get(name)
        except (NetworkError, OperationTimeoutError, BrokerError):
            return None

    def _view(self) -> ProgressView:
        figures: dict[str, int | str | None] = {
            "published": self._publisher.confirmed,
            "counted": self._watch.counted,
            "members": self._members,
        }
        elapsed_ms = self._clock.now_ms() - self._started_ms
        return ProgressView(elapsed_ms=elapsed_ms, total=self._total, done=self._watch.counted, figures=figures)


def _is_shared(group: StreamsGroupDescription, members: int) -> bool:
    owners = [each for each in group.members if any(each.assignment.active.values())]
    return group.state == "Stable" and len(owners) == len(group.members) == members


def _counted_plainly(flights: Path, limit: int | None) -> Counter[str]:
    return Counter(flight_of_line(line).carrier for line in flight_lines(flights, limit))
