"""The fetch manager towards the application: acknowledgements on their way, fetching ahead, locks kept alive."""

from typing import Any

import pytest

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors import DisconnectedError, RenewalUnsupportedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgePartitionData as AcknowledgedPartition
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartitionData
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.fetching.share_responses import GATHER_MS
from kafka_groups.share.membership.states import MemberState
from kafka_groups.types import AcknowledgeType, TopicIdPartition, TopicPartition
from tests.unit.share.deliveries import TOPIC, batch
from tests.unit.share.fetching import LOCK_MS, Bench, acknowledged_in, wire

ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.RENEW,
)
P0, P1 = TopicIdPartition(TOPIC, 0), TopicIdPartition(TOPIC, 1)


def _is_done(ticket: CommitTicket) -> bool:
    return ticket.is_done


def explicit(**config: Any) -> Bench:
    return Bench(acknowledgement_mode="explicit", **config).warm()


# ---------------------------------------------------------------------------------- acknowledgements


def test_acknowledgements_ride_on_the_next_fetch() -> None:
    bench = Bench()
    bench.delivered((0, 2))
    bench.begin()
    request = bench.fetch()
    assert acknowledged_in(request) == {0: {0: 1, 1: 1, 2: 1}}
    assert wire(request).max_wait_ms == 500
    bench.fetched(request)
    assert bench.told() == [(0, [0, 1, 2], None)]


def test_acknowledgements_go_alone_when_no_fetch_is_due() -> None:
    bench = Bench(prefetch_batches=0)
    bench.delivered((0, 2))
    ticket = bench.commit()
    request = bench.acknowledge()
    assert (wire(request).share_session_epoch, acknowledged_in(request)) == (1, {0: {0: 1, 1: 1, 2: 1}})
    bench.acknowledged(request)
    assert ticket.results == {P0: None}
    bench.begin()
    assert wire(bench.fetch()).share_session_epoch == 2


def test_acknowledgements_wait_while_a_request_is_under_way() -> None:
    bench = explicit()
    records = bench.delivered((0, 2))
    prefetch = bench.fetch()
    bench.application.acknowledge(records[0], REJECT)
    ticket = bench.commit()
    bench.nothing()
    bench.fetched(prefetch)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: REJECT}}
    assert not ticket.is_done
    bench.acknowledged(request)
    assert ticket.is_done


def test_acknowledgements_of_a_partition_that_was_taken_away_go_alone_and_do_not_bring_it_back() -> None:
    bench = Bench([1, 1])
    bench.delivered((0, 1))
    bench.assign(1)
    bench.begin()
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: 1, 1: 1}}
    bench.acknowledged(request)
    fetch = bench.fetch()
    assert [topic.partitions for topic in wire(fetch).forgotten_topics_data] == [(0,)]


def test_the_acknowledgements_of_several_leaders_are_one_commit() -> None:
    bench = Bench([1, 2], prefetch_batches=0)
    bench.begin()
    first, second = bench.turn()
    bench.fetched(first, (0, 1))
    bench.fetched(second, (5, 6), partition=1)
    assert len(bench.end()) == 4
    ticket = bench.commit()
    one, other = bench.turn()
    bench.acknowledged(one)
    done_early = ticket.is_done
    bench.acknowledged(other, ErrorCode.INVALID_RECORD_STATE)
    assert (done_early, ticket.is_done) == (False, True)
    assert ticket.results[P0] is None
    assert type(ticket.results[P1]).__name__ == "InvalidRecordStateError"
    assert bench.metrics.acknowledgements_error_total == 2


@pytest.mark.parametrize("how", ["fetch", "acknowledge"])
def test_a_partition_missing_in_the_response_is_an_invalid_record_state(how: str) -> None:
    bench = Bench(prefetch_batches=0)
    bench.delivered((0, 1))
    ticket = bench.commit()
    if how == "fetch":
        bench.begin()
        bench.fetched(bench.fetch(), responses=())
    else:
        bench.acknowledged(bench.acknowledge(), partitions=())
    assert type(ticket.results[P0]).__name__ == "InvalidRecordStateError"


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_RECORD_STATE,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ],
)
@pytest.mark.parametrize("how", ["fetch", "acknowledge"])
def test_errors_that_fail_an_acknowledgement_at_once(code: ErrorCode, how: str) -> None:
    bench = Bench(prefetch_batches=0)
    bench.delivered((0, 1))
    ticket = bench.commit()
    if how == "fetch":
        bench.begin()
        bench.fetched(bench.fetch(), parts=(ShareFetchPartitionData(partition_index=0, acknowledge_error_code=code),))
    else:
        bench.acknowledged(bench.acknowledge(), code)
    assert ticket.is_done
    assert getattr(ticket.results[P0], "code", None) == code
    assert bench.told() == [(0, [0, 1], type(ticket.results[P0]).__name__)]


@pytest.mark.parametrize("how", ["fetch", "acknowledge", "top level"])
def test_errors_that_may_pass_are_tried_again_until_the_deadline(how: str) -> None:
    bench = Bench(prefetch_batches=0, default_api_timeout_ms=5_000)
    bench.delivered((0, 1))
    ticket = bench.commit()
    bench.inbox.is_waiting = how == "fetch"
    end_ms, tries = bench.now_ms + 20_000, 0
    while not _is_done(ticket) and bench.now_ms < end_ms:
        result = bench.manager.poll(bench.now_ms)
        for request in result.requests:
            if _is_done(ticket):
                break  # this one carries nothing any more
            tries += 1
            assert acknowledged_in(request) == {0: {0: 1, 1: 1}}
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
            if request.api is ApiKey.SHARE_FETCH:
                bench.fetched(request, parts=(ShareFetchPartitionData(partition_index=0, acknowledge_error_code=code),))
            elif how == "top level":
                bench.acknowledged(request, error_code=code)
            else:
                bench.acknowledged(request, code)
        bench.advance(1 if result.requests else min(result.wait_ms, 1_000))
    assert 5 <= tries <= 12
    assert 4_500 <= bench.now_ms - (end_ms - 20_000) <= 7_000
    assert type(ticket.results[P0]).__name__ in ("CoordinatorNotAvailableError", "DisconnectedError")


def test_an_acknowledgement_that_succeeds_at_the_second_try() -> None:
    bench = Bench(prefetch_batches=0)
    bench.delivered((0, 1))
    ticket = bench.commit()
    bench.acknowledged(bench.acknowledge(), ErrorCode.COORDINATOR_NOT_AVAILABLE)
    bench.advance(bench.wait_ms())
    bench.acknowledged(bench.acknowledge())
    assert ticket.results == {P0: None}
    assert bench.told() == [(0, [0, 1], None)]


def test_the_answer_of_a_lost_request_fails_what_it_carried() -> None:
    bench = Bench(prefetch_batches=0)
    bench.delivered((0, 1))
    ticket = bench.commit()
    bench.lose(bench.acknowledge(), DisconnectedError("gone"))
    assert isinstance(ticket.results[P0], DisconnectedError)


# ------------------------------------------------------------------------------------ fetching ahead


def test_nothing_is_fetched_ahead_before_the_application_took_and_finished_its_first_batch() -> None:
    bench = Bench()
    bench.delivered((0, 1))
    bench.nothing()
    bench.begin()
    bench.fetched(bench.fetch(), (2, 3))
    bench.end()
    ahead = bench.fetch()  # now it is known how fast the application is
    assert wire(ahead).max_wait_ms == 0


def test_one_batch_is_fetched_ahead_and_handed_over_at_once() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch(), (2, 3))
    bench.nothing()
    assert [record.offset for record in bench.begin()] == [2, 3]
    ahead = bench.fetch()
    assert acknowledged_in(ahead) == {0: {0: 1, 1: 1}}


def test_fetching_ahead_can_be_turned_off() -> None:
    bench = Bench(prefetch_batches=0).warm()
    bench.delivered((0, 1))
    bench.nothing()


def test_a_dry_leader_is_not_asked_ahead_until_the_application_waits() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch())
    bench.nothing()
    bench.begin()
    request = bench.fetch()
    assert wire(request).max_wait_ms == 500
    bench.fetched(request, (2, 3))
    bench.end()
    bench.fetch()


def test_an_application_that_takes_a_quarter_of_the_lock_per_batch_gets_nothing_ahead() -> None:
    bench = Bench()
    bench.delivered((0, 1))
    bench.advance(LOCK_MS // 4 + 1)
    bench.begin()
    bench.fetched(bench.fetch(), (2, 3))
    bench.end()
    bench.nothing()
    bench.advance(1_000)
    bench.begin()
    bench.fetched(bench.fetch(), (4, 5))
    bench.end()
    bench.fetch()  # it was fast this time


def test_an_application_that_becomes_slow_in_this_batch_gets_nothing_more_ahead() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    ahead = bench.fetch()
    bench.advance(LOCK_MS // 4 + 1)
    bench.fetched(ahead)
    bench.manager._leaders[1].was_empty = False
    bench.nothing()


def test_record_limit_asks_one_leader_at_a_time_in_turn_and_nothing_ahead() -> None:
    bench = Bench([1, 2, 3], acquire_mode="record_limit").warm()
    bench.begin()
    asked: list[int] = []
    for _ in range(6):
        request = bench.fetch()
        assert wire(request).share_acquire_mode == 1
        asked.append(request.node_id or 0)
        bench.nothing()
        bench.advance(500)
        bench.fetched(request)
    assert sorted(asked[:3]) == sorted(asked[3:]) == [1, 2, 3]
    request = bench.fetch()
    bench.fetched(request, (0, 1), partition=(request.node_id or 0) - 1)
    bench.nothing()
    assert len(bench.end()) == 2
    bench.nothing()


def test_a_response_that_comes_while_the_application_works_counts_as_fetched_ahead() -> None:
    bench = Bench([1, 2]).warm()
    bench.begin()
    first, second = bench.turn()
    bench.fetched(first, (0, 1))
    bench.end()
    bench.fetched(bench.fetch(), (2, 3))  # one ahead from the first
    bench.fetched(second, (0, 1), partition=1)
    bench.nothing()
    assert len(bench.begin()) == 4
    assert len(bench.turn()) == 2


# -------------------------------------------------------------------------------------- locks kept alive


def test_what_waits_is_renewed_at_half_of_its_lock() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch(), (2, 3))
    bench.advance(GATHER_MS)
    for wait_ms in (LOCK_MS // 2 - GATHER_MS, *[LOCK_MS // 2] * 3):
        assert bench.wait_ms() == wait_ms
        bench.advance(wait_ms)
        request = bench.acknowledge()
        assert wire(request).is_renew_ack
        assert acknowledged_in(request) == {0: {2: RENEW, 3: RENEW}}
        bench.nothing()
        bench.acknowledged(request)
    assert bench.metrics.renewals_send_total == 4
    assert bench.told() == []
    assert [record.offset for record in bench.begin()] == [2, 3]


def test_a_renewal_counts_from_when_it_was_sent() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch(), (2, 3))
    bench.advance(LOCK_MS // 2)
    request = bench.acknowledge()
    bench.advance(1_000)
    bench.acknowledged(request)
    assert bench.wait_ms() == LOCK_MS // 2 - 1_000


def test_what_waits_is_released_at_half_of_its_lock_where_the_broker_cannot_renew() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1), version=1)
    bench.fetched(bench.fetch(), (2, 3), version=1)
    bench.advance(LOCK_MS // 2)
    request = bench.acknowledge()
    assert not wire(request).is_renew_ack
    assert acknowledged_in(request) == {0: {2: RELEASE, 3: RELEASE}}
    bench.acknowledged(request, version=1)
    assert bench.told() == []  # the application never saw them
    assert bench.metrics.prefetched_released_total == 1
    assert bench.metrics.acknowledgements_send_total == 0
    assert not bench.begin()
    assert not bench.errors


def test_what_cannot_be_renewed_is_not_handed_out() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch(), (2, 3))
    bench.advance(LOCK_MS // 2)
    bench.acknowledged(bench.acknowledge(), ErrorCode.INVALID_RECORD_STATE)
    assert not bench.begin()
    assert bench.told() == [(0, [0, 1], None)][:0]


def test_what_outlived_its_lock_is_not_handed_out() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch(), (2, 3))
    bench.advance(LOCK_MS)
    assert not bench.begin()


def test_a_broker_that_does_not_tell_the_lock_still_delivers() -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(bench.fetch(), (0, 1), acquisition_lock_timeout_ms=0)
    assert len(bench.end()) == 2
    assert bench.wait_ms() == NEVER_MS


def test_what_waits_behind_an_error_is_renewed_too() -> None:
    def picky(raw: bytes) -> bytes:
        if raw == b"v1":
            raise ValueError(raw)
        return raw

    bench = Bench(value_deserializer=picky, on_deserialization_error="raise")
    assert [record.offset for record in bench.delivered((0, 3))] == [0]
    for _ in range(3):
        bench.advance(LOCK_MS // 2)
        request = bench.acknowledge()
        assert acknowledged_in(request) == {0: {2: RENEW, 3: RENEW}}
        bench.acknowledged(request)
    with pytest.raises(Exception, match="@1"):
        bench.begin()
    assert [record.offset for record in bench.begin()] == [2, 3]


@pytest.mark.parametrize("how", ["expired", "session lost"])
def test_what_waits_behind_an_error_is_not_handed_out_stale(how: str) -> None:
    def picky(raw: bytes) -> bytes:
        if raw == b"v1":
            raise ValueError(raw)
        return raw

    bench = Bench(value_deserializer=picky, on_deserialization_error="raise")
    bench.delivered((0, 3), version=1)
    if how == "expired":
        bench.advance(LOCK_MS)
    else:
        bench.manager.connection_lost("b1", 9)
    with pytest.raises(Exception, match="@1"):
        bench.begin()
    assert not bench.begin()


def test_auto_renew_keeps_the_locks_of_records_in_hand_and_not_yet_acknowledged() -> None:
    bench = explicit(auto_renew=True, prefetch_batches=0)
    records = bench.delivered((0, 3))
    bench.application.acknowledge(records[1], ACCEPT)
    bench.advance(LOCK_MS // 2)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: RENEW, 2: RENEW, 3: RENEW}}
    bench.acknowledged(request)
    assert bench.told() == []
    bench.application.acknowledge_range(TopicPartition("orders", 0), (0, 3), ACCEPT)
    ticket = bench.commit()
    bench.acknowledged(bench.acknowledge())
    assert ticket.results == {P0: None}
    bench.advance(LOCK_MS)
    bench.nothing()


def test_without_auto_renew_records_in_hand_are_left_to_the_application() -> None:
    bench = explicit(prefetch_batches=0)
    bench.delivered((0, 3))
    bench.advance(LOCK_MS)
    bench.nothing()


def test_auto_renew_on_an_old_broker_says_so_once_per_delivery() -> None:
    bench = explicit(auto_renew=True, prefetch_batches=0)
    bench.delivered((0, 3), version=1)
    bench.advance(LOCK_MS // 2)
    bench.nothing()
    with pytest.raises(RenewalUnsupportedError, match=r"4\.2"):
        bench.application.raise_waiting()
    bench.nothing()
    bench.application.raise_waiting()


def test_renewing_in_place_settles_its_ticket_and_leaves_the_records_in_hand() -> None:
    bench = explicit(prefetch_batches=0)
    records = bench.delivered((0, 3))
    bench.advance(LOCK_MS - 1_000)
    ticket = CommitTicket()
    assert bench.application.renew(records[2], ticket)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {2: RENEW}}
    bench.acknowledged(request)
    assert ticket.results == {P0: None}
    assert bench.told() == []
    bench.application.acknowledge(records[2], ACCEPT)


def test_renewing_in_place_is_refused_by_an_old_broker_without_a_request() -> None:
    bench = explicit(prefetch_batches=0)
    bench.delivered((0, 3), version=1)
    ticket = CommitTicket()
    bench.application.renew(None, ticket)
    bench.nothing()
    assert isinstance(ticket.results[P0], RenewalUnsupportedError)


def test_nothing_to_renew_is_no_request() -> None:
    bench = explicit(prefetch_batches=0)
    records = bench.delivered((0, 0))
    bench.application.acknowledge(records[0], ACCEPT)
    assert not bench.application.renew(None, CommitTicket())


def test_records_acknowledged_with_renew_come_back() -> None:
    bench = explicit(prefetch_batches=0)
    records = bench.delivered((0, 3))
    for record, kind in zip(records, (ACCEPT, RENEW, REJECT, RENEW), strict=True):
        bench.application.acknowledge(record, kind)
    assert not bench.begin()
    request = bench.acknowledge()
    assert wire(request).is_renew_ack
    assert acknowledged_in(request) == {0: {0: ACCEPT, 1: RENEW, 2: REJECT, 3: RENEW}}
    bench.acknowledged(request)
    again = list(bench.end())
    assert [(record.offset, record.value) for record in again] == [(1, b"v1"), (3, b"v3")]
    for record in again:
        bench.application.acknowledge(record, ACCEPT)
    bench.begin()
    assert acknowledged_in(bench.fetch()) == {0: {1: ACCEPT, 3: ACCEPT}}


def test_renew_on_an_old_broker_fails_alone_and_the_rest_is_sent() -> None:
    bench = explicit(prefetch_batches=0)
    records = bench.delivered((0, 3), version=1)
    for record, kind in zip(records, (ACCEPT, RENEW, REJECT, RENEW), strict=True):
        bench.application.acknowledge(record, kind)
    ticket = bench.commit()
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: ACCEPT, 2: REJECT}}
    done_early = ticket.is_done
    bench.acknowledged(request, version=1)
    assert (done_early, ticket.is_done) == (False, True)
    assert isinstance(ticket.results[P0], RenewalUnsupportedError)
    assert sorted(bench.told(), key=str) == [(0, [0, 2], None), (0, [1, 3], "RenewalUnsupportedError")]


def test_a_renewal_and_the_acknowledgement_after_it_never_name_an_offset_twice() -> None:
    bench = explicit(auto_renew=True)
    bench.delivered((0, 3))
    fetch = bench.fetch()
    bench.application.renew(None, CommitTicket())
    bench.turn()
    bench.application.acknowledge_range(TopicPartition("orders", 0), (0, 3), ACCEPT)
    ticket = bench.commit()
    bench.fetched(fetch)
    request = bench.acknowledge()
    (topic,) = wire(request).topics
    last = -1
    for sent in topic.partitions[0].acknowledgement_batches:
        assert sent.first_offset > last
        last = sent.last_offset
    bench.acknowledged(request)
    if not ticket.is_done:
        bench.acknowledged(bench.acknowledge())
    assert ticket.results == {P0: None}


def test_a_record_delivered_again_after_its_lock_ran_out_is_not_named_twice_in_a_request() -> None:
    bench = explicit(prefetch_batches=0)
    first = bench.delivered((0, 3))
    bench.application.acknowledge_range(TopicPartition("orders", 0), (2, 3), ACCEPT)
    bench.commit()
    bench.acknowledged(bench.acknowledge())
    bench.advance(LOCK_MS)
    late = [record for record in first if record.offset < 2]
    bench.inbox.is_waiting = True
    bench.fetched(bench.fetch(), (0, 1))
    again = list(bench.end())
    for record in (*late, *again):
        bench.application.acknowledge(record, ACCEPT)
    ticket = bench.commit()
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: ACCEPT, 1: ACCEPT}}
    bench.acknowledged(request)
    bench.acknowledged(bench.acknowledge(), ErrorCode.INVALID_RECORD_STATE)
    assert type(ticket.results[P0]).__name__ == "InvalidRecordStateError"


# ------------------------------------------------------------------------------------ the application's life


def test_gaps_alone_are_acknowledged_although_the_application_never_sees_them() -> None:
    bench = Bench(prefetch_batches=0)
    bench.begin()
    bench.fetched(bench.fetch(), (0, 4), blob=b"")
    assert not bench.application.take()  # woken, found nothing, waits on
    request = bench.fetch()
    assert acknowledged_in(request) == {0: dict.fromkeys(range(5), AcknowledgeType.GAP)}


def test_gaps_fetched_ahead_are_acknowledged_by_the_poll_that_finds_them() -> None:
    bench = explicit()
    records = bench.delivered((0, 0))
    bench.fetched(bench.fetch(), (1, 4), blob=b"")
    bench.application.acknowledge(records[0], ACCEPT)
    assert not bench.begin()
    assert acknowledged_in(bench.fetch()) == {0: {0: ACCEPT, **dict.fromkeys(range(1, 5), AcknowledgeType.GAP)}}


def test_a_corrupt_batch_alone_is_rejected_and_raised() -> None:
    blob = bytearray(batch(0, 2))
    blob[-1] ^= 1
    bench = explicit(prefetch_batches=0)
    bench.begin()
    bench.fetched(bench.fetch(), (0, 2), blob=bytes(blob))
    with pytest.raises(Exception, match="checksum"):
        bench.end()
    bench.inbox.is_waiting = False
    bench.begin()
    assert acknowledged_in(bench.fetch()) == {0: dict.fromkeys(range(3), REJECT)}


def test_an_application_that_waits_long_for_records_is_not_away_when_they_come() -> None:
    bench = Bench(max_poll_interval_ms=10_000)
    bench.begin()
    request = bench.fetch()
    bench.membership._coordinator.node_id = 1
    for _ in range(10):
        bench.advance(5_000)
        bench.fetched(request)
        request = bench.fetch()
        bench.membership.poll(bench.now_ms)
    bench.fetched(request, (0, 1))
    assert len(bench.end()) == 2
    bench.turn()
    bench.membership.poll(bench.now_ms)
    assert bench.membership.state is MemberState.STABLE
    assert bench.membership.assignment


def test_the_acknowledgement_of_a_partition_that_the_broker_does_not_mention_is_settled_once() -> None:
    bench = Bench(prefetch_batches=0)
    bench.delivered((0, 1))
    bench.commit()
    other = AcknowledgedPartition(partition_index=9)
    bench.acknowledged(bench.acknowledge(), partitions=(other,))
    assert [result[2] for result in bench.told()] == ["InvalidRecordStateError"]


# ------------------------------------------------------------------------------------- attention


def _is_attended(bench: Bench) -> bool:
    return bench.inbox.will_be_read


def test_nobody_needs_to_wake_the_loop_while_every_leader_owes_an_answer() -> None:
    bench = Bench((1, 2)).warm()
    bench.assign(0)
    assert not _is_attended(bench)  # nothing was asked for yet
    bench.begin()
    request = bench.fetch()
    assert _is_attended(bench)
    bench.fetched(request, (0, 2))
    bench.end()
    bench.fetched(bench.fetch(), (3, 5))
    bench.nothing()
    assert _is_attended(bench)  # a batch waits, and for a moment acknowledgements do as well
    bench.advance(GATHER_MS)
    bench.nothing()
    assert not _is_attended(bench)  # the loop does not see by itself when the batch is taken
    bench.assign(0, 1)
    assert bench.one().node_id == 2
    assert not _is_attended(bench)  # the other leader has nothing to do
