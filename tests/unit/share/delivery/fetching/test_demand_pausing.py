"""Pausing a share consumer, and when nothing is fetched ahead."""

from typing import Any

import pytest

from kafka_groups.protocol.messages.share_fetch import AcquiredRecords, ShareFetchPartitionData
from kafka_groups.types import AcknowledgeType
from tests.unit.share.deliveries import batch
from tests.unit.share.fetching import LOCK_MS, Bench, acknowledged_in, wire

ACCEPT, RELEASE, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RENEW


def explicit(**config: Any) -> Bench:
    return Bench(acknowledgement_mode="explicit", **config).warm()


def test_a_pause_releases_what_was_fetched_ahead_and_fetches_nothing_until_the_next_poll() -> None:
    bench = explicit().warm()
    (record,) = bench.delivered((0, 0))
    bench.fetched(bench.fetch(), (1, 2))
    bench.application.pause()
    release = bench.acknowledge()
    assert acknowledged_in(release) == {0: {1: RELEASE, 2: RELEASE}}
    bench.acknowledged(release)
    assert bench.metrics.prefetched_released_total == 1
    bench.nothing()
    bench.application.acknowledge(record, ACCEPT)
    assert not bench.begin()
    assert acknowledged_in(bench.fetch()) == {0: {0: ACCEPT}}


def test_what_a_fetch_under_way_brings_after_a_pause_is_released_too() -> None:
    bench = explicit()
    assert not bench.begin()
    under_way = bench.fetch()
    bench.inbox.is_waiting = False  # the poll's time is up
    bench.application.pause()
    bench.nothing()
    bench.fetched(under_way, (0, 3))
    assert acknowledged_in(bench.acknowledge()) == {0: dict.fromkeys(range(4), RELEASE)}
    assert not bench.inbox.ready


def test_a_poll_soon_after_a_pause_gets_what_the_fetch_under_way_brings() -> None:
    bench = explicit()
    assert not bench.begin()
    under_way = bench.fetch()
    bench.inbox.is_waiting = False
    bench.application.pause()
    bench.nothing()
    assert not bench.begin()
    bench.fetched(under_way, (0, 1))
    assert [record.offset for record in bench.end()] == [0, 1]


def test_a_pause_keeps_what_is_in_hand_and_renews_it() -> None:
    bench = explicit(auto_renew=True, prefetch_batches=0)
    (record,) = bench.delivered((0, 0))
    bench.application.pause()
    bench.nothing()
    bench.advance(LOCK_MS // 2)
    assert acknowledged_in(bench.acknowledge()) == {0: {0: RENEW}}
    bench.application.acknowledge(record, ACCEPT)


def test_a_pause_releases_what_waits_behind_an_error_and_the_error_is_still_raised() -> None:
    def picky(raw: bytes) -> bytes:
        if raw == b"v1":
            raise ValueError(raw)
        return raw

    bench = explicit(value_deserializer=picky, on_deserialization_error="raise", prefetch_batches=0)
    (record,) = bench.delivered((0, 3))
    bench.application.pause()
    assert acknowledged_in(bench.acknowledge()) == {0: {1: RELEASE, 2: RELEASE, 3: RELEASE}}
    bench.application.acknowledge(record, ACCEPT)
    with pytest.raises(Exception, match="@1"):
        bench.begin()
    assert not bench.begin()


def test_nothing_is_fetched_ahead_where_the_application_wants_none() -> None:
    bench = explicit().warm()
    bench.inbox.fetches_ahead = False
    bench.delivered((0, 0))
    bench.nothing()
    bench.inbox.fetches_ahead = True
    assert wire(bench.fetch()).max_wait_ms == 0


@pytest.mark.parametrize(
    ("fetch_max_records", "delivery_count", "fetches_ahead"),
    [("adaptive", 1, True), ("adaptive", 2, False), (500, 2, True), (500, 3, False)],
)
def test_nothing_is_fetched_ahead_beside_records_that_were_delivered_before(
    fetch_max_records: int | str, delivery_count: int, fetches_ahead: bool
) -> None:
    bench = explicit(fetch_max_records=fetch_max_records).warm()
    assert not bench.begin()
    often = (AcquiredRecords(first_offset=0, last_offset=0, delivery_count=delivery_count),)
    bench.fetched(
        bench.fetch(), parts=(ShareFetchPartitionData(partition_index=0, records=batch(0, 0), acquired_records=often),)
    )
    (record,) = bench.end()
    assert len(bench.turn()) == fetches_ahead
    bench.application.acknowledge(record, ACCEPT)


@pytest.mark.parametrize(("poll_ms", "wait_ms"), [(None, 500), (2_000, 500), (320, 320), (5, 100)])
def test_a_fetch_waits_no_longer_than_the_application_but_not_in_tiny_steps(poll_ms: int | None, wait_ms: int) -> None:
    bench = explicit()
    assert not bench.begin()
    bench.inbox.waits_until_ms = None if poll_ms is None else bench.now_ms + poll_ms
    assert wire(bench.fetch()).max_wait_ms == wait_ms
