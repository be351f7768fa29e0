"""Releases that wait: what is held and renewed, what is sent when, and what ends the wait early."""

from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError, DisconnectedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.records import delivery_of
from kafka_groups.share.membership.states import MemberState
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import AcknowledgeType, TopicPartition
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.deliveries import batch_with
from tests.unit.share.fetching import LOCK_MS, Bench, acknowledged_in, wire

ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.RENEW,
)
ORDERS = TopicPartition("orders", 0)


def holding(release_after: float = 5.0, *, version: int = 2, records: int = 2) -> Bench:
    """A consumer that accepted its first record and releases the others later; it is not in a poll."""
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    first, *others = bench.delivered((0, records - 1), version=version)
    bench.application.acknowledge(first, ACCEPT)
    for record in others:
        bench.application.acknowledge(record, RELEASE, release_after)
    bench.application.commit(CommitTicket())
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: ACCEPT}}
    bench.acknowledged(request, version=version)
    return bench


def warnings_of(bench: Bench) -> list[str]:
    return [event.text for event in bench.inbox.events.take() if event.subject is not None]


def test_a_release_waits_for_its_time() -> None:
    bench = holding(5.0)
    assert bench.manager.held_records == 1
    assert bench.wait_ms() == 5_000
    bench.advance(4_999)
    bench.nothing()
    bench.advance(1)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {1: RELEASE}}
    bench.acknowledged(request)
    assert bench.manager.held_records == 0
    assert bench.told()[-1] == (0, [1], None)
    bench.nothing()


def test_a_poll_does_not_ask_for_what_is_held_and_fetches_others_meanwhile() -> None:
    bench = holding(60.0)
    bench.begin()
    fetch = bench.fetch()
    assert acknowledged_in(fetch) == {}
    assert wire(fetch).max_records == bench.config.max_poll_records
    bench.fetched(fetch, (2, 3))
    assert [record.offset for record in bench.end()] == [2, 3]


def test_a_lock_that_is_half_spent_is_renewed_again_and_again() -> None:
    bench = holding(60.0)
    for _ in range(3):
        bench.advance(LOCK_MS // 2)
        request = bench.acknowledge()
        assert acknowledged_in(request) == {0: {1: RENEW}}
        assert wire(request).is_renew_ack
        bench.acknowledged(request)
    bench.advance(LOCK_MS // 2)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {1: RELEASE}}


def test_releases_go_together_and_the_rest_stays() -> None:
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    records = bench.delivered((0, 3))
    for record, after in zip(records, (1.0, 1.02, 2.0, 0.0), strict=True):
        bench.application.acknowledge(record, RELEASE, after)
    bench.application.commit(CommitTicket())
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {3: RELEASE}}
    bench.acknowledged(request)
    bench.advance(1_100)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: RELEASE, 1: RELEASE}}
    bench.acknowledged(request)
    bench.advance(900)
    assert acknowledged_in(bench.acknowledge()) == {0: {2: RELEASE}}


@pytest.mark.parametrize("kind", [ACCEPT, REJECT, RELEASE])
def test_the_last_call_wins(kind: AcknowledgeType) -> None:
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    (record,) = bench.delivered((0, 0))
    bench.application.acknowledge(record, RELEASE, 5.0)
    bench.application.acknowledge(record, kind)
    bench.application.commit(CommitTicket())
    assert acknowledged_in(bench.acknowledge()) == {0: {0: kind}}
    assert bench.manager.held_records == 0


def test_offsets_ranges_and_batches_can_wait_too() -> None:
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    records = bench.delivered((0, 5))
    application = bench.application
    assert application.acknowledge_all(batch_with(records[0]), RELEASE, 30.0) == 6
    assert application.acknowledge_range(ORDERS, (1, 3), RELEASE, 1.0) == 3
    application.acknowledge_offset(ORDERS, 2, RELEASE, 2.0)
    assert batch_with(records[0]).acknowledgements() == {delivery_of(records[0]).topic_partition: {RELEASE: 6}}
    application.commit(CommitTicket())
    sent: list[dict[int, int]] = []
    bench.nothing()
    for _ in range(2):
        bench.advance(1_000)
        request = bench.acknowledge()
        sent.append(acknowledged_in(request)[0])
        bench.acknowledged(request)
    assert sent == [{1: RELEASE, 3: RELEASE}, {2: RELEASE}]
    assert bench.manager.held_records == 3


# ------------------------------------------------------------------------------- what ends the wait early


def test_an_old_broker_gets_the_release_before_the_lock_runs_out() -> None:
    bench = holding(60.0, version=1)
    assert bench.wait_ms() == LOCK_MS * 3 // 4
    bench.advance(LOCK_MS * 3 // 4)
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {1: RELEASE}}
    (warning,) = warnings_of(bench)
    assert warning.startswith("Released 1 record of orders-0 up to 37.5 s earlier than release_after asked for")


def test_a_group_that_does_not_renew_gets_the_release_before_the_lock_runs_out() -> None:
    bench = holding(60.0)
    bench.advance(LOCK_MS // 2)
    bench.acknowledged(bench.acknowledge(), ErrorCode.INVALID_RECORD_STATE)
    bench.nothing()
    bench.advance(LOCK_MS // 4)
    assert acknowledged_in(bench.acknowledge()) == {0: {1: RELEASE}}
    assert "earlier than release_after" in warnings_of(bench)[-1]


def test_closing_releases_at_once() -> None:
    bench = holding(60.0)
    bench.manager.close()
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {1: RELEASE}}
    assert wire(request).share_session_epoch == -1
    bench.acknowledged(request)
    assert bench.told()[-1] == (0, [1], None)
    assert bench.manager.is_closed


def test_an_application_that_stays_away_gives_up_what_it_holds() -> None:
    bench = holding(600.0)
    bench.membership.state = MemberState.STALE
    assert acknowledged_in(bench.acknowledge()) == {0: {1: RELEASE}}


def test_a_session_that_ends_takes_what_is_held_with_it() -> None:
    bench = holding(60.0)
    bench.begin()
    bench.lose(bench.fetch(), DisconnectedError("gone"))
    bench.advance(1_000)
    bench.turn()
    assert bench.manager.held_records == 0
    assert bench.told()[-1] == (0, [1], "ShareSessionNotFoundError")


def test_pausing_holds_on() -> None:
    bench = holding(60.0)
    bench.application.pause()
    bench.nothing()
    assert bench.manager.held_records == 1


@pytest.mark.parametrize(
    ("kind", "after", "said"),
    [
        (ACCEPT, 5.0, "release_after=5.0 goes with AcknowledgeType.RELEASE, not with ACCEPT"),
        (RENEW, 5, "not with RENEW"),
        (RELEASE, -1, "release_after=-1 is out of range"),
        (RELEASE, "5", "release_after='5' is not a number of seconds"),
        (RELEASE, 3_601, "release_after=3601 is too long: give 3600 seconds at most"),
    ],
)
def test_what_cannot_wait_is_refused_and_changes_nothing(kind: AcknowledgeType, after: Any, said: str) -> None:
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    (record,) = bench.delivered((0, 0))
    with pytest.raises(ConfigurationError, match=said):
        bench.application.acknowledge(record, kind, after)
    assert delivery_of(record).has_open


# --------------------------------------------------------------------------------- a sink that is down


async def store_through_an_outage(world: World, outage_s: float, count: int) -> dict[int, int]:
    """The how-to's program: what the sink refuses is released later. How often each record was delivered."""
    clock, stored = world.simulation.clock, dict[int, int]()
    await world.produce([b"%d" % number for number in range(count)])
    async with world.consumer(acknowledgement_mode="explicit") as consumer:
        await consumer.subscribe([TOPIC])
        down_until_ms = clock.now_ms() + 1000 * outage_s
        while len(stored) < count:
            for record in await consumer.poll(timeout=1.0):
                if clock.now_ms() < down_until_ms:
                    consumer.acknowledge(record, RELEASE, release_after=30.0)
                else:
                    stored[record.offset] = record.delivery_count
                    consumer.acknowledge(record, ACCEPT)
        assert set((await consumer.commit_sync()).values()) <= {None}
        assert consumer.metrics()["records-archived-by-release-total"] == 0
    await world.admin.until_lag("g", world.topic, 0)
    return stored


@pytest.mark.parametrize("outage_s", [3.0, 60.0])
def test_no_record_is_lost_while_a_sink_is_down(outage_s: float) -> None:
    async def program(simulation: Simulation) -> None:
        async with World(simulation) as world:
            stored = await store_through_an_outage(world, outage_s, 1000)
            assert len(stored) == 1000
            assert max(stored.values()) <= 1 + outage_s // 30 + 1

    run_simulated(program, seed=11, limit_s=7200)


def test_a_consumer_that_closes_gives_what_it_held_to_another() -> None:
    async def program(simulation: Simulation) -> None:
        async with World(simulation) as world:
            await world.produce([b"a", b"b"])
            async with world.consumer(acknowledgement_mode="explicit") as consumer:
                await consumer.subscribe([TOPIC])
                consumer.acknowledge_all(await consumer.poll(30), RELEASE, release_after=600)
                assert not await consumer.poll(100)
                assert consumer.metrics()["records-held-for-release"] == 2
            async with world.consumer() as other:
                await other.subscribe([TOPIC])
                assert [record.delivery_count for record in await other.poll(30)] == [2, 2]

    run_simulated(program, seed=12, limit_s=7200)
