"""The asynchronous consumer against an embedded cluster, in virtual time: waiting, ends of all kinds, faults."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, answer
from kafka_groups.errors import (
    BootstrapError,
    ClientFailureError,
    ConcurrentUseError,
    GroupMaxSizeReachedError,
    IllegalStateError,
    OperationTimeoutError,
    WakeupError,
)
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.fetching.share_responses import ShareResponses
from kafka_groups.share.parts import Environment
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import AcknowledgeType
from tests.support.conditions import until
from tests.unit.share.clusters import TOPIC, World

Program = Callable[[World], Awaitable[None]]


def simulate(program: Program, *, seed: int = 1, **world: Any) -> None:
    async def run(simulation: Simulation) -> None:
        async with World(simulation, **world) as made:
            await program(made)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert not tasks, tasks
        await asyncio.sleep(0)
        assert made.network.open_connections == 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_simulated(run, seed, limit_s=7200)


async def take(consumer: AsyncKafkaShareConsumer, count: int) -> list[Any]:
    records: list[Any] = []
    while len(records) < count:
        batch = list(await consumer.poll(timeout=30))
        assert batch, f"{len(records)} of {count}"
        records += batch
    return records


def values(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


# ----------------------------------------------------------------------------------------- delivery


def test_records_come_once_and_are_accepted() -> None:
    async def program(world: World) -> None:
        for _ in range(20):
            await world.produce(values(10))
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            records = await take(consumer, 200)
            assert [record.offset for record in records] == list(range(200))
            assert {record.delivery_count for record in records} == {1}
            assert consumer.acquisition_lock_timeout == 30.0
            assert set((await consumer.commit_sync()).values()) == {None}
            assert not await consumer.poll(timeout=1)
        await world.admin.until_lag("g", world.topic, 0)

    simulate(program)


def test_a_slow_application_gets_each_record_delivered_once() -> None:
    async def program(world: World) -> None:
        for _ in range(6):
            await world.produce(values(5))
        async with world.consumer(max_poll_records=5) as consumer:
            await consumer.subscribe([TOPIC])
            counts: dict[int, list[int]] = {}
            while len(counts) < 30:
                for record in await consumer.poll(timeout=10):
                    counts.setdefault(record.offset, []).append(record.delivery_count)
                await asyncio.sleep(20)  # two thirds of the lock
            assert counts == {offset: [1] for offset in range(30)}

    simulate(program)


def test_a_defect_inside_ends_a_commit_at_once_and_every_call_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("planted")

    async def program(world: World) -> None:
        await world.produce(values(3))
        consumer = world.consumer()
        await consumer.subscribe([TOPIC])
        await take(consumer, 3)
        monkeypatch.setattr(ShareResponses, "acknowledged", fail)
        before_ms = world.clock.now_ms()
        results = await consumer.commit_sync()
        assert world.clock.now_ms() - before_ms < 1000
        assert [type(error) for error in results.values()] == [OperationTimeoutError]
        with pytest.raises(ClientFailureError, match="planted"):
            await consumer.poll(timeout=1)
        monkeypatch.undo()
        await consumer.close(timeout=1)

    simulate(program)


def test_explicit_close_sends_what_was_acknowledged_and_releases_the_rest() -> None:
    async def program(world: World) -> None:
        await world.produce(values(10))
        consumer = world.consumer(acknowledgement_mode="explicit")
        await consumer.subscribe([TOPIC])
        for record in await take(consumer, 10):
            if record.offset < 6:
                consumer.acknowledge(record)
        told: list[Any] = []
        consumer.set_acknowledgement_callback(told.append)
        await consumer.close()
        assert [(list(result.offsets()), result.error) for result in told] == [(list(range(6)), None)]
        async with world.consumer() as other:
            await other.subscribe([TOPIC])
            assert [(r.offset, r.delivery_count) for r in await take(other, 4)] == [(o, 2) for o in range(6, 10)]

    simulate(program)


def test_implicit_close_releases_what_was_not_accepted() -> None:
    async def program(world: World) -> None:
        await world.produce(values(10))
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await take(consumer, 10)
        async with world.consumer() as other:
            await other.subscribe([TOPIC])
            assert len(await take(other, 10)) == 10

    simulate(program)


def test_unsubscribing_and_subscribing_again() -> None:
    async def program(world: World) -> None:
        await world.produce(values(10))
        async with world.consumer() as consumer:
            for delivery_count in (1, 2, 3):
                await consumer.subscribe([TOPIC])
                assert {record.delivery_count for record in await take(consumer, 10)} == {delivery_count}
                await consumer.unsubscribe()
                assert consumer.subscription() == frozenset()

    simulate(program)


def test_an_application_that_waits_longer_than_the_poll_interval_keeps_its_place() -> None:
    async def program(world: World) -> None:
        async with world.consumer(max_poll_interval_ms=5_000) as consumer:
            await consumer.subscribe([TOPIC])
            assert not await consumer.poll(timeout=60)
            waiting = asyncio.create_task(consumer.poll(timeout=60))
            await asyncio.sleep(20)
            await world.produce(values(3))
            assert len(await waiting) == 3
            await asyncio.sleep(1)
            group = await world.admin.describe_group("g")
            assert len(group.members) == 1

    simulate(program)


def test_an_application_that_stays_away_leaves_the_group_and_what_waited_goes_to_others() -> None:
    async def program(world: World) -> None:
        for _ in range(2):
            await world.produce(values(5))
        async with world.consumer(max_poll_interval_ms=5_000, max_poll_records=5) as away:
            await away.subscribe([TOPIC])
            await take(away, 5)
            async with world.consumer() as other:
                await other.subscribe([TOPIC])
                assert len(await take(other, 5)) == 5
            await asyncio.sleep(10)
            assert (await world.admin.describe_group("g")).members == ()
            await away.poll(timeout=3)
            await until(lambda: world.admin.describe_group("g"), lambda group: len(group.members) == 1)

    simulate(program)


# -------------------------------------------------------------------------------- errors and interruptions


def test_no_broker_to_be_reached_is_an_error_after_the_timeout_and_again_after_another() -> None:
    async def program(simulation: Simulation) -> None:
        environment = Environment(MemoryNetwork(), simulation.clock, simulation.rng)
        consumer = AsyncKafkaShareConsumer(
            environment=environment, bootstrap_servers="nowhere:1", group_id="g", default_api_timeout_ms=5_000
        )
        await consumer.subscribe([TOPIC])
        for _ in range(2):
            before_ms = simulation.clock.now_ms()
            with pytest.raises(BootstrapError, match="nowhere:1"):
                await consumer.poll()
            assert 4_000 <= simulation.clock.now_ms() - before_ms <= 7_000
        before_ms = simulation.clock.now_ms()
        await consumer.close(timeout=2)
        assert simulation.clock.now_ms() - before_ms <= 2_001

    run_simulated(program, 1)


def test_a_fatal_error_ends_a_poll_that_waits_and_every_later_one() -> None:
    async def program(world: World) -> None:
        refusal = ShareGroupHeartbeatResponse(
            error_code=ErrorCode.GROUP_MAX_SIZE_REACHED, member_epoch=0, heartbeat_interval_ms=0
        )
        world.cluster.faults.on(ApiKey.SHARE_GROUP_HEARTBEAT, answer(refusal))
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            for _ in range(3):
                with pytest.raises(GroupMaxSizeReachedError):
                    await consumer.poll()

    simulate(program)


def test_a_member_that_was_refused_still_hands_in_its_acknowledgements_when_it_closes() -> None:
    async def program(world: World) -> None:
        await world.produce(values(5))
        consumer = world.consumer(acknowledgement_mode="explicit")
        await consumer.subscribe([TOPIC])
        records = await take(consumer, 5)
        fetching = asyncio.create_task(asyncio.sleep(0.5))
        refusal = ShareGroupHeartbeatResponse(
            error_code=ErrorCode.INVALID_REQUEST, member_epoch=0, heartbeat_interval_ms=0
        )
        world.cluster.faults.on(ApiKey.SHARE_GROUP_HEARTBEAT, answer(refusal))
        await fetching
        for record in records:
            consumer.acknowledge(record)
        told: list[Any] = []
        consumer.set_acknowledgement_callback(told.append)
        await consumer.close()
        assert [(list(result.offsets()), result.error) for result in told] == [(list(range(5)), None)]
        world.cluster.faults.clear()
        await world.admin.until_lag("g", world.topic, 0)

    simulate(program)


def test_wakeup_ends_a_poll_that_waits() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            waiting = asyncio.create_task(consumer.poll())
            await asyncio.sleep(3)
            consumer.wakeup()
            with pytest.raises(WakeupError):
                await waiting
            assert not await consumer.poll(timeout=1)

    simulate(program)


def test_another_task_is_turned_away() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            waiting = asyncio.create_task(consumer.poll(timeout=5))
            await asyncio.sleep(1)
            with pytest.raises(ConcurrentUseError):
                await consumer.poll(timeout=0)
            with pytest.raises(ConcurrentUseError):
                await consumer.close()
            assert not await waiting

    simulate(program)


def test_a_cancelled_poll_loses_no_record_and_leaves_no_task() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            waiting = asyncio.create_task(consumer.poll())
            await asyncio.sleep(2)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await world.produce(values(4))
            assert len(await take(consumer, 4)) == 4

    simulate(program)


def test_a_task_that_is_cancelled_with_its_consumer_closes_it() -> None:
    async def program(world: World) -> None:
        async def work() -> None:
            async with world.consumer() as consumer:
                await consumer.subscribe([TOPIC])
                while True:
                    await consumer.poll()

        working = asyncio.create_task(work())
        await asyncio.sleep(5)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert (await world.admin.describe_group("g")).members == ()

    simulate(program)


def test_a_consumer_that_is_forgotten_warns_and_lets_go_of_everything() -> None:
    async def program(world: World) -> None:
        consumer = world.consumer()
        await consumer.subscribe([TOPIC])
        await consumer.poll(timeout=2)
        assert world.network.open_connections >= 2
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del consumer
            gc.collect()
        messages = [str(warning.message) for warning in caught if warning.category is ResourceWarning]
        assert messages == ["<AsyncKafkaShareConsumer group g active> was not closed"]
        caught.clear()  # a warning holds on to what it is about
        gc.collect()
        await asyncio.sleep(1)
        await world.admin.close()
        await asyncio.sleep(1)
        assert world.network.open_connections == 0

    simulate(program)


def test_commit_sync_waits_for_the_commits_before_it() -> None:
    async def program(world: World) -> None:
        await world.produce(values(3))
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            (record, *others) = await take(consumer, 3)
            consumer.acknowledge(record)
            ticket = consumer.commit_async(with_next_fetch=True)
            assert await consumer.commit_sync(timeout=5) == {}  # nothing else was acknowledged
            assert ticket.is_done
            assert list(ticket.results.values()) == [None]
            for other in others:
                consumer.acknowledge(other)

    simulate(program)


def test_a_callbacks_timeout_error_is_not_taken_for_the_polls_own() -> None:
    async def program(world: World) -> None:
        await world.produce(values(1))
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await take(consumer, 1)
            consumer.commit_async()

            def callback(_fate: object) -> None:
                raise TimeoutError("the callback's")

            consumer.set_acknowledgement_callback(callback)
            with pytest.raises(TimeoutError, match="the callback's"):
                await consumer.poll(timeout=10)
            consumer.set_acknowledgement_callback(None)

    simulate(program)


# ------------------------------------------------------------------------------------- brokers that fail


def test_every_fetch_cut_off_still_brings_all_records() -> None:
    async def program(world: World) -> None:
        for _ in range(10):
            await world.produce(values(5))
        rule = world.cluster.faults.on(ApiKey.SHARE_FETCH, DROP_CONNECTION, times=7)
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            accepted: set[int] = set()
            while len(accepted) < 50:
                for record in await consumer.poll(timeout=30):
                    consumer.acknowledge(record)
                    accepted.add(record.offset)
                await consumer.commit_sync()
        assert rule.is_spent

    simulate(program)


def test_a_commit_that_is_not_answered_times_out_and_close_tells_the_callback() -> None:
    async def program(world: World) -> None:
        await world.produce(values(3))
        consumer = world.consumer(request_timeout_ms=600_000, prefetch_batches=0)
        await consumer.subscribe([TOPIC])
        await take(consumer, 3)
        world.cluster.faults.on(ApiKey.SHARE_ACKNOWLEDGE, DROP_RESPONSE)
        told: list[Any] = []
        consumer.set_acknowledgement_callback(told.append)
        with pytest.raises(OperationTimeoutError):
            await consumer.commit_sync(timeout=2)
        assert told == []
        await consumer.close(timeout=1)
        assert [list(result.offsets()) for result in told] == [[0, 1, 2]]
        assert isinstance(told[0].error, OperationTimeoutError)

    simulate(program)


def test_a_close_that_nobody_answers_ends_in_time() -> None:
    async def program(world: World) -> None:
        await world.produce(values(3))
        consumer = world.consumer()
        await consumer.subscribe([TOPIC])
        await take(consumer, 3)
        for api in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE, ApiKey.SHARE_GROUP_HEARTBEAT):
            world.cluster.faults.on(api, DROP_RESPONSE)
        before_ms = world.clock.now_ms()
        await consumer.close(timeout=3)
        assert world.clock.now_ms() - before_ms <= 3_001
        world.cluster.faults.clear()

    simulate(program)


def test_a_leader_that_moves_is_followed_and_what_was_in_hand_is_reported() -> None:
    async def program(world: World) -> None:
        await world.produce(values(5))
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            records = await take(consumer, 5)
            old = world.cluster.leader_of(TOPIC, 0)
            world.cluster.move_leader(TOPIC, 0, 3 - old)
            for record in records:
                consumer.acknowledge(record)
            results = await consumer.commit_sync()
            assert all(error is not None for error in results.values())
            again = await take(consumer, 5)
            for record in again:
                consumer.acknowledge(record)
            assert set((await consumer.commit_sync()).values()) == {None}

    simulate(program, brokers=2)


def test_auto_renew_and_renew_hold_records_for_many_locks() -> None:
    async def program(world: World) -> None:
        await world.produce(values(4))
        async with world.consumer(acknowledgement_mode="explicit", auto_renew=True) as consumer:
            await consumer.subscribe([TOPIC])
            records = await take(consumer, 4)
            async with world.consumer() as other:
                await other.subscribe([TOPIC])
                assert not await other.poll(timeout=100)
            assert set((await consumer.renew(records[0])).values()) == {None}
            for record in records:
                consumer.acknowledge(record)
            assert set((await consumer.commit_sync()).values()) == {None}
            assert not await consumer.poll(timeout=40)

    simulate(program)


def test_records_renewed_come_back() -> None:
    async def program(world: World) -> None:
        await world.produce(values(4))
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            for record in await take(consumer, 4):
                consumer.acknowledge(record, AcknowledgeType.RENEW if record.offset % 2 else AcknowledgeType.ACCEPT)
            again = await take(consumer, 2)
            assert [(record.offset, record.delivery_count) for record in again] == [(1, 1), (3, 1)]
            for record in again:
                consumer.acknowledge(record)
            assert set((await consumer.commit_sync()).values()) == {None}
        await world.admin.until_lag("g", world.topic, 0)

    simulate(program)


# ------------------------------------------------------------------------------------------------ event loops


def test_a_second_event_loop_is_refused_in_every_call() -> None:
    with EmbeddedCluster() as cluster:
        consumer = AsyncKafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g")

        async def first() -> None:
            await consumer.subscribe([TOPIC])
            await consumer.poll(timeout=0.1)

        async def second() -> None:
            for call in (consumer.poll, consumer.commit, consumer.unsubscribe, consumer.close, consumer.lag):
                with pytest.raises(IllegalStateError, match=r"belongs to another event loop, which is .*asyncio\.run"):
                    await call()
            with pytest.raises(IllegalStateError, match="another event loop"):
                consumer.commit_async()

        with asyncio.Runner() as runner:
            runner.run(first())
            with ThreadPoolExecutor(1) as threads:
                threads.submit(asyncio.run, second()).result()
            runner.run(consumer.close())


def test_a_consumer_may_be_made_before_its_event_loop_runs() -> None:
    consumer = AsyncKafkaShareConsumer(bootstrap_servers="b:1", group_id="g")
    asyncio.run(consumer.close())


def test_commit_is_commit_sync() -> None:
    async def program(world: World) -> None:
        await world.produce(values(3))
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await take(consumer, 3)
            assert list((await consumer.commit()).values()) == [None]
            await world.admin.until_lag("g", world.topic, 0)

    simulate(program)
