"""One run of the pipeline: broker, topics, driver, the two kills, and the results."""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from attrs import frozen

from kafka_groups.cli.demo.flights import TOTAL_FLIGHTS
from kafka_groups.cli.demo.kafka import prepared_kafka
from kafka_groups.cli.demo.pipeline.delays import delay_table_of
from kafka_groups.cli.demo.pipeline.driver_process import DriverProcess
from kafka_groups.cli.demo.pipeline.messages import Message, MessageKind
from kafka_groups.cli.demo.pipeline.options import DriverOptions
from kafka_groups.cli.demo.pipeline.plainly import Plainly, computed_plainly, in_order
from kafka_groups.cli.demo.pipeline.sources import FLIGHTS, REFERENCE, records_of, source_file
from kafka_groups.cli.demo.pipeline.supervisor import Supervisor
from kafka_groups.cli.demo.pipeline.tally import Files, PipelineOutcome, PipelineTally, Verdict
from kafka_groups.cli.demo.probe import GroupWatch
from kafka_groups.cli.demo.progress import Progress, ProgressView
from kafka_groups.cli.demo.publish import Publisher
from kafka_groups.cli.demo.run_options import RunOptions
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.net.clock import SystemClock
from kafka_groups.spark.records.schema import RECORD_KEY

__all__ = ["Pipeline", "PipelineOptions", "files_of"]

_TICK_SECONDS = 0.25


@frozen(kw_only=True)
class PipelineOptions(RunOptions):
    """The options of a run with Spark.

    Attributes:
        partitions: Number of partitions of the flights' topic.
    """

    partitions: int = 2

    @property
    def topics(self) -> dict[str, str]:
        """The topic of each table."""
        return {table: f"{self.name}-{table}" for table in (FLIGHTS, *REFERENCE)}


class Pipeline:
    """One run of the pipeline. Call `run` once, inside the progress's context."""

    def __init__(self, options: PipelineOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        self._clock = SystemClock()
        self._started_ms = self._clock.now_ms()
        self._tally = PipelineTally(min(options.limit or TOTAL_FLIGHTS, TOTAL_FLIGHTS))
        self._watch: GroupWatch
        self._drivers = 0
        self._driver: DriverProcess
        self._driver_options: DriverOptions
        self._supervisor: Supervisor
        self._query_is_killed = False

    def __repr__(self) -> str:
        return f"<Pipeline {self._options.name} {self._tally}>"

    async def run(self) -> PipelineOutcome:
        """Run the pipeline and return its results.

        Raises:
            KafkaGroupsError: A requirement is missing, the broker refused a request, a process ended unexpectedly, or
                the run timed out.
        """
        source_file(FLIGHTS)
        try:
            async with asyncio.timeout(self._options.timeout_seconds), contextlib.AsyncExitStack() as stack:
                return await self._run(stack)
        except TimeoutError as error:
            done = f"{self._tally.stored:,} of {self._tally.total:,} flights were stored"
            raise OperationTimeoutError(f"Timed out after {self._options.timeout_seconds:.0f} s. {done}.") from error

    async def _run(self, stack: contextlib.AsyncExitStack) -> PipelineOutcome:
        directory = Path(stack.enter_context(_directory()))
        servers = await self._kafka(stack, directory)
        self._driver_options = DriverOptions(
            bootstrap_servers=servers,
            group=self._options.name,
            topics=self._options.topics,
            workers=self._options.partitions * self._options.workers_per_partition,
            directory=directory,
        )
        supervisor = Supervisor(self._driver_options.socket, self._tally, self._on_kill)
        self._supervisor = await stack.enter_async_context(supervisor)
        self._start_driver(stack)
        publisher = Publisher(servers)
        stack.callback(publisher.stop)
        await self._work(stack, servers, publisher)
        return await self._reckon(publisher.confirmed)

    # ------------------------------------------------------------------------------------- the parts of a run

    async def _kafka(self, stack: contextlib.AsyncExitStack, directory: Path) -> str:
        topics = self._options.topics
        partitions = dict.fromkeys(topics.values(), 1) | {topics[FLIGHTS]: self._options.partitions}
        return await prepared_kafka(stack, self._options, partitions, directory, self._progress)

    def _start_driver(self, stack: contextlib.AsyncExitStack) -> None:
        self._drivers += 1
        log = self._driver_options.directory / f"driver-{self._drivers}.log"
        self._driver = DriverProcess(self._driver_options, log)
        stack.callback(self._driver.close)
        what = "Started" if self._drivers == 1 else "Restarted"
        workers = f"{self._driver_options.workers} workers in share group {self._options.name}"
        self._progress.note(f"{what} the driver (pid {self._driver.pid}) with {workers}")

    async def _work(self, stack: contextlib.AsyncExitStack, servers: str, publisher: Publisher) -> None:
        self._watch = await stack.enter_async_context(GroupWatch(servers, self._options.name, _TICK_SECONDS))
        await asyncio.to_thread(publisher.run, self._records(REFERENCE))
        self._driver.tell("reference")
        publishing = asyncio.create_task(asyncio.to_thread(publisher.run, self._records([FLIGHTS])))
        while not (publishing.done() and self._is_drained()):
            await self._look_after_driver(stack)
            self._progress.show(self._progress_view(publisher.confirmed))
            await asyncio.sleep(_TICK_SECONDS)
        publishing.result()

    def _records(self, tables: "list[str] | tuple[str, ...]") -> Iterator[OutgoingRecord]:
        for table in tables:
            yield from records_of(table, self._options.topics[table], self._options.limit if table == FLIGHTS else None)

    def _is_drained(self) -> bool:
        return self._watch.view.lag == 0 and self._tally.stored >= self._tally.total and not self._query_is_killed

    # --------------------------------------------------------------------------------------------- the driver

    def _on_kill(self, verdict: Verdict, message: Message) -> None:
        held = f"held {message.records:,} flights that were written but not acknowledged"
        if verdict is Verdict.KILL_WORKER:
            self._progress.note(f"Python worker (pid {message.pid}) killed with SIGKILL while it {held}")
            return
        self._query_is_killed = True
        self._driver.kill()
        self._supervisor.kill_workers()
        self._progress.note(
            f"Query killed with SIGKILL (driver, pid {self._driver.pid}, Java and all workers) while a worker {held}"
        )

    async def _look_after_driver(self, stack: contextlib.AsyncExitStack) -> None:
        if self._query_is_killed:
            await self._supervisor.all_gone()
            self._supervisor.forget()
            self._start_driver(stack)
            self._driver.tell("reference")
            self._query_is_killed = False
        elif not self._driver.running:
            raise self._driver.failure()

    async def _told(self, command: str, answer: MessageKind) -> Message:
        """Send the driver a command and wait until it is done."""
        self._driver.tell(command)
        while (message := self._supervisor.said(answer)) is None:
            if not self._driver.running:
                raise self._driver.failure()
            await asyncio.sleep(_TICK_SECONDS)
        return message

    # ------------------------------------------------------------------------------------------- the results

    async def _reckon(self, published: int) -> PipelineOutcome:
        options = self._driver_options
        await self._told("stop", MessageKind.STOPPED)
        self._progress.note("Query stopped. The driver removes duplicates and computes the final table")
        reference, written = [
            await asyncio.to_thread(files_of, path) for path in (options.reference_records, options.flights)
        ]
        plainly = asyncio.create_task(asyncio.to_thread(computed_plainly, self._options.limit))
        finished = await self._told("finish", MessageKind.FINISHED)
        await self._driver.ended()
        return await asyncio.to_thread(self._outcome, published, reference, written, finished, await plainly)

    def _outcome(
        self, published: int, reference: Files, written: Files, finished: Message, plainly: Plainly
    ) -> PipelineOutcome:
        options, figures = self._driver_options, finished.figures or {}
        return PipelineOutcome(
            published=published,
            delivered=self._tally.delivered,
            redelivered=self._tally.redelivered,
            killed=self._tally.kills,
            reference=reference,
            written=written,
            removed=figures["rows_before"] - figures["rows_after"],
            left=files_of(options.flights),
            flights_equal=in_order(pq.read_table(options.flights)).equals(plainly.flights),
            delays=delay_table_of(pq.read_table(options.delays).to_pylist()),
            expected=plainly.delays,
        )

    def _progress_view(self, published: int) -> ProgressView:
        return ProgressView(
            elapsed_ms=self._clock.now_ms() - self._started_ms,
            total=self._tally.total,
            done=min(self._tally.stored, self._tally.total),
            figures={
                "published": published,
                "written": self._tally.stored,
                "redelivered": self._tally.redelivered,
                "micro-batches": self._tally.batches,
                "lag": self._watch.view.lag,
                "members": self._watch.view.members,
                "stage": self._stage(),
            },
        )

    def _stage(self) -> str:
        said = self._supervisor.said
        if said(MessageKind.REFERENCE_READY):
            return "flights"
        return "reference tables" if said(MessageKind.STARTED) else "starting Spark"


def files_of(directory: Path) -> Files:
    """Count the rows and records in the Parquet files of a directory, without Spark."""
    table = pq.read_table(directory, columns=list(RECORD_KEY), partitioning=None)
    return Files(rows=table.num_rows, records=table.group_by(list(RECORD_KEY)).aggregate([]).num_rows)


def _directory() -> "tempfile.TemporaryDirectory[str]":
    # A killed process may still write its last file while the directory is being removed.
    return tempfile.TemporaryDirectory(prefix="kafka-groups-demo-", ignore_cleanup_errors=True)
