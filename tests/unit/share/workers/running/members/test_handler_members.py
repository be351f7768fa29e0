"""The members of a handler: they read its topics and its retry topics, and run records when they are due."""

import asyncio

import pytest

from kafka_groups import ShareRecord
from kafka_groups.errors import ConfigurationError
from kafka_groups.share import current_attempt
from kafka_groups.share.workers.running.members.handler_members import group_starts, members_of
from kafka_groups.share.workers.start_option import GroupStart
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.retry_worlds import PREFIX, RetryStage
from tests.unit.share.workers.worlds import WorkerWorld, has, reach, simulate


def now_s() -> float:
    return round(asyncio.get_running_loop().time(), 3)  # its steps add up to a little less


@pytest.mark.parametrize(
    ("wait_s", "moves"),
    [
        (3, []),
        (45, ["20s", "2s", "2s"]),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((2, []), (20, []), (21.5, []), (23, ["2s"]), (62.5, ["20s", "20s", "2s"]))
        ),
    ],
)
def test_a_record_runs_when_it_is_due_wherever_it_waits(wait_s: float, moves: list[str]) -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        started: list[float] = []

        @worker.handler(TOPIC, **stage.options())
        async def sell(value: bytes) -> None:
            started.append(now_s())

        async with world.running(worker):
            await asyncio.sleep(5)
            stage.fail(b"a", wait_s)
            due_s = now_s() + wait_s
            await reach(lambda: has(started, 1))
            assert due_s <= started[0] <= due_s + 0.1
            await asyncio.sleep(10)
        assert has(started, 1)
        assert [record.topic.removeprefix(f"{PREFIX}.") for record in stage.letters.forwarded] == moves

    simulate(program)


def test_a_handler_sees_its_own_record_and_where_it_came_from() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        seen: list[object] = []

        @worker.handler(TOPIC, **stage.options())
        async def sell(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            attempt = current_attempt()
            seen.extend((value, record.key, list(record.headers), attempt.handler, attempt.group))
            seen.extend((attempt.origin.topic, attempt.origin.offset))

        async with world.running(worker):
            stage.fail(b"a", 2)
            await reach(lambda: seen)
        assert seen == [b"a", b"k", [("own", b"1")], "sell", "g", "orders", 7]

    simulate(program)


def test_retries_and_new_records_share_the_slots_of_a_handler() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world, delays=(2,)), world.worker()
        running: list[bytes] = []
        most = {b"new": 0, b"old": 0, b"all": 0}

        @worker.handler(TOPIC, **stage.options(concurrency=4))
        async def sell(value: bytes) -> None:
            running.append(value)
            for kind in (b"new", b"old"):
                most[kind] = max(most[kind], running.count(kind))
            most[b"all"] = max(most[b"all"], len(running))
            await asyncio.sleep(1)
            running.remove(value)

        for _ in range(20):
            stage.fail(b"old", 2)
        await asyncio.sleep(3)
        async with world.running(worker, grace_s=60):
            await world.produce([b"new"] * 20)
            await asyncio.sleep(9)
            assert most[b"all"] == 4
            assert running.count(b"new") == running.count(b"old") == 2
            await reach(lambda: not running)

    simulate(program)


def test_records_of_others_and_broken_headers_become_dead_letters() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        started: list[bytes] = []

        @worker.handler(TOPIC, **stage.options())
        async def sell(value: bytes) -> None:
            started.append(value)

        async with world.running(worker):
            stage.fail(b"other", 20, handler="buy")
            world.cluster.produce(f"{PREFIX}.2s", [b"none"])
            await reach(lambda: has(stage.letters.written, 2))
            assert {letter.value for letter in stage.letters.written} == {b"other", b"none"}
        assert not started

    simulate(program)


@pytest.mark.slow
def test_what_waits_is_released_when_the_worker_stops_and_forwarded_from_the_third_delivery_on() -> None:
    """Each of the eight deployments costs a delivery."""

    async def program(world: WorkerWorld) -> None:
        stage = RetryStage(world, delays=(10, 1_200))
        started: list[tuple[float, int]] = []

        async def sell(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            started.append((now_s(), record.delivery_count))

        stage.fail(b"a", 1_300)
        due_s = now_s() + 1_300
        for _ in range(8):
            worker = world.worker()
            worker.handler(TOPIC, **stage.options())(sell)
            async with world.running(worker):
                await asyncio.sleep(60)
            assert now_s() < due_s
        worker = world.worker()
        worker.handler(TOPIC, **stage.options())(sell)
        async with world.running(worker):
            await reach(lambda: started, 10_000)
        assert has(started, 1)
        assert due_s <= started[0][0] <= due_s + 1
        assert len(stage.letters.forwarded) >= 3

    simulate(program, limit_s=20_000)


@pytest.mark.slow
def test_locks_of_waiting_records_are_renewed_for_long_and_few_are_held() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world, delays=(1_200,), partitions=2), world.worker()

        @worker.handler(TOPIC, **stage.options())
        async def sell(value: bytes) -> None: ...

        async with world.running(worker) as runtime:
            for _ in range(50):
                stage.fail(b"a", 1_200)
            await asyncio.sleep(900)
            (retry,) = [each for each in runtime._running if each.member.is_retry]
            early = list(retry.handling.holdings.early)
            assert len(early) == 4
            assert {opened.delivery_count for opened in early} == {1}

    simulate(program, limit_s=20_000)


@pytest.mark.slow
@pytest.mark.parametrize("of_the_other", [2, 50])
def test_many_records_start_in_time_whatever_waits_in_another_partition(of_the_other: int) -> None:
    """A fetch cannot choose its partition, so those that wait in one may keep the due ones of the other from coming."""

    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world, delays=(20,), partitions=2), world.worker()
        late: list[float] = []
        due: dict[bytes, float] = {}

        @worker.handler(TOPIC, **stage.options(concurrency=100))
        async def sell(value: bytes) -> None:
            late.append(round(now_s() - due[value], 3))

        async with world.running(worker):
            for number in range(500):
                value = str(number).encode()
                stage.fail(value, 20, partition=int(number % of_the_other == 0))
                due[value] = now_s() + 20
                await asyncio.sleep(0.01)
            await reach(lambda: has(late, 500))
        assert min(late) >= 0
        assert max(late) < 0.5

    simulate(program)


def test_the_group_of_the_retry_topics_begins_with_the_oldest_record() -> None:
    """With the brokers' default, the record that is written before the first fetch would be lost."""

    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        started: list[bytes] = []

        @worker.handler(TOPIC, **stage.options())
        async def sell(value: bytes) -> None:
            started.append(value)

        stage.fail(b"a", 2)
        async with world.running(worker):
            await reach(lambda: started)

    simulate(program)


def test_another_start_of_the_group_of_the_retry_topics_is_refused() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        worker.handler(TOPIC, **stage.options())(lambda value: None)
        world.cluster.alter_group_configs("g-retry", {"share.auto.offset.reset": "latest"})
        with pytest.raises(ConfigurationError, match="retry_topics of handler sell: the share group g-retry has"):
            await world.runtime(worker).start()

    simulate(program)


def test_there_is_one_member_for_each_retry_topic() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        worker.handler(TOPIC, **stage.options())(lambda value: None)
        (spec,) = worker.handlers
        members = [(each.group_id, each.spec.name, each.spec.topics) for each in members_of(spec, "g")]
        assert members == [
            ("g", "sell", (TOPIC,)),
            ("g-retry", "sell (retry 2s)", (f"{PREFIX}.2s",)),
            ("g-retry", "sell (retry 20s)", (f"{PREFIX}.20s",)),
        ]
        own = GroupStart("g", "latest", "start='latest'")
        starts = [(start.group_id, start.reset) for start in group_starts(own, [spec], "g")]
        assert starts == [("g", "latest"), ("g-retry", "earliest")]

    simulate(program)
