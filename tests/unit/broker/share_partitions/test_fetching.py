"""What a fetch found, some time later: records that the member lost in the meantime are left out."""

from kafka_groups.broker.share_partitions.fetching import FetchedPartition
from kafka_groups.broker.share_partitions.reading import Acquired
from kafka_groups.errors import NotLeaderOrFollowerError
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from tests.unit.broker.share_partitions.scenes import Scene, acked, batches_of

RANGES = (AcquiredRecords(first_offset=0, last_offset=9, delivery_count=1),)


def fetched() -> tuple[Scene, FetchedPartition]:
    scene = Scene(batches_of(10))
    assert scene.fetch("ann") == [(0, 9, 1)]
    return scene, FetchedPartition(Acquired(b"records", RANGES), share_partition=scene.partition)


def later(result: FetchedPartition, *, is_led: bool = True) -> FetchedPartition:
    return result.confirmed("ann", lambda _share_partition: is_led)


def test_what_the_member_still_holds_is_told() -> None:
    _, result = fetched()
    assert later(result) is result


def test_what_expired_is_not_told_whether_it_is_free_or_anothers_or_done() -> None:
    scene, result = fetched()
    scene.now_ms += 30_000
    scene.expire()
    assert later(result) == FetchedPartition()
    assert scene.fetch("bob") == [(0, 9, 2)]
    assert later(result) == FetchedPartition()
    scene.ack(acked(0, 9, 1), member="bob")
    assert scene.partition.start_offset == 10
    assert later(result) == FetchedPartition()


def test_what_another_leader_may_deliver_is_an_error() -> None:
    _, result = fetched()
    assert isinstance(later(result, is_led=False).error, NotLeaderOrFollowerError)


def test_nothing_and_errors_stay_what_they_are() -> None:
    for result in (FetchedPartition(), FetchedPartition(error=NotLeaderOrFollowerError())):
        assert later(result, is_led=False) is result
