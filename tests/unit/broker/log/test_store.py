from uuid import UUID

from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.log.store import LogStore
from kafka_groups.protocol.record_builder import NewRecord, build_batch

ONE, TWO = UUID(int=1), UUID(int=2)


def test_logs_by_topic_id_and_partition() -> None:
    logs = LogStore()
    logs.get(ONE, 0).append(build_batch([NewRecord(b"v")]), 0, 0)
    assert logs.get(ONE, 0).end_offset == 1
    assert logs.get(ONE, 1).end_offset == 0
    assert logs.get(TWO, 0).end_offset == 0
    assert set(logs) == {(ONE, 0), (ONE, 1), (TWO, 0)}
    assert len(logs) == 3


def test_the_factory_makes_each_log_once() -> None:
    made: list[tuple[UUID, int]] = []

    def new_log(topic_id: UUID, partition: int) -> PartitionLog:
        made.append((topic_id, partition))
        return PartitionLog()

    logs = LogStore(new_log)
    assert logs.get(ONE, 0) is logs.get(ONE, 0)
    assert logs.find(ONE, 1) is None
    logs.get(TWO, 1)
    assert made == [(ONE, 0), (TWO, 1)]


def test_a_deleted_topic_is_empty_when_it_comes_again() -> None:
    logs = LogStore()
    logs.get(ONE, 0).append(build_batch([NewRecord(b"v")]), 0, 0)
    logs.delete_topic(ONE)
    logs.delete_topic(TWO)
    assert logs.get(ONE, 0).end_offset == 0


def test_producer_ids_are_never_repeated() -> None:
    logs = LogStore()
    ids = [logs.new_producer_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert min(ids) > 0
