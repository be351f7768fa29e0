"""Handler workers against an embedded cluster in virtual time: retries, outages, dead letters, lost locks, the end."""

import asyncio
import logging
from collections import Counter
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, delay
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.serdes import string
from kafka_groups.share import Backoff, Batch, OnError, Reject, Retry, ShareRecord, current_attempt
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.types import TopicIdPartition
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, has, reach, reasons, simulate, values_left

QUICK = Backoff(first=0.1, most=1.0, times=3)


def test_each_record_is_handled_once_and_accepted() -> None:
    async def program(world: WorkerWorld) -> None:
        seen: Counter[str] = Counter()
        worker = world.worker()

        @worker.handler(TOPIC, value=string)
        async def handle(value: str) -> None:
            await asyncio.sleep(0.01)
            seen[value] += 1

        await world.produce([b"%d" % n for n in range(100)])
        async with world.running(worker) as runtime:
            await reach(lambda: seen.total() == 100)
            await reach(lambda: runtime.health.is_ready)
        assert set(seen.values()) == {1}
        assert await values_left(world) == []

    simulate(program, partitions=3)


def test_failures_are_retried_and_then_become_dead_letters() -> None:
    async def program(world: WorkerWorld) -> None:
        attempts: list[tuple[int, int, float]] = []
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD, retries=QUICK)
        async def handle(value: bytes) -> None:
            if value == b"bad":
                attempt = current_attempt()
                attempts.append((attempt.number, attempt.delivery_count, asyncio.get_running_loop().time()))
                raise ValueError("bad value")

        await world.produce([b"good", b"bad", b"good"])
        async with world.running(worker):
            await reach(lambda: world.letters.written)
        assert [number for number, _, _ in attempts] == [1, 2, 3, 4]
        assert {count for _, count, _ in attempts} == {1}, "a retry spends no delivery"
        waits = [later[2] - earlier[2] for earlier, later in pairwise(attempts)]
        assert all(0.8 * wished <= wait <= 1.3 * wished for wait, wished in zip(waits, (0.1, 0.2, 0.4), strict=True))
        (letter,) = world.letters.written
        assert (letter.value, letter.reason) == (b"bad", "ValueError: bad value")
        assert await values_left(world) == []

    simulate(program)


def test_reject_and_retry_decide() -> None:
    async def program(world: WorkerWorld) -> None:
        times: list[float] = []
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD)
        async def handle(value: bytes) -> None:
            if value == b"reject":
                raise Reject("negative total")
            times.append(asyncio.get_running_loop().time())
            if len(times) == 1:
                raise Retry("closed", after=40)

        await world.produce([b"reject", b"retry"])
        async with world.running(worker):
            await reach(lambda: len(times) == 2)
        assert 39.9 < times[1] - times[0] < 41
        assert [letter.reason for letter in world.letters.written] == ["negative total"]
        assert await values_left(world) == []

    simulate(program)


def test_values_that_cannot_be_parsed_are_not_retried() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        seen: list[str] = []

        @worker.handler(TOPIC, value=string, dead_letters=DEAD)
        async def handle(value: str) -> None:
            seen.append(value)

        await world.produce([b"\xff", b"fine"])
        async with world.running(worker):
            await reach(lambda: seen and world.letters.written)
        assert world.letters.tries == 1
        assert "cannot be parsed" in world.letters.written[0].reason

    simulate(program)


def test_an_outage_of_the_sink_spends_neither_deliveries_nor_retries(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        state = {"down": True}
        deliveries: Counter[int] = Counter()
        seen: set[bytes] = set()
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD, retries=Backoff(first=0.1, most=0.2, times=2), concurrency=4)
        async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            if state["down"]:
                raise RuntimeError("the sink is down")
            deliveries[record.delivery_count] += 1
            seen.add(value)

        await world.produce([b"%d" % n for n in range(200)])
        async with world.running(worker) as runtime:
            await reach(lambda: "breaker is open" in reasons(runtime))
            await asyncio.sleep(300)
            assert not world.letters.written
            assert not runtime.health.is_ready
            state["down"] = False
            await reach(lambda: len(seen) == 200)
            await reach(lambda: runtime.health.is_ready)
        assert deliveries == {1: 200}
        assert not world.letters.written

    with caplog.at_level(logging.INFO, "kafka_groups.worker"):
        simulate(program)
    texts = [record.getMessage() for record in caplog.records]
    assert any("the breaker is open after failures" in text for text in texts)
    assert any("the breaker is closed" in text for text in texts)


def test_a_dead_letter_that_cannot_be_written_keeps_its_record() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD)
        async def handle(value: bytes) -> None:
            raise Reject("always")

        world.letters.is_down = True
        await world.produce([b"bad"])
        async with world.running(worker) as runtime:
            await reach(lambda: world.letters.tries >= 3)
            await reach(lambda: f"cannot write to {DEAD}" in reasons(runtime))
            world.letters.is_down = False
            await reach(lambda: world.letters.written)
            assert world.letters.written[0].is_repeated
            await reach(lambda: runtime.health.is_ready)
        assert await values_left(world) == []

    simulate(program)


def test_a_lost_lock_cancels_the_handler_and_starts_no_second_one_meanwhile() -> None:
    async def program(world: WorkerWorld) -> None:
        running: Counter[bytes] = Counter()
        most: Counter[bytes] = Counter()
        outcomes: list[str] = []
        worker = world.worker()

        @worker.handler(TOPIC)
        async def handle(value: bytes) -> None:
            running[value] += 1
            most[value] = max(most[value], running[value])
            try:
                await asyncio.sleep(5)
                outcomes.append("done")
            except asyncio.CancelledError:
                await asyncio.sleep(3)  # it takes its time to end
                outcomes.append("cancelled")
                raise
            finally:
                running[value] -= 1

        await world.produce([b"slow"])
        async with world.running(worker):
            await reach(lambda: running[b"slow"])
            world.cluster.faults.on(ApiKey.SHARE_FETCH, DROP_CONNECTION, times=1)
            await reach(lambda: "done" in outcomes)
        assert outcomes == ["cancelled", "done"]
        assert most[b"slow"] == 1
        assert await values_left(world) == []

    simulate(program)


def test_an_attempt_that_exceeds_the_timeout_is_cancelled_and_retried() -> None:
    async def program(world: WorkerWorld) -> None:
        begun: list[int] = []
        worker = world.worker()

        @worker.handler(TOPIC, timeout=2, retries=QUICK)
        async def handle(value: bytes) -> None:
            begun.append(current_attempt().number)
            await asyncio.sleep(60 if len(begun) == 1 else 0.5)

        await world.produce([b"slow"])
        async with world.running(worker):
            await reach(lambda: len(begun) == 2)
        assert begun == [1, 2]
        assert await values_left(world) == []

    simulate(program)


def test_records_of_one_key_run_one_by_one_in_order() -> None:
    async def program(world: WorkerWorld) -> None:
        ended: list[int] = []
        running: Counter[int] = Counter()
        failed: set[int] = set()
        worker = world.worker()

        @worker.handler(TOPIC, value=string, order_by=lambda record: record.offset % 3, retries=QUICK)
        async def handle(value: str) -> None:
            number = int(value)
            running[number % 3] += 1
            assert running[number % 3] == 1
            await asyncio.sleep(0.05)
            running[number % 3] -= 1
            if number % 5 == 0 and number not in failed:
                failed.add(number)
                raise ValueError(number)
            ended.append(number)

        await world.produce([b"%d" % n for n in range(30)])
        async with world.running(worker):
            await reach(lambda: len(ended) == 30)
        assert [[n for n in ended if n % 3 == key] for key in range(3)] == [list(range(k, 30, 3)) for k in range(3)]

    simulate(program)


def test_batches_are_halved_to_find_the_bad_record() -> None:
    async def program(world: WorkerWorld) -> None:
        sizes: list[int] = []
        stored: list[str] = []
        worker = world.worker()

        @worker.batch_handler(TOPIC, value=string, max_records=16, max_wait=0.5, dead_letters=DEAD, retries=QUICK)
        async def handle(batch: Batch[str]) -> None:
            sizes.append(len(batch))
            if "11" in batch:
                raise ValueError("11 is bad")
            for index, value in enumerate(batch):
                if value == "5":
                    batch.reject(index, "five")
                else:
                    stored.append(value)

        await world.produce([b"%d" % n for n in range(16)])
        async with world.running(worker):
            await reach(lambda: len(world.letters.written) == 2)
        assert sizes[:2] == [16, 8]
        assert sorted(map(int, stored)) == [n for n in range(16) if n not in (5, 11)]
        assert {letter.value: letter.reason for letter in world.letters.written} == {
            b"5": "five",
            b"11": "ValueError: 11 is bad",
        }

    simulate(program)


@pytest.mark.parametrize(
    ("rule", "left"), [(OnError.ACCEPT, []), (OnError.REJECT, []), (OnError.RELEASE, [b"odd"])], ids=str
)
def test_rules_for_errors(rule: OnError, left: list[bytes]) -> None:
    async def program(world: WorkerWorld) -> None:
        calls: list[bytes] = []
        worker = world.worker()

        @worker.handler(TOPIC, errors={KeyError: rule, Exception: OnError.HOLD})
        async def handle(value: bytes) -> None:
            calls.append(value)
            raise KeyError(value)

        await world.produce([b"odd"])
        async with world.running(worker) as runtime:
            await reach(lambda: calls)
            runtime.stop(0)
        assert await values_left(world) == left
        assert not world.letters.written

    simulate(program)


def test_a_rule_stops_the_worker_with_the_error() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, errors={LookupError: OnError.STOP})
        async def handle(value: bytes) -> None:
            raise KeyError("no such tenant")

        await world.produce([b"odd"])
        runtime = world.runtime(worker)
        await runtime.start()
        with pytest.raises(KeyError, match="no such tenant"):
            await runtime.wait()
        assert await values_left(world) == [b"odd"]

    simulate(program)


def test_without_a_rule_a_full_window_makes_the_worker_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs("g", {"share.partition.max.record.locks": "100"})
        seen: list[bytes] = []
        worker = world.worker()

        @worker.handler(TOPIC, retries=Backoff(first=3600, most=3600))
        async def handle(value: bytes) -> None:
            if value == b"0":
                raise ValueError("bad")
            seen.append(value)

        for first in range(0, 300, 20):
            await world.produce([b"%d" % n for n in range(first, first + 20)])
        async with world.running(worker) as runtime:
            await reach(lambda: "the window of" in reasons(runtime))
            assert len(seen) < 299

    with caplog.at_level(logging.WARNING, "kafka_groups.worker"):
        simulate(program)
    assert any("offset 0 holds back" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("lock_s", [1, 15])
def test_locks_that_cannot_be_renewed_are_released_before_they_end(
    caplog: pytest.LogCaptureFixture, lock_s: int
) -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs(
            "g", {"share.renew.acknowledge.enable": "false", "share.record.lock.duration.ms": str(1000 * lock_s)}
        )
        deliveries: list[int] = []
        worker = world.worker()

        @worker.handler(TOPIC, retries=Backoff(first=60, most=60))
        async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            deliveries.append(record.delivery_count)
            if len(deliveries) < 3:
                raise ValueError("not yet")

        await world.produce([b"slow"])
        began = asyncio.get_running_loop().time()
        async with world.running(worker, given={"fetch_max_wait_ms": 50}):
            await reach(lambda: len(deliveries) == 3)
        assert deliveries == [1, 2, 3]
        assert asyncio.get_running_loop().time() - began < 3 * lock_s
        figures: Any = world.telemetry.snapshot()["handle"]
        assert figures.locks_lost == 0

    with caplog.at_level(logging.WARNING, "kafka_groups.worker"):
        simulate(program)
    assert "before the locks expire, because the locks cannot be renewed" in caplog.text
    assert "were lost" not in caplog.text


def test_a_lock_that_is_lost_while_its_record_waits_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs("g", {"share.record.lock.duration.ms": "15000"})
        deliveries: list[int] = []
        worker = world.worker()

        @worker.handler(TOPIC, retries=Backoff(first=60, most=60))
        async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            deliveries.append(record.delivery_count)
            if len(deliveries) == 1:
                raise ValueError("not yet")

        await world.produce([b"slow"])
        async with world.running(worker):
            await reach(lambda: deliveries)
            late = world.cluster.faults.on(ApiKey.SHARE_ACKNOWLEDGE, delay(20_000), times=1)  # the renewal
            await reach(lambda: late.hits and len(deliveries) == 2)
            figures: Any = world.telemetry.snapshot()["handle"]
        assert deliveries == [1, 2]
        assert figures.locks_lost == 1

    with caplog.at_level(logging.WARNING, "kafka_groups.worker"):
        simulate(program)
    assert "lost the locks of 1 record: Kafka delivers them again" in caplog.text


def test_suspects_run_alone_and_are_copied_before_their_last_deliveries() -> None:
    async def program(world: WorkerWorld) -> None:
        await world.produce([b"suspect", *[b"%d" % n for n in range(20)]])
        for _ in range(3):  # three consumers that end while they hold all records
            async with world.consumer(acknowledgement_mode="explicit") as consumer:
                await consumer.subscribe([TOPIC])
                await consumer.poll(timeout=5)
        together: list[int] = []
        running = 0
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD, concurrency=8)
        async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            nonlocal running
            running += 1
            await asyncio.sleep(0.1)
            together.append(running)
            running -= 1
            assert record.delivery_count == 4

        async with world.running(worker):
            await reach(lambda: len(together) == 21)
        assert set(together) == {1}
        assert {letter.reason for letter in world.letters.written} == {"before processing"}
        assert len(world.letters.written) == 21

    simulate(program)


def test_handlers_of_a_process_go_on_as_soon_as_another_one_lets_them() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic("payments", 1)
        world.letters.takes_s = 3.3
        await world.produce([b"suspect"])
        for _ in range(3):  # three consumers that end while they hold the record
            async with world.consumer(acknowledgement_mode="explicit") as consumer:
                await consumer.subscribe([TOPIC])
                await consumer.poll(timeout=5)
        began: dict[bytes, float] = {}
        ended: dict[bytes, float] = {}
        worker = world.worker()
        now = asyncio.get_running_loop().time

        @worker.handler(TOPIC, dead_letters=DEAD)
        async def orders(value: bytes) -> None:
            began[value] = now()

        @worker.handler("payments")
        async def payments(value: bytes) -> None:
            began[value] = now()
            await asyncio.sleep(2.6)
            ended[value] = now()

        async with world.running(worker):
            await reach(lambda: world.letters.tries)
            world.cluster.produce("payments", [b"payment"])
            await reach(lambda: has(began, 2))
            [copied_s] = world.letters.confirmed_s
            assert began[b"payment"] - copied_s < 0.05, "it waits until the copy is written, and no longer"
            assert began[b"suspect"] - ended[b"payment"] < 0.05, "it waits until the process is its own, and no longer"

    simulate(program)


def test_a_suspect_does_not_wait_for_the_polls_of_other_handlers() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic("payments", 1)
        await world.produce([b"suspect"])
        for _ in range(3):  # three consumers that end while they hold the record
            async with world.consumer(acknowledgement_mode="explicit") as consumer:
                await consumer.subscribe([TOPIC])
                await consumer.poll(timeout=5)
        began_s: list[float] = []
        worker = world.worker()
        now = asyncio.get_running_loop().time

        @worker.handler(TOPIC, dead_letters=DEAD)
        async def orders(value: bytes) -> None:
            began_s.append(now())

        @worker.handler("payments")
        async def payments(value: bytes) -> None: ...

        async with world.running(worker):
            await reach(lambda: has(began_s, 1))
        [copied_s] = world.letters.confirmed_s
        assert began_s[0] - copied_s < 0.1

    simulate(program)


def test_what_another_process_was_running_runs_alone_before_the_parent_names_it() -> None:
    async def program(world: WorkerWorld) -> None:
        await world.produce([b"%d" % n for n in range(6)])
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            await consumer.poll(timeout=5)
        asked: list[tuple[TopicIdPartition, int, int]] = []

        def others(partition: TopicIdPartition, first: int, last: int) -> list[RunningRange]:
            asked.append((partition, first, last))
            return [RunningRange(partition, 1, 3)]

        running: set[bytes] = set()
        together: dict[bytes, set[bytes]] = {}
        worker = world.worker()

        @worker.handler(TOPIC, concurrency=8)
        async def handle(value: bytes) -> None:
            running.add(value)
            for each in running:
                together.setdefault(each, set()).update(running)
            await asyncio.sleep(0.1)
            running.discard(value)

        async with world.running(worker, others=others):
            await reach(lambda: len(together) == 6 and not running)
            await world.produce([b"new"])
            await reach(lambda: b"new" in together and not running)
        alone = {value for value, others in together.items() if others == {value}}
        assert alone == {b"1", b"2", b"3", b"new"}
        assert [(first, last) for _, first, last in asked] == [(0, 5)], "records that are new are nobody's"

    simulate(program)


def test_two_dead_letter_queues_and_missing_topics_are_refused() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters="nowhere")
        async def handle(value: bytes) -> None: ...

        with pytest.raises(ConfigurationError, match="dead_letters='nowhere' does not exist"):
            await world.runtime(worker).start()

    simulate(program)


def test_a_rule_that_needs_dead_letters_is_refused_without_them() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, exhausted=OnError.DEAD_LETTER)
        async def handle(value: bytes) -> None: ...

        with pytest.raises(ConfigurationError, match="DEAD_LETTER needs a topic for dead letters"):
            await world.runtime(worker).start()

    simulate(program)


def test_figures_tell_what_happened() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        seen: list[bytes] = []

        @worker.handler(TOPIC, dead_letters=DEAD, retries=QUICK)
        async def handle(value: bytes) -> None:
            if value == b"3":
                raise Reject("three")
            seen.append(value)

        await world.produce([b"%d" % n for n in range(10)])
        async with world.running(worker):
            await reach(lambda: len(seen) == 9 and world.letters.written)
        figures: Any = world.telemetry.snapshot()["handle"]
        assert figures.records == {"accepted": 9, "rejected": 1}
        assert figures.attempts == {("succeeded", ""): 9, ("failed", "Reject"): 1}

    simulate(program)


@pytest.mark.parametrize(("concurrency", "longest_s"), [(8, 0.01), (1, 0.16)], ids=["limit divided", "leaders in turn"])
def test_idle_leaders_do_not_delay_records_of_others(concurrency: int, longest_s: float) -> None:
    async def program(world: WorkerWorld) -> None:
        times: list[float] = []
        loop = asyncio.get_running_loop()
        worker = world.worker()

        @worker.handler(TOPIC, concurrency=concurrency, buffer=concurrency)
        async def handle(value: bytes) -> None:
            times.append(loop.time())

        async with world.running(worker):
            await asyncio.sleep(5)
            for number in range(20):
                produced = loop.time()
                await world.produce([b"x"], partition=0)
                await reach(partial(has, times, number + 1))
                assert times[-1] - produced <= longest_s

    simulate(program, partitions=3, brokers=3)


def test_a_missing_topic_makes_the_worker_not_ready_until_it_exists() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(["later", TOPIC])
        async def handle(value: bytes) -> None: ...

        async with world.running(worker) as runtime:
            await reach(lambda: reasons(runtime) == "handler handle: the topic later does not exist")
            world.cluster.create_topic("later", 1)
            await reach(lambda: runtime.health.is_ready)

    simulate(program)


def test_an_order_by_key_beside_other_members_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        async with world.consumer() as other:
            await other.subscribe([TOPIC])
            await other.poll(timeout=5)
            worker = world.worker()

            @worker.handler(TOPIC, order_by="key")
            async def handle(value: bytes) -> None: ...

            async with world.running(worker):
                pass

    with caplog.at_level(logging.WARNING, "kafka_groups.worker"):
        simulate(program)
    assert any("has 1 other member. order_by" in record.getMessage() for record in caplog.records)


@pytest.mark.slow
def test_a_worker_that_wants_no_records_stays_in_its_group() -> None:
    async def program(world: WorkerWorld) -> None:
        ended: list[int] = []
        worker = world.worker()

        @worker.handler(TOPIC, concurrency=1, buffer=1)
        async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            await asyncio.sleep(100)
            ended.append(record.delivery_count)

        await world.produce([b"1", b"2", b"3"])
        async with world.running(worker, given={"max_poll_interval_ms": 9_000}):
            await reach(lambda: len(ended) == 3)
        assert ended == [1, 1, 1]

    simulate(program)


def test_bad_records_that_are_left_over_become_dead_letters_without_others() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        seen: list[int] = []

        @worker.handler(TOPIC, value=string, dead_letters=DEAD, retries=QUICK)
        async def handle(value: str) -> None:
            if int(value) % 3 == 0:
                raise ValueError(value)
            seen.append(int(value))

        await world.produce([b"%d" % n for n in range(30)])
        async with world.running(worker) as runtime:
            await reach(lambda: len(world.letters.written) == 10)
            await reach(lambda: runtime.health.is_ready)
        assert len(seen) == 20
        assert await values_left(world) == []

    simulate(program)
