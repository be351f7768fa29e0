from uuid import UUID

import pytest

from kafka_groups.broker.requests.fetch_sessions import FetchPlan, FetchSessions, FetchTarget, targets
from kafka_groups.errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import (
    NO_SESSION,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

T = UUID(int=1)


def request(session_id: int, epoch: int, offsets: dict[int, int], forget: tuple[int, ...] = ()) -> FetchRequest:
    partitions = tuple(
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1_000)
        for index, offset in offsets.items()
    )
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        session_id=session_id,
        session_epoch=epoch,
        topics=(FetchTopic(topic_id=T, partitions=partitions),) if partitions else (),
        forgotten_topics_data=(ForgottenTopic(topic_id=T, partitions=forget),) if forget else (),
    )


def plan_of(
    sessions: FetchSessions, wanted: FetchRequest, *, topic_ids: bool = True, slots: int = 10, now_ms: int = 0
) -> FetchPlan:
    listed = {target.key: target for target in targets(wanted)}
    return sessions.plan(wanted, listed, uses_topic_ids=topic_ids, max_sessions=slots, now_ms=now_ms)


def offsets_of(plan: FetchPlan) -> dict[int, int]:
    return {target.request.partition: target.request.fetch_offset for target in plan.targets}


def answer(
    target: FetchTarget, *, high_watermark: int = 5, records: bytes = b"", code: ErrorCode = ErrorCode.NONE
) -> tuple[FetchTarget, PartitionData]:
    index = target.request.partition
    data = PartitionData(
        partition_index=index, error_code=code, high_watermark=high_watermark, log_start_offset=0, records=records
    )
    return target, data


def told(plan: FetchPlan, *answers: tuple[FetchTarget, PartitionData]) -> list[int]:
    return [data.partition_index for target, data in answers if plan.must_tell(target, data)]


def test_a_session_carries_on_what_the_client_does_not_repeat() -> None:
    sessions = FetchSessions()
    first = plan_of(sessions, request(0, 0, {0: 10, 1: 20}))
    assert first.session_id != NO_SESSION
    second = plan_of(sessions, request(first.session_id, 1, {1: 25, 2: 30}))
    assert offsets_of(second) == {0: 10, 1: 25, 2: 30}
    third = plan_of(sessions, request(first.session_id, 2, {}, forget=(0, 2)))
    assert offsets_of(third) == {1: 25}
    assert third.session_id == first.session_id


def test_only_news_is_told_in_a_running_session() -> None:
    sessions = FetchSessions()
    first = plan_of(sessions, request(0, 0, {0: 0, 1: 0}))
    assert told(first, *(answer(target) for target in first.targets)) == [0, 1]
    one, two = first.targets
    quiet = plan_of(sessions, request(first.session_id, 1, {}))
    assert told(quiet, answer(one), answer(two)) == []
    moved = plan_of(sessions, request(first.session_id, 2, {}))
    assert told(moved, answer(one), answer(two, high_watermark=6)) == [1]
    failing = plan_of(sessions, request(first.session_id, 3, {}))
    assert told(failing, answer(one, code=ErrorCode.NOT_LEADER_OR_FOLLOWER), answer(two, high_watermark=6)) == [0]
    recovered = plan_of(sessions, request(first.session_id, 4, {}))
    assert told(recovered, answer(one), answer(two, high_watermark=6)) == [0]


def test_partitions_that_gave_records_go_to_the_end() -> None:
    sessions = FetchSessions()
    first = plan_of(sessions, request(0, 0, {0: 0, 1: 0, 2: 0}))
    told(first, *(answer(target, records=b"x" if target.request.partition == 0 else b"") for target in first.targets))
    second = plan_of(sessions, request(first.session_id, 1, {0: 5}))
    assert [target.request.partition for target in second.targets] == [1, 2, 0]


@pytest.mark.parametrize("epoch", [2, 3, 17])
def test_epochs_must_follow_each_other(epoch: int) -> None:
    sessions = FetchSessions()
    session_id = plan_of(sessions, request(0, 0, {0: 0})).session_id
    with pytest.raises(InvalidFetchSessionEpochError):
        plan_of(sessions, request(session_id, epoch, {}))
    assert offsets_of(plan_of(sessions, request(session_id, 1, {}))) == {0: 0}
    with pytest.raises(InvalidFetchSessionEpochError):
        plan_of(sessions, request(session_id, 1, {}))


def test_unknown_sessions() -> None:
    with pytest.raises(FetchSessionIdNotFoundError):
        plan_of(FetchSessions(), request(5, 1, {0: 0}))


def test_ids_and_names_do_not_mix() -> None:
    sessions = FetchSessions()
    session_id = plan_of(sessions, request(0, 0, {0: 0})).session_id
    with pytest.raises(FetchSessionTopicIdError):
        plan_of(sessions, request(session_id, 1, {}), topic_ids=False)


def test_epoch_minus_one_closes_the_session() -> None:
    sessions = FetchSessions()
    session_id = plan_of(sessions, request(0, 0, {0: 0})).session_id
    last = plan_of(sessions, request(session_id, -1, {1: 0}))
    assert (last.session_id, offsets_of(last)) == (NO_SESSION, {1: 0})
    assert len(sessions) == 0


def test_epoch_zero_replaces_the_session() -> None:
    sessions = FetchSessions()
    old = plan_of(sessions, request(0, 0, {0: 0})).session_id
    new = plan_of(sessions, request(old, 0, {1: 0})).session_id
    assert new != old
    assert len(sessions) == 1
    with pytest.raises(FetchSessionIdNotFoundError):
        plan_of(sessions, request(old, 1, {}))


def test_a_session_without_partitions_ends() -> None:
    sessions = FetchSessions()
    session_id = plan_of(sessions, request(0, 0, {0: 0})).session_id
    assert plan_of(sessions, request(session_id, 1, {}, forget=(0,))).session_id == NO_SESSION
    assert len(sessions) == 0


def test_without_a_free_slot_there_is_no_session_until_one_is_idle() -> None:
    sessions = FetchSessions()
    first = plan_of(sessions, request(0, 0, {0: 0}), slots=1)
    assert plan_of(sessions, request(0, 0, {0: 0}), slots=1, now_ms=120_000).session_id == NO_SESSION
    assert plan_of(sessions, request(0, 0, {0: 0}), slots=0).session_id == NO_SESSION
    later = plan_of(sessions, request(0, 0, {0: 0}), slots=1, now_ms=120_001)
    assert later.session_id not in (NO_SESSION, first.session_id)
    assert len(sessions) == 1


def test_use_keeps_a_session() -> None:
    sessions = FetchSessions()
    first = plan_of(sessions, request(0, 0, {0: 0}), slots=2)
    second = plan_of(sessions, request(0, 0, {0: 0}), slots=2)
    plan_of(sessions, request(first.session_id, 1, {}), now_ms=100_000)
    plan_of(sessions, request(0, 0, {0: 0}), slots=2, now_ms=130_000)
    plan_of(sessions, request(first.session_id, 2, {}), now_ms=130_000)
    with pytest.raises(FetchSessionIdNotFoundError):
        plan_of(sessions, request(second.session_id, 1, {}), now_ms=130_000)


def test_epochs_wrap_to_one() -> None:
    sessions = FetchSessions()
    session_id = plan_of(sessions, request(0, 0, {0: 0})).session_id
    sessions._sessions[session_id].next_epoch = 2**31 - 1  # two thousand million requests earlier
    plan_of(sessions, request(session_id, 2**31 - 1, {}))
    assert offsets_of(plan_of(sessions, request(session_id, 1, {}))) == {0: 0}
