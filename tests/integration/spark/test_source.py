"""The streaming source in Spark: what is given to sinks, what is acknowledged when, and what Spark promises to call."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attrs import define, field

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.spark import register
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.cluster_client import ClusterClient
from tests.support.kafka.real_kafka import unique
from tests.unit.spark.source.sparks_calls import SETTINGS, World

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PATIENCE_S = 90


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture(scope="module", autouse=True)
def registered(spark: "SparkSession") -> None:
    from tests.integration.spark.watched_source import WatchedDataSource  # noqa: PLC0415 - only where PySpark is

    register(spark)
    spark.dataSource.register(WatchedDataSource)


def options_of(world: World, **options: Any) -> dict[str, Any]:
    return {
        "kafka.bootstrap.servers": world.cluster.bootstrap_servers,
        "kafka.group.id": world.group,
        "subscribe": world.topic,
        **options,
    }


@define
class Sink:
    """A foreachBatch function that keeps what it gets, and fails when it is told to."""

    failures: dict[int, str] = field(factory=dict)
    batches: list[list[int]] = field(factory=list)
    rows: list[Any] = field(factory=list)
    seen: threading.Event = field(factory=threading.Event)

    def __call__(self, df: "DataFrame", _batch_id: int) -> None:
        failure = self.failures.pop(len(self.batches), None)
        first = df.count()
        if failure == "before":
            self.batches.append([])
            raise RuntimeError("the sink is away")
        rows = df.collect()
        assert len(rows) == first, "both actions read the same"
        self.rows += rows
        self.batches.append([int(row.key) for row in rows])
        if rows:
            self.seen.set()
        if failure == "after":
            raise RuntimeError("the sink has the batch, and Spark does not know")

    @property
    def numbers(self) -> Counter[int]:
        return Counter(number for batch in self.batches for number in batch)


def run_to_its_end(start: Callable[[], "StreamingQuery"]) -> int:
    """Start a query again until it ends without an error; how often it failed."""
    for failures in range(10):
        query = start()
        try:
            assert query.awaitTermination(PATIENCE_S)
        except Exception as error:
            if "the sink" not in str(error):
                raise
        else:
            return failures
    raise AssertionError("the query failed ten times")


def calls_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.spark_versions(since=(4, 2))
def test_every_record_comes_and_is_acknowledged_after_the_sink_has_it(
    spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    world, sink = World(cluster), Sink({1: "before", 5: "after"})
    world.produce(range(600))
    calls, checkpoint = tmp_path / "calls", tmp_path / "checkpoint"
    watched = {"watch.calls": calls, "watch.checkpoint": checkpoint}

    def start() -> "StreamingQuery":
        options = options_of(world, maxRecordsPerBatch=100, backoffMs=100, **watched)
        df = spark.readStream.format("kafka-share-watched").options(**options).load()
        writer = df.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
        return writer.trigger(availableNow=True).start()

    assert run_to_its_end(start) == 2
    assert sink.numbers.keys() == set(range(600))
    assert all(len(batch) <= 100 for batch in sink.batches)
    twice = {number for number, times in sink.numbers.items() if times > 1}
    assert twice == set(sink.batches[5]) != set(), "the batch that the sink had when the query failed, and no other"
    with world.rival() as rival:
        assert not rival.poll(1), "the last batch is acknowledged too"
    check_contract(calls_in(calls))


def check_contract(calls: list[dict[str, Any]]) -> None:
    """What the source relies on, and what it must not rely on."""
    latest = [call for call in calls if call["call"] == "latestOffset"]
    first_of_run = [
        call for call in calls if call["call"] == "partitions" and call["start"]["run"] != call["end"]["run"]
    ]
    assert len(latest) >= 8
    assert all(call["committed"] for call in latest if call["start"]["seq"] > 0), "a start is a batch that is finished"
    assert all(call["limit"] == "ReadMaxRows" for call in latest)
    empty = [call for call in calls if call["call"] == "partitions" and call["count"] == 0]
    marks = [call for call in empty if call["end"].get("mark")]
    assert len(marks) == 2, "a run after a failed one writes the failures into the checkpoint, with an empty batch"
    assert len(empty) - len(marks) == 2, "an unfinished batch is planned again by the next run, and is empty"
    assert first_of_run
    ends = [call["end"]["seq"] for call in calls if call["call"] == "commit"]
    last = max(call["end"]["seq"] for call in calls if call["call"] == "partitions")
    assert last not in ends, "Spark does not commit the last batch: acknowledging there would strand it"


def test_a_query_that_runs_on_reports_and_stops_in_order(
    spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    world, sink = World(cluster, partitions=1), Sink()
    world.produce(range(100))
    df = (
        spark.readStream.schema("delivery_count SMALLINT, key BINARY")
        .format("kafka-share")
        .options(**options_of(world))
    )
    query = df.load().writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path)).start()
    try:
        assert sink.seen.wait(PATIENCE_S)
        share = until_reported(query, lambda share: share["accepted"] == 100 and share["lag"] == 0)
        assert (share["acquired"], share["in_flight"], share["lock_lost"]) == (100, 0, 0)
        assert [tuple(row.asDict()) for row in sink.rows[:1]] == [("delivery_count", "key")]
    finally:
        query.stop()
    world.produce(range(100, 200))
    with world.rival() as rival:
        assert len(rival.poll(10)) == 100, "the query has left the group, and holds nothing"


def until_reported(query: "StreamingQuery", expected: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The source's part of the progress, as soon as it is as expected."""
    share: dict[str, Any] = {}
    for _ in range(PATIENCE_S):
        if query.lastProgress is not None and expected(share := share_of(query)):
            return share
        assert not query.awaitTermination(1), query.exception()
    raise AssertionError(f"never as expected: {share}")


def share_of(query: "StreamingQuery") -> dict[str, Any]:
    """The source's part of the last progress."""
    progress: Any = query.lastProgress
    latest: Any = progress["sources"][0]["latestOffset"]
    share: dict[str, Any] = (json.loads(latest) if isinstance(latest, str) else latest)["share"]
    return share


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kafka.default.api.timeout.ms": 3_000}, "BootstrapError"),
        pytest.param({"availableNowTimeoutMs": 5_000}, "OperationTimeoutError", marks=pytest.mark.slow),
    ],
)
def test_available_now_fails_if_no_broker_answers_from_the_start(
    spark: "SparkSession", tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with EmbeddedCluster(settings=SETTINGS) as own:
        world, sink = World(own), Sink()
        world.produce(range(10))
        own.stop_broker(1)
        query = available_now(spark, world, sink, tmp_path, **options)
        with pytest.raises(Exception, match=message):
            query.awaitTermination(PATIENCE_S)
        assert not query.isActive
        assert sink.numbers == Counter()


@pytest.mark.slow
def test_available_now_fails_if_the_broker_goes_away_before_everything_is_read(
    spark: "SparkSession", tmp_path: Path
) -> None:
    sessions = {"group.share.min.session.timeout.ms": 1_000, "group.share.session.timeout.ms": 3_000}
    with EmbeddedCluster(settings={**SETTINGS, **sessions}) as own:
        world, sink = World(own), Sink()
        world.produce(range(400))

        def stop_and_sink(df: "DataFrame", batch_id: int) -> None:
            sink(df, batch_id)
            if len(sink.batches) == 1:
                own.stop_broker(1)

        options = {"maxRecordsPerBatch": 100, "availableNowTimeoutMs": 3_000, "backoffMs": 0}
        query = available_now(spark, world, stop_and_sink, tmp_path, **options)
        with pytest.raises(Exception, match=r"OperationTimeoutError: .* do not answer"):
            query.awaitTermination(PATIENCE_S)
        assert sink.numbers, "the records that it held when the broker went away"
        own.start_broker(1)
        world.produce(range(400, 500))
        query = available_now(spark, world, sink, tmp_path, backoffMs=0)
        assert query.awaitTermination(PATIENCE_S)
        assert sink.numbers.keys() == set(range(500)), "the next run reads the rest"


def available_now(
    spark: "SparkSession", world: World, sink: Callable[["DataFrame", int], None], path: Path, **options: Any
) -> "StreamingQuery":
    df = spark.readStream.format("kafka-share").options(**options_of(world, **options)).load()
    writer = df.writeStream.foreachBatch(sink).option("checkpointLocation", str(path))
    return writer.trigger(availableNow=True).start()


@pytest.mark.slow
def test_two_queries_on_one_load_each_get_a_part_and_are_told(
    spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    world = World(cluster)
    frame = spark.readStream.format("kafka-share").options(**options_of(world)).load()
    alone = spark.readStream.format("kafka-share").options(**options_of(World(cluster))).load()
    first, second, other = Sink(), Sink(), Sink()
    with ExitStack() as stopped:
        queries = [stopped.enter_context(running(frame, first, tmp_path / "first"))]
        until_reported(queries[0], bool)
        queries.append(stopped.enter_context(running(frame, second, tmp_path / "second")))
        queries.append(stopped.enter_context(running(alone, other, tmp_path / "other")))
        group = cluster.group(world.group)
        group.wait_until_members(2, timeout=PATIENCE_S)
        until_reported(queries[1], lambda share: any(map(is_on_two_queries, share["notes"])))
        assert not any(map(is_on_two_queries, until_reported(queries[0], bool)["notes"])), "the first is not at fault"
        assert not any(map(is_on_two_queries, until_reported(queries[2], bool)["notes"])), "another group"

        world.produce(range(400))
        group.wait_until_accepted(400, timeout=PATIENCE_S)
        assert first.numbers + second.numbers == Counter(range(400)), "every record once"
        assert first.numbers, "a part of them"
        assert second.numbers, "and the rest"

        queries[0].stop()
        world.produce(range(400, 500))
        group.wait_until_accepted(500, timeout=PATIENCE_S)
        assert set(range(400, 500)) <= second.numbers.keys(), "the one that stays gets all of them"
        assert all(query.isActive for query in queries[1:])


def is_on_two_queries(note: str) -> bool:
    return note.startswith("Two queries of this application read the share group")


@contextmanager
def running(frame: "DataFrame", sink: Sink, checkpoint: Path) -> Iterator["StreamingQuery"]:
    query = frame.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint)).start()
    try:
        yield query
    finally:
        query.stop()


@pytest.mark.slow
def test_what_cannot_work_is_refused_and_secrets_do_not_show(
    spark: "SparkSession", tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.group.id": "g", "subscribe": "t"}
    tls = {f"kafka.ssl.{name}.location": "/none" for name in ("certificate", "key")}
    secret = {"kafka.security.protocol": "SSL", "kafka.ssl.key.password": "Sesame", **tls}
    streaming = spark.readStream.format("kafka-share").options(**options, **secret).load()

    def started(**trigger: Any) -> None:
        location = str(tmp_path / str(len(trigger)))
        query = streaming.writeStream.format("noop").option("checkpointLocation", location).trigger(**trigger).start()
        assert query.awaitTermination(PATIENCE_S)

    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: spark.read.format("kafka-share").options(**options).load().count(), "drain"),
        (lambda: spark.range(1).write.format("kafka-share").options(**options).mode("append").save(), "KafkaSink"),
        (lambda: spark.readStream.format("kafka-share").options(**options, maxRecordPerBatch=1).load(), "did you mean"),
        (lambda: started(availableNow=True), "TLS files"),
        (lambda: started(continuous="1 second"), "continuous"),
    ]
    for attempt, message in refused:
        with pytest.raises(Exception, match=message) as error:
            attempt()
        assert "Sesame" not in str(error.value)
    streaming.explain(extended=True)
    shown = capfd.readouterr()
    assert "kafka.ssl.key.password=*" in shown.out
    assert "Sesame" not in shown.out + shown.err


async def prepared(kafka: KafkaProcess, group: str, partitions: int, records: int) -> str:
    """A topic with so many records, and a group that starts at its beginning."""
    client = ClusterClient(TcpNetwork(), kafka.host, kafka.port)
    now_ms = SystemClock().wall_ms()  # older records than some days are deleted soon
    try:
        topic = await client.create_topic(partitions)
        await client.set_group_config(group, {"share.auto.offset.reset": "earliest"})
        for first in range(0, records, 500):
            made = [NewRecord(b"%d" % n, timestamp_ms=now_ms) for n in range(first, min(first + 500, records))]
            await client.produce(topic, made, partition=first // 500 % partitions)
        return topic.name
    finally:
        await client.close()


@pytest.mark.slow
async def test_a_real_kafka_is_drained(spark: "SparkSession", real_kafka: KafkaProcess, tmp_path: Path) -> None:
    group = unique("group")
    topic = await prepared(real_kafka, group, 2, 12_000)
    options = {"kafka.bootstrap.servers": real_kafka.bootstrap_servers, "kafka.group.id": group, "subscribe": topic}
    df = spark.readStream.format("kafka-share").options(**options, maxRecordsPerBatch=5_000).load()
    got: Counter[int] = Counter()
    writer = df.writeStream.foreachBatch(lambda batch, _: got.update(int(row.value) for row in batch.collect()))
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    assert got == Counter(range(12_000))
    share = share_of(query)
    assert share["lag"] == 0, f"in the last progress of a run that has ended: {share}"
    with KafkaShareConsumer(bootstrap_servers=real_kafka.bootstrap_servers, group_id=group) as rival:
        rival.subscribe([topic])
        assert not rival.poll(3)
