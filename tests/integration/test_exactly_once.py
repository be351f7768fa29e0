"""Applications that run exactly once on the embedded broker: what others see, and what brokers refuse."""

import asyncio
import re
from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka import Consumer

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.broker.faults import Action, answer
from kafka_groups.errors import InvalidTransactionTimeoutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.streams import (
    AsyncKafkaStreams,
    ErrorResponse,
    StreamsBuilder,
    StreamsError,
    StreamsState,
    Topology,
    serdes,
)
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.testing.simulation.checks.visible import visible_records
from tests.integration.test_streams_error_handlers import not_allowed
from tests.support.conditions import until, wait_until

WAIT_S = 30


def doubled(source: str, sink: str) -> Topology:
    builder = StreamsBuilder()
    numbers = builder.stream(source, key=serdes.string, value=serdes.string)
    numbers.map_values(lambda text: text * 2).to(sink, value=serdes.string)
    return builder.build()


def application(cluster: EmbeddedCluster, **settings: object) -> AsyncKafkaStreams:
    given = {
        "application_id": "app",
        "bootstrap_servers": cluster.bootstrap_servers,
        "processing_guarantee": "exactly_once_v2",
        **settings,
    }
    return AsyncKafkaStreams(partial(doubled, "in", "out"), **given)  # type: ignore[arg-type]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=FAST_SETTINGS) as made:
        for topic in ("in", "out"):
            made.create_topic(topic)
        yield made
        assert made.unexpected_errors == ()


def committed(cluster: EmbeddedCluster, topic: str) -> list[bytes | None]:
    known = cluster.metadata.topic(topic)
    assert known is not None
    return [record.value for record in visible_records(cluster.logs.get(known.topic_id, 0))]


def stable_offset(cluster: EmbeddedCluster, topic: str) -> int:
    known = cluster.metadata.topic(topic)
    assert known is not None
    return cluster.logs.get(known.topic_id, 0).last_stable_offset


def end_offset(cluster: EmbeddedCluster, topic: str) -> int:
    known = cluster.metadata.topic(topic)
    assert known is not None
    return cluster.logs.get(known.topic_id, 0).end_offset


async def test_results_are_stable_after_a_commit(cluster: EmbeddedCluster) -> None:
    cluster.produce("in", ["a", "b"])
    async with application(cluster) as app:
        await app.wait_until_running(WAIT_S)

        async def stable() -> int:
            return stable_offset(cluster, "out")

        await until(stable, lambda offset: offset == 3, WAIT_S)
        assert [record.value for record in cluster.records("out")] == [b"aa", b"bb"]
    assert stable_offset(cluster, "out") == 3


async def test_an_application_without_records_has_no_transactions(cluster: EmbeddedCluster) -> None:
    async with application(cluster, commit_interval_ms=20) as app:
        await app.wait_until_running(WAIT_S)
    assert stable_offset(cluster, "out") == 0


async def test_producers_that_somebody_fences_are_replaced(cluster: EmbeddedCluster) -> None:
    async with (
        application(cluster, commit_interval_ms=30) as app,
        AsyncKafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin,
    ):
        await app.wait_until_running(WAIT_S)
        written = 0
        for _ in range(4):
            for _ in range(100):  # so that some are written, and some commits made, after the fence
                cluster.produce("in", [str(written)])
                written += 1
                await asyncio.sleep(0.001)
                if written % 100 == 50:
                    [found] = (await admin.list_transactions()).transactions
                    (await admin.fence_producers([found.transactional_id])).checked()

        async def results() -> list[bytes | None]:
            return committed(cluster, "out")

        await until(results, lambda it: it == [str(number).encode() * 2 for number in range(written)], WAIT_S)
        assert app.state is StreamsState.RUNNING


async def test_brokers_that_allow_shorter_transactions_only() -> None:
    with EmbeddedCluster(settings={**FAST_SETTINGS, "transaction.max.timeout.ms": 5_000}) as cluster:
        for topic in ("in", "out"):
            cluster.create_topic(topic)
        cluster.produce("in", ["a"])
        app = application(cluster)
        await app.start()

        async def state() -> StreamsState:
            return app.state

        await until(state, lambda it: it is StreamsState.ERROR, WAIT_S)
        assert isinstance(app.error, InvalidTransactionTimeoutError)
        assert "transaction.max.timeout.ms" in str(app.error)
        await app.close()


async def test_the_timeout_of_transactions_is_a_key_of_the_producer() -> None:
    with EmbeddedCluster(settings={**FAST_SETTINGS, "transaction.max.timeout.ms": 5_000}) as cluster:
        for topic in ("in", "out"):
            cluster.create_topic(topic)
        cluster.produce("in", ["a"])
        async with application(cluster, producer={"transaction.timeout.ms": 4_000}) as app:
            await app.wait_until_running(WAIT_S)

            async def stable() -> int:
                return stable_offset(cluster, "out")

            await until(stable, lambda offset: offset == 2, WAIT_S)


async def test_a_record_that_the_broker_refuses_goes_to_the_handler(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("small", configs={"max.message.bytes": "500"})
    cluster.create_topic("letters")
    values = ["a", "b" * 400, "c"]
    cluster.produce("in", values, keys=values)
    app = AsyncKafkaStreams(
        partial(doubled, "in", "small"),
        application_id="app",
        bootstrap_servers=cluster.bootstrap_servers,
        processing_guarantee="exactly_once_v2",
        production_exception_handler=lambda *_: ErrorResponse.DEAD_LETTER,
        errors_dead_letter_queue_topic_name="letters",
        producer={"linger.ms": 0, "batch.size": 1},
    )
    async with app:
        await app.wait_until_running(WAIT_S)

        async def stable() -> tuple[int, int]:
            return stable_offset(cluster, "letters"), stable_offset(cluster, "small")

        await until(stable, lambda found: min(found) > 0, WAIT_S)
        reader = Consumer({
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "reader",
            "auto.offset.reset": "earliest",
        })  # fmt: skip
        reader.subscribe(["small", "letters"])
        found = [(record.topic(), record.key()) for record in reader.consume(3, timeout=WAIT_S)]
        reader.close()
    assert sorted(found) == [("letters", values[1].encode()), ("small", b"a"), ("small", b"c")]


async def test_a_right_that_is_missing_ends_the_application(cluster: EmbeddedCluster) -> None:
    cluster.delete_topic("out")
    not_allowed(cluster)
    cluster.produce("in", ["a"])
    app = application(cluster)
    await app.start()

    async def state() -> StreamsState:
        return app.state

    await until(state, lambda it: it is StreamsState.ERROR, WAIT_S)
    assert isinstance(app.error, StreamsError)
    assert re.search(r"(Allow the application's user to write to out\.|needs WRITE on the topic out )", str(app.error))
    await app.close()


def no_producer(code: ErrorCode) -> Action:
    return answer(InitProducerIdResponse(error_code=code, producer_epoch=-1))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ErrorCode.CONCURRENT_TRANSACTIONS, "The producer cannot begin yet|the transaction of an earlier producer"),
        (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "Transactional Id auth.* failed|needs WRITE on the trans",
        ),
    ],
)
async def test_a_coordinator_that_lets_no_producer_begin_ends_the_application(
    cluster: EmbeddedCluster, code: ErrorCode, said: str
) -> None:
    cluster.faults.on(ApiKey.INIT_PRODUCER_ID, no_producer(code))
    cluster.produce("in", ["a"])
    app = application(cluster, task_timeout_ms=3_000)
    await app.start()

    async def state() -> StreamsState:
        return app.state

    await until(state, lambda it: it is StreamsState.ERROR, WAIT_S)
    assert re.search(said, str(app.error))
    await app.close()


async def test_a_coordinator_that_ends_other_transactions_first_is_waited_for(cluster: EmbeddedCluster) -> None:
    rule = cluster.faults.on(ApiKey.INIT_PRODUCER_ID, no_producer(ErrorCode.CONCURRENT_TRANSACTIONS), times=5)
    cluster.produce("in", ["a"])
    async with application(cluster) as app:
        await app.wait_until_running(WAIT_S)

        async def results() -> list[bytes | None]:
            return committed(cluster, "out")

        await until(results, lambda it: it == [b"aa"], WAIT_S)
    assert rule.is_spent


@pytest.mark.slow
async def test_code_that_takes_longer_than_a_transaction_may_costs_an_attempt(cluster: EmbeddedCluster) -> None:
    """A result is in a transaction that the coordinator aborts while the code for the next record runs."""
    cluster.produce("in", ["a"])
    calls: list[str] = []

    def slow(_key: str, text: str) -> None:
        calls.append(text)
        if text == "b" and calls.count("b") == 1:
            wait_until(lambda: stable_offset(cluster, "out") > 0, WAIT_S)  # behind the result of "a" and its abort

    def build() -> Topology:
        builder = StreamsBuilder()
        texts = builder.stream("in", key=serdes.string, value=serdes.string)
        texts.foreach(slow)
        texts.to("out")
        return builder.build()

    app = AsyncKafkaStreams(
        build,
        application_id="app",
        bootstrap_servers=cluster.bootstrap_servers,
        processing_guarantee="exactly_once_v2",
        commit_interval_ms=3_000,
        producer={"transaction.timeout.ms": 3_000},
    )
    async with app:

        async def written() -> int:
            return end_offset(cluster, "out")

        await until(written, lambda it: it > 0, WAIT_S)
        cluster.produce("in", ["b"])

        async def results() -> list[bytes | None]:
            return committed(cluster, "out")

        await until(results, lambda it: len(it) == 2, WAIT_S)
        assert committed(cluster, "out") == [b"a", b"b"]
        assert calls == ["a", "b", "a", "b"]
        assert app.state is StreamsState.RUNNING
