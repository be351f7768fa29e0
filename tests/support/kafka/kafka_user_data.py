"""The user data of classic groups as Kafka Streams itself writes and reads it, by a small Java program."""

from pathlib import Path
from typing import Final

from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.host_maps import PartitionsByHost
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.types import TopicPartition
from tests.support.kafka.java_program import JavaProgram

__all__ = ["KafkaUserData", "UserDataWords", "words_of"]

UserDataWords = list[str]
"""The values of a structure in an order that does not depend on hashes: the words of `java/UserDataDriver.java`."""

_NONE: Final = "-"
_NEVER_MS: Final = 2**63 - 1


class KafkaUserData(JavaProgram):
    """Kafka's `SubscriptionInfo` (kind S) and `AssignmentInfo` (kind A). Use it as a context manager.

    Args:
        directory: Where the compiled program goes.
        classpath: Kafka Streams and what it needs.
    """

    def __init__(self, directory: Path, classpath: str) -> None:
        super().__init__("UserDataDriver", directory, classpath)

    def random(self, kind: str, version: int, seed: int) -> tuple[bytes, UserDataWords]:
        """A random structure: the bytes that Java writes for it, and its values."""
        return _bytes_and_words(self.ask("random", kind, str(version), str(seed)))

    def read(self, kind: str, data: bytes) -> tuple[bytes, UserDataWords]:
        """What Java reads in bytes, and the bytes that it writes for that."""
        answer = self.ask("read", kind, data.hex())
        assert answer[0] != "error", answer
        return _bytes_and_words(answer)

    def golden(self, kind: str, version: int, *, is_named: bool = False) -> bytes:
        """The bytes of the structure that is among the golden bytes."""
        (answer,) = self.ask("golden", kind, str(version), "named" if is_named else "plain")
        return bytes.fromhex(answer)


def words_of(info: SubscriptionInfo | AssignmentInfo) -> UserDataWords:
    """The words of a structure of ours."""
    return _of_subscription(info) if isinstance(info, SubscriptionInfo) else _of_assignment(info)


def _bytes_and_words(answer: list[str]) -> tuple[bytes, UserDataWords]:
    return bytes.fromhex(answer[0]), answer[1:]


def _of_subscription(info: SubscriptionInfo) -> UserDataWords:
    return [
        str(info.version),
        str(info.latest_supported_version),
        str(info.process_id),
        _word(info.user_endpoint or ""),
        str(info.error_code),
        _sorted([f"{task}={total}" for task, total in info.task_offset_sums]),
        _sorted([f"{_word(key)}={_word(value)}" for key, value in info.client_tags]),
    ]


def _of_assignment(info: AssignmentInfo) -> UserDataWords:
    return [
        str(info.version),
        str(info.commonly_supported_version),
        ",".join(map(str, info.active_tasks)) or _NONE,
        _sorted([f"{task}:{_all(partitions)}" for task, partitions in info.standby_tasks]),
        _hosts(info.host_maps.active),
        _hosts(info.host_maps.standby),
        str(info.error_code),
        str(_NEVER_MS if info.next_rebalance_ms is None else info.next_rebalance_ms),
    ]


def _hosts(hosts: PartitionsByHost) -> str:
    return _sorted([f"{_word(host)}@{port}:{_all(partitions)}" for (host, port), partitions in hosts])


def _all(partitions: tuple[TopicPartition, ...]) -> str:
    return "+".join(sorted(f"{_word(each.topic)}@{each.partition}" for each in partitions))


def _sorted(parts: list[str]) -> str:
    return ",".join(sorted(parts)) or _NONE


def _word(text: str) -> str:
    return "x" + text.encode("utf-16-be", "surrogatepass").hex()
