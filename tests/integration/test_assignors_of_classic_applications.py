"""The task assignor of an application in a classic group decides, on the embedded broker."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    KafkaStreamsAssignment,
    ProcessId,
    TaskAssignment,
    TaskAssignor,
)
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import ConfigurationError
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams
from kafka_groups.types import TaskId
from tests.integration.test_streams_applications import word_count
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.members.described_classic_group import described_members

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE_S = 90.0


class BySubtopology(TaskAssignor):
    """Gives the tasks of sub-topology 0 to one process, and the others to another. The default would divide both."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        processes = sorted(application_state.kafka_streams_states(compute_task_lags=False))
        given: dict[Any, list[AssignedTask]] = {process: [] for process in processes}
        for task in application_state.all_tasks:
            given[processes[0 if task.subtopology_id == "0" else -1]].append(AssignedTask.active(task))
        return TaskAssignment(KafkaStreamsAssignment.of(process, tasks) for process, tasks in given.items())


def by_subtopology(state: ApplicationState) -> TaskAssignment:
    return BySubtopology().assign(state)


OBJECT = BySubtopology()
PLACE = f"{__name__}:BySubtopology"


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 0}) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


@pytest.fixture
def posts(servers: str) -> str:
    name = unique("posts")
    create_topics({"bootstrap.servers": servers}, {name: 2})
    return name


def application(servers: str, posts: str, directory: Path, **keys: object) -> KafkaStreams:
    given: dict[str, object] = {
        "application.id": f"{posts}-app", "bootstrap.servers": servers, "group.protocol": "classic",
        "state.dir": str(directory), "session.timeout.ms": 6_000, "heartbeat.interval.ms": 300,
    }  # fmt: skip
    return KafkaStreams(word_count(posts), {**given, **keys})


@pytest.mark.parametrize(
    "assignor", [BySubtopology, OBJECT, by_subtopology, PLACE], ids=["class", "object", "function", "place"]
)
def test_the_assignor_of_a_user_decides(servers: str, posts: str, tmp_path: Path, assignor: object) -> None:
    def tasks() -> list[frozenset[TaskId]]:
        members = sorted(described_members(servers, f"{posts}-app"), key=lambda each: ProcessId(str(each.process_id)))
        return [each.active for each in members]

    expected = [frozenset({TaskId(subtopology, 0), TaskId(subtopology, 1)}) for subtopology in "01"]
    with ExitStack() as stack:
        for number in range(2):
            keys = {"task.assignor.class": assignor}
            stack.enter_context(application(servers, posts, tmp_path / str(number), **keys))
        wait_until(lambda: tasks() == expected, PATIENCE_S, tasks)


class Needing(BySubtopology):
    def __init__(self, zone: str) -> None:
        self.zone = zone


class Refusing(BySubtopology):
    def configure(self, configs: Mapping[str, object]) -> None:
        raise ValueError(f"no zone in {configs['application.id']}")


async def waits(state: ApplicationState) -> TaskAssignment:
    return by_subtopology(state)


@pytest.mark.parametrize(
    ("assignor", "said"),
    [
        ("nowhere:Assignor", "Could not import the task assignor 'nowhere:Assignor': ModuleNotFoundError"),
        (Needing, "Needing': TypeError: .* missing 1 required positional argument: 'zone'. Give task.assignor.class a"),
        (Refusing, 'Refusing\': ValueError: no zone in posts-.*-app. .* File ".*", line .*, in configure.'),
        ("sticky", "it assigns tasks to members .KIP-1357., and such assignors run in brokers. .* StickyTaskAssignor."),
        ("org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor", "In Python the name is Sticky"),
        ("org.acme.ByZone", "it is a class of Java"),
        (waits, "it is declared with async def"),
        (object(), "it is not a TaskAssignor"),
    ],
    ids=["import", "arguments", "configure", "by member", "of Kafka Streams", "of Java", "asynchronous", "object"],
)
def test_a_mistake_is_told_before_the_application_joins(
    servers: str, posts: str, tmp_path: Path, assignor: object, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        application(servers, posts, tmp_path, **{"task.assignor.class": assignor})
    with pytest.raises(ConfigurationError, match=r"group configuration streams\.assignor\.name"):
        KafkaStreams(
            word_count(posts), application_id="app", bootstrap_servers=servers,
            task_assignor_class=assignor,  # type: ignore[arg-type]
        )  # fmt: skip
    admin = AdminClient({"bootstrap.servers": servers})  # the answer never comes if it goes before
    groups = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert f"{posts}-app" not in {each.group_id for each in groups}
