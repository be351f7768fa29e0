"""User data of classic groups against the classes of Kafka Streams: the same values, and the same bytes."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.protocol.streams_user_data.assignment_info import decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.protocol.streams_user_data.subscription_info import decode_subscription
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.kafka_user_data import KafkaUserData, words_of
from tests.support.members.user_data_golden import encoded

VERSIONS = range(3, 12)
SEEDS = range(56)
"""With nine versions and two structures these are 1,008 random ones."""

STRUCTURES = {"S": "SubscriptionInfo", "A": "AssignmentInfo"}
DECODE: dict[str, Callable[[bytes], Any]] = {"S": decode_subscription, "A": decode_assignment}

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaUserData]:
    with KafkaUserData(tmp_path_factory.mktemp("java"), streams_classpath_or_skip()) as kafka:
        yield kafka


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_java_writes_is_read_and_written_again(kafka: KafkaUserData, kind: str, version: int) -> None:
    for seed in SEEDS:
        data, words = kafka.random(kind, version, seed)
        info = DECODE[kind](data)
        assert words_of(info) == _known_to(version, kind, words)
        assert info.encode() == data


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("version", VERSIONS)
def test_java_reads_what_we_write(kafka: KafkaUserData, kind: str, version: int) -> None:
    # Structures of the latest version in the bytes of another one, in another order than Java's.
    for seed in SEEDS:
        info = _reordered(DECODE[kind](kafka.random(kind, 11, seed)[0]), seed)
        data = evolve(info, version=version).encode()
        again, words = kafka.read(kind, data)
        assert words == words_of(DECODE[kind](data))
        # Java keeps the order of what it has read in subscriptions, and so all of their fields can be compared.
        assert kind == "A" or again == data


@pytest.mark.parametrize("kind", STRUCTURES)
def test_golden_bytes_are_those_of_java(kafka: KafkaUserData, kind: str) -> None:
    golden = encoded(STRUCTURES[kind])
    assert [(each.version, each.has_named_topology) for each in golden] == [
        *((version, False) for version in range(1, 12)), (11, True)
    ]  # fmt: skip
    for each in golden:
        assert kafka.golden(kind, each.version, is_named=each.has_named_topology) == each.data


def _known_to(version: int, kind: str, words: list[str]) -> list[str]:
    """The words of what a version of an assignment has. A subscription of Java's knows no more than its bytes."""
    lacks = {5: (6, "-"), 6: (4, "0"), 7: (7, str(2**63 - 1))} if kind == "A" else {}
    return [lacks[at][1] if at in lacks and version < lacks[at][0] else word for at, word in enumerate(words)]


def _reordered(info: Any, seed: int) -> Any:
    def mixed(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(random.Random(seed).sample(values, len(values)))

    if hasattr(info, "task_offset_sums"):
        return evolve(info, task_offset_sums=mixed(info.task_offset_sums), client_tags=mixed(info.client_tags))
    maps = HostMaps(mixed(info.host_maps.active), mixed(info.host_maps.standby))
    return evolve(info, standby_tasks=mixed(info.standby_tasks), host_maps=maps)
