"""An open transaction of another producer does not keep an application from starting."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from confluent_kafka import Producer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, Optimization, StreamsBuilder, Topology, serdes
from kafka_groups.testing import FAST_SETTINGS
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee
from tests.support.kafka.real_kafka import unique

WAIT_S = 60


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker of each kind."""
    if request.param == "real":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


def global_table(topic: str) -> Topology:
    """A global table, beside something to run."""
    builder = StreamsBuilder()
    builder.stream(f"{topic}-else", key=serdes.string, value=serdes.string).foreach(lambda key, value: None)
    builder.global_table(topic, key=serdes.string, value=serdes.string, store="rows")
    return builder.build()


def source_table(topic: str) -> Topology:
    """A table whose source serves as changelog."""
    builder = StreamsBuilder(optimization=Optimization.ALL)
    builder.table(topic, key=serdes.string, value=serdes.string, store="rows")
    return builder.build()


@contextmanager
def open_transaction(servers: str, topic: str, key: str) -> Iterator[None]:
    """Write a record in a transaction that is open during the block, and aborted then."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": unique("other")})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, key=key, value="never")
    producer.flush(WAIT_S)
    try:
        yield
    finally:
        producer.abort_transaction(WAIT_S)


def write(servers: str, topic: str, key: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, key=key, value=key)
    assert producer.flush(WAIT_S) == 0


@pytest.mark.parametrize(
    "servers",
    ["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.slow])],
    indirect=True,
)
@pytest.mark.parametrize(
    ("build", "guarantee"),
    [
        (global_table, EXACTLY_ONCE),
        (source_table, AT_LEAST_ONCE),
        pytest.param(global_table, AT_LEAST_ONCE, marks=pytest.mark.slow),
        pytest.param(source_table, EXACTLY_ONCE, marks=pytest.mark.slow),
    ],
)
def test_an_application_starts_with_what_is_stable(
    servers: str, build: Callable[[str], Topology], guarantee: Guarantee
) -> None:
    topic, application_id = unique("rows"), unique("app")
    create_topics({"bootstrap.servers": servers}, {topic: 1, f"{topic}-else": 1})
    write(servers, topic, "before")

    @contextmanager
    def running(*keys: str) -> Iterator[None]:
        with KafkaStreams(
            partial(build, topic),
            application_id=application_id,
            bootstrap_servers=servers,
            processing_guarantee=guarantee,
            commit_interval_ms=100,
        ) as app:
            app.wait_until_running(WAIT_S)
            wait_until(lambda: [app.store("rows").get(key) for key in keys] == [*keys], WAIT_S)
            yield

    with running("before"):
        pass
    # A consumer of uncommitted records processes what is behind the open transaction, and commits its offset.
    seen = ("before", "behind") if build is source_table and guarantee == AT_LEAST_ONCE else ("before",)
    with open_transaction(servers, topic, "open"):
        write(servers, topic, "behind")
        for _ in range(2):
            with running(*seen):
                pass
    with running("before", "behind"):
        pass


@pytest.mark.parametrize(
    "servers",
    ["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.slow])],
    indirect=True,
)
@pytest.mark.parametrize(
    ("level", "aborted"), [("read_committed", None), ("read_uncommitted", "never"), (None, "never")]
)
def test_at_least_once_the_isolation_level_of_sources_is_a_choice(
    servers: str, level: str | None, aborted: str | None
) -> None:
    topic = unique("rows")
    create_topics({"bootstrap.servers": servers}, {topic: 1})
    with open_transaction(servers, topic, "aborted"):
        pass
    write(servers, topic, "after")
    with KafkaStreams(
        partial(source_table, topic),
        application_id=unique("app"),
        bootstrap_servers=servers,
        consumer={} if level is None else {"isolation.level": level},
    ) as app:
        app.wait_until_running(WAIT_S)
        wait_until(lambda: app.store("rows").get("after") == "after", WAIT_S)
        assert app.store("rows").get("aborted") == aborted
