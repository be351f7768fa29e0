"""The fetch manager towards its leaders: sessions, what a fetch says, leaders that move, errors, the end."""

import pytest

from kafka_groups.client.requests import ClientResponse
from kafka_groups.errors import (
    BrokerError,
    CorruptMessageError,
    DisconnectedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.metadata import MetadataResponse
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch, ShareAcknowledgeRequest
from kafka_groups.protocol.messages.share_fetch import (
    AcquiredRecords,
    ShareFetchPartition,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchTopic,
)
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.fetching.session import ShareSessionHandler
from kafka_groups.share.membership.states import MemberState
from kafka_groups.types import AcknowledgeType, TopicIdPartition, TopicPartition
from tests.unit.share.deliveries import TOPIC, batch
from tests.unit.share.fetching import LOCK_MS, Bench, acknowledged_in, forgotten_in, listed_in, wire

SESSION_LOST = [
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED,
]


def test_session_epochs_wrap_to_1() -> None:
    session = ShareSessionHandler(1)
    session.epoch = 2**31 - 2
    session.answered()
    assert session.epoch == 2**31 - 1
    session.answered()
    assert session.epoch == 1
    session.lost()
    assert (session.epoch, session.generation, session.is_open) == (0, 1, False)


def test_a_session_says_only_what_changes() -> None:
    session = ShareSessionHandler(1)
    a, b, c = (TopicIdPartition(TOPIC, p) for p in range(3))
    assert session.change_to([a, b]).added == (a, b)
    change = session.change_to([b, c])
    assert (change.added, change.forgotten) == ((c,), (a,))
    change = session.change_to([b, c])
    assert (change.added, change.forgotten) == ((), ())
    session.lost()
    assert session.change_to([b, c]).added == (b, c)


def test_nothing_is_fetched_before_the_application_waits() -> None:
    bench = Bench()
    bench.nothing()


def test_the_opening_fetch_lists_all_partitions_and_the_next_ones_none() -> None:
    bench = Bench([1, 1], max_poll_records=50, fetch_min_bytes=7, fetch_max_bytes=999, fetch_max_wait_ms=321)
    bench.begin()
    request = bench.fetch()
    assert wire(request) == ShareFetchRequest(
        group_id="g",
        member_id="me",
        share_session_epoch=0,
        max_wait_ms=321,
        min_bytes=7,
        max_bytes=999,
        max_records=50,
        batch_size=50,
        topics=(
            ShareFetchTopic(
                topic_id=TOPIC,
                partitions=(ShareFetchPartition(partition_index=0), ShareFetchPartition(partition_index=1)),
            ),
        ),
    )
    assert (request.node_id, request.timeout_ms) == (1, 30_321)
    bench.nothing()  # one request at a time
    for epoch in (1, 2, 3):
        bench.fetched(request)
        request = bench.fetch()
        assert (wire(request).share_session_epoch, listed_in(request), forgotten_in(request)) == (epoch, [], [])


def test_partitions_join_and_leave_the_session_with_the_assignment() -> None:
    bench = Bench([1, 1, 1])
    bench.assign(0, 1)
    bench.begin()
    request = bench.fetch()
    assert listed_in(request) == [0, 1]
    bench.assign(1, 2)
    bench.fetched(request)
    request = bench.fetch()
    assert (listed_in(request), forgotten_in(request)) == ([2], [0])


def test_each_leader_has_its_own_session_and_one_request_under_way() -> None:
    bench = Bench([1, 2])
    bench.begin()
    first, second = bench.turn()
    assert {first.node_id, second.node_id} == {1, 2}
    assert (listed_in(first), listed_in(second)) == ([0], [1])
    bench.fetched(first)
    assert bench.fetch().node_id == 1


def test_without_assignment_nothing_is_fetched() -> None:
    bench = Bench()
    bench.assign()
    bench.begin()
    bench.nothing()


# ---------------------------------------------------------------------------------------- session lost


@pytest.mark.parametrize("code", SESSION_LOST)
def test_a_lost_session_withdraws_what_waits_fails_acknowledgements_and_starts_at_epoch_0(code: ErrorCode) -> None:
    bench = Bench(acknowledgement_mode="explicit").warm()
    record, _ = bench.delivered((0, 1))
    bench.application.acknowledge(record, AcknowledgeType.ACCEPT)
    bench.commit()
    bench.fetched(bench.one(), (2, 3))
    assert bench.told() == [(0, [0], None)]
    bench.results.clear()
    assert len(bench.inbox.ready) == 1

    bench.application.acknowledge_offset(TopicPartition("orders", 0), 1, AcknowledgeType.RELEASE)
    ticket = bench.commit()
    bench.acknowledged(bench.acknowledge(), error_code=code)
    assert not bench.inbox.ready
    assert bench.told() == [(0, [1], type(ticket.results[TopicIdPartition(TOPIC, 0)]).__name__)]
    assert ticket.is_done
    assert not bench.errors

    assert not bench.begin()
    assert bench.wait_ms() > 0
    bench.advance(1000)
    request = bench.fetch()
    assert (wire(request).share_session_epoch, listed_in(request)) == (0, [0])


def test_acknowledgements_of_an_earlier_session_fail_without_a_request() -> None:
    bench = Bench()
    bench.delivered((0, 1))
    bench.begin()
    bench.lose(bench.fetch(), DisconnectedError("gone"))
    assert bench.told() == [(0, [0, 1], "DisconnectedError")]
    bench.results.clear()
    bench.end()
    bench.advance(5_000)
    assert bench.delivered((0, 1))
    bench.lose(bench.fetch(), DisconnectedError("gone"))  # a prefetch, which carries nothing
    bench.advance(5_000)
    ticket = bench.commit()
    bench.turn()
    assert bench.told() == [(0, [0, 1], "ShareSessionNotFoundError")]
    assert ticket.is_done


def test_a_connection_lost_between_requests_ends_the_session_too() -> None:
    bench = Bench([1, 2], prefetch_batches=0)
    bench.begin()
    first, second = bench.turn()
    bench.fetched(first, (0, 1))
    bench.fetched(second, (0, 1), partition=1)
    bench.manager.connection_lost("b1", 9)
    assert [fetched.acquired.session.node_id for fetched in bench.inbox.ready] == [2]
    assert [record.partition for record in bench.end()] == [1, 1]


def test_a_lost_request_refreshes_the_metadata_and_backs_off() -> None:
    bench = Bench()
    bench.begin()
    bench.lose(bench.fetch(), DisconnectedError("gone"))
    assert bench.metadata.poll(bench.now_ms).requests
    assert 80 <= bench.wait_ms() <= 120


# ---------------------------------------------------------------------------------------------- errors


def rate_per_10_s(bench: Bench, code: ErrorCode, *, top_level: bool) -> int:
    bench.begin()
    end_ms, count = bench.now_ms + 10_000, 0
    while bench.now_ms < end_ms:
        result = bench.manager.poll(bench.now_ms)
        for request in result.requests:
            count += 1
            failed = ShareFetchPartitionData(partition_index=0, error_code=code)
            if top_level:
                bench.fetched(request, error_code=code)
            else:
                bench.fetched(request, parts=(failed,))
        bench.advance(min(result.wait_ms, 10_000) if not result.requests else 1)
    return count


@pytest.mark.parametrize("top_level", [True, False], ids=["top level", "partition"])
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_an_error_that_stays_has_a_bounded_rate(code: ErrorCode, top_level: bool) -> None:
    assert 5 <= rate_per_10_s(Bench(), code, top_level=top_level) <= 20


@pytest.mark.parametrize(
    ("code", "error", "text"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailedError, "needs READ on the topic"),
        (ErrorCode.INVALID_REQUEST, BrokerError, "why"),
    ],
)
def test_a_partitions_error_that_the_application_can_act_on_is_raised_once(
    code: ErrorCode, error: type[BrokerError], text: str
) -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(
        bench.fetch(), parts=(ShareFetchPartitionData(partition_index=0, error_code=code, error_message="why"),)
    )
    with pytest.raises(error, match=text):
        bench.end()
    bench.end()


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_LEADER_EPOCH])
def test_errors_that_are_only_logged(code: ErrorCode) -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(bench.fetch(), parts=(ShareFetchPartitionData(partition_index=0, error_code=code),))
    assert not bench.errors


def test_a_partition_that_fails_does_not_slow_down_the_others_of_its_leader() -> None:
    bench = Bench([1, 1])
    bench.begin()
    failed = ShareFetchPartitionData(partition_index=1, error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    bench.fetched(bench.fetch(), (0, 3), parts=(failed,))
    assert len(bench.end()) == 4
    bench.begin()
    bench.fetch()


@pytest.mark.parametrize("code", [ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION])
def test_errors_that_end_the_consumer(code: ErrorCode) -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(bench.fetch(), error_code=code)
    for _ in range(2):
        with pytest.raises((GroupAuthorizationFailedError, UnsupportedVersionError)):
            bench.end()


def test_a_feature_that_is_switched_off_while_the_consumer_runs_is_named_with_the_command() -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(bench.fetch(), error_code=ErrorCode.UNSUPPORTED_VERSION)
    with pytest.raises(
        UnsupportedVersionError, match=r"brokers refuse SHARE_FETCH, .* upgrade --feature share.version=1"
    ):
        bench.end()


def test_a_broker_without_share_fetch_ends_the_consumer() -> None:
    bench = Bench()
    bench.begin()
    bench.lose(bench.fetch(), UnsupportedVersionError("ShareFetch is not served"))
    with pytest.raises(UnsupportedVersionError):
        bench.end()


def test_other_top_level_errors_keep_the_session_and_advance_its_epoch() -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(bench.fetch())
    bench.fetched(bench.fetch(), error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    bench.advance(1_000)
    assert wire(bench.fetch()).share_session_epoch == 2


def test_a_throttle_time_is_obeyed_also_after_success() -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(bench.fetch(), throttle_time_ms=700)
    assert bench.wait_ms() == 700
    bench.advance(700)
    bench.fetched(bench.fetch(), (0, 1), throttle_time_ms=300)
    bench.end()
    bench.commit()
    assert bench.wait_ms() == 300
    bench.advance(300)
    bench.fetched(bench.one(), throttle_time_ms=200)
    bench.begin()
    assert bench.wait_ms() == 200


def test_a_corrupt_partition_is_retried_with_a_warning() -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(
        bench.fetch(), parts=(ShareFetchPartitionData(partition_index=0, error_code=ErrorCode.CORRUPT_MESSAGE),)
    )
    assert CorruptMessageError.retriable
    assert bench.wait_ms() > 0


# -------------------------------------------------------------------------------------- leaders that move


def moved(leader: int, epoch: int) -> ShareFetchPartitionData:
    return ShareFetchPartitionData(
        partition_index=0,
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        current_leader=LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch),
    )


def test_a_leader_that_moved_is_followed_by_its_hint_without_asking_for_metadata() -> None:
    bench = Bench()
    bench.metadata.on_response(bench.metadata.poll(0).requests[0], _fresh(), bench.now_ms)
    bench.begin()
    hint = NodeEndpoint(node_id=7, host="b7", port=9)
    bench.fetched(bench.fetch(), parts=(moved(7, 2),), node_endpoints=(hint,))
    assert bench.metadata.poll(bench.now_ms).requests == ()
    request = bench.fetch()
    assert (request.node_id, wire(request).share_session_epoch, listed_in(request)) == (7, 0, [0])


def _fresh() -> ClientResponse:
    return ClientResponse(MetadataResponse(), 12, 1)


def test_without_a_hint_the_metadata_is_asked_for() -> None:
    bench = Bench()
    bench.begin()
    bench.fetched(bench.fetch(), parts=(moved(-1, -1),))
    assert bench.metadata.poll(bench.now_ms).requests
    bench.learn_leaders([2], epoch=2)
    assert bench.fetch().node_id == 2


def test_two_brokers_that_name_each_other_are_not_asked_without_end() -> None:
    bench = Bench()
    bench.begin()
    end_ms, count = bench.now_ms + 10_000, 0
    while bench.now_ms < end_ms:
        result = bench.manager.poll(bench.now_ms)
        for request in result.requests:
            count += 1
            bench.fetched(request, parts=(moved(2 if request.node_id == 1 else 1, 2),))
        bench.advance(min(result.wait_ms, 10_000) if not result.requests else 1)
    assert count <= 25


def test_what_waits_and_what_was_decided_of_a_moved_partition_is_reported() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch(), (2, 3))
    bench.learn_leaders([2], epoch=2)
    ticket = bench.commit()
    bench.turn()
    assert not bench.inbox.ready
    assert bench.told() == [(0, [0, 1], "NotLeaderOrFollowerError")]
    assert ticket.is_done


@pytest.mark.parametrize("unknown", ["leader", "topic"])
def test_an_assignment_that_the_metadata_does_not_know_is_asked_after_until_it_does(unknown: str) -> None:
    bench = Bench()
    if unknown == "leader":
        bench.learn_leaders([-1], epoch=5)
    else:
        bench.assign(9)
    bench.begin()
    asked, end_ms = 0, bench.now_ms + 10_000
    while bench.now_ms < end_ms:
        result = bench.manager.poll(bench.now_ms)
        assert result.requests == ()
        asking = bench.metadata.poll(bench.now_ms)
        if asking.requests:
            asked += 1
            bench.metadata.on_response(asking.requests[0], _fresh(), bench.now_ms)
        bench.advance(max(1, min(result.wait_ms, 10_000)))
    assert 8 <= asked <= 25
    bench.assign(0)
    bench.learn_leaders([3], epoch=6)
    assert bench.fetch().node_id == 3


# ----------------------------------------------------------------------------------------------- the end


def test_closing_sends_what_is_pending_and_epoch_minus_1_to_every_open_session() -> None:
    bench = Bench([1, 2])
    bench.begin()
    first, second = bench.turn()
    bench.fetched(first, (0, 1))
    bench.end()
    ticket = bench.commit()
    bench.manager.close()
    closing = bench.acknowledge()
    assert (closing.node_id, wire(closing).share_session_epoch) == (1, -1)
    assert acknowledged_in(closing) == {0: {0: 1, 1: 1}}
    bench.fetched(second, (5, 6), partition=1)
    assert not bench.inbox.ready  # the session is being closed, which releases them
    other = bench.acknowledge()
    assert (other.node_id, wire(other).share_session_epoch, wire(other).topics) == (2, -1, ())
    closed_early = bench.manager.is_closed
    bench.acknowledged(closing)
    bench.acknowledged(other)
    assert (closed_early, bench.manager.is_closed) == (False, True)
    assert ticket.results == {TopicIdPartition(TOPIC, 0): None}
    bench.nothing()


def test_a_close_that_is_refused_or_lost_is_a_close_all_the_same() -> None:
    for how in ("refused", "lost"):
        bench = Bench().warm()
        bench.delivered((0, 1))
        bench.fetched(bench.fetch())
        bench.commit()
        bench.manager.close()
        closing = bench.acknowledge()
        if how == "refused":
            bench.acknowledged(closing, error_code=ErrorCode.SHARE_SESSION_NOT_FOUND)
        else:
            bench.lose(closing, DisconnectedError("gone"))
        assert bench.manager.is_closed
        assert [result[2] for result in bench.told()] == [
            "ShareSessionNotFoundError" if how == "refused" else "DisconnectedError"
        ]


def test_the_closing_request_has_no_renewals() -> None:
    bench = Bench(acknowledgement_mode="explicit", auto_renew=True).warm()
    bench.delivered((0, 3))
    fetch = bench.fetch()
    ticket = CommitTicket()
    bench.application.renew(None, ticket)
    bench.turn()
    bench.application.acknowledge_range(TopicPartition("orders", 0), (0, 1), AcknowledgeType.ACCEPT)
    bench.commit()
    bench.manager.close()
    bench.fetched(fetch)
    closing = bench.acknowledge()
    message: ShareAcknowledgeRequest = wire(closing)
    assert not message.is_renew_ack
    assert acknowledged_in(closing) == {0: {0: 1, 1: 1}}
    assert ticket.is_done


def test_unsubscribing_and_subscribing_again_closes_the_old_session_first() -> None:
    bench = Bench().warm()
    bench.delivered((0, 1))
    fetch = bench.fetch()
    bench.application.drop_all()
    bench.manager.close()
    bench.nothing()
    bench.manager.reopen()
    bench.begin()
    bench.fetched(fetch, (2, 3))
    assert not bench.inbox.ready
    closing = bench.acknowledge()
    assert wire(closing).share_session_epoch == -1
    bench.acknowledged(closing)
    request = bench.fetch()
    assert (wire(request).share_session_epoch, listed_in(request)) == (0, [0])
    bench.fetched(request, (0, 3))
    assert [record.offset for record in bench.end()] == [0, 1, 2, 3]


def test_what_is_not_answered_when_the_consumer_gives_up_is_reported_once() -> None:
    bench = Bench(acknowledgement_mode="explicit").warm()
    records = bench.delivered((0, 2))
    bench.fetched(bench.fetch())
    bench.application.acknowledge(records[0], AcknowledgeType.ACCEPT)
    bench.commit()
    sent = bench.acknowledge()
    bench.application.acknowledge(records[1], AcknowledgeType.ACCEPT)
    bench.commit()
    bench.turn()
    bench.application.acknowledge(records[2], AcknowledgeType.ACCEPT)
    bench.commit()
    bench.manager.give_up()
    bench.lose(sent, DisconnectedError("closed"))
    assert bench.told() == [(0, [offset], "OperationTimeoutError") for offset in (0, 1, 2)]


def test_a_stale_member_releases_what_waits_and_renews_nothing() -> None:
    bench = Bench(auto_renew=True, acknowledgement_mode="explicit").warm()
    bench.delivered((0, 1))
    bench.fetched(bench.fetch(), (2, 3))
    bench.membership.state = MemberState.STALE
    bench.assign()
    bench.advance(LOCK_MS * 3 // 4)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {2: 2, 3: 2}}
    bench.acknowledged(request)
    assert bench.told() == []
    bench.nothing()


def test_acknowledgements_of_several_commits_are_merged_into_runs() -> None:
    bench = Bench(acknowledgement_mode="explicit").warm()
    bench.begin()
    bench.fetched(bench.fetch(), (10, 11), (20, 21))
    records = list(bench.end())
    fetch = bench.fetch()
    for index in (3, 0, 2, 1):
        bench.application.acknowledge(records[index], AcknowledgeType.ACCEPT)
        bench.commit()
        bench.turn()
    bench.fetched(fetch)
    request = bench.acknowledge()
    (topic,) = wire(request).topics
    assert topic.partitions[0].acknowledgement_batches == (
        AcknowledgementBatch(first_offset=10, last_offset=11, acknowledge_types=(1,)),
        AcknowledgementBatch(first_offset=20, last_offset=21, acknowledge_types=(1,)),
    )


def test_impossible_ranges_of_a_broker_do_not_hang_the_manager() -> None:
    bench = Bench()
    bench.begin()
    bad = AcquiredRecords(first_offset=5, last_offset=4, delivery_count=1)
    with pytest.raises(Exception, match="impossible"):
        bench.fetched(
            bench.fetch(),
            parts=(ShareFetchPartitionData(partition_index=0, records=batch(5, 5), acquired_records=(bad,)),),
        )
