"""Dead letters of a running application, on the embedded broker."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_groups.streams import (
    ErrorContext,
    ErrorResponse,
    KafkaStreams,
    Record,
    StreamsBuilder,
    StreamsError,
    StreamsState,
    Topology,
    serdes,
)
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.conditions import wait_until


def numbers() -> Topology:
    """Writes numbers as int64."""
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.map_values(int).to("out", key=serdes.string, value=serdes.int64)
    return builder.build()


def to_dead_letter(_context: ErrorContext, _record: Record[Any, Any], _error: Exception) -> ErrorResponse:
    return ErrorResponse.DEAD_LETTER


@pytest.mark.parametrize(
    ("handler", "bad"),
    [
        ("deserialization_exception_handler", b"\xff"),
        ("processing_exception_handler", b"x"),
        ("production_exception_handler", str(2**63).encode()),
    ],
)
def test_a_bad_record_is_written_to_the_dead_letter_topic(handler: str, bad: bytes) -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        for topic in ("in", "out", "dead"):
            cluster.create_topic(topic)
        cluster.produce("in", [b"1", bad, b"3"], keys=[b"k"] * 3)
        config: dict[str, Any] = {handler: to_dead_letter}
        with KafkaStreams(
            numbers(),
            application_id="app",
            bootstrap_servers=cluster.bootstrap_servers,
            commit_interval_ms=100,
            errors_dead_letter_queue_topic_name="dead",
            **config,
        ) as app:
            wait_until(lambda: len(cluster.records("out")) == 2 and cluster.records("dead") != [])
            assert app.state is StreamsState.RUNNING
        (letter,) = cluster.records("dead")
        assert (letter.key, letter.value) == (b"k", bad)
        assert dict(letter.headers)["__streams.errors.offset"] == b"1"


def growing(factor: int) -> Topology:
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.map_values(lambda value: value * factor).to("out", key=serdes.string, value=serdes.string, name="write")
    return builder.build()


def resume(_context: ErrorContext, _record: Record[Any, Any], _error: Exception) -> ErrorResponse:
    return ErrorResponse.RESUME


def application(cluster: EmbeddedCluster, topology: Topology, **handlers: Any) -> KafkaStreams:
    """An application whose producer takes records of up to 2,000 bytes."""
    return KafkaStreams(
        topology,
        {"producer.message.max.bytes": 2_000},
        application_id="app",
        bootstrap_servers=cluster.bootstrap_servers,
        commit_interval_ms=100,
        **handlers,
    )


def too_large(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("out", configs={"max.message.bytes": "500"})


def not_allowed(cluster: EmbeddedCluster) -> None:
    out = cluster.create_topic("out")
    cluster.faults.on(
        ApiKey.PRODUCE,
        answer(refused),
        when=lambda request: any(each.name == "out" or each.topic_id == out.topic_id for each in request.topic_data),
    )


def refused(request: ProduceRequest) -> ProduceResponse:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(
                    PartitionProduceResponse(index=each.index, error_code=code, base_offset=-1)
                    for each in topic.partition_data
                ),
            )
            for topic in request.topic_data
        )
    )


def missing(_cluster: EmbeddedCluster) -> None: ...


REFUSALS = [
    (too_large, r"Make records smaller, or allow larger ones: max.message.bytes of the topic"),
    (
        not_allowed,
        r"(Allow the application's user to write to out\.|needs WRITE on the topic out )",
    ),
    (missing, r"Topic 'out' does not exist, but a sink writes to it\. Create out\."),
]


@pytest.mark.parametrize(("prepare", "cure"), REFUSALS)
def test_a_record_that_brokers_refuse_ends_the_application_with_a_remedy(
    prepare: Callable[[EmbeddedCluster], None], cure: str
) -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("in")
        prepare(cluster)
        cluster.produce("in", [b"x"], keys=[b"k"])
        app = application(cluster, growing(1_000), processing_exception_handler=resume)
        app.start()
        wait_until(lambda: app.state is StreamsState.ERROR, 60)
        app.close()
        text = "write in task 0_0 cannot write to out what follows from in-0 offset 0: "
        assert isinstance(app.error, StreamsError)
        assert re.match(f"{text}.*{cure}.* set production_exception_handler", str(app.error)), app.error


@pytest.mark.parametrize("prepare", [prepare for prepare, _ in REFUSALS])
def test_a_record_that_brokers_refuse_is_skipped_if_the_handler_says_so(
    prepare: Callable[[EmbeddedCluster], None],
) -> None:
    asked: list[ErrorContext] = []

    def skip(context: ErrorContext, record: Record[Any, Any], _error: Exception) -> ErrorResponse:
        assert (record.key, record.value) == (b"k", b"x" * 1_000)
        asked.append(context)
        return ErrorResponse.DEAD_LETTER

    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        for topic in ("in", "dead"):
            cluster.create_topic(topic)
        prepare(cluster)
        cluster.produce("in", [b"x"], keys=[b"k"])
        handlers = {"production_exception_handler": skip, "errors_dead_letter_queue_topic_name": "dead"}
        with application(cluster, growing(1_000), **handlers) as app:
            wait_until(lambda: cluster.records("dead") != [], 60)
            assert app.state is StreamsState.RUNNING
        (letter,) = cluster.records("dead")
        assert (letter.key, letter.value) == (b"k", b"x")
    assert [(each.node, each.output_topic, each.offset) for each in asked] == [("write", "out", 0)]


def test_a_record_that_was_refused_is_processed_again_by_the_next_application() -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("in")
        too_large(cluster)
        cluster.produce("in", [b"x"], keys=[b"k"])
        app = application(cluster, growing(1_000))
        app.start()
        wait_until(lambda: app.state is StreamsState.ERROR, 60)
        app.close()
        assert cluster.records("out") == []
        with application(cluster, growing(10)):
            wait_until(lambda: [record.value for record in cluster.records("out")] == [b"x" * 10], 60)


def test_a_record_that_is_too_large_for_the_producer_is_skipped_if_the_handler_says_so() -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        for topic in ("in", "out"):
            cluster.create_topic(topic)
        cluster.produce("in", [b"small", b"x" * 1_500, b"last"], keys=[b"k"] * 3)
        with application(cluster, growing(2), production_exception_handler=resume) as app:
            wait_until(lambda: len(cluster.records("out")) == 2, 60)
            assert app.state is StreamsState.RUNNING
        assert [record.value for record in cluster.records("out")] == [b"smallsmall", b"lastlast"]
