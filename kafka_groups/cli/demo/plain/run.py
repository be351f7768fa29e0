"""One run of the demo: broker, topic, workers, the kill, and the results."""

import asyncio
import contextlib
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from kafka_groups.cli.demo.flights import (
    TOTAL_FLIGHTS,
    Delays,
    delays_by,
    flight_lines,
    flight_of_line,
    flights_path,
)
from kafka_groups.cli.demo.kafka import prepared_kafka
from kafka_groups.cli.demo.plain.events import EventKind, WorkerEvent
from kafka_groups.cli.demo.plain.processes import WorkerProcess
from kafka_groups.cli.demo.plain.store import FlightStore
from kafka_groups.cli.demo.plain.tally import PlainOutcome, PlainTally
from kafka_groups.cli.demo.probe import GroupWatch
from kafka_groups.cli.demo.progress import Progress, ProgressView
from kafka_groups.cli.demo.publish import Publisher
from kafka_groups.cli.demo.run_options import RunOptions
from kafka_groups.data_plane.deliveries import OutgoingRecord
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.net.clock import SystemClock

__all__ = ["Demo", "DemoOptions"]

_TICK_SECONDS = 0.25
_RATE_WINDOW_MS = 3_000
_KILL_AFTER = 0.25
_STOP_SECONDS = 40.0


@frozen(kw_only=True)
class DemoOptions(RunOptions):
    """The options of a run without Spark.

    Attributes:
        mode: The acknowledgement mode, `implicit` or `explicit`.
        partitions: Number of partitions of the topic.
    """

    mode: str = "explicit"
    partitions: int = 4


class Demo:
    """One run of the demo. Call `run` once, inside the progress's context."""

    def __init__(self, options: DemoOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        self._clock = SystemClock()
        self._tally = PlainTally()
        self._workers: dict[int, WorkerProcess] = {}
        self._rates: deque[tuple[int, int]] = deque()
        self._watch: GroupWatch
        self._killed = False
        self._changed = asyncio.Event()
        self._started_ms = self._clock.now_ms()
        self._total = min(options.limit or TOTAL_FLIGHTS, TOTAL_FLIGHTS)

    def __repr__(self) -> str:
        return f"<Demo {self._options.name} {self._tally}>"

    async def run(self) -> PlainOutcome:
        """Run the demo and return its results.

        Raises:
            KafkaGroupsError: A requirement is missing, the broker refused a request, a process ended unexpectedly, or
                the run timed out.
        """
        flights = flights_path()
        async with contextlib.AsyncExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-groups-demo-")))
            servers = await self._kafka(stack, directory)
            publisher = Publisher(servers)
            stack.callback(publisher.stop)
            self._start_workers(stack, servers, directory)
            await self._work_in_time(stack, servers, publisher, flights)
            await self._stop_workers()
            expected = await asyncio.to_thread(_computed_plainly, flights, self._options.limit)
            with FlightStore(directory / "flights.sqlite") as store:
                return self._outcome(publisher.confirmed, store, expected)

    # ------------------------------------------------------------------------------------- the parts of a run

    async def _kafka(self, stack: contextlib.AsyncExitStack, directory: Path) -> str:
        partitions = {self._options.name: self._options.partitions}
        return await prepared_kafka(stack, self._options, partitions, directory, self._progress)

    def _start_workers(self, stack: contextlib.AsyncExitStack, servers: str, directory: Path) -> None:
        name, mode = self._options.name, self._options.mode
        FlightStore(directory / "flights.sqlite").close()
        command = [sys.executable, "-m", "kafka_groups.cli.demo.plain.worker", "--bootstrap-servers", servers]
        command += ["--group", name, "--topic", name, "--mode", mode, "--store", str(directory / "flights.sqlite")]
        for number in range(self._options.partitions * self._options.workers_per_partition):
            log = directory / f"worker-{number}.log"
            self._workers[number] = WorkerProcess(number, command, log, self._on_event)
            stack.callback(self._workers[number].close)
        self._progress.note(f"Started {len(self._workers)} workers in share group {name} ({mode} acknowledgement)")

    async def _work(self, stack: contextlib.AsyncExitStack, servers: str, publisher: Publisher, flights: Path) -> None:
        self._watch = await stack.enter_async_context(GroupWatch(servers, self._options.name, _TICK_SECONDS))
        publishing = asyncio.create_task(asyncio.to_thread(publisher.run, self._records(flights)))
        while not (publishing.done() and self._tally.accepted >= publishing.result()):
            await self._tick()
            self._check_workers()
            self._progress.show(self._progress_view(publisher.confirmed))

    def _records(self, flights: Path) -> Iterator[OutgoingRecord]:
        for line in flight_lines(flights, self._options.limit):
            yield OutgoingRecord(self._options.name, flight_of_line(line).tail_number.encode(), line.encode())

    async def _work_in_time(
        self, stack: contextlib.AsyncExitStack, servers: str, publisher: Publisher, flights: Path
    ) -> None:
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                await self._work(stack, servers, publisher, flights)
        except TimeoutError as error:
            done = f"{self._tally.accepted:,} of {publisher.confirmed:,} records were accepted"
            raise OperationTimeoutError(f"Timed out after {self._options.timeout_seconds:.0f} s. {done}.") from error

    async def _tick(self) -> None:
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), _TICK_SECONDS)

    async def _stop_workers(self) -> None:
        running = [worker for worker in self._workers.values() if worker.running]
        for worker in running:
            worker.terminate()
        async with asyncio.timeout(_STOP_SECONDS):
            await asyncio.gather(*(worker.ended() for worker in running))

    # ------------------------------------------------------------------------------------------- the workers

    def _on_event(self, number: int, event: WorkerEvent) -> None:
        self._tally.worker(number).add(event)
        if event.kind is EventKind.ACCEPTED and self._tally.accepted >= self._total:
            self._changed.set()
        if not self._killed and event.kind is EventKind.RECEIVED and self._tally.accepted >= self._total * _KILL_AFTER:
            asyncio.get_running_loop().call_soon(self._try_to_kill, number)

    def _try_to_kill(self, number: int) -> None:
        worker, count = self._workers[number], self._tally.worker(number)
        if self._killed or not worker.pause():
            return
        worker.read_events()
        if not count.holds_unacknowledged:
            worker.resume()
            return
        self._killed, held = True, count.in_flight
        count.killed = True
        worker.kill()
        self._progress.note(f"Worker {number} (pid {worker.pid}) killed with SIGKILL while it held {held:,} records")

    def _check_workers(self) -> None:
        for number, worker in self._workers.items():
            if not worker.running and not self._tally.worker(number).killed:
                raise worker.failure()

    # ------------------------------------------------------------------------------------------- the results

    def _progress_view(self, published: int) -> ProgressView:
        now_ms, accepted = self._clock.now_ms(), self._tally.accepted
        self._rates.append((now_ms, accepted))
        while self._rates[0][0] < now_ms - _RATE_WINDOW_MS:
            self._rates.popleft()
        first_ms, first_accepted = self._rates[0]
        rate = (accepted - first_accepted) * 1000 / max(1, now_ms - first_ms)
        return ProgressView(
            elapsed_ms=now_ms - self._started_ms,
            total=self._total,
            done=accepted,
            figures={
                "published": published,
                "accepted": accepted,
                "rate": f"{rate:,.0f}/s",
                "in flight": self._tally.in_flight,
                "redelivered": self._tally.redelivered,
                "lag": self._watch.view.lag,
                "members": self._watch.view.members,
            },
        )

    def _outcome(
        self, published: int, store: FlightStore, expected: tuple[dict[str, Delays], dict[str, Delays]]
    ) -> PlainOutcome:
        return PlainOutcome(
            published=published,
            stored=store.count(),
            delivered=self._tally.delivered,
            accepted=self._tally.accepted,
            redelivered=self._tally.redelivered,
            computed=store.delays(),
            expected=expected,
        )


def _computed_plainly(flights: Path, limit: int | None) -> tuple[dict[str, Delays], dict[str, Delays]]:
    return delays_by(flight_of_line(line) for line in flight_lines(flights, limit))
