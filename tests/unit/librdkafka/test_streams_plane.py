"""Questions of a worker to brokers that do not answer end soon, with errors that may pass; offsets of transactions."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.client.membership.group_metadata import AsMember, GroupMetadata, group_metadata_bytes
from kafka_groups.errors import KafkaGroupsError, LeaderNotAvailableError
from kafka_groups.librdkafka import streams_plane
from kafka_groups.librdkafka.partition_poller import PartitionPoller
from kafka_groups.librdkafka.streams_plane import LibrdkafkaPlane
from kafka_groups.types import OffsetAndMetadata, TopicPartition

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
PLACE = TopicPartition("t", 0)


class SlowPoller:
    """Notes how long it may wait for an answer that does not come."""

    def __init__(self, _config: object, _group_id: str) -> None:
        self.waits: list[float] = []

    def bounds(self, partition: TopicPartition, timeout_s: float) -> tuple[int, int]:
        self.waits.append(timeout_s)
        raise LeaderNotAvailableError(f"{partition} has no leader")

    def offsets_for_times(self, _times: object, timeout_s: float) -> None:
        self.waits.append(timeout_s)
        raise LeaderNotAvailableError("no leader")


async def test_a_question_about_offsets_blocks_for_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_plane, "PartitionPoller", SlowPoller)
    plane = LibrdkafkaPlane(NOWHERE, NOWHERE, NOWHERE, "app")
    with pytest.raises(LeaderNotAvailableError):
        await plane.bounds([PLACE, TopicPartition("t", 1)])
    with pytest.raises(LeaderNotAvailableError):
        await plane.offsets_for_times({PLACE: 5})
    assert plane._ends.waits == [1.0, 1.0]  # type: ignore[attr-defined]


async def test_offsets_go_with_the_commit_as_librdkafka_wants_them() -> None:
    class Transactions:
        write = write_tracked = None

        def __init__(self) -> None:
            self.commits: list[tuple[object, bytes]] = []

        def commit(self, offsets: object, metadata: bytes, _timeout_s: float) -> None:
            self.commits.append((offsets, metadata))

        def close(self) -> None: ...

    transactions: Any = Transactions()
    plane = LibrdkafkaPlane(NOWHERE, NOWHERE, NOWHERE, "app", transactions)
    member, offsets = AsMember("me", 3, "i"), {PLACE: OffsetAndMetadata(7)}
    plane.send_offsets(offsets, GroupMetadata("app", member))
    assert transactions.commits == []
    await plane.commit_transaction(offsets, GroupMetadata("app", member))
    assert transactions.commits == [(offsets, group_metadata_bytes("app", member))]
    await plane.close()


@pytest.mark.parametrize(
    "ask",
    [
        lambda poller: poller.bounds(PLACE, 0.1),
        lambda poller: poller.offsets_for_times({PLACE: 5}, 0.1),
        lambda poller: poller.partition_counts(0.1),
    ],
)
def test_the_error_without_an_answer_may_pass(ask: Callable[[PartitionPoller], object]) -> None:
    poller = PartitionPoller(NOWHERE, "app")
    with pytest.raises(KafkaGroupsError) as raised:
        ask(poller)
    poller.close()
    assert raised.value.retriable
