"""Regular expressions of consumer groups against RE2/J, which Kafka evaluates them with, and against Kafka itself."""

import random
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.topic_patterns import compile_pattern
from kafka_groups.errors import InvalidRegularExpressionError
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import member_id_of, random_uuid
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import until
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.topic_patterns import INVALID, INVALID_WITH_OTHER_WORDS, NAMES, VALID, matching

PREFIX = "SubscribedTopicRegex `{}` is not a valid regular expression: "
SOURCE = Path(__file__).parents[1] / "support" / "kafka" / "java" / "TopicPatternDriver.java"

pytestmark = pytest.mark.real_kafka


@pytest.fixture(scope="module")
def re2j(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What RE2/J says of every pattern: the names that it matches, or what is wrong."""
    classpath, directory = kafka_classpath(libs_or_skip()), tmp_path_factory.mktemp("java")
    _run(["javac", "-cp", classpath, "-d", str(directory), str(SOURCE)])
    patterns = (*VALID, *INVALID, *INVALID_WITH_OTHER_WORDS)
    answers = _run(
        ["java", "-cp", f"{directory}:{classpath}", "TopicPatternDriver", *NAMES], "\n".join(patterns) + "\n"
    )
    return dict(zip(patterns, answers.splitlines(), strict=True))


@pytest.fixture
async def cluster(real_kafka: KafkaProcess) -> AsyncIterator[ClusterClient]:
    host, _, port = real_kafka.bootstrap_servers.rpartition(":")
    client = ClusterClient(TcpNetwork(), host, int(port))
    yield client
    await client.close()


@pytest.mark.parametrize("text", VALID)
def test_the_same_names_match(re2j: dict[str, str], text: str) -> None:
    assert " ".join(["matches", *matching(compile_pattern(text), NAMES)]) == re2j[text]


@pytest.mark.parametrize("text", INVALID)
def test_the_same_is_wrong(re2j: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidRegularExpressionError) as caught:
        compile_pattern(text)
    assert f"error {str(caught.value).removeprefix(PREFIX.format(text))}" == f"{re2j[text]}."


@pytest.mark.parametrize("text", INVALID_WITH_OTHER_WORDS)
def test_something_else_is_wrong(re2j: dict[str, str], text: str) -> None:
    assert re2j[text].startswith("error ")
    with pytest.raises(InvalidRegularExpressionError):
        compile_pattern(text)


@pytest.mark.parametrize("text", ["a[", "(", "a**", r"\q", "(?=a)", "`["])
async def test_kafka_refuses_with_the_same_message(cluster: ClusterClient, text: str) -> None:
    answer = await _heartbeat(cluster, _joining(text))
    with pytest.raises(InvalidRegularExpressionError) as caught:
        compile_pattern(text)
    assert (answer.error_code, answer.error_message) == (caught.value.code, str(caught.value))


@pytest.mark.parametrize("text", ["{0}", "{0}.*", "{0}-[ab]", "[^_]*{0}|__consumer_offsets", "(?i){0}-B"])
async def test_kafka_assigns_the_topics_that_match(cluster: ClusterClient, text: str) -> None:
    base = unique("topic")
    names = [base, f"{base}-a", f"{base}-b", f"{base}-ab", f"x{base}", "__consumer_offsets"]
    for name in names[:-1]:
        await cluster.create_topic(name=name)
    member = await _member(cluster, text.format(base))
    topic_ids = {(await cluster.describe_topic(name)).topic_id: name for name in names}
    expected = set(matching(compile_pattern(text.format(base)), names))
    # Kafka's coordinator may not know the newest topic yet. It evaluates the expression again ten seconds later.
    await until(
        lambda: _assigned_topics(cluster, member),
        lambda it: {topic_ids.get(id_) for id_ in it} == expected,
        timeout_s=30,
    )


async def _member(cluster: ClusterClient, text: str) -> ConsumerGroupHeartbeatRequest:
    """A member of a new group that has joined: its next heartbeat."""
    request = _joining(text)
    answer = await _heartbeat(cluster, request)
    assert answer.error_code is ErrorCode.NONE, answer
    return evolve(request, member_epoch=answer.member_epoch)


def _joining(text: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=unique("group"),
        member_id=member_id_of(random_uuid(random.Random())),
        member_epoch=JOIN_GROUP_EPOCH,
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex=text,
        topic_partitions=(),
    )


async def _heartbeat(cluster: ClusterClient, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """The answer of the coordinator, as soon as it coordinates the group."""
    coordinator = await cluster.coordinator_of(request.group_id)
    not_yet = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    return await until(lambda: coordinator.ask(request), lambda answer: answer.error_code not in not_yet)


async def _assigned_topics(cluster: ClusterClient, member: ConsumerGroupHeartbeatRequest) -> set[UUID | None]:
    """The topics of the member's assignment, which has all it may own as long as it has not confirmed anything.

    Kafka evaluates the expression some time after the member has joined, which takes the group to the next epoch.
    """
    answer = await _heartbeat(cluster, member)
    assert answer.error_code is ErrorCode.NONE, answer
    return {each.topic_id for each in answer.assignment.topic_partitions} if answer.assignment else set()


def _run(command: Sequence[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stderr}"
    return done.stdout
