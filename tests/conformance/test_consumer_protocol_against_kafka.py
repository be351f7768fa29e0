"""Kafka's consumer protocol against the classes of its clients: the same values, and the same bytes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_groups.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    PartitionsByName,
)
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip

NONE = "-"
SEEDS = range(100)
DECODE: dict[str, Callable[[bytes], Any]] = {
    "S": ConsumerProtocolSubscription.decode,
    "A": ConsumerProtocolAssignment.decode,
}

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    with JavaProgram("ConsumerProtocolDriver", tmp_path_factory.mktemp("java"), streams_classpath_or_skip()) as program:
        yield program


def words_of(found: ConsumerProtocolSubscription | ConsumerProtocolAssignment) -> list[str]:
    """The words of `java/ConsumerProtocolDriver.java`."""
    user_data = NONE if found.user_data is None else "x" + found.user_data.hex()
    if isinstance(found, ConsumerProtocolAssignment):
        return [user_data, _places(found.assigned_partitions)]
    topics = ",".join(map(_word, found.topics)) or NONE
    rack = NONE if found.rack_id is None else _word(found.rack_id)
    return [topics, user_data, _places(found.owned_partitions), str(found.generation_id), rack]


@pytest.mark.parametrize("kind", DECODE)
@pytest.mark.parametrize("version", range(4))
def test_what_java_writes_is_read_and_written_again(java: JavaProgram, kind: str, version: int) -> None:
    for seed in SEEDS:
        written, *words = java.ask("random", kind, str(version), str(seed))
        data = bytes.fromhex(written)
        found = DECODE[kind](data)
        assert words_of(found) == words
        assert found.version == version
        assert found.encode() == data


@pytest.mark.parametrize("kind", DECODE)
@pytest.mark.parametrize("version", [*range(4), 9])
def test_java_reads_a_later_version_as_we_do(java: JavaProgram, kind: str, version: int) -> None:
    for seed in SEEDS:
        written, *_ = java.ask("random", kind, str(min(version, 3)), str(seed))
        data = version.to_bytes(2, "big") + bytes.fromhex(written)[2:] + b"what newer versions have"
        assert java.ask("read", kind, data.hex()) == words_of(DECODE[kind](data))


def _places(partitions: PartitionsByName) -> str:
    places = [f"{_word(topic)}@{number}" for topic, numbers in partitions.items() for number in numbers]
    return ",".join(places) or NONE


def _word(text: str) -> str:
    return "x" + text.encode().hex()
