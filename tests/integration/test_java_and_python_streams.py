"""A Python process and an application of Kafka Streams 4.3.1 in one streams group on a real Kafka 4.4.0.

They share the tasks of a word count with a repartition topic and a changelog, and take them over from each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.java_word_count import SETTINGS, TASKS, THREADS, WordCount
from tests.support.members.confluent_reader import PATIENCE_S
from tests.support.members.python_word_count import PythonWordCount, word_count_topology

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture
def words(real_kafka: KafkaProcess, tmp_path: Path) -> Iterator[WordCount]:
    """The application, on a real Kafka with short sessions."""
    settings = {name: str(value) for name, value in SETTINGS.items()}
    with KafkaProcess(real_kafka.version, settings) as kafka:
        application = WordCount(kafka.bootstrap_servers, tmp_path)
        yield application
        application.end()


class Part(Protocol):
    """A sub-topology, as a member sends it or as a description of the group shows it."""

    @property
    def subtopology_id(self) -> str: ...
    @property
    def source_topics(self) -> tuple[str, ...]: ...
    @property
    def repartition_sources(self) -> Sequence[Any]: ...
    @property
    def repartition_sinks(self) -> tuple[str, ...]: ...
    @property
    def changelogs(self) -> Sequence[Any]: ...


def shown(subtopologies: Iterable[Part]) -> list[tuple[object, ...]]:
    """Everything that a description of the group shows of a topology."""
    return [
        (
            each.subtopology_id,
            each.source_topics,
            each.repartition_sinks,
            [(topic.name, dict(topic.configs)) for topic in (*each.repartition_sources, *each.changelogs)],
        )
        for each in subtopologies
    ]


@pytest.mark.timeout(300)
def test_java_and_python_share_tasks_and_take_over_from_each_other(words: WordCount) -> None:
    words.write(40)
    words.start("java")
    wait_until(words.is_balanced, PATIENCE_S)
    captured = words.group().topology
    assert captured is not None
    ours = word_count_topology(words.application_id, words.source)
    assert shown(captured.subtopologies) == shown(ours.subtopologies)

    with PythonWordCount(words.servers, words.application_id, words.source, words.sink) as python:

        def is_shared() -> bool:
            shares = words.shares()
            java = [] if shares is None else shares["java"]
            return sorted([*python.tasks, *java]) == TASKS and bool(python.tasks) and bool(java)

        wait_until(is_shared, PATIENCE_S)
        assert len(words.group().members) == THREADS + 1
        words.write(200)
        words.wait_for_counts()

        words.kill("java")
        words.write(40)
        wait_until(lambda: python.tasks == TASKS, PATIENCE_S)
        words.wait_for_counts()

        words.start("java")
        wait_until(is_shared, PATIENCE_S)
        words.write(40)
        words.wait_for_counts()
    wait_until(words.is_balanced, PATIENCE_S)
    words.write(40)
    words.wait_for_counts()
