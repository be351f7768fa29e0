"""The application's rules: modes, order of a poll, callback, concurrent use, wake-up, what is raised when."""

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_groups.errors import (
    ClosedError,
    ConcurrentUseError,
    CorruptRecordError,
    IllegalStateError,
    RecordDeserializationError,
    TopicAuthorizationFailedError,
    WakeupError,
)
from kafka_groups.protocol.record_batch import crc32c
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.share_records import ShareRecords
from kafka_groups.types import AcknowledgeType, TopicIdPartition, TopicPartition
from tests.unit.share.deliveries import TOPIC, batch, batch_with
from tests.unit.share.fetching import Bench, acknowledged_in

GAP, ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.GAP,
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.RENEW,
)


def explicit(**config: Any) -> Bench:
    return Bench(acknowledgement_mode="explicit", prefetch_batches=0, **config)


def implicit(**config: Any) -> Bench:
    return Bench(prefetch_batches=0, **config)


def picky(raw: bytes) -> str:
    if raw in (b"v1", b"v2"):
        raise ValueError(raw)
    return raw.decode()


# ------------------------------------------------------------------------------------------- the modes


def test_implicit_mode_accepts_what_was_delivered_with_the_next_poll_or_commit() -> None:
    bench = implicit()
    bench.delivered((0, 1))
    bench.begin()
    fetch = bench.fetch()
    assert acknowledged_in(fetch) == {0: {0: ACCEPT, 1: ACCEPT}}
    bench.fetched(fetch, (2, 2))
    bench.end()
    bench.commit()
    assert acknowledged_in(bench.acknowledge()) == {0: {2: ACCEPT}}


def test_implicit_mode_refuses_every_acknowledgement() -> None:
    bench = implicit()
    (record,) = bench.delivered((0, 0))
    application = bench.application
    records = batch_with(record)
    for call in (
        lambda: application.acknowledge(record, ACCEPT),
        lambda: application.acknowledge_offset(TopicPartition("orders", 0), 0, ACCEPT),
        lambda: application.acknowledge_range(TopicPartition("orders", 0), (0, 0), ACCEPT),
        lambda: application.acknowledge_all(records, ACCEPT),
        lambda: application.renew(None, CommitTicket()),
    ):
        with pytest.raises(IllegalStateError, match="acknowledgement_mode='explicit'"):
            call()


def test_explicit_mode_wants_every_record_acknowledged_before_the_next_poll() -> None:
    bench = explicit()
    first, second = bench.delivered((0, 1))
    bench.application.acknowledge(first, ACCEPT)
    with pytest.raises(IllegalStateError, match="all records must be acknowledged"):
        bench.begin()
    bench.application.acknowledge(second, REJECT)
    bench.begin()
    assert acknowledged_in(bench.fetch()) == {0: {0: ACCEPT, 1: REJECT}}


def test_explicit_mode_commits_only_what_was_acknowledged_and_the_rest_stays_usable() -> None:
    bench = explicit()
    first, second, third = bench.delivered((0, 2))
    bench.application.acknowledge(first, ACCEPT)
    bench.commit()
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: ACCEPT}}
    bench.acknowledged(request)
    bench.application.acknowledge(second, RELEASE)
    bench.application.acknowledge(second, REJECT)
    bench.application.acknowledge(third, ACCEPT)
    bench.commit()
    assert acknowledged_in(bench.acknowledge()) == {0: {1: REJECT, 2: ACCEPT}}
    for record in (first, second, third):
        with pytest.raises(IllegalStateError, match="committed before"):
            bench.application.acknowledge(record, ACCEPT)


def test_acknowledging_by_offset_range_and_batch() -> None:
    bench = explicit()
    records = bench.delivered((0, 9))
    application = bench.application
    application.acknowledge_offset(TopicPartition("orders", 0), 0, REJECT)
    assert application.acknowledge_range(TopicPartition("orders", 0), (1, 3), RELEASE) == 3
    assert application.acknowledge_range(TopicPartition("orders", 1), (1, 3), RELEASE) == 0
    assert application.acknowledge_range(TopicPartition("other", 0), (1, 3), RELEASE) == 0
    assert application.acknowledge_all(batch_with(records[0]), ACCEPT) == 10
    application.acknowledge_offset(TopicPartition("orders", 0), 9, REJECT)
    bench.commit()
    sent = acknowledged_in(bench.acknowledge())[0]
    assert sent == {**dict.fromkeys(range(9), ACCEPT), 9: REJECT}
    for topic, partition, offset in (("orders", 0, 10), ("orders", 1, 0), ("other", 0, 0), ("orders", 0, 3)):
        with pytest.raises(IllegalStateError, match="cannot be acknowledged"):
            application.acknowledge_offset(TopicPartition(topic, partition), offset, ACCEPT)


def test_gap_is_not_for_applications() -> None:
    bench = explicit()
    (record,) = bench.delivered((0, 0))
    with pytest.raises(IllegalStateError, match="GAP"):
        bench.application.acknowledge(record, GAP)
    with pytest.raises(IllegalStateError, match="GAP"):
        bench.application.acknowledge_offset(TopicPartition("orders", 0), 0, GAP)


# ------------------------------------------------------------------------------------- the order of a poll


def test_without_a_subscription_a_poll_sends_what_was_decided_and_raises() -> None:
    bench = implicit()
    bench.delivered((0, 0))
    bench.application.subscription = frozenset()
    with pytest.raises(IllegalStateError, match=r"subscribe\(\)"):
        bench.begin()
    assert len(bench.inbox.outbox) == 1


def test_callbacks_run_before_errors_are_raised_and_before_records_are_accepted() -> None:
    bench = implicit()
    bench.delivered((0, 0))
    bench.commit()
    bench.acknowledged(bench.acknowledge())
    bench.errors.report(TopicAuthorizationFailedError("orders"))
    with pytest.raises(TopicAuthorizationFailedError):
        bench.begin()
    assert [list(result.offsets()) for result in bench.results] == [[0]]
    bench.begin()


def test_a_wake_up_ends_one_poll_and_loses_no_records() -> None:
    bench = implicit()
    bench.begin()
    bench.fetched(bench.fetch(), (0, 1))
    bench.application.wake()
    with pytest.raises(WakeupError):
        bench.end()
    assert len(bench.begin()) == 2


def test_a_wake_up_before_the_poll_counts_for_it() -> None:
    bench = implicit()
    bench.application.wake()
    assert bench.notified == 1
    with pytest.raises(WakeupError):
        bench.begin()
    bench.begin()


# ------------------------------------------------------------------------------------------ the callback


def test_only_wakeup_may_be_called_from_the_callback() -> None:
    bench = explicit()
    (record,) = bench.delivered((0, 0))
    refused: list[str] = []

    def enter() -> None:
        with bench.application.entered():
            pass

    def callback(_fate: object) -> None:
        bench.application.wake()
        calls: list[Callable[[], None]] = [
            lambda: bench.application.acknowledge(record, ACCEPT),
            enter,
            bench.application.check_usable,
        ]
        for call in calls:
            try:
                call()
            except IllegalStateError as error:
                refused.append(str(error))

    bench.application.acknowledge(record, ACCEPT)
    bench.commit()
    bench.acknowledged(bench.acknowledge())
    bench.application.callback = callback
    bench.application.run_callback()
    assert len(refused) == 3
    assert all("only wakeup()" in text for text in refused)
    with pytest.raises(WakeupError):
        bench.application.raise_waiting()
    bench.application.check_usable()


def test_an_error_of_the_callback_comes_out_of_the_call_and_the_next_call_goes_on() -> None:
    bench = Bench([1, 2], prefetch_batches=0)
    bench.begin()
    for request, partition in zip(bench.turn(), (0, 1), strict=True):
        bench.fetched(request, (0, 0), partition=partition)
    bench.end()
    bench.commit()
    for request in bench.turn():
        bench.acknowledged(request)
    told = []

    def callback(result: Any) -> None:
        told.append(result.partition.partition)
        if len(told) == 1:
            raise ZeroDivisionError

    bench.application.callback = callback
    with pytest.raises(ZeroDivisionError):
        bench.begin()
    bench.begin()
    assert sorted(told) == [0, 1]


# ---------------------------------------------------------------------------------------- errors in records


def test_a_corrupt_batch_is_raised_by_the_poll_after_the_good_records() -> None:
    blob = bytearray(batch(2, 3))
    blob[-1] ^= 1
    bench = implicit()
    bench.begin()
    bench.fetched(bench.fetch(), (0, 5), blob=batch(0, 1) + bytes(blob) + batch(4, 5))
    assert [record.offset for record in bench.end()] == [0, 1, 4, 5]
    with pytest.raises(CorruptRecordError):
        bench.begin()
    bench.begin()
    assert acknowledged_in(bench.fetch())[0] == {
        0: ACCEPT, 1: ACCEPT, 2: REJECT, 3: REJECT, 4: ACCEPT, 5: ACCEPT,
    }  # fmt: skip


def test_an_unreadable_batch_never_has_the_records_after_it_accepted_unseen() -> None:
    nonsense = bytearray(batch(2, 3))
    nonsense[61:] = b"\x7f" * (len(nonsense) - 61)
    nonsense[17:21] = crc32c(memoryview(nonsense)[21:]).to_bytes(4, "big")
    bench = implicit()
    bench.begin()
    bench.fetched(bench.fetch(), (0, 5), blob=batch(0, 1) + bytes(nonsense) + batch(4, 5))
    assert [record.offset for record in bench.end()] == [0, 1, 4, 5]
    with pytest.raises(CorruptRecordError):
        bench.begin()
    bench.begin()
    assert acknowledged_in(bench.fetch())[0] == {
        0: ACCEPT, 1: ACCEPT, 2: REJECT, 3: REJECT, 4: ACCEPT, 5: ACCEPT,
    }  # fmt: skip


def test_raised_deserialisation_errors_come_between_the_records_and_release_theirs() -> None:
    bench = implicit(value_deserializer=picky, on_deserialization_error="raise")
    assert [record.value for record in bench.delivered((0, 3))] == ["v0"]
    for offset in (1, 2):
        with pytest.raises(RecordDeserializationError) as caught:
            bench.begin()
        assert caught.value.offset == offset
    assert [record.value for record in bench.begin()] == ["v3"]
    bench.begin()
    bench.inbox.is_waiting = False
    assert acknowledged_in(bench.acknowledge())[0] == {0: ACCEPT, 1: RELEASE, 2: RELEASE, 3: ACCEPT}


def test_the_offset_of_a_raised_record_can_be_acknowledged_otherwise() -> None:
    bench = explicit(value_deserializer=picky, on_deserialization_error="raise")
    (record,) = bench.delivered((0, 1))
    bench.application.acknowledge(record, ACCEPT)
    with pytest.raises(RecordDeserializationError):
        bench.begin()
    bench.application.acknowledge_offset(TopicPartition("orders", 0), 1, REJECT)
    bench.begin()
    bench.inbox.is_waiting = False
    assert acknowledged_in(bench.acknowledge()) == {0: {0: ACCEPT, 1: REJECT}}


def test_a_record_with_an_error_is_released_unless_the_application_says_otherwise() -> None:
    bench = implicit(value_deserializer=picky)
    records = bench.delivered((0, 2))
    assert [record.error is None for record in records] == [True, False, False]
    bench.begin()
    assert acknowledged_in(bench.fetch()) == {0: {0: ACCEPT, 1: RELEASE, 2: RELEASE}}


# --------------------------------------------------------------------------------------- concurrent use


def test_a_second_thread_is_turned_away_whatever_moment_it_comes() -> None:
    application = implicit().application
    outcomes: list[str] = []

    def intrude() -> None:
        try:
            with application.entered():
                outcomes.append("in")
        except ConcurrentUseError:
            outcomes.append("turned away")

    with application.entered():
        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join()
    intrude()
    assert outcomes == ["turned away", "in"]


def test_many_threads_at_once_are_never_inside_together() -> None:
    application = implicit().application
    inside, worst = [0], [0]
    start = threading.Barrier(4)

    def use() -> None:
        start.wait()
        for _ in range(2_000):
            try:
                with application.entered():
                    inside[0] += 1
                    worst[0] = max(worst[0], inside[0])
                    inside[0] -= 1
            except ConcurrentUseError:
                continue

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert worst == [1]


def test_an_error_in_a_call_lets_the_next_one_in() -> None:
    application = implicit().application
    with pytest.raises(ZeroDivisionError), application.entered():
        raise ZeroDivisionError
    with application.entered():
        pass


def test_an_interrupt_at_any_moment_of_a_call_lets_the_next_one_in(interrupts: Callable[[], None]) -> None:
    """Also while the interrupt is handled, as it is when it leaves the consumer's `with` block."""
    application = implicit().application
    for _ in range(200):
        try:
            interrupts()
            while True:
                with application.entered():
                    pass
        except KeyboardInterrupt:
            with application.entered():
                pass


@pytest.fixture
def interrupts() -> Iterator[Callable[[], None]]:
    """Has this thread interrupted soon, once for each call."""
    main, ended, armed = threading.get_ident(), threading.Event(), [False]

    def arm() -> None:
        armed[0] = True

    def interrupt(*_: object) -> None:
        if armed[0]:
            armed[0] = False
            raise KeyboardInterrupt

    def send() -> None:
        while not ended.wait(0.0005):
            signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield arm
    finally:
        armed[0] = False
        ended.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_closed_consumer_refuses_every_call() -> None:
    bench = explicit()
    (record,) = bench.delivered((0, 0))
    bench.application.mark_closed()
    with pytest.raises(ClosedError), bench.application.entered():
        pass
    with pytest.raises(ClosedError):
        bench.application.acknowledge(record, ACCEPT)


# --------------------------------------------------------------------------------------- batches of records


def test_a_batch_knows_its_size_partitions_and_order() -> None:
    bench = Bench([1, 2], prefetch_batches=0)
    bench.begin()
    first, second = bench.turn()
    bench.fetched(first, (0, 1), (5, 5))
    bench.fetched(second, (7, 8), partition=1)
    records = bench.end()
    assert (len(records), bool(records)) == (5, True)
    assert records.partitions() == {TopicPartition("orders", 0), TopicPartition("orders", 1)}
    grouped = records.by_partition()
    assert [record.offset for record in grouped[TopicPartition("orders", 0)]] == [0, 1, 5]
    assert [record.offset for record in grouped[TopicPartition("orders", 1)]] == [7, 8]
    assert "ShareRecords 5" in repr(records)
    empty = ShareRecords()
    assert (len(empty), bool(empty), list(empty)) == (0, False, [])


def test_unsubscribing_drops_all_that_is_in_hand() -> None:
    bench = explicit()
    (record,) = bench.delivered((0, 0))
    bench.application.drop_all()
    bench.begin()
    with pytest.raises(IllegalStateError):
        bench.application.acknowledge_offset(TopicPartition("orders", 0), record.offset, ACCEPT)
    assert bench.inbox.in_hand == ()
    assert TopicIdPartition(TOPIC, 0).topic is None
