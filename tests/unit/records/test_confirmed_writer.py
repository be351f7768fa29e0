"""A writer with outcomes on the embedded cluster, in memory and in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, LOSE_RESPONSE, answer, delay
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.errors import (
    ClosedError,
    ClusterAuthorizationFailedError,
    IllegalStateError,
    InvalidTopicError,
    KafkaGroupsError,
    MessageTooLargeError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_groups.records.confirmed_writer import ConfirmedWriter, RecordToWrite, WriteOutcome, WriterRoom
from kafka_groups.records.partitioning import partition_of
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.conditions import until
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

PATIENCE_S = 7_200


class Owner:
    """An owner of a room, and what it was told."""

    def __init__(self, writer: ConfirmedWriter, name: str = "handler") -> None:
        self.outcomes: list[WriteOutcome] = []
        self.holds: list[tuple[str, KafkaGroupsError | None]] = []
        self.is_writing = False
        self.room: WriterRoom = writer.room(name, self._took, lambda topic, error: self.holds.append((topic, error)))

    def _took(self, outcomes: Sequence[WriteOutcome]) -> None:
        assert not self.is_writing, "an owner hears of outcomes while it writes"
        self.outcomes += outcomes

    def write(self, *values: bytes | None, topic: str = TOPIC, key: bytes | None = b"k") -> None:
        """Write records, each with its value as token."""
        self.is_writing = True
        for value in values:
            self.room.write([RecordToWrite(topic, key, value, (), 5)], value)
        self.is_writing = False

    def has_room(self) -> bool:
        return self.room.has_room

    @property
    def confirmed(self) -> list[object]:
        return [token for outcome in self.outcomes if outcome.error is None for token in outcome.tokens]

    @property
    def refused(self) -> dict[object, KafkaGroupsError]:
        return {token: each.error for each in self.outcomes if each.error is not None for token in each.tokens}


class Bench:
    """A writer with one owner."""

    def __init__(self, world: RecordsWorld, producer: ProducerConfig | None = None) -> None:
        self.world = world
        config = admin_config(bootstrap_servers=world.cluster.bootstrap_servers)
        self.writer = ConfirmedWriter(config, world.environment(), producer)
        self.owner = Owner(self.writer)

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        given = {name.replace("_", "."): value for name, value in configs.items()}
        self.world.cluster.create_topic(topic, partitions, configs={**KEPT, **given})

    def values(self, topic: str = TOPIC) -> list[bytes | None]:
        return [each.value for each in self.world.cluster.records(topic)]

    async def until(self, condition: Callable[[], bool]) -> None:
        async def question() -> bool:
            return condition()

        await until(question, bool, PATIENCE_S)

    async def settled(self) -> None:
        """Wait until nothing is unconfirmed, and the owner knows."""
        await self.until(lambda: not self.owner.room.unconfirmed)
        await asyncio.sleep(0)

    def of_topic(self, topic: str) -> Callable[[Any], bool]:
        """A condition of faults: the request is a Produce request with records for this topic."""
        topic_id = self.world.cluster.metadata.topic(topic).topic_id  # type: ignore[union-attr]
        return lambda request: any(each.topic_id == topic_id for each in request.topic_data)


def simulated(
    scene: Callable[[Bench], Awaitable[None]], producer: ProducerConfig | None = None, seed: int = 1, **options: Any
) -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, **options) as world:
            bench = Bench(world, producer)
            try:
                await scene(bench)
            finally:
                await bench.writer.close()

    run_simulated(run, seed=seed)


def small_batches() -> ProducerConfig:
    return ProducerConfig(linger_ms=0, batch_size=200)


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [b"%04d" % number + b"." * 50 for number in range(start, start + count)]


def refusing(code: ErrorCode) -> Any:
    """The answer of a broker that refuses all batches of a request."""

    def response(request: Any) -> ProduceResponse:
        return ProduceResponse(
            responses=tuple(
                TopicProduceResponse(
                    topic_id=topic.topic_id,
                    partition_responses=tuple(
                        PartitionProduceResponse(index=each.index, error_code=code, base_offset=-1)
                        for each in topic.partition_data
                    ),
                )
                for topic in request.topic_data
            )
        )

    return answer(response)


# ----------------------------------------------------------------------------------------------- outcomes


def test_all_parts_of_records_arrive() -> None:
    async def scene(bench: Bench) -> None:
        records = [
            RecordToWrite(TOPIC, b"k", b"v", (("h", b"1"), ("h", None), ("Zürich", b"")), 1_700_000_000_000, 1),
            RecordToWrite(TOPIC, None, None, (), 0, 1),
        ]
        bench.owner.room.write(records, "both")
        await bench.settled()
        found = [
            RecordToWrite(TOPIC, each.key, each.value, each.headers, each.timestamp_ms, each.partition)
            for each in bench.world.cluster.records(TOPIC)
        ]
        assert found == records
        assert bench.owner.outcomes == [WriteOutcome(["both"])]

    simulated(scene, partitions=2)


def test_partitions_follow_keys_and_records_without_timestamp_are_of_now() -> None:
    async def scene(bench: Bench) -> None:
        begun_ms = bench.world.simulation.clock.wall_ms()
        keys = [b"%d" % number for number in range(50)]
        bench.owner.room.write([RecordToWrite(TOPIC, key, b"v") for key in keys], "all")
        await bench.settled()
        found = {each.key: each.partition for each in bench.world.cluster.records(TOPIC)}
        assert found == {key: partition_of(key, 4) for key in keys}
        assert {each.timestamp_ms for each in bench.world.cluster.records(TOPIC)} == {begun_ms}

    simulated(scene, partitions=4)


def test_writes_of_one_response_have_one_outcome_in_order() -> None:
    async def scene(bench: Bench) -> None:
        values = numbered(300)
        bench.owner.write(*values)
        assert bench.owner.room.unconfirmed == 300
        await bench.settled()
        assert bench.owner.outcomes == [WriteOutcome(values)]
        assert bench.values() == values

    simulated(scene)


def test_what_is_written_while_a_request_is_under_way_is_one_request() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"first")
        await bench.settled()
        requests = bench.world.requests(ApiKey.PRODUCE)
        bench.world.cluster.faults.on(ApiKey.PRODUCE, delay(1_000), times=1)
        for number in range(50):
            bench.owner.write(b"%d" % number)
            await asyncio.sleep(0.01)
        await bench.settled()
        assert len(bench.values()) == 51
        assert len(requests) == 2

    simulated(scene)


def test_a_write_to_several_topics_has_one_outcome_when_all_are_confirmed() -> None:
    async def scene(bench: Bench) -> None:
        bench.create("audit")
        slow = bench.world.cluster.faults.on(ApiKey.PRODUCE, delay(3_000), when=bench.of_topic("audit"))
        records = [RecordToWrite(topic, None, b"v") for topic in (TOPIC, "audit", TOPIC)]
        bench.owner.room.write(records, "all")
        await bench.until(lambda: slow.hits == 1 and len(bench.values()) == 2)
        assert bench.owner.outcomes == []
        await bench.settled()
        assert bench.owner.outcomes == [WriteOutcome(["all"])]
        assert bench.values("audit") == [b"v"]

    simulated(scene)


def test_a_write_without_records_is_confirmed() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.room.write([], "nothing")
        assert bench.owner.outcomes == []
        await asyncio.sleep(0)
        assert bench.owner.outcomes == [WriteOutcome(["nothing"])]

    simulated(scene)


def test_owners_share_batches_and_hear_of_their_own_writes() -> None:
    async def scene(bench: Bench) -> None:
        other = Owner(bench.writer, "other")
        for number in range(6):
            (bench.owner, other)[number % 2].write(b"%d" % number)
        await bench.settled()
        assert bench.owner.outcomes == [WriteOutcome([b"0", b"2", b"4"])]
        assert other.outcomes == [WriteOutcome([b"1", b"3", b"5"])]
        assert len(bench.values()) == 6

    simulated(scene)


def test_a_room_has_limits_and_does_not_enforce_them() -> None:
    async def scene(bench: Bench) -> None:
        room = bench.owner.room
        bench.owner.write(*numbered(999))
        assert bench.owner.has_room()
        bench.owner.write(b"last")
        assert not bench.owner.has_room()
        bench.owner.write(b"too many")
        assert repr(room) == "<WriterRoom of handler: 1,001 records unconfirmed>"
        assert repr(bench.writer) == "<ConfirmedWriter: 1,001 records unconfirmed>"
        await bench.settled()
        assert bench.owner.has_room()
        bench.create("large", max_message_bytes="100000000")
        room.write([RecordToWrite("large", b"", b"v" * (64 * 1024 * 1024 - 2), (("h", b""),))], "large")
        assert bench.owner.has_room()
        room.write([RecordToWrite("large", b"k", None)], "small")
        assert not bench.owner.has_room()
        await bench.settled()
        assert bench.owner.has_room()
        assert len(bench.values()) == 1_001

    simulated(scene)


def test_a_token_may_be_used_again_after_its_outcome() -> None:
    async def scene(bench: Bench) -> None:
        token = object()
        bench.owner.room.write([RecordToWrite(TOPIC, None, b"a")], token)
        with pytest.raises(IllegalStateError, match="has no outcome yet"):
            bench.owner.room.write([RecordToWrite(TOPIC, None, b"b")], token)
        await bench.settled()
        bench.owner.room.write([RecordToWrite(TOPIC, None, b"c")], token)
        await bench.settled()
        assert bench.owner.confirmed == [token, token]
        assert bench.values() == [b"a", b"c"]

    simulated(scene)


# ----------------------------------------------------------------------------------------------- refusals


def test_a_record_that_its_topic_does_not_take_is_refused_for_good_and_the_others_are_written() -> None:
    async def scene(bench: Bench) -> None:
        bench.create("small", max_message_bytes="1000")
        large = b"v" * 2_000
        bench.owner.write(b"a", large, b"b", topic="small")
        await bench.settled()
        assert sorted(bench.owner.confirmed) == [b"a", b"b"]  # type: ignore[type-var]
        [refused] = [each for each in bench.owner.outcomes if each.error is not None]
        assert refused.tokens == (large,)
        assert isinstance(refused.error, MessageTooLargeError)
        assert not refused.error.retriable
        assert str(refused.error) == (
            "small-0 takes no record of 2,071 bytes. Make records smaller, or allow larger ones: max.message.bytes of"
            " the topic."
        )
        assert not refused.may_be_written
        assert bench.values("small") == [b"a", b"b"]

    simulated(scene)


def test_a_record_may_be_larger_than_a_request_of_other_producers() -> None:
    async def scene(bench: Bench) -> None:
        bench.create("large", max_message_bytes="10000000")
        bench.owner.write(b"a", b"v" * 5_000_000, b"b", topic="large")
        await bench.settled()
        assert len(bench.owner.confirmed) == 3
        assert [len(value or b"") for value in bench.values("large")] == [1, 5_000_000, 1]

    simulated(scene)


def test_a_record_that_no_request_can_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.records.confirmed_writer._LARGEST_RECORD", 1_000)

    async def scene(bench: Bench) -> None:
        records = [RecordToWrite(TOPIC, None, value) for value in (b"before", b"v" * 2_000, b"after")]
        bench.owner.room.write(records, "three")
        assert bench.owner.outcomes == []
        bench.owner.write(b"other")
        await bench.settled()
        error = bench.owner.refused["three"]
        assert str(error).startswith("A record for orders has 2,0")
        assert "max.request.size" not in str(error)
        assert bench.owner.confirmed == [b"other"]
        assert bench.values() == [b"other"], "nothing of the refused write was sent"

    simulated(scene)


def test_a_refusal_after_a_lost_answer_says_that_the_record_may_be_written() -> None:
    async def scene(bench: Bench) -> None:
        faults = bench.world.cluster.faults
        faults.on(ApiKey.PRODUCE, LOSE_RESPONSE, times=1)
        faults.on(ApiKey.PRODUCE, refusing(ErrorCode.POLICY_VIOLATION), times=1)
        bench.owner.write(b"v")
        await bench.settled()
        [refused] = bench.owner.outcomes
        assert refused.may_be_written
        assert bench.values() == [b"v"]
        bench.owner.write(b"w")
        await bench.settled()
        assert bench.owner.confirmed == [b"w"]
        assert bench.values() == [b"v", b"w"]

    simulated(scene)


def test_an_unexpected_error_of_a_broker_leaves_it_open_whether_the_record_is_written() -> None:
    async def scene(bench: Bench) -> None:
        bench.world.cluster.faults.on(ApiKey.PRODUCE, refusing(ErrorCode.UNKNOWN_SERVER_ERROR), times=1)
        bench.owner.write(b"v")
        await bench.settled()
        [refused] = bench.owner.outcomes
        assert isinstance(refused.error, UnknownServerError)
        assert refused.may_be_written

    simulated(scene)


def test_what_was_not_sent_of_a_refused_write_is_dropped() -> None:
    async def scene(bench: Bench) -> None:
        bench.create("small", max_message_bytes="1000")
        records = [RecordToWrite("small", None, b"v" * 2_000), RecordToWrite("later", None, b"v")]
        bench.owner.room.write(records, "both")
        await bench.settled()
        assert isinstance(bench.owner.refused["both"], MessageTooLargeError)
        bench.create("later")
        bench.owner.write(b"other", topic="later")
        await bench.settled()
        assert bench.values("later") == [b"other"]

    simulated(scene)


def test_a_refused_write_of_which_a_record_is_confirmed_may_be_written() -> None:
    async def scene(bench: Bench) -> None:
        bench.create("small", max_message_bytes="1000")
        bench.world.cluster.faults.on(ApiKey.PRODUCE, delay(1_000), times=1, when=bench.of_topic("small"))
        records = [RecordToWrite("small", None, b"v" * 2_000), RecordToWrite(TOPIC, None, b"v")]
        bench.owner.room.write(records, "both")
        await bench.settled()
        assert [each.may_be_written for each in bench.owner.outcomes] == [True]
        assert bench.values() == [b"v"]

    simulated(scene)


def test_an_invalid_topic_name_is_refused_for_good() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"v", topic="no topic")
        await bench.settled()
        error = bench.owner.refused[b"v"]
        assert isinstance(error, InvalidTopicError)
        assert not error.retriable

    simulated(scene)


def test_after_an_error_that_ends_the_client_it_is_the_outcome_of_all_writes() -> None:
    async def scene(bench: Bench) -> None:
        denied = InitProducerIdResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, producer_epoch=-1)
        bench.world.cluster.faults.on(ApiKey.INIT_PRODUCER_ID, answer(denied))
        bench.owner.write(b"a", b"b")
        await bench.settled()
        bench.owner.write(b"c")
        await bench.settled()
        assert set(bench.owner.refused) == {b"a", b"b", b"c"}
        assert set(bench.owner.refused.values()) == {bench.writer.fatal}
        assert not any(each.may_be_written for each in bench.owner.outcomes)

    simulated(scene)


# ------------------------------------------------------------------------------------------------- holds


def test_records_wait_for_a_topic_without_end_and_delay_no_other_topic() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"v", topic="later")
        for number in range(20):
            bench.owner.write(b"%d" % number)
            begun_ms = bench.world.simulation.clock.now_ms()
            await bench.until(lambda number=number: len(bench.owner.confirmed) == number + 1)  # type: ignore[misc]
            assert bench.world.simulation.clock.now_ms() - begun_ms < 50 or not number
            await asyncio.sleep(30)
        [(topic, error)] = bench.owner.holds
        assert topic == "later"
        assert isinstance(error, UnknownTopicOrPartitionError)
        assert str(error) == "Topic 'later' does not exist, so its records wait. Create the topic, or check its name."
        assert bench.owner.room.unconfirmed == 1
        bench.create("later")
        await bench.settled()
        await bench.until(lambda: len(bench.owner.holds) == 2)
        assert bench.owner.holds[1] == ("later", None)
        assert bench.values("later") == [b"v"]

    simulated(scene)


def test_a_topic_that_is_deleted_holds_its_records_until_it_is_made_again() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"a")
        await bench.settled()
        bench.world.cluster.delete_topic(TOPIC)
        bench.owner.write(b"b")
        await asyncio.sleep(300)
        [(topic, error)] = bench.owner.holds
        assert isinstance(error, UnknownTopicOrPartitionError)
        assert bench.owner.confirmed == [b"a"]
        late = Owner(bench.writer, "late")
        late.write(b"c")
        await asyncio.sleep(1)
        assert late.holds == [(topic, error)], "an owner that comes later hears of it, too"
        bench.create(TOPIC)
        await bench.settled()
        await bench.until(lambda: late.holds[1:] == [(topic, None)] == bench.owner.holds[1:])
        assert bench.values() == [b"b", b"c"]
        assert late.confirmed == [b"c"]

    simulated(scene)


def test_a_topic_that_is_made_again_with_fewer_partitions_refuses_what_may_be_written_again() -> None:
    async def scene(bench: Bench) -> None:
        keys = {partition_of(b"%d" % number, 4): b"%d" % number for number in range(20)}
        bench.owner.write(b"a", key=keys[3])
        await bench.settled()
        bench.world.cluster.delete_topic(TOPIC)
        bench.owner.write(b"b", key=keys[3])
        await asyncio.sleep(10)
        bench.create(TOPIC, 2)
        await bench.settled()
        error = bench.owner.refused[b"b"]
        assert isinstance(error, UnknownTopicOrPartitionError)
        assert error.retriable
        bench.owner.write(b"b", key=keys[3])
        await bench.settled()
        assert bench.owner.confirmed == [b"a", b"b"]

    simulated(scene, partitions=4)


@pytest.mark.parametrize("code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED])
def test_records_wait_for_the_right_to_write(code: ErrorCode) -> None:
    async def scene(bench: Bench) -> None:
        denied = bench.world.cluster.faults.on(ApiKey.PRODUCE, refusing(code))
        bench.owner.write(b"a", b"b")
        await asyncio.sleep(600)
        [(topic, error)] = bench.owner.holds
        assert topic == TOPIC
        assert isinstance(error, TopicAuthorizationFailedError | ClusterAuthorizationFailedError)
        assert str(error).startswith("This client needs WRITE on the topic orders (")
        assert bench.owner.outcomes == []
        bench.world.cluster.faults.remove(denied)
        await bench.settled()
        await bench.until(lambda: bench.owner.holds[1:] == [(TOPIC, None)])
        assert bench.values() == [b"a", b"b"]

    simulated(scene)


def test_records_wait_for_a_producer_id() -> None:
    async def scene(bench: Bench) -> None:
        response = InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, producer_epoch=-1)
        denied = bench.world.cluster.faults.on(ApiKey.INIT_PRODUCER_ID, answer(response))
        bench.owner.write(b"v")
        await asyncio.sleep(600)
        [(topic, error)] = bench.owner.holds
        assert isinstance(error, ClusterAuthorizationFailedError)
        assert str(error).endswith("acls add --allow User:NAME --topic orders --operation WRITE")
        bench.world.cluster.faults.remove(denied)
        await bench.settled()
        await bench.until(lambda: bench.owner.holds[1:] == [(topic, None)])
        assert bench.values() == [b"v"]

    simulated(scene)


def test_records_wait_for_brokers() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"a")
        await bench.settled()
        await bench.world.cluster.stop_broker_async(1)
        bench.owner.write(b"b")
        await asyncio.sleep(3_600)
        [(topic, error)] = bench.owner.holds
        assert error is not None
        await bench.world.cluster.start_broker_async(1)
        await bench.settled()
        await bench.until(lambda: bench.owner.holds[1:] == [(topic, None)])
        assert bench.values() == [b"a", b"b"]

    simulated(scene)


def test_a_broker_that_takes_records_and_does_not_answer_is_an_outage() -> None:
    async def scene(bench: Bench) -> None:
        silent = bench.world.cluster.faults.on(ApiKey.PRODUCE, DROP_RESPONSE)
        bench.owner.write(b"a")
        await bench.until(lambda: bool(bench.owner.holds))
        [(_, error)] = bench.owner.holds
        assert isinstance(error, OperationTimeoutError)
        assert str(error) == "No record of orders was confirmed for 5 s, although some wait. Are all brokers up?"
        bench.world.cluster.faults.remove(silent)
        await bench.settled()
        assert bench.values() == [b"a"]

    simulated(scene)


def test_a_record_that_makes_brokers_close_the_connection_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.records.confirmed.topic_producer._LARGEST_REQUEST", 100_000)

    async def scene(bench: Bench) -> None:
        bench.world.cluster.faults.on(ApiKey.PRODUCE, DROP_CONNECTION)
        bench.owner.write(b"v" * 200_000)
        await bench.until(lambda: bool(bench.owner.holds))
        [(_, error)] = bench.owner.holds
        assert str(error).startswith("A record for orders-0 has 200,073 bytes, and the broker closes the connection.")

    simulated(scene)


def test_a_slow_topic_delays_no_other_topic() -> None:
    async def scene(bench: Bench) -> None:
        bench.create("slow")
        bench.owner.write(b"a")
        bench.owner.write(b"b", topic="slow")
        await bench.settled()
        slow = bench.world.cluster.faults.on(ApiKey.PRODUCE, delay(20_000), when=bench.of_topic("slow"))
        begun_ms = bench.world.simulation.clock.now_ms()
        for number in range(100):
            bench.owner.write(b"slow %d" % number, topic="slow")
            bench.owner.write(b"%d" % number)
            await bench.until(lambda number=number: len(bench.values()) == number + 2)  # type: ignore[misc]
        await bench.until(lambda: len(bench.owner.confirmed) == 102)
        assert bench.world.simulation.clock.now_ms() - begun_ms < 5_000
        bench.world.cluster.faults.remove(slow)
        await bench.settled()
        assert len(bench.values("slow")) == 101

    simulated(scene)


# -------------------------------------------------------------------------------------------- withdrawing


def test_a_withdrawn_write_leaves_no_gap() -> None:
    async def scene(bench: Bench) -> None:
        ids = bench.world.requests(ApiKey.INIT_PRODUCER_ID)
        bench.owner.write(b"first")
        await bench.settled()
        bench.world.cluster.faults.on(ApiKey.PRODUCE, delay(1_000), times=1)
        values = numbered(60)
        bench.owner.write(*values)
        await asyncio.sleep(0.1)
        withdrawn = [value for value in values[1::2] if bench.owner.room.withdraw(value)]
        assert 10 < len(withdrawn) < 30, "some were sent"
        assert bench.owner.room.unconfirmed == 60 - len(withdrawn)
        assert not bench.owner.room.withdraw(withdrawn[0])
        await bench.settled()
        rest = [value for value in values if value not in withdrawn]
        assert bench.values() == [b"first", *rest]
        assert bench.owner.confirmed == [b"first", *rest]
        assert len(ids) == 1

    simulated(scene, small_batches())


def test_a_write_that_waits_for_its_topic_can_be_withdrawn() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"a", b"b", topic="later")
        await asyncio.sleep(10)
        assert bench.owner.room.withdraw(b"a")
        bench.create("later")
        await bench.settled()
        assert bench.values("later") == [b"b"]
        assert bench.owner.confirmed == [b"b"]

    simulated(scene)


def test_a_topic_is_not_held_any_more_when_nothing_waits_for_it() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"a", topic="later")
        await bench.until(lambda: len(bench.owner.holds) == 1)
        assert bench.owner.room.withdraw(b"a")
        await bench.until(lambda: len(bench.owner.holds) == 2)
        assert bench.owner.holds[1] == ("later", None)
        assert bench.owner.outcomes == []
        assert bench.writer.pending == 0

    simulated(scene)


def test_a_write_that_was_sent_cannot_be_withdrawn() -> None:
    async def scene(bench: Bench) -> None:
        bench.world.cluster.faults.on(ApiKey.PRODUCE, LOSE_RESPONSE, times=1)
        bench.owner.write(b"v")
        await bench.until(lambda: bench.values() == [b"v"])
        assert not bench.owner.room.withdraw(b"v")
        await bench.settled()
        assert bench.owner.confirmed == [b"v"]
        assert not bench.owner.room.withdraw(b"v")
        assert not bench.owner.room.withdraw("unknown")

    simulated(scene)


# ----------------------------------------------------------------------------------------------- the end


def test_a_closed_writer_tells_nothing_and_takes_nothing() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"dropped")
        await bench.writer.close()
        await asyncio.sleep(1)
        assert bench.owner.outcomes == []
        with pytest.raises(ClosedError):
            bench.owner.room.write([RecordToWrite(TOPIC, None, b"v")], "token")
        assert bench.writer.pending == 0

    simulated(scene)


# ----------------------------------------------------------------------------------------------- metrics


def test_metrics_have_sources() -> None:
    async def scene(bench: Bench) -> None:
        bench.owner.write(b"first")
        await bench.settled()
        bench.owner.write(*numbered(10))
        whole = bench.writer.metric_sources.buffer_bytes
        assert bench.writer.metric_sources.free_bytes < whole == 64 * 1024 * 1024
        await bench.settled()
        sources = bench.writer.metric_sources
        assert (sources.sensors.sent.total, sources.free_bytes) == (11, whole)

    simulated(scene)
