"""Questions from code that blocks its event loop."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import delay
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.blocking_questions import BlockingQuestions
from kafka_groups.client.calls.questions import Answer, Question, errors_of_topics, metadata_request
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import (
    BootstrapError,
    ClosedError,
    IllegalStateError,
    OperationTimeoutError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.metadata import MetadataResponse


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("orders", partitions=3)
        yield cluster


def questions_to(servers: str) -> BlockingQuestions:
    return BlockingQuestions(admin_config(bootstrap_servers=servers), Environment(), "under-test")


def counts(*topics: str) -> Question[str, int]:
    def read(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[int]]:
        return {topic.name or "": len(topic.partitions) for topic in response.topics} | errors_of_topics(
            response.topics
        )

    return Question("count the partitions", ApiKey.METADATA, topics, metadata_request, read)


async def test_code_in_the_middle_of_a_loop_may_ask(cluster: EmbeddedCluster) -> None:
    questions = questions_to(cluster.bootstrap_servers)
    for _ in range(2):
        results = questions.ask(counts("orders", "absent"), 5_000)
        assert results["orders"] == 3
        assert isinstance(results.errors["absent"], UnknownTopicOrPartitionError)
    assert cluster.open_connections == 1
    questions.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "under-test"]


def test_one_that_is_never_asked_starts_nothing() -> None:
    before = set(threading.enumerate())
    questions = questions_to("127.0.0.1:1")
    assert set(threading.enumerate()) <= before
    questions.close()
    with pytest.raises(ClosedError, match="under-test"):
        questions.ask(counts("orders"), 5_000)


def test_it_blocks_no_longer_than_its_time(cluster: EmbeddedCluster) -> None:
    questions = questions_to(cluster.bootstrap_servers)
    questions.ask(counts("orders"), 5_000)
    cluster.faults.on(ApiKey.METADATA, delay(60_000))
    results = questions.ask(counts("orders"), 50)
    assert isinstance(results.errors["orders"], OperationTimeoutError)
    questions.close()


def test_a_thread_that_stands_still_is_waited_for_no_longer(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_groups.client.calls.blocking_questions._MARGIN_S", 0.01)
    questions, goes_on = questions_to(cluster.bootstrap_servers), threading.Event()

    def blocks(_keys: Sequence[str], _version: int) -> object:
        goes_on.wait(10)
        return metadata_request((), 12)

    stuck: Question[str, int] = Question("count", ApiKey.METADATA, ("orders",), blocks, lambda _keys, _response: {})
    # Long enough for a busy machine to connect and to reach the function in it that blocks.
    with pytest.raises(OperationTimeoutError, match="Could not count within 1000 ms"):
        questions.ask(stuck, 1_000)
    goes_on.set()
    questions.close()


def test_nobody_answers() -> None:
    questions = questions_to("127.0.0.1:1")
    with pytest.raises(BootstrapError):
        questions.ask(counts("orders"), 50)
    questions.close()


def test_one_that_is_not_closed_says_so_and_ends_its_thread(cluster: EmbeddedCluster) -> None:
    questions = questions_to(cluster.bootstrap_servers)
    questions.ask(counts("orders"), 5_000)
    with pytest.warns(ResourceWarning, match="BlockingQuestions"):
        del questions
    assert not [thread for thread in threading.enumerate() if thread.name == "under-test"]


def test_a_forked_process_cannot_use_those_of_its_parent(cluster: EmbeddedCluster) -> None:
    questions = questions_to(cluster.bootstrap_servers)
    questions.ask(counts("orders"), 5_000)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            questions.ask(counts("orders"), 5_000)
        except IllegalStateError:
            questions.close()
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"refused"
    os.waitpid(child, 0)
    assert questions.ask(counts("orders"), 5_000)["orders"] == 3
    questions.close()
