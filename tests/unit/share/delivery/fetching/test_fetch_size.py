"""How much a fetch asks for: more for an application that waits, and nothing that a slow one would notice."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords, ShareFetchPartitionData
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.fetching.fetch_size import MOST_RECORDS, FetchSize, Situation
from kafka_groups.share.delivery.fetching.share_responses import GATHER_MS
from kafka_groups.share.delivery.share_records import AnyRecords
from kafka_groups.types import AcknowledgeType
from tests.unit.share.deliveries import batch
from tests.unit.share.fetching import LOCK_MS, Bench, acknowledged_in, wire

ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE

RECORDS = 10
"""`max.poll.records` in these tests, and the records of a batch of the log."""


def situation(**changed: Any) -> Situation:
    usual: dict[str, Any] = {
        "lock_timeout_ms": LOCK_MS,
        "pace_ms": 0.0,
        "leaders": 1,
        "record_locks": 1 << 20,
        "held": 0,
    }
    return Situation(**(usual | changed))


def grown(times: int = 20, *, record_bytes: int = 10) -> FetchSize:
    size = FetchSize(500)
    for _ in range(times):
        asked = size.ask(situation())
        size.answered(asked, asked, asked * record_bytes, is_awaited=True, waiting=0)
    return size


def test_the_size_doubles_while_full_answers_are_awaited_up_to_the_most() -> None:
    asked = [grown(times).ask(situation()) for times in range(5)]
    assert asked == [500, 1000, 2000, 4000, MOST_RECORDS]


def test_an_answer_that_is_not_full_shows_that_there_is_no_more() -> None:
    size = grown()
    size.answered(4000, 1200, 1, is_awaited=True, waiting=0)
    assert size.ask(situation()) == 1200
    size.answered(1200, 0, 0, is_awaited=True, waiting=0)
    assert size.ask(situation()) == 500
    assert not size.has_grown


def test_the_size_shrinks_while_most_of_the_answer_before_is_still_to_do() -> None:
    size = grown()
    size.answered(4000, 4000, 1, is_awaited=False, waiting=2001)
    assert size.ask(situation()) == 3000
    size.answered(3000, 3000, 1, is_awaited=False, waiting=1500)
    assert size.ask(situation()) == 3000
    for _ in range(20):
        size.answered(3000, 3000, 1, is_awaited=False, waiting=3000)
    assert size.ask(situation()) == 500


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ({"pace_ms": 1.0}, LOCK_MS // 8),
        ({"pace_ms": 1.0, "leaders": 3}, LOCK_MS // 8 // 3),
        ({"pace_ms": 10.0}, 500),
        ({"record_locks": 4 * 2000}, 2000),
        ({"record_locks": 4 * 2000, "held": 2500}, 1500),
        ({"record_locks": 2000}, 500),
    ],
)
def test_the_size_is_bounded_by_the_situation(changed: dict[str, Any], asked: int) -> None:
    assert grown().ask(situation(**changed)) == asked


def test_large_records_are_not_asked_for_by_the_thousand() -> None:
    assert grown(record_bytes=4096).ask(situation()) == 1024
    assert grown(record_bytes=1 << 20).ask(situation()) == 500


def test_after_a_setback_the_size_grows_from_the_start() -> None:
    size = grown()
    size.reset()
    assert size.ask(situation()) == 500


@given(st.lists(st.tuples(st.integers(0, 9000), st.booleans(), st.integers(0, 9000)), max_size=30))
def test_a_fixed_size_stays_what_it_is(answers: list[tuple[int, bool, int]]) -> None:
    size = FetchSize(500, 700)
    for brought, is_awaited, waiting in answers:
        size.answered(700, brought, brought, is_awaited=is_awaited, waiting=waiting)
        assert size.ask(situation(pace_ms=100.0)) == 700


@given(
    st.integers(1, 10_000),
    st.lists(st.tuples(st.integers(0, 9000), st.booleans(), st.integers(0, 9000), st.booleans()), max_size=30),
)
def test_an_adaptive_size_keeps_its_bounds(start: int, answers: list[tuple[int, bool, int, bool]]) -> None:
    size = FetchSize(start)
    for brought, is_awaited, waiting, has_setback in answers:
        if has_setback:
            size.reset()
        asked = size.ask(situation())
        assert start <= asked <= max(start, MOST_RECORDS)
        size.answered(asked, brought, brought, is_awaited=is_awaited, waiting=waiting)


# -------------------------------------------------------------------------------- in a fetch manager


def waiting(polls: int = 0, **config: Any) -> Bench:
    """A bench whose application has always come back before the answer: that many full answers were handled."""
    bench = Bench(max_poll_records=RECORDS, **config).warm()
    bench.inbox.record_locks = 1 << 20
    for _ in range(polls):
        answer(bench)
        accept(bench, bench.end())
        while records := bench.begin():
            accept(bench, records)
    return bench


def accept(bench: Bench, records: AnyRecords) -> None:
    if bench.application.is_explicit:
        bench.application.acknowledge_all(records, ACCEPT)


def finish(bench: Bench) -> None:
    """Take and accept all that is left, and begin to wait; nothing more is fetched meanwhile."""
    while records := bench.begin():
        for request in bench.turn():
            assert request.api is ApiKey.SHARE_ACKNOWLEDGE
            bench.acknowledged(request)
        accept(bench, records)


def answer(bench: Bench, *, delivery_count: int = 1) -> int:
    """Fetch, and answer with as many records as were asked for; how many those are."""
    if not bench.inbox.is_waiting:
        assert not bench.begin()
    request = bench.fetch()
    records: int = wire(request).max_records
    first = bench.metrics.records_fetched_total
    blob = b"".join(batch(at, at + RECORDS - 1) for at in range(first, first + records, RECORDS))
    got = AcquiredRecords(first_offset=first, last_offset=first + records - 1, delivery_count=delivery_count)
    bench.fetched(request, parts=(ShareFetchPartitionData(partition_index=0, records=blob, acquired_records=(got,)),))
    return records


def test_a_poll_returns_no_more_than_before_when_a_fetch_brings_more() -> None:
    bench = waiting(2)
    assert answer(bench) == 4 * RECORDS
    assert wire(bench.fetch()).max_records == 8 * RECORDS
    sizes = [len(bench.end()), *(len(bench.begin()) for _ in range(4))]
    assert sizes == [RECORDS, RECORDS, RECORDS, RECORDS, 0]


def test_the_broker_is_asked_to_lock_in_parts_of_a_poll() -> None:
    bench = waiting(2)
    assert not bench.begin()
    assert wire(bench.fetch()).batch_size == RECORDS


def test_what_is_left_over_waits_renewed_and_is_released_by_a_pause() -> None:
    bench = waiting(2, prefetch_batches=0)
    answer(bench)
    first = list(bench.end())
    bench.advance(LOCK_MS // 2)
    request = bench.acknowledge()
    assert sorted(acknowledged_in(request)[0]) == list(range(first[-1].offset + 1, first[0].offset + 4 * RECORDS))
    bench.acknowledged(request)
    bench.application.pause()
    assert set(acknowledged_in(bench.acknowledge())[0].values()) == {RELEASE}
    assert bench.inbox.records_waiting == 0


def test_a_fetch_asks_for_no_more_than_a_poll_beside_records_that_were_delivered_before() -> None:
    bench = waiting(3)
    assert answer(bench, delivery_count=2) == 8 * RECORDS
    bench.end()
    bench.nothing()
    finish(bench)
    assert wire(bench.fetch()).max_records == RECORDS


@pytest.mark.parametrize("what", ["released", "lost"])
def test_a_fetch_asks_for_no_more_than_a_poll_after_a_setback(what: str) -> None:
    bench = waiting(3, acknowledgement_mode="explicit")
    answer(bench)
    records = bench.end()
    if what == "lost":
        bench.inbox.lost(bench.inbox.in_hand[0], "for a test")
    bench.application.acknowledge_all(records, RELEASE if what == "released" else ACCEPT)
    records = bench.begin()
    for request in bench.turn():
        assert request.api is ApiKey.SHARE_ACKNOWLEDGE  # nothing is fetched ahead
        bench.acknowledged(request)
    accept(bench, records)
    accept(bench, bench.begin())
    assert bench.begin()  # all was accepted since
    assert wire(bench.fetch()).max_records == RECORDS


def test_a_number_holds_from_the_first_fetch_on() -> None:
    bench = Bench(max_poll_records=RECORDS, fetch_max_records=70)
    assert not bench.begin()
    request = wire(bench.fetch())
    assert (request.max_records, request.batch_size) == (70, RECORDS)


def test_record_limit_asks_for_what_a_poll_returns() -> None:
    bench = waiting(acquire_mode="record_limit")
    for _ in range(3):
        assert answer(bench) == RECORDS
        assert len(bench.end()) == RECORDS


def test_an_application_that_slows_down_is_noticed_before_it_is_done() -> None:
    bench = waiting(4)
    answer(bench)
    bench.end()
    bench.advance(LOCK_MS // 8)  # for the ten records of this poll
    assert wire(bench.fetch()).max_records == RECORDS


# -------------------------------------------------------------------------------------- gathering


def will_be_read(bench: Bench) -> bool:
    return bench.inbox.will_be_read


def gathering(**config: Any) -> Bench:
    """The second answer is there, and the application works on the first third of the first one."""
    bench = waiting(1, **config)
    answer(bench)
    first = bench.fetch()
    bench.end()
    assert bench.inbox.records_waiting == RECORDS
    bench.fetched(first, (1000, 1009))
    return bench


def test_acknowledgements_wait_a_moment_for_the_fetch_that_is_due_when_the_next_answer_is_taken() -> None:
    bench = gathering()
    bench.begin()
    bench.nothing()
    assert will_be_read(bench)
    assert [record.offset for record in bench.begin()] == list(range(1000, 1010))
    assert not will_be_read(bench)
    assert len(acknowledged_in(bench.fetch())[0]) == 2 * RECORDS


def test_acknowledgements_go_alone_when_the_application_takes_longer() -> None:
    bench = gathering()
    bench.begin()
    assert bench.wait_ms() == GATHER_MS
    bench.advance(GATHER_MS)
    assert len(acknowledged_in(bench.acknowledge())[0]) == RECORDS


@pytest.mark.parametrize("call", ["commit", "pause", "close"])
def test_acknowledgements_go_at_once_when_somebody_waits(call: str) -> None:
    bench = gathering()
    bench.begin()
    if call == "close":
        bench.manager.close()
    else:
        getattr(bench.application, call)(*[CommitTicket()] if call == "commit" else [])
        assert not will_be_read(bench)
    assert acknowledged_in(bench.acknowledge())


def test_a_commit_that_nobody_waits_for_travels_with_the_next_fetch() -> None:
    bench = gathering(acknowledgement_mode="explicit")
    bench.inbox.in_hand[0].accept_open()
    ticket = CommitTicket(is_urgent=False)
    bench.application.commit(ticket)
    bench.nothing()
    accept(bench, bench.begin())
    bench.nothing()
    assert bench.begin()  # which takes the next answer
    bench.fetched(bench.fetch(), (2000, 2000))
    assert ticket.is_done


def test_a_commit_goes_at_once_when_somebody_begins_to_wait_for_it() -> None:
    bench = gathering(acknowledgement_mode="explicit")
    bench.inbox.in_hand[0].accept_open()
    ticket = CommitTicket(is_urgent=False)
    bench.application.commit(ticket)
    bench.nothing()
    assert bench.application.wait_for_commits() == [ticket]
    bench.acknowledged(bench.acknowledge())
    assert ticket.is_done
    assert bench.application.wait_for_commits() == []


def test_an_answer_that_comes_after_a_commit_does_not_delay_it() -> None:
    bench = waiting(1)
    answer(bench)
    under_way = bench.fetch()
    bench.end()
    bench.application.commit(ticket := CommitTicket())
    bench.nothing()  # the leader takes one request at a time
    bench.fetched(under_way, (1000, 1009))
    bench.acknowledged(bench.acknowledge())
    assert ticket.is_done


def test_the_loop_looks_again_if_an_urgent_commit_came_while_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = gathering()
    bench.begin()
    seen = [1, 1]

    def unclaimed(_node_id: int) -> int:
        if not seen:
            bench.application.commit(CommitTicket())
        return seen.pop() if seen else 1

    monkeypatch.setattr(bench.inbox, "unclaimed", unclaimed)
    assert bench.wait_ms() == 0


def test_the_loop_looks_again_if_the_answer_was_taken_while_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = gathering()
    seen = [1, 1, 1, 0]  # the fourth look is the one after `will_be_read` was set
    monkeypatch.setattr(bench.inbox, "unclaimed", lambda _node_id: seen.pop(0))
    assert bench.wait_ms() == 0
    assert seen == []
