"""What applications in classic groups say that brokers or leaders refuse, on the embedded broker and a real Kafka."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import BrokerError, FencedInstanceIdError, UnsupportedVersionError
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.streams import (
    InvalidStateStoreError,
    KafkaStreams,
    StreamsBuilder,
    StreamsError,
    StreamsState,
    Topology,
    serdes,
)
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.test_streams_applications import FAST, word_count
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE_S = 90.0
TIMES = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
LIVES_ON = "Stop all its instances and wait until the group is empty, or set "


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)], scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where groups of all kinds can be."""
    with ExitStack() as stack:
        if request.param == "real":
            kafka: KafkaProcess = request.getfixturevalue("real_kafka")
            yield kafka.bootstrap_servers
        else:
            quick = {**FAST, "group.initial.rebalance.delay.ms": 0}
            cluster = stack.enter_context(EmbeddedCluster(settings=quick))
            yield cluster.bootstrap_servers
            assert cluster.unexpected_errors == ()


@pytest.fixture
def posts(servers: str) -> str:
    name = unique("posts")
    create_topics({"bootstrap.servers": servers}, {name: 2})
    return name


def application(servers: str, posts: str, topology: Topology | None = None, **keys: Any) -> KafkaStreams:
    """An application in a classic group, unless the keys say otherwise."""
    given: dict[str, object] = {
        "application.id": f"{posts}-app", "bootstrap.servers": servers, "group.protocol": "classic",
        "commit.interval.ms": 100,
    }  # fmt: skip
    named = {key.replace("_", "."): value for key, value in keys.items()}
    times = {} if named.get("group.protocol") == "streams" else TIMES
    return KafkaStreams(topology or word_count(posts), {**given, **times, **named})


def error_of(app: KafkaStreams) -> BaseException:
    """The error that ends an application."""
    with app:
        return awaited_error(app)


def awaited_error(app: KafkaStreams) -> BaseException:
    wait_until(lambda: app.state is StreamsState.ERROR, PATIENCE_S, lambda: app.state)
    assert app.error is not None
    return app.error


# ---------------------------------------------------------------------------------------- the group is of another kind


@pytest.mark.parametrize(("lives", "joins"), [("streams", "classic"), ("classic", "streams")])
def test_a_group_that_lives_with_the_other_protocol_is_named(servers: str, posts: str, lives: str, joins: str) -> None:
    with application(servers, posts, group_protocol=lives) as app:
        app.wait_until_running(PATIENCE_S)
        error = error_of(application(servers, posts, group_protocol=joins))
        assert str(error).startswith(f"Application '{posts}-app' runs with group.protocol={lives}. {LIVES_ON}")
        assert app.state is StreamsState.RUNNING


KINDS = {"consumer": "a consumer group", "classic": "a classic group of other clients with the protocol 'range'"}


@pytest.mark.parametrize("protocol", KINDS)
def test_a_group_of_consumers_is_named_and_left(servers: str, posts: str, protocol: str) -> None:
    group = f"{posts}-app"
    keys = {"bootstrap.servers": servers, "group.id": group, "group.protocol": protocol}
    with closing(Consumer(keys)) as consumer:
        consumer.subscribe([posts])
        wait_until(lambda: consumer.poll(0.1) or len(consumer.assignment()) == 2, PATIENCE_S)
        error = error_of(application(servers, posts))
        assert str(error) == (
            f"The group '{group}' is {KINDS[protocol]}, and has members. Choose another application_id, or stop these "
            "members and wait until the group is empty."
        )
        assert isinstance(error, BrokerError)
        assert error.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        # The consumer has all partitions: the member of the application has left.
        wait_until(lambda: consumer.poll(0.1) or len(consumer.assignment()) == 2, PATIENCE_S)


def test_a_share_group_is_named(servers: str, posts: str) -> None:
    with KafkaShareConsumer(bootstrap_servers=servers, group_id=f"{posts}-app") as consumer:
        consumer.subscribe([posts])
        consumer.poll(0.5)
        error = error_of(application(servers, posts))
    assert str(error) == (
        f"The group '{posts}-app' is a share group, and has members. Choose another application_id, or stop these "
        "members and wait until the group is empty."
    )


# ----------------------------------------------------------------------------------------------------- members


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_the_older_of_two_processes_with_one_instance_id_ends(servers: str, posts: str, guarantee: str) -> None:
    # With rare heartbeats, the transaction coordinator tells the older one first: both have one transactional id, too.
    keys: dict[str, Any] = {
        "group_instance_id": "one", "processing_guarantee": guarantee, "heartbeat_interval_ms": "2000",
    }  # fmt: skip
    with application(servers, posts, **keys) as older:
        older.wait_until_running(PATIENCE_S)
        with application(servers, posts, **keys) as newer:
            newer.wait_until_running(PATIENCE_S)
            write(servers, posts)  # so that both have something to commit
            error = awaited_error(older)
            assert isinstance(error, FencedInstanceIdError)
            assert "group.instance.id 'one-1'" in str(error)
            assert str(error).endswith("Give each process a group.instance.id of its own.")
            wait_until(lambda: counts(newer).get("word", 0) >= 20, PATIENCE_S, lambda: (newer.state, newer.error))
            if guarantee == "exactly_once_v2":  # otherwise the older one has written words that it could not commit
                assert counts(newer) == {"word": 20}


def write(servers: str, posts: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(20):
        producer.produce(posts, "word", f"key-{number}")
    assert producer.flush(30) == 0


def counts(app: KafkaStreams) -> dict[str, int]:
    try:
        return dict(app.store("counts").all())
    except InvalidStateStoreError:
        return {}


@pytest.mark.parametrize("session_ms", [10, 10_000_000])
def test_a_session_outside_the_limits_of_the_brokers_names_them(servers: str, posts: str, session_ms: int) -> None:
    error = error_of(application(servers, posts, session_timeout_ms=session_ms, heartbeat_interval_ms=3))
    assert str(error) == (
        f"The brokers refuse session.timeout.ms={session_ms} for the group '{posts}-app'. Use a value between "
        "group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers."
    )


# ------------------------------------------------------------------------------------------------------ topics


def joined(first: str, second: str) -> Topology:
    """Two tables whose records meet by their keys."""
    builder = StreamsBuilder()
    left, right = (builder.table(each, key=serdes.string, value=serdes.string) for each in (first, second))
    left.join(right, lambda one, other: f"{one}{other}", value=serdes.string).to_stream().to(f"{first}-joined")
    return builder.build()


def test_a_missing_source_is_an_error_at_once_that_names_it(servers: str) -> None:
    missing = unique("missing")
    error = error_of(application(servers, missing))
    assert isinstance(error, StreamsError)
    assert f"Source topics do not exist: {missing}. Create them" in str(error)


def test_sources_with_different_numbers_of_partitions_are_named_with_them(servers: str, posts: str) -> None:
    other = unique("other")
    create_topics({"bootstrap.servers": servers}, {other: 3})
    error = error_of(application(servers, posts, joined(posts, other)))
    assert isinstance(error, StreamsError)
    assert "need equal numbers of partitions" in str(error)
    assert f"{other} (3)" in str(error)
    assert f"{posts} (2)" in str(error)


@pytest.mark.parametrize("kind", ["changelog", "repartition"])
def test_an_internal_topic_with_another_number_of_partitions_is_not_to_be_deleted(
    servers: str, posts: str, kind: str
) -> None:
    topic = f"{posts}-app-counts-{kind}"
    create_topics({"bootstrap.servers": servers}, {topic: 3})
    error = error_of(application(servers, posts))
    assert isinstance(error, StreamsError)
    assert str(error).startswith(f"Topic {topic} has 3 partitions, but the application needs 2: ")
    assert "Let the application read a topic with as many partitions as before" in str(error)
    assert "elete" not in str(error)


# ------------------------------------------------------------------------------------- brokers without streams groups

WITHOUT: Mapping[str, tuple[KafkaProcess, str]] = {
    "3.9.1": (KafkaProcess("3.9.1"), "Streams groups need Kafka 4.2 or newer."),
    "switched off": (KafkaProcess(features={"streams.version": 0}), "is at level 0."),
}


@pytest.mark.long
@pytest.mark.real_kafka
@pytest.mark.parametrize("which", WITHOUT)
def test_brokers_without_streams_groups_are_a_reason_for_a_classic_one(which: str) -> None:
    process, text = WITHOUT[which]
    with process as kafka:
        create_topics({"bootstrap.servers": kafka.bootstrap_servers}, {"posts": 1})
        error = error_of(application(kafka.bootstrap_servers, "posts", group_protocol="streams"))
        assert isinstance(error, UnsupportedVersionError)
        assert text in str(error)
        assert str(error).endswith("Set group_protocol='classic'.")
        with application(kafka.bootstrap_servers, "posts") as app:
            app.wait_until_running(PATIENCE_S)
