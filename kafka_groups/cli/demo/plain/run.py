"""One run of the demo: broker, topic, workers, the kill, and the results."""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from kafka_groups.cli.demo.flights import TOTAL_FLIGHTS, delays_by, flight_lines, flight_of_line, flights_path
from kafka_groups.cli.demo.kafka import prepared_kafka
from kafka_groups.cli.demo.plain.plain_process import STORE, VICTIM
from kafka_groups.cli.demo.plain.store import FlightStore
from kafka_groups.cli.demo.plain.tally import PlainOutcome, PlainTally
from kafka_groups.cli.demo.plain.worker_processes import WorkerProcess
from kafka_groups.cli.demo.probe import GroupWatch
from kafka_groups.cli.demo.progress import Progress, ProgressView
from kafka_groups.cli.demo.publish import Publisher
from kafka_groups.cli.demo.run_options import RunOptions
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.net.clock import SystemClock

__all__ = ["Demo", "DemoOptions"]

_TICK_SECONDS = 0.25
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
        self._started_ms = self._clock.now_ms()
        self._total = min(options.limit or TOTAL_FLIGHTS, TOTAL_FLIGHTS)
        self._tally = PlainTally()
        self._workers: list[WorkerProcess] = []
        self._following: list[asyncio.Task[None]] = []
        self._has_chosen_victim = False
        self._directory: Path
        self._publisher: Publisher
        self._watch: GroupWatch

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
            prefix = "kafka-groups-demo-"
            self._directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
            topics = {self._options.name: self._options.partitions}
            servers = await prepared_kafka(stack, self._options, topics, self._directory, self._progress)
            self._watch = await stack.enter_async_context(GroupWatch(servers, self._options.name, _TICK_SECONDS))
            self._publisher = Publisher(servers)
            stack.callback(self._publisher.stop)
            stack.push_async_callback(self._kill_workers)
            await self._start_workers(servers)
            await self._work_in_time(flights)
            await self._stop_workers()
            return await asyncio.to_thread(self._outcome, flights)

    async def _work_in_time(self, flights: Path) -> None:
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                await self._work(flights)
        except TimeoutError as error:
            done = f"{self._tally.accepted:,} of {self._publisher.confirmed:,} records were accepted"
            raise OperationTimeoutError(f"Timed out after {self._options.timeout_seconds:.0f} s. {done}.") from error

    async def _work(self, flights: Path) -> None:
        publishing = asyncio.create_task(asyncio.to_thread(self._publisher.run, self._records(flights)))
        while not (publishing.done() and self._tally.accepted >= publishing.result()):
            ended, _ = await asyncio.wait(self._following, timeout=_TICK_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
            for following in ended:
                following.result()
            self._progress.show(self._progress_view())

    def _records(self, flights: Path) -> Iterator[OutgoingRecord]:
        for line in flight_lines(flights, self._options.limit):
            yield OutgoingRecord(self._options.name, flight_of_line(line).tail_number.encode(), line.encode())

    # ------------------------------------------------------------------------------------------- the workers

    async def _start_workers(self, servers: str) -> None:
        name, mode = self._options.name, self._options.mode
        with FlightStore(self._directory / STORE):  # before the workers, which would all create it at the same moment
            pass
        command = [sys.executable, "-m", "kafka_groups.cli.demo.plain.plain_process", "--bootstrap-servers", servers]
        command += ["--group", name, "--topic", name, "--mode", mode, "--directory", str(self._directory)]
        for number in range(self._options.partitions * self._options.workers_per_partition):
            worker = await WorkerProcess.start(number, command, self._directory / f"worker-{number}.log")
            self._workers.append(worker)
            self._following.append(asyncio.create_task(self._follow(worker)))
        self._progress.note(f"Started {len(self._workers)} workers in share group {name} ({mode} acknowledgement)")

    async def _follow(self, worker: WorkerProcess) -> None:
        async for report in worker.reports():
            self._tally.add(report)
            if "held" in report:
                worker.kill()
                killed = f"Worker {worker.number} (pid {worker.pid}) killed with SIGKILL"
                self._progress.note(f"{killed} while it held {report['held']:,} records")
            if not self._has_chosen_victim and self._tally.accepted >= self._total * _KILL_AFTER:
                self._has_chosen_victim = True
                (self._directory / VICTIM).touch()

    async def _stop_workers(self) -> None:
        for worker in self._workers:
            worker.terminate()
        async with asyncio.timeout(_STOP_SECONDS):
            await asyncio.gather(*self._following)

    async def _kill_workers(self) -> None:
        for worker in self._workers:
            worker.kill()
        await asyncio.gather(*self._following, return_exceptions=True)  # the first failure was raised already

    # ------------------------------------------------------------------------------------------- the results

    def _progress_view(self) -> ProgressView:
        elapsed_ms = self._clock.now_ms() - self._started_ms
        return ProgressView(
            elapsed_ms=elapsed_ms,
            total=self._total,
            done=self._tally.accepted,
            figures={
                "published": self._publisher.confirmed,
                "accepted": self._tally.accepted,
                "rate": f"{self._tally.accepted * 1000 / max(1, elapsed_ms):,.0f}/s",
                "in flight": self._tally.in_flight,
                "redelivered": self._tally.redelivered,
                "lag": self._watch.view.lag,
                "members": self._watch.view.members,
            },
        )

    def _outcome(self, flights: Path) -> PlainOutcome:
        lines = flight_lines(flights, self._options.limit)
        with FlightStore(self._directory / STORE) as store:
            return PlainOutcome(
                published=self._publisher.confirmed,
                stored=store.count(),
                delivered=self._tally.delivered,
                accepted=self._tally.accepted,
                redelivered=self._tally.redelivered,
                computed=store.delays(),
                expected=delays_by(map(flight_of_line, lines)),
            )
