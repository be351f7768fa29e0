"""Dead letters that are sent again, on the embedded cluster, in memory and in virtual time."""

import asyncio
from collections.abc import Mapping

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, answer
from kafka_groups.errors import (
    ConfigurationError,
    MessageTooLargeError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.dead_letters.letter_planner import FailedLetter
from kafka_groups.share.dead_letters.resending import Resending, ResendingRequest
from kafka_groups.share.dead_letters.rules.dead_letter_records import RecordPlace
from kafka_groups.share.dead_letters.rules.selections import EVERYTHING, DeadLetterSelection
from kafka_groups.share.dead_letters.rules.sending import LetterToSend, SendingRules, SkippedLetter
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.unit.share.dead_letters.made_letters import DEAD, dlq_headers
from tests.unit.share.dead_letters.worlds import GROUP, RULES, TIMEOUT_MS, DeadLetterWorld, places, texts

ONCE = ("__dlq.sent.again", b"1")
SELECTED = DeadLetterSelection(reason="plum")
SMALL: Mapping[str, str] = {"max.message.bytes": "300", "retention.ms": "-1"}


def accepted(world: DeadLetterWorld) -> list[int]:
    return [each.offset for each in world.cluster.group(GROUP).accepted]


def rejected(world: DeadLetterWorld) -> list[int]:
    return [each.offset for each in world.cluster.group(GROUP).rejected]


async def planned(world: DeadLetterWorld, selection: DeadLetterSelection = EVERYTHING) -> list[str]:
    """The places that would be sent, and those that would be skipped, the latter with a minus."""
    async with world.topic() as topic:
        request = ResendingRequest(selection, None, RULES)
        found = await Resending(topic, request, world.config, TIMEOUT_MS, world.environment).plan()
    return [str(each.place) if isinstance(each, LetterToSend) else f"-{each.place}" for each in found]


def test_the_group_sends_each_dead_letter_once_and_goes_on_where_it_stopped() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation, partitions=2) as world:
            world.bury("a", "b", headers=[("trace", b"x"), *dlq_headers()])
            world.bury("c", partition=1)
            assert await planned(world) == ["0@0", "0@1", "1@0"]
            assert sorted(places(await world.send())) == ["0@0", "0@1", "1@0"]
            assert sorted(world.sent()) == [
                (b"a", (("trace", b"x"), ONCE)),
                (b"b", (("trace", b"x"), ONCE)),
                (b"c", (ONCE,)),
            ]
            assert (await world.send(), await planned(world)) == ([], [])
            world.bury("d")
            assert places(await world.send()) == ["0@2"]
            assert len(world.sent()) == 4

    run_simulated(scene, seed=1)


def test_a_limit_stops_and_the_next_run_goes_on() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury(*map(str, range(5)))
            assert places(await world.send(count=2)) == ["0@0", "0@1"]
            assert places(await world.send(count=2)) == ["0@2", "0@3"]
            assert places(await world.send(count=9)) == ["0@4"]

    run_simulated(scene, seed=1)


def test_what_a_limit_leaves_out_is_released() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation, partitions=3) as world:
            for partition in range(3):
                world.bury("a", "b", partition=partition)
            first = places(await world.send(count=5))
            assert len(first) == 5
            assert sorted([*first, *places(await world.send())]) == ["0@0", "0@1", "1@0", "1@1", "2@0", "2@1"]
            assert len(world.sent()) == 6

    run_simulated(scene, seed=1)


def test_runs_at_the_same_time_share_the_work() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation, partitions=2) as world:
            for partition in range(2):
                world.bury(*map(str, range(800)), partition=partition)
            one, other = await asyncio.gather(world.send(), world.send())
            assert len({*places(one), *places(other)}) == len(places(one)) + len(places(other)) == 1_600
            assert places(other)
            assert places(one)
            assert await world.send() == []

    run_simulated(scene, seed=1)


def test_a_selection_is_sent_whenever_it_is_asked_for_and_the_group_knows_nothing_of_it() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a", "b")
            world.bury("c", headers=dlq_headers(reason="KeyError: 'pear'"))
            for _ in range(2):
                assert places(await world.send(SELECTED)) == ["0@0", "0@1"]
            assert places(await world.send(SELECTED, count=1)) == ["0@0"]
            assert len(world.sent()) == 5
            assert places(await world.send()) == ["0@0", "0@1", "0@2"]

    run_simulated(scene, seed=1)


def test_named_places_are_sent_and_those_that_do_not_exist_are_told() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a", "b", "c")
            named = DeadLetterSelection(places=frozenset({RecordPlace(0, 2), RecordPlace(0, 0), RecordPlace(0, 8)}))
            assert await planned(world, named) == ["0@0", "0@2", "-0@8"]
            results = await world.send(named)
            assert (places(results), places(results, SkippedLetter)) == (["0@0", "0@2"], ["0@8"])
            assert "There is no such record" in texts(results)[0]

    run_simulated(scene, seed=1)


def test_skipped_dead_letters_are_rejected_and_can_be_sent_by_their_places() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a", headers=[])
            world.bury("b", headers=dlq_headers(topic="later"))
            world.bury("c", headers=[*dlq_headers(), ("__dlq.sent.again", b"3")])
            world.bury(None, key=None)
            world.bury("d")
            assert await planned(world) == ["-0@0", "-0@1", "-0@2", "-0@3", "0@4"]
            results = await world.send()
            assert (places(results), places(results, SkippedLetter)) == (["0@4"], ["0@0", "0@1", "0@2", "0@3"])
            assert [text.split(",")[0] for text in texts(results)] == [
                "It has no headers __dlq.errors.* that name its origin.",
                "The topic later does not exist.",
                "It came back after it was sent again 3 times.",
                "It has neither key nor value",
            ]
            assert (accepted(world), rejected(world)) == ([4], [0, 1, 2, 3])
            assert await world.send() == []
            world.cluster.create_topic("later")
            assert places(await world.send(DeadLetterSelection(places=frozenset({RecordPlace(0, 1)})))) == ["0@1"]
            assert [value for value, _ in world.sent("later")] == [b"b"]

    run_simulated(scene, seed=1)


def test_records_that_the_brokers_did_not_copy_are_read_at_their_origin() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.cluster.produce("orders", ["x", "y"], keys=["1", "2"], headers=[("trace", b"x")])
            world.bury(None, key=None, headers=dlq_headers(1))
            assert places(await world.send()) == ["0@0"]
            assert world.sent()[2:] == [(b"y", (("trace", b"x"), ONCE))]
            assert world.cluster.records("orders")[2].key == b"2"
            # It came back, again without a copy: its headers are at its origin, and so is the count.
            for count in (2, 3):
                world.bury(None, key=None, headers=dlq_headers(count))
                assert len(places(await world.send())) == 1
            world.bury(None, key=None, headers=dlq_headers(4))
            assert "after it was sent again 3 times" in texts(await world.send())[0]

    run_simulated(scene, seed=1)


def test_a_record_that_keeps_failing_goes_round_three_times() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a")
            for runs in range(1, 5):
                results = await world.send()
                assert len(places(results)) == (runs <= 3)
                world.bury("a", headers=[*world.cluster.records("orders")[-1].headers, *dlq_headers()])
            assert len(world.sent()) == 3

    run_simulated(scene, seed=1)


def test_everything_may_go_to_another_topic() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.cluster.create_topic("again")
            world.bury("a", headers=[])
            world.bury("b")
            assert places(await world.send(rules=SendingRules("again", 3))) == ["0@0", "0@1"]
            assert [value for value, _ in world.sent("again")] == [b"a", b"b"]
            assert world.sent() == []

    run_simulated(scene, seed=1)


@pytest.mark.parametrize("selection", [EVERYTHING, SELECTED])
def test_a_record_that_is_too_large_for_its_topic_ends_the_run_and_is_released(selection: DeadLetterSelection) -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.cluster.create_topic("small", configs=SMALL)
            world.bury("a" * 5_000, headers=dlq_headers(topic="small"))
            world.bury("b", headers=dlq_headers(topic="small"))
            results = await world.send(selection)
            assert (places(results), places(results, FailedLetter)) == (["0@1"], ["0@0"])
            (failed,) = (each for each in results if isinstance(each, FailedLetter))
            assert isinstance(failed.error, MessageTooLargeError)
            if selection is EVERYTHING:
                assert (accepted(world), rejected(world)) == ([1], [])
                again = await world.send()
                assert (places(again), places(again, FailedLetter)) == ([], ["0@0"])

    run_simulated(scene, seed=1)


def test_a_dead_letter_whose_last_delivery_failed_is_named() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.cluster.create_topic("small", configs=SMALL)
            world.cluster.alter_group_configs(GROUP, {"share.delivery.count.limit": "2"})
            world.bury("a" * 5_000, headers=dlq_headers(topic="small"))
            assert len(texts(await world.send())) == 1
            _, lost = texts(await world.send())
            assert lost == (
                "The share group orders.dead-resend has delivered it 2 times and does not deliver it again. "
                "To send it, name it: kafka-groups dead-letters send-again orders.dead 0@0."
            )
            assert await world.send() == []

    run_simulated(scene, seed=1)


def test_a_missing_right_to_write_ends_the_run_at_once() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            refused = PartitionProduceResponse(index=0, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, base_offset=-1)
            orders = world.cluster.metadata.topic("orders")
            assert orders is not None
            topic = TopicProduceResponse(name="", topic_id=orders.topic_id, partition_responses=(refused,))
            world.cluster.faults.on(ApiKey.PRODUCE, answer(ProduceResponse(responses=(topic,))))
            world.bury("a", "b")
            begun_ms = simulation.clock.now_ms()
            results = await world.send()
            assert simulation.clock.now_ms() - begun_ms < TIMEOUT_MS
            assert places(results, FailedLetter) == ["0@0", "0@1"]
            errors = [each.error for each in results if isinstance(each, FailedLetter)]
            assert {type(error) for error in errors} == {TopicAuthorizationFailedError}
            assert "needs WRITE on the topic" in texts(results)[0]

    run_simulated(scene, seed=1)


def test_what_is_not_confirmed_in_time_is_released_and_may_be_a_duplicate() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            refused = PartitionProduceResponse(index=0, error_code=ErrorCode.NOT_ENOUGH_REPLICAS, base_offset=-1)
            orders = world.cluster.metadata.topic("orders")
            assert orders is not None
            topic = TopicProduceResponse(name="", topic_id=orders.topic_id, partition_responses=(refused,))
            world.cluster.faults.on(ApiKey.PRODUCE, answer(ProduceResponse(responses=(topic,))))
            world.bury("a")
            (text,) = texts(await world.send(SELECTED))
            assert text.startswith("The topic orders has not confirmed the record within 10000 ms.")
            assert text.endswith("It may be written, and would be a duplicate if you send it again.")

    run_simulated(scene, seed=1)


def test_what_was_sent_and_not_acknowledged_is_told_and_sent_again_by_the_next_run() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a", "b")
            lost = world.cluster.faults.on(ApiKey.SHARE_ACKNOWLEDGE, DROP_CONNECTION)
            results = await world.send()
            assert places(results, FailedLetter) == ["0@0", "0@1"]
            text = "It was sent, but the share group orders.dead-resend did not accept that: "
            assert all(each.startswith(text) for each in texts(results))
            world.cluster.faults.remove(lost)
            assert places(await world.send(timeout_ms=120_000)) == ["0@0", "0@1"]
            assert len(world.sent()) == 4
            assert await world.send() == []

    run_simulated(scene, seed=1)


def test_dead_letters_that_another_member_holds_are_waited_for_and_told() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a")
            world.cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
            async with AsyncKafkaShareConsumer(
                bootstrap_servers=world.cluster.bootstrap_servers,
                group_id=GROUP,
                acknowledgement_mode="explicit",
                environment=world.environment,
            ) as other:
                await other.subscribe([DEAD])
                assert len(await other.poll(timeout=60)) == 1
                world.bury("b")
                assert places(await world.send(count=1)) == ["0@1"]
                with pytest.raises(OperationTimeoutError, match="has 1 dead letter that it did not deliver within"):
                    await world.send()

    run_simulated(scene, seed=1)


def test_a_group_that_begins_elsewhere_is_refused() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a")
            world.cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "latest"})
            with pytest.raises(ConfigurationError, match=r"orders\.dead-resend has share\.auto\.offset\.reset=latest"):
                await world.send()
            assert world.sent() == []

    run_simulated(scene, seed=1)


def test_nothing_is_joined_or_set_for_a_plan() -> None:
    async def scene(simulation: Simulation) -> None:
        async with DeadLetterWorld(simulation) as world:
            world.bury("a")
            rules = [
                world.cluster.faults.on(key, DROP_CONNECTION)
                for key in (ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.PRODUCE)
            ]
            assert await planned(world) == ["0@0"]
            assert [rule.hits for rule in rules] == [0, 0, 0]

    run_simulated(scene, seed=1)
