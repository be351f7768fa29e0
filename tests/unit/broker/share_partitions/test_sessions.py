from uuid import UUID

import pytest

from kafka_groups.broker.runtime.scheduling.cooperative_yield import at_once
from kafka_groups.broker.share_partitions.sessions import (
    ShareSession,
    ShareSessionKey,
    ShareSessions,
    next_epoch,
    rotated,
)
from kafka_groups.errors import (
    InvalidShareSessionEpochError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)
from kafka_groups.types import TopicIdPartition

P0, P1, P2 = (TopicIdPartition(UUID(int=1), partition) for partition in range(3))
ANN, BOB = ShareSessionKey("g", "ann"), ShareSessionKey("g", "bob")


def test_epochs_go_up_by_one_and_a_stale_one_is_refused() -> None:
    sessions = ShareSessions(10)
    session = sessions.open(ANN, 1, [P0])
    assert sessions.advance(ANN, 1) is session
    assert sessions.advance(ANN, 2) is session
    for wrong in (2, 4, 0):
        with pytest.raises(InvalidShareSessionEpochError):
            sessions.advance(ANN, wrong)
    assert sessions.advance(ANN, 3) is session


def test_the_last_epoch_wraps_to_one() -> None:
    sessions = ShareSessions(10)
    sessions.open(ANN, 1, []).epoch = 2**31 - 1
    assert sessions.advance(ANN, 2**31 - 1).epoch == 1
    assert next_epoch(1) == 2


def test_without_a_session_there_is_nothing_to_advance_or_close() -> None:
    sessions = ShareSessions(10)
    with pytest.raises(ShareSessionNotFoundError):
        sessions.advance(ANN, 1)
    with pytest.raises(ShareSessionNotFoundError):
        sessions.close(ANN)


def test_opening_again_replaces_the_session_also_at_the_limit() -> None:
    sessions = ShareSessions(1)
    first = sessions.open(ANN, 1, [P0])
    second = sessions.open(ANN, 2, [P1])
    assert second is not first
    assert sessions.get(ANN) is second
    assert sessions.close_connection(1) == []
    assert len(sessions) == 1


def test_the_limit_refuses_one_more() -> None:
    sessions = ShareSessions(1)
    sessions.open(ANN, 1, [])
    with pytest.raises(ShareSessionLimitReachedError):
        sessions.open(BOB, 1, [])
    sessions.close(ANN)
    sessions.open(BOB, 1, [])
    assert sessions.get(ANN) is None


def test_a_connection_takes_its_sessions_with_it_and_no_others() -> None:
    sessions = ShareSessions(10)
    ann = sessions.open(ANN, 1, [])
    sessions.open(BOB, 2, [])
    assert sessions.close_connection(1) == [ann]
    assert sessions.close_connection(1) == []
    assert sessions.get(BOB) is not None
    assert len(sessions) == 1


def test_partitions_are_added_by_listing_and_go_when_forgotten() -> None:
    session = ShareSession(ANN, 1)
    at_once(session.update([P0, P1], ()))
    at_once(session.update([P2, P0], [P1]))
    assert list(session.partitions) == [P0, P2]


def test_a_partition_listed_and_forgotten_at_once_is_not_fetched() -> None:
    session = ShareSession(ANN, 1)
    at_once(session.update([P0], [P0]))
    assert not session.partitions


def test_the_order_goes_round_with_the_epoch() -> None:
    order = [P0, P1, P2]
    assert rotated(order, 0) == order
    assert rotated(order, 1) == [P1, P2, P0]
    assert rotated(order, 5) == [P2, P0, P1]
    assert rotated([], 4) == []
    assert {rotated(order, epoch)[0] for epoch in range(1, 4)} == set(order)


# One record a fetch, as Kafka 4.4.0 answered: by the number of partitions, and by how far the epoch goes each time (an
# acknowledgement of its own takes one more).
READ_BY_KAFKA = (
    (3, 1, (0, 1, 2), "1 0 2 0 1 2 1 0 2 0 1 2"),
    (3, 2, (0, 1, 2), "1 0 2 0 1 2 1 0 2 0 1 2"),
    (4, 1, (0, 1, 2, 3), "1 3 0 2 3 2 1 0 2 0 3 1 0 1 2 3"),
)


@pytest.mark.parametrize(("count", "step", "listed", "read"), READ_BY_KAFKA)
def test_the_partition_that_has_just_given_records_comes_last(
    count: int, step: int, listed: tuple[int, ...], read: str
) -> None:
    partitions = [TopicIdPartition(UUID(int=1), index) for index in range(count)]
    session = ShareSession(ANN, 1, partitions={partitions[index]: False for index in listed})
    seen = []
    for turn in range(len(read.split())):
        first = session.reading_order(1 + turn * step)[0]
        session.served([first])
        seen.append(str(first.partition))
    assert " ".join(seen) == read
