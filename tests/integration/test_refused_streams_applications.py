"""What applications say that brokers refuse, or that do not come to run, on the embedded broker and a real Kafka."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.streams import (
    InvalidStateStoreError,
    KafkaStreams,
    StreamsBuilder,
    StreamsState,
    Topology,
    serdes,
    stores,
)
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.test_streams_applications import FAST, IS_REAL, word_count
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique


@pytest.fixture(params=["embedded", pytest.param("real", marks=IS_REAL)], scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "real":
            kafka: KafkaProcess = request.getfixturevalue("real_kafka")
            yield kafka.bootstrap_servers
        else:
            quick = {**FAST, "group.initial.rebalance.delay.ms": 0}
            yield stack.enter_context(EmbeddedCluster(settings=quick)).bootstrap_servers


@pytest.fixture
def posts(servers: str) -> str:
    name = unique("posts")
    create_topics({"bootstrap.servers": servers}, {name: 1})
    return name


def application(servers: str, posts: str, topology: Topology | None = None, **keys: str) -> KafkaStreams:
    given = {"application.id": f"{posts}-app", "bootstrap.servers": servers}
    return KafkaStreams(topology or word_count(posts), {**given, **{key.replace("_", "."): keys[key] for key in keys}})


def refusal(app: KafkaStreams) -> str:
    """The error that ends an application."""
    with app:
        wait_until(lambda: app.state is StreamsState.ERROR, 60)
    return str(app.error)


def test_a_topic_that_cannot_be_created_is_a_warning_with_the_reason(
    servers: str, posts: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), application(servers, posts, topic_retention_ms="often"):
        wait_until(lambda: "Creation failed" in caplog.text, 60)
    (told,) = [each for each in caplog.messages if "Creation failed" in each]
    assert "MISSING_INTERNAL_TOPICS" in told
    assert "often" in told
    assert "correct that: for example a key topic.… of the application" in told


def test_another_topology_is_refused_with_the_remedy(servers: str, posts: str) -> None:
    with application(servers, posts) as app:
        app.wait_until_running(60)
        builder = StreamsBuilder()
        builder.stream(posts, key=serdes.string, value=serdes.string).group_by_key().count(
            store=stores.key_value("others", serdes.string, serdes.int64)
        )
        assert refusal(application(servers, posts, builder.build())) == (
            "Topology updates are not supported yet. Use another application id for another topology, or delete the "
            "group when it has no members."
        )


def test_a_changelog_with_another_number_of_partitions_is_not_to_be_deleted(servers: str, posts: str) -> None:
    changelog = f"{posts}-app-counts-changelog"
    create_topics({"bootstrap.servers": servers}, {changelog: 3})
    error = refusal(application(servers, posts))
    assert "INCORRECTLY_PARTITIONED_TOPICS: " in error
    assert f"opic {changelog} has" in error
    assert ". Do not delete the changelog: it has the only copy of store 'counts'." in error


def test_a_share_group_is_named(servers: str, posts: str) -> None:
    with KafkaShareConsumer(bootstrap_servers=servers, group_id=f"{posts}-app") as consumer:
        consumer.subscribe([posts])
        consumer.poll(0.5)
        error = refusal(application(servers, posts))
    assert error == (
        f"Group '{posts}-app' is a share group, not a streams group. Choose another application_id, or stop the "
        "members of that group and delete it."
    )


@pytest.mark.parametrize(
    ("protocol", "advice"),
    [
        ("consumer", "Choose another application_id"),
        pytest.param("classic", "when it is empty, it becomes a streams group", marks=pytest.mark.slow),
    ],
)
def test_a_group_of_consumers_is_named(servers: str, posts: str, protocol: str, advice: str) -> None:
    group = f"{posts}-app"
    with closing(Consumer({"bootstrap.servers": servers, "group.id": group, "group.protocol": protocol})) as consumer:
        consumer.subscribe([posts])
        wait_until(lambda: consumer.poll(0.1) or consumer.assignment(), 60)
        error = refusal(application(servers, posts))
    assert f"Group '{group}' is a {protocol} group, not a streams group." in error
    assert advice in error


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", pytest.param("at_least_once", marks=pytest.mark.slow)])
def test_a_changelog_that_is_deleted_while_the_application_runs_is_a_warning_that_names_the_store(
    servers: str, posts: str, guarantee: str, caplog: pytest.LogCaptureFixture
) -> None:
    changelog = f"{posts}-app-counts-changelog"
    writer = Producer({"bootstrap.servers": servers})
    writer.produce(posts, "to be", "k")
    assert writer.flush(30) == 0
    with application(servers, posts, processing_guarantee=guarantee) as app:
        app.wait_until_running(60)
        wait_until(lambda: has_counted(app), 60)
        admin = AdminClient({"bootstrap.servers": servers})
        admin.delete_topics([changelog])[changelog].result(30)
        # If the coordinator has made a new changelog before it takes the task away, the task need not begin again.
        told_by = (
            "The changelog of store 'counts' was deleted",
            f"Changelog {changelog}-0 had the records before offset",
        )
        wait_until(lambda: any(text in caplog.text for text in told_by), 60)
    told = next(each for each in caplog.records if any(text in each.message for text in told_by))
    assert told.levelno == logging.WARNING
    assert "store 'counts'" in told.message
    assert "lost" in told.message


def has_counted(app: KafkaStreams) -> bool:
    try:
        return dict(app.store("counts").all()) == {"to": 1, "be": 1}
    except InvalidStateStoreError:
        return False
