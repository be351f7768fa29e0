"""One run of the demo of streams: an application of three processes; one of them joins late, and one is killed."""

import asyncio
import contextlib
import csv
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from attrs import field, frozen

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.cli.demo.child_process import ChildProcess
from kafka_groups.cli.demo.flights import TOTAL_FLIGHTS, flight_lines, flights_path
from kafka_groups.cli.demo.kafka import prepared_kafka
from kafka_groups.cli.demo.progress import Progress, ProgressView
from kafka_groups.cli.demo.publish import Publisher
from kafka_groups.cli.demo.run_options import RunOptions
from kafka_groups.cli.demo.streams.group_watch import StreamsWatch, client_id_of
from kafka_groups.cli.demo.streams.outcome import RunEvent, StreamsOutcome
from kafka_groups.cli.demo.streams.results import CommittedResults
from kafka_groups.cli.demo.streams.topology import (
    Sums,
    build,
    departure_of_line,
    result_key,
    topics_of,
    weather_of_lines,
)
from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.errors.texts import sentences
from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.net.clock import SystemClock
from kafka_groups.types import TopicPartition

__all__ = ["StreamsDemo", "StreamsDemoOptions"]

_TICK_SECONDS: Final = 0.25
_STOP_SECONDS: Final = 40.0
_LOOKS_OF_RATE: Final = 8
_SESSION: Final = {
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.heartbeat.interval.ms": "1000",
}
"""The embedded broker gives the tasks of a killed process away after six seconds; Kafka's default is 45."""


class ApplicationProcessError(KafkaGroupsError):
    """A process of the application ended by itself."""


class PageError(KafkaGroupsError):
    """The page about the run cannot be written."""


@frozen(kw_only=True)
class StreamsDemoOptions(RunOptions):
    """The options of a run.

    Attributes:
        partitions: Number of partitions of each topic.
        page: Where to write the page about the run.
    """

    partitions: int = 6
    page: Path = field(factory=lambda: Path(tempfile.gettempdir()) / "kafka-groups-streams-demo.html")


class ApplicationProcess(ChildProcess):
    """A process of the application."""

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
        self._processes: dict[int, ApplicationProcess] = {}
        self._total = min(options.limit or TOTAL_FLIGHTS, TOTAL_FLIGHTS)
        self._rows = self._results_at_kill = 0
        self._timeline: list[tuple[float, int]] = []
        self._events: list[RunEvent] = []
        self._topics = topics_of(options.name)
        self._results: CommittedResults
        self._admin: AsyncKafkaAdmin
        self._group: StreamsWatch
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
        airlines = _table(flights.parent / "airlines.csv")
        async with contextlib.AsyncExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-groups-demo-")))
            partitions = dict.fromkeys(self._topics, self._options.partitions)
            servers = await prepared_kafka(stack, self._options, partitions, directory, self._progress, _SESSION)
            self._publisher = Publisher(servers)
            stack.callback(self._publisher.stop)
            self._admin = await stack.enter_async_context(AsyncKafkaAdmin(bootstrap_servers=servers))
            self._group = StreamsWatch(self._admin, self._options.name)
            results = CommittedResults(servers, self._topics.results, self._options.partitions)
            self._results = stack.enter_context(results)
            stack.callback(self._kill_all)
            await self._publish_tables(airlines, flights.parent / "weather.csv")
            await self._work_in_time(servers, directory, flights)
            await self._stop_processes()
            await self._delete_group()
            expected = await asyncio.to_thread(_computed_plainly, flights, self._options.limit, airlines)
            outcome = self._outcome(expected)
            await asyncio.to_thread(self._write_page, outcome)
            return outcome

    def _outcome(self, expected: Mapping[str, Sums]) -> StreamsOutcome:
        found, published = self._results, self._publisher.confirmed - self._rows
        return StreamsOutcome(
            published,
            self._results_at_kill,
            found.count,
            found.misplaced,
            found.last,
            expected,
            timeline=self._timeline,
            events=self._events,
        )

    def _write_page(self, outcome: StreamsOutcome) -> None:
        from kafka_groups.cli.demo.streams.page import write_page  # noqa: PLC0415 - Plotly takes a second

        try:
            write_page(self._options.page, outcome, build(self._options.name))
        except OSError as error:
            text = f"Could not write {self._options.page}: {error.strerror}"
            raise PageError(sentences(text, "Choose a file with --page")) from error
        self._progress.note(f"Wrote a page about the run: {self._options.page}")

    async def _publish_tables(self, airlines: Mapping[str, str], weather: Path) -> None:
        """Publish the names of the airlines and the weather, before any flight is joined with them."""
        await asyncio.to_thread(self._publisher.run, _rows(self._topics.airlines, airlines.items()))
        with weather.open(encoding="utf-8") as lines:
            await asyncio.to_thread(self._publisher.run, _rows(self._topics.weather, weather_of_lines(lines)))
        self._rows = self._publisher.confirmed
        self._progress.note(f"Published the names of {len(airlines)} airlines, and the weather of a year")

    async def _work_in_time(self, servers: str, directory: Path, flights: Path) -> None:
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                await self._work(servers, directory, flights)
        except TimeoutError as error:
            done = f"{self._results.count:,} of {self._total:,} flights have a result"
            raise OperationTimeoutError(f"Timed out after {self._options.timeout_seconds:.0f} s. {done}.") from error

    async def _work(self, servers: str, directory: Path, flights: Path) -> None:
        lines = flight_lines(flights, self._options.limit)
        third = self._total // 3
        for number in range(2):
            self._start(number, servers, directory)
        await self._until_tasks_are_shared(2)
        await self._until_weather_is_known()
        await self._publish(lines, third)
        self._start(2, servers, directory)
        await self._until_tasks_are_shared(3)
        self._progress.note("The third process has its share of the tasks")
        publishing = asyncio.create_task(self._publish(lines, third))
        await self._until(lambda: self._results.count > third)
        self._kill(0)
        await publishing
        await self._publish(lines, self._total)
        await self._until_tasks_are_shared(2)
        self._progress.note("The others have the tasks of the killed process, and their stores from the changelogs")
        await self._until(lambda: self._results.count >= self._total)
        await asyncio.to_thread(self._results.read)  # nothing more may come

    # --------------------------------------------------------------------------------------- processes

    def _start(self, number: int, servers: str, directory: Path) -> None:
        name = self._options.name
        command = [
            sys.executable,
            "-m",
            "kafka_groups.cli.demo.streams.application_process",
            "--bootstrap-servers",
            servers,
        ]
        command += ["--application", name, "--client-id", client_id_of(number)]
        self._processes[number] = ApplicationProcess(number, command, directory / f"worker-{number}.log")
        self._happened(f"Process {number} started")
        self._progress.note(f"Started process {number} (pid {self._processes[number].pid}) of the application {name}")

    def _kill(self, number: int) -> None:
        process = self._processes.pop(number)
        process.kill()
        self._results_at_kill = self._results.count
        self._happened(f"Process {number} killed")
        self._progress.note(
            f"Process {number} (pid {process.pid}) killed with SIGKILL after {self._results_at_kill:,} results"
        )

    def _happened(self, text: str) -> None:
        self._events.append(RunEvent(self._elapsed_ms / 1_000, text))

    def _check_processes(self) -> None:
        for number, process in self._processes.items():
            if not process.running:
                raise ApplicationProcessError(f"Process {number} {process.last_words()}")

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
            await self._admin.delete_streams_group_internal_topics(self._options.name)
            (await self._admin.delete_streams_groups([self._options.name])).checked()

    # ------------------------------------------------------------------------------------------ waiting

    async def _publish(self, lines: Iterator[str], count: int) -> None:
        await asyncio.to_thread(self._publisher.run, self._records(islice(lines, count)))

    def _records(self, lines: Iterable[str]) -> Iterator[OutgoingRecord]:
        for line in lines:
            departure = departure_of_line(line)
            key, value = departure.carrier.encode(), departure.text.encode()
            yield OutgoingRecord(self._topics.flights, key, value, timestamp_ms=departure.time_ms)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while True:
            await self._look()
            if condition():
                return

    async def _until_tasks_are_shared(self, members: int) -> None:
        """Wait until the group is stable, with so many members that have tasks."""
        await self._until(lambda: self._group.is_shared_by(members))
        self._happened(f"{members} processes have tasks")

    async def _until_weather_is_known(self) -> None:
        """Wait until the tasks have the whole table: a flight is joined with what is known when it comes."""
        name, topic = self._options.name, self._topics.weather
        wanted = {name: [TopicPartition(topic, each) for each in range(self._options.partitions)]}
        while True:
            found = (await self._admin.describe_streams_group_offsets(wanted)).values.get(name)
            await self._look()
            if found is not None and not found.errors and not any(each.lag for each in found.values.values()):
                return
            await asyncio.sleep(_TICK_SECONDS)

    async def _look(self) -> None:
        await asyncio.to_thread(self._results.read)
        await self._group.look()
        self._timeline.append((self._elapsed_ms / 1_000, self._results.count))
        self._progress.show(self._view())
        self._check_processes()

    @property
    def _elapsed_ms(self) -> int:
        return self._clock.now_ms() - self._started_ms

    def _view(self) -> ProgressView:
        done, published = self._results.count, max(self._publisher.confirmed - self._rows, 0)
        tasks = {process: len(tasks) for process, tasks in self._group.tasks.items()}
        figures: dict[str, int | str | None] = {
            "published": published,
            "results": done,
            "lag": published - done,
            "results/s": _rate(self._timeline),
            "tasks": " + ".join(map(str, tasks.values())),
        }
        rows = [(f"process {process}", " ".join(map(str, tasks))) for process, tasks in self._group.tasks.items()]
        return ProgressView(elapsed_ms=self._elapsed_ms, total=self._total, done=done, figures=figures, rows=rows)


def _rate(timeline: Sequence[tuple[float, int]]) -> int:
    """Return how many results a second the last looks found."""
    (begin_s, before), (end_s, after) = timeline[-min(len(timeline), _LOOKS_OF_RATE)], timeline[-1]
    return round((after - before) / (end_s - begin_s)) if end_s > begin_s else 0


def _computed_plainly(flights: Path, limit: int | None, airlines: Mapping[str, str]) -> dict[str, Sums]:
    with (flights.parent / "weather.csv").open(encoding="utf-8") as lines:
        windy = dict(weather_of_lines(lines))
    sums: defaultdict[str, Sums] = defaultdict(Sums)
    for line in flight_lines(flights, limit):
        each = departure_of_line(line)
        key = result_key(airlines[each.carrier], each.time_ms)
        sums[key] = sums[key].plus(each.minutes, is_windy=windy.get(each.place) == "1")
    return dict(sums)


def _table(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8") as lines:
        return {key: value for key, value in islice(csv.reader(lines), 1, None)}  # noqa: C416 - the rows are lists


def _rows(topic: str, rows: Iterable[tuple[str, str]]) -> Iterator[OutgoingRecord]:
    """Yield the records of a table. They are older than all flights, which find them."""
    for key, value in rows:
        yield OutgoingRecord(topic, key.encode(), value.encode(), timestamp_ms=1)
