"""Loops over a consumer: only what a loop moved past is accepted, and nothing that it never reached is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from itertools import islice
from typing import Any

import pytest

from kafka_groups.errors import IllegalStateError, WakeupError
from kafka_groups.share import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import AcknowledgeType
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.deliveries import PARTITION
from tests.unit.share.fetching import Bench, acknowledged_in

ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE


class Loop:
    """What `for record in consumer` does to the application's half, a step at a time."""

    def __init__(self, bench: Bench) -> None:
        self._application, self._bench = bench.application, bench
        self._records = self._run()

    def _run(self) -> Any:
        loop = object()
        while True:
            parts = self._application.resume(loop)
            if parts is None:
                records = self._bench.begin()
                if not records:
                    return  # where a consumer waits
                parts = self._application.read(loop, records)
            for part in parts:
                yield from part

    def take(self, count: int) -> list[int]:
        return [record.offset for record in islice(self._records, count)]

    def end(self) -> None:
        self._records.close()


def prefilled(*ranges: tuple[int, int], **config: Any) -> Bench:
    """A bench whose application finds these records at its first poll."""
    bench = Bench(prefetch_batches=0, **config)
    bench.inbox.is_waiting = True
    bench.application.begin_poll()
    bench.fetched(bench.fetch(), *ranges)
    bench.inbox.is_waiting = False
    return bench


def committed(bench: Bench) -> dict[int, int]:
    """What a commit sends of the one partition, taken by the broker."""
    if not bench.application.commit(CommitTicket()):
        return {}
    request = bench.acknowledge()
    bench.acknowledged(request)
    return acknowledged_in(request)[0]


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "left alive"])
def test_a_commit_after_a_loop_accepts_what_it_moved_past(is_closed: bool) -> None:
    bench = prefilled((0, 9))
    loop = Loop(bench)
    assert loop.take(3) == [0, 1, 2]
    if is_closed:
        loop.end()
    assert committed(bench) == {0: ACCEPT, 1: ACCEPT}
    assert committed(bench) == {}


def test_the_next_loop_begins_where_the_last_one_stopped() -> None:
    bench = prefilled((0, 9))
    first = Loop(bench)
    first.take(3)
    first.end()
    assert Loop(bench).take(8) == [2, 3, 4, 5, 6, 7, 8, 9]


def test_the_next_poll_gets_what_the_loop_did_not_move_past() -> None:
    bench = prefilled((0, 9))
    loop = Loop(bench)
    loop.take(3)
    assert [record.offset for record in bench.begin()] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert committed(bench) == dict.fromkeys(range(10), ACCEPT)


def test_a_loop_goes_on_after_a_commit_in_its_body_without_repeating_a_record() -> None:
    bench = prefilled((0, 9))
    loop = Loop(bench)
    seen = loop.take(4)
    assert committed(bench) == dict.fromkeys(range(3), ACCEPT)
    seen += loop.take(3)
    assert committed(bench) == dict.fromkeys(range(3, 6), ACCEPT)
    assert committed(bench) == {}
    seen += loop.take(3)
    assert seen == list(range(10))
    loop.end()
    assert committed(bench) == dict.fromkeys(range(6, 9), ACCEPT)


def test_a_loop_whose_rest_went_to_a_poll_does_not_yield_it_again() -> None:
    bench = prefilled((0, 4))
    loop = Loop(bench)
    loop.take(2)
    assert len(bench.begin()) == 4
    bench.application.commit(CommitTicket())
    bench.acknowledged(bench.acknowledge())
    assert bench.application.resume(object()) is None
    assert loop.take(1) == []  # it polls, and there is nothing


def test_a_loop_over_several_deliveries() -> None:
    bench = prefilled((0, 4), (10, 14))
    bench.application.begin_poll()
    loop = Loop(bench)
    assert loop.take(7) == [0, 1, 2, 3, 4, 10, 11]
    loop.end()
    assert committed(bench) == dict.fromkeys([0, 1, 2, 3, 4, 10], ACCEPT)
    assert Loop(bench).take(4) == [11, 12, 13, 14]


def test_closing_accepts_what_the_loop_moved_past_and_leaves_the_rest_to_the_end_of_the_session() -> None:
    bench = prefilled((0, 9))
    loop = Loop(bench)
    loop.take(5)
    bench.application.begin_leaving()
    assert acknowledged_in(bench.acknowledge()) == {0: dict.fromkeys(range(4), ACCEPT)}


@pytest.mark.parametrize("count", [7, 10])
def test_closing_accepts_all_deliveries_that_the_loop_moved_past(count: int) -> None:
    bench = prefilled((0, 4), (10, 14))
    bench.application.begin_poll()
    loop = Loop(bench)
    seen = loop.take(count)
    loop.end()
    bench.application.begin_leaving()
    assert acknowledged_in(bench.acknowledge()) == {0: dict.fromkeys(seen[:-1], ACCEPT)}


def test_closing_accepts_a_batch_that_the_loop_finished_before_it_was_woken() -> None:
    bench = prefilled((0, 4))
    loop = Loop(bench)
    loop.take(5)
    bench.application.wake()
    with pytest.raises(WakeupError):
        loop.take(1)
    bench.application.begin_leaving()
    assert acknowledged_in(bench.acknowledge()) == {0: dict.fromkeys(range(5), ACCEPT)}


def test_pausing_releases_what_the_loop_did_not_move_past() -> None:
    bench = prefilled((0, 4))
    loop = Loop(bench)
    loop.take(3)
    bench.application.pause()
    sent: dict[int, int] = {}
    for pending in bench.inbox.outbox:
        for batch in pending.batches:
            sent |= dict.fromkeys(range(batch.first_offset, batch.last_offset + 1), batch.acknowledge_types[0])
    assert sent == {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: RELEASE, 4: RELEASE}


def test_a_record_that_ends_every_loop_is_released_the_second_time() -> None:
    bench = prefilled((0, 4))
    for _ in range(2):
        loop = Loop(bench)
        seen = loop.take(1)
        loop.end()
        assert seen == [0]
    loop = Loop(bench)
    assert loop.take(1) == [1]
    request = bench.acknowledge()
    assert acknowledged_in(request) == {0: {0: RELEASE}}


def test_explicit_mode_gives_the_records_that_were_never_yielded_to_the_next_loop() -> None:
    bench = prefilled((0, 9), acknowledgement_mode="explicit")
    delivery = bench.inbox.ready[0].acquired
    loop = Loop(bench)
    for offset in loop.take(3):
        delivery.acknowledge(offset, ACCEPT)
    loop.end()
    assert Loop(bench).take(7) == [3, 4, 5, 6, 7, 8, 9]
    assert acknowledged_in(bench.acknowledge()) == {0: dict.fromkeys(range(3), ACCEPT)}


def test_explicit_mode_still_wants_what_was_yielded_acknowledged() -> None:
    bench = prefilled((0, 9), acknowledgement_mode="explicit")
    loop = Loop(bench)
    loop.take(3)
    loop.end()
    with pytest.raises(IllegalStateError, match="all records must be acknowledged"):
        bench.begin()


def test_what_a_loop_left_is_dropped_with_its_lock() -> None:
    bench = prefilled((0, 4))
    loop = Loop(bench)
    loop.take(2)
    loop.end()
    assert committed(bench) == {0: ACCEPT}
    bench.advance(60_000)
    assert not bench.begin()


def test_records_that_come_back_count_once() -> None:
    bench = prefilled((0, 9))
    for _ in range(3):
        loop = Loop(bench)
        loop.take(2)
        loop.end()
    assert bench.inbox.records_handed_over == 10


def test_deserialized_records_are_given_back_too() -> None:
    bench = prefilled((0, 5), value_deserializer=bytes.decode)
    loop = Loop(bench)
    loop.take(3)
    loop.end()
    rest: list[AnyRecord] = list(bench.begin())
    assert [record.value for record in rest] == ["v2", "v3", "v4", "v5"]
    assert committed(bench) == dict.fromkeys(range(6), ACCEPT)
    assert delivery_of(rest[0]).topic_partition == PARTITION


# ------------------------------------------------------------------------------- programs, with asyncio

Program = Callable[[World], Awaitable[None]]
TEN = [b"%d" % number for number in range(10)]


def simulate(program: Program) -> None:
    async def run(simulation: Simulation) -> None:
        async with World(simulation) as world:
            await world.produce(TEN)
            await program(world)

    run_simulated(run, seed=3, limit_s=7200)


async def rest_of(world: World, count: int) -> list[int]:
    """What another consumer gets."""
    async with world.consumer() as other:
        await other.subscribe([TOPIC])
        offsets: list[int] = []
        while len(offsets) < count:
            records = await other.poll(timeout=60)
            assert records, offsets
            offsets += [record.offset for record in records]
        assert not await other.poll(timeout=40)
        return offsets


async def three(consumer: AsyncKafkaShareConsumer) -> list[int]:
    seen: list[int] = []
    async for record in consumer:
        seen.append(record.offset)
        if len(seen) == 3:
            break
    return seen


def test_break_and_close() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            assert await three(consumer) == [0, 1, 2]
        assert await rest_of(world, 8) == [2, 3, 4, 5, 6, 7, 8, 9]

    simulate(program)


def test_break_and_commit() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            assert await three(consumer) == [0, 1, 2]
            assert list((await consumer.commit_sync()).values()) == [None]
            await world.admin.until_lag("g", world.topic, 8)
        assert await rest_of(world, 8) == [2, 3, 4, 5, 6, 7, 8, 9]

    simulate(program)


def test_break_and_another_loop_again_and_again_spends_no_delivery() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            seen: list[int] = []
            while 9 not in seen:
                async for record in consumer:
                    assert record.delivery_count == 1
                    seen.append(record.offset)
                    if record.offset in (2, 5, 7, 9):
                        break
                await consumer.commit_sync()
            assert sorted(set(seen)) == list(range(10))
            assert len(seen) <= 10 + 4

    simulate(program)


def test_an_exception_in_the_body_leaves_its_record_to_the_next_loop() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            with pytest.raises(ZeroDivisionError):
                await divide_by_four_less_than(consumer)
            await consumer.commit_sync()
            await world.admin.until_lag("g", world.topic, 6)
            async for record in consumer:
                assert record.offset == 4
                break

    simulate(program)


async def divide_by_four_less_than(consumer: AsyncKafkaShareConsumer) -> None:
    async for record in consumer:
        assert 1 / (4 - record.offset)


def test_a_generator_that_was_closed() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            async with aclosing(aiter(consumer)) as records:  # type: ignore[type-var]
                assert [(await anext(records)).offset for _ in range(3)] == [0, 1, 2]
            await consumer.commit_sync()
            await world.admin.until_lag("g", world.topic, 8)

    simulate(program)


def test_what_waits_for_the_next_loop_keeps_its_lock() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await three(consumer)
            await consumer.commit_sync()
            await asyncio.sleep(100)  # more than three locks
            records = await consumer.poll(timeout=10)
            assert [(r.offset, r.delivery_count) for r in records] == [(offset, 1) for offset in range(2, 10)]

    simulate(program)
