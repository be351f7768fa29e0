"""A dead-letter topic on the embedded cluster, in memory and in virtual time."""

import asyncio

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.errors import (
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafka_groups.protocol.messages.fetch import FetchResponse
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterOrigin, RecordPlace
from kafka_groups.share.dead_letters.rules.selections import EVERYTHING, DeadLetterSelection
from kafka_groups.share.dead_letters.topic import FoundLetters, RecordsToDelete, rounds_of
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.unit.share.dead_letters.made_letters import DEAD, dlq_headers
from tests.unit.share.dead_letters.worlds import DeadLetterWorld

FIRST, SECOND = TopicPartition(DEAD, 0), TopicPartition(DEAD, 1)


def found(letters: FoundLetters) -> list[str]:
    return [str(each.place) for each in letters.letters]


def test_the_oldest_dead_letters_come_first_whatever_partition_they_are_in() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation, partitions=2) as world, world.topic() as topic:
            for at, partition in enumerate((1, 0, 0, 1)):
                world.bury(str(at), partition=partition)
                await asyncio.sleep(1)
            everything = await topic.oldest(EVERYTHING, 4)
            assert (found(everything), everything.has_more) == (["1@0", "0@0", "0@1", "1@1"], False)
            some = await topic.oldest(EVERYTHING, 3)
            assert (found(some), some.has_more) == (["1@0", "0@0", "0@1"], True)

    run_simulated(scene, seed=1)


def test_what_is_written_while_it_reads_is_not_read() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world, world.topic() as topic:
            world.bury("a", "b")
            bounds = await topic.bounds(EVERYTHING)
            world.bury("c")
            read = [letter.record.value async for some in topic.read(EVERYTHING, bounds) for letter in some]
            assert read == [b"a", b"b"]

    run_simulated(scene, seed=1)


def test_a_selection_by_time_begins_at_its_first_record() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world, world.topic() as topic:
            world.bury("a")
            await asyncio.sleep(10)
            since = DeadLetterSelection(since_ms=simulation.clock.wall_ms())
            world.bury("b", "c")
            assert (await topic.bounds(since))[FIRST] == (1, 3)
            assert found(await topic.oldest(since, 9)) == ["0@1", "0@2"]
            late = DeadLetterSelection(since_ms=simulation.clock.wall_ms() + 1_000)
            assert found(await topic.oldest(late, 9)) == []

    run_simulated(scene, seed=1)


def test_dead_letters_are_counted() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation, partitions=2) as world, world.topic() as topic:
            world.bury("a", "b")
            world.bury("c", partition=1, headers=dlq_headers(topic="bills"))
            counts = await topic.counts(EVERYTHING)
            assert [(each.origin_topic, each.error, each.count) for each in counts] == [
                ("orders", "KeyError", 2),
                ("bills", "KeyError", 1),
            ]
            assert await topic.counts(DeadLetterSelection(reason="pear")) == []

    run_simulated(scene, seed=1)


def test_single_dead_letters_wherever_they_are() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation, partitions=2) as world, world.topic() as topic:
            world.bury(*map(str, range(2_500)))
            world.bury("z", partition=1)
            wanted = [RecordPlace(0, 2_499), RecordPlace(0, 3), RecordPlace(1, 0), RecordPlace(0, 4)]
            gone = [RecordPlace(0, 2_500), RecordPlace(1, 1), RecordPlace(2, 0)]
            read = await topic.at([*wanted, *gone])
            assert {place: letter.record.value for place, letter in read.items()} == dict(
                zip(wanted, (b"2499", b"3", b"z", b"4"), strict=True)
            )

    run_simulated(scene, seed=1)


def test_origins_that_are_gone_are_left_out() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world, world.topic() as topic:
            world.cluster.produce("orders", ["a", "b", "c"])
            async with world.topic("orders") as orders:
                await orders.delete([RecordsToDelete(TopicPartition("orders", 0), 0, 1)])
            asked = [
                DeadLetterOrigin(TopicPartition("orders", 0), 0),
                DeadLetterOrigin(TopicPartition("orders", 0), 2),
                DeadLetterOrigin(TopicPartition("orders", 5), 0),
                DeadLetterOrigin(TopicPartition("never", 0), 0),
            ]
            read = await topic.origins(asked)
            assert {str(origin): record.value for origin, record in read.items()} == {"orders:0@2": b"c"}

    run_simulated(scene, seed=1)


def test_records_that_are_deleted_while_it_reads_are_passed() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world, world.topic() as topic:
            world.bury("a", "b", "c")
            bounds = await topic.bounds(EVERYTHING)
            await topic.delete([RecordsToDelete(FIRST, 0, 2)])
            read = [str(letter.place) async for some in topic.read(EVERYTHING, bounds) for letter in some]
            assert read == ["0@2"]
            await topic.delete([RecordsToDelete(FIRST, 2, 3)])
            assert [some async for some in topic.read(EVERYTHING, bounds) if some] == []

    run_simulated(scene, seed=1)


def test_a_topic_that_does_not_exist() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world, world.topic("nope") as topic:
            with pytest.raises(UnknownTopicOrPartitionError, match="The topic nope does not exist"):
                await topic.oldest(EVERYTHING, 1)
            errors = await topic.errors_of_topics(["nope", "orders"])
            assert [(name, type(error)) for name, error in errors.items()] == [("nope", UnknownTopicOrPartitionError)]

    run_simulated(scene, seed=1)


def test_a_broker_that_does_not_send_records_is_not_waited_for_forever() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world, world.topic() as topic:
            world.bury("a")
            world.cluster.faults.on(ApiKey.FETCH, answer(FetchResponse(error_code=ErrorCode.REQUEST_TIMED_OUT)))
            with pytest.raises(OperationTimeoutError, match=r"Could not read orders\.dead-0 within 10000 ms"):
                await topic.oldest(EVERYTHING, 1)

    run_simulated(scene, seed=1)


def test_deletion_takes_the_beginning_of_each_partition() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation, partitions=2) as world, world.topic() as topic:
            world.bury("a", "b")
            await asyncio.sleep(10)
            before_ms = simulation.clock.wall_ms()
            world.bury("c")
            assert await topic.to_delete(before_ms) == [RecordsToDelete(FIRST, 0, 2), RecordsToDelete(SECOND, 0, 0)]
            everything = await topic.to_delete(None)
            assert [each.before for each in everything] == [3, 0]
            assert await topic.delete(await topic.to_delete(before_ms)) == {}
            assert found(await topic.oldest(EVERYTHING, 9)) == ["0@2"]
            assert await topic.to_delete(before_ms) == [RecordsToDelete(FIRST, 2, 2), RecordsToDelete(SECOND, 0, 0)]

    run_simulated(scene, seed=1)


def test_a_deletion_that_is_refused_is_told() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world, world.topic() as topic:
            world.bury("a")
            refused = DeleteRecordsPartitionResult(
                partition_index=0, low_watermark=-1, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
            )
            response = DeleteRecordsResponse(topics=(DeleteRecordsTopicResult(name=DEAD, partitions=(refused,)),))
            world.cluster.faults.on(ApiKey.DELETE_RECORDS, answer(response))
            errors = await topic.delete(await topic.to_delete(None))
            assert [(place, type(error)) for place, error in errors.items()] == [(FIRST, TopicAuthorizationFailedError)]
            assert found(await topic.oldest(EVERYTHING, 9)) == ["0@0"]

    run_simulated(scene, seed=1)


def test_offsets_are_read_in_runs_and_far_ones_by_themselves() -> None:
    wanted = [(FIRST, 5), (FIRST, 0), (FIRST, 5_000), (FIRST, 6_100), (SECOND, 9)]
    assert rounds_of(wanted) == [
        {FIRST: (0, 6), SECOND: (9, 10)},
        {FIRST: (5_000, 5_001)},
        {FIRST: (6_100, 6_101)},
    ]
    assert rounds_of([]) == []
