"""From bytes to deliveries: gaps, control batches, corruption, what was cut off, compressions, deserialisers."""

import json
from functools import partial
from typing import Any

import pytest
from confluent_kafka.serialization import MessageField, StringDeserializer

from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.errors import ConfigurationError, CorruptRecordError, KafkaGroupsError, RecordDeserializationError
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import crc32c
from kafka_groups.protocol.record_builder import NewRecord, build_batch, build_control_batch
from kafka_groups.serdes.contexts import DeserializationContext, takes_context
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.types import AcknowledgeType
from tests.unit.share.deliveries import acquired, batch, decoded, types_of

GAP, ACCEPT, RELEASE, REJECT = (
    AcknowledgeType.GAP,
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
)


def corrupted(blob: bytes) -> bytes:
    return blob[:-1] + bytes([blob[-1] ^ 0xFF])


def unreadable(first: int, last: int) -> bytes:
    """A batch whose checksum is right and whose records are nonsense."""
    blob = bytearray(batch(first, last))
    blob[61:] = b"\x7f" * (len(blob) - 61)
    blob[17:21] = crc32c(memoryview(blob)[21:]).to_bytes(4, "big")
    return bytes(blob)


def decided(delivery: DeliveredRecords) -> dict[int, int]:
    return types_of(m.encode_batches(delivery.marks, delivery.first_offset))


def values(delivery: DeliveredRecords) -> list[Any]:
    return [record.value for record in delivery]


def decode_one(delivery: DeliveredRecords, blob: bytes | None, **decoder: Any) -> DeliveredRecords:
    assert decoded(Decoder(**decoder), delivery, blob) == [delivery]
    return delivery


@pytest.mark.parametrize("compression", Compression)
def test_all_compressions(compression: Compression) -> None:
    delivery = decode_one(acquired((0, 9)), batch(0, 4, compression=compression) + batch(5, 9, compression=compression))
    assert values(delivery) == [b"v%d" % offset for offset in range(10)]
    assert decided(delivery) == {}


def test_offsets_without_a_record_are_gaps_within_batches_between_and_after_them() -> None:
    blob = batch(2, 5, missing=[3, 5]) + batch(8, 9)
    delivery = decode_one(acquired((1, 11)), blob)
    assert [record.offset for record in delivery] == [2, 4, 8, 9]
    assert len(delivery) == 4
    assert decided(delivery) == dict.fromkeys((1, 3, 5, 6, 7, 10, 11), GAP)


def test_gaps_outside_of_what_was_acquired_are_somebody_elses() -> None:
    delivery = decode_one(acquired((3, 4), (7, 7)), batch(0, 9, missing=[0, 4, 5, 9]))
    assert [record.offset for record in delivery] == [3, 7]
    assert decided(delivery) == {4: GAP}


def test_control_batches_are_gaps() -> None:
    blob = batch(0, 1) + build_control_batch(2, is_commit=True, producer_id=1) + batch(3, 3)
    delivery = decode_one(acquired((0, 3)), blob)
    assert values(delivery) == [b"v0", b"v1", b"v3"]
    assert decided(delivery) == {2: GAP}


def test_nothing_but_gaps_has_no_records_and_still_something_to_say() -> None:
    delivery = decode_one(acquired((5, 7)), b"")
    assert (len(delivery), list(delivery)) == (0, [])
    assert decided(delivery) == dict.fromkeys((5, 6, 7), GAP)
    assert not delivery.has_open
    assert not delivery.is_done


def test_a_part_of_a_batch_can_be_acquired() -> None:
    delivery = decode_one(acquired((2, 3)), batch(0, 9))
    assert values(delivery) == [b"v2", b"v3"]


def test_a_corrupt_batch_is_rejected_whole_and_the_others_are_delivered() -> None:
    delivery = acquired((0, 8))
    result = decoded(Decoder(), delivery, batch(0, 2) + corrupted(batch(3, 5)) + batch(6, 8))
    assert result[0] is delivery
    assert isinstance(result[1], CorruptRecordError)
    assert "offset 3" in str(result[1])
    assert values(delivery) == [b"v0", b"v1", b"v2", b"v6", b"v7", b"v8"]
    assert decided(delivery) == dict.fromkeys((3, 4, 5), REJECT)


def test_a_corrupt_batch_that_was_not_acquired_is_nobodys_business() -> None:
    blob = batch(0, 1) + corrupted(batch(2, 3))
    delivery = decode_one(acquired((0, 1)), blob)
    assert values(delivery) == [b"v0", b"v1"]


def test_checksums_can_be_left_unchecked() -> None:
    blob = bytearray(batch(0, 0))
    blob[17] ^= 0xFF
    assert values(decode_one(acquired((0, 0)), bytes(blob), check_crcs=False)) == [b"v0"]


@pytest.mark.parametrize("cut", [1, 20, 45], ids=["in a record", "in the header", "in the first field"])
def test_what_was_cut_off_is_released(cut: int) -> None:
    second = batch(3, 5)
    blob = batch(0, 2) + second[: max(1, len(second) - cut) if cut == 1 else 65 - cut]
    delivery = decode_one(acquired((0, 5)), blob)
    assert values(delivery) == [b"v0", b"v1", b"v2"]
    assert decided(delivery) == dict.fromkeys((3, 4, 5), RELEASE)


def test_bytes_of_an_older_format_are_released_with_an_error() -> None:
    old = bytearray(batch(3, 5))
    old[16] = 1
    delivery = acquired((0, 5))
    result = decoded(Decoder(), delivery, batch(0, 2) + bytes(old))
    assert isinstance(result[1], CorruptRecordError)
    assert values(delivery) == [b"v0", b"v1", b"v2"]
    assert decided(delivery) == dict.fromkeys((3, 4, 5), RELEASE)


def test_a_batch_that_turns_out_unreadable_is_rejected_and_those_after_it_are_still_delivered() -> None:
    delivery = decode_one(acquired((0, 8)), batch(0, 2) + unreadable(3, 5) + batch(6, 8))
    assert values(delivery) == [b"v0", b"v1", b"v2", b"v6", b"v7", b"v8"]
    assert isinstance(delivery.undecodable, CorruptRecordError)
    assert decided(delivery) == dict.fromkeys((3, 4, 5), REJECT)


# ------------------------------------------------------------------------------------ deserialisers


def number(raw: bytes) -> int:
    return int(raw.removeprefix(b"v"))


def picky(raw: bytes) -> int:
    if raw in (b"v2", b"v3", b"v6"):
        raise ValueError(f"not {raw!r}")
    return number(raw)


def test_keys_and_values_are_deserialised_and_nulls_are_left_alone() -> None:
    delivery = decode_one(acquired((0, 1)), batch(0, 1), value_deserializer=number, key_deserializer=bytes.decode)
    assert [(record.key, record.value, record.raw_key, record.raw_value) for record in delivery] == [
        ("k", 0, b"k", b"v0"),
        ("k", 1, b"k", b"v1"),
    ]


def test_a_record_that_fails_is_delivered_with_its_error_and_without_a_value_and_released() -> None:
    delivery = decode_one(acquired((0, 3)), batch(0, 3), value_deserializer=picky)
    records = list(delivery)
    assert [record.value for record in records] == [0, 1, None, None]
    assert [record.raw_value for record in records] == [b"v0", b"v1", b"v2", b"v3"]
    error = records[2].error
    assert isinstance(error, RecordDeserializationError)
    assert (error.topic, error.partition, error.offset) == ("orders", 0, 2)
    assert (error.key, error.value) == (b"k", b"v2")
    assert isinstance(error.__cause__, ValueError)
    assert records[0].error is None
    delivery.accept_open()
    assert decided(delivery) == {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: RELEASE}


def test_the_application_may_say_otherwise() -> None:
    delivery = decode_one(acquired((0, 3)), batch(0, 3), value_deserializer=picky)
    delivery.acknowledge(2, REJECT)
    assert decided(delivery) == {2: REJECT, 3: RELEASE}


def outline(result: list[DeliveredRecords | KafkaGroupsError]) -> list[object]:
    return [
        values(item) if isinstance(item, DeliveredRecords) else getattr(item, "offset", "corrupt") for item in result
    ]


def test_raising_gives_the_records_before_then_the_error_then_the_rest() -> None:
    delivery = acquired((0, 7, 2))
    result = decoded(Decoder(value_deserializer=picky, raise_errors=True), delivery, batch(0, 7))
    # An empty delivery after each error is the record in question: its offset can still be acknowledged.
    assert outline(result) == [[0, 1], 2, [], 3, [], [4, 5], 6, [], [7]]
    parts = [item for item in result if isinstance(item, DeliveredRecords)]
    assert {offset: kind for part in parts for offset, kind in decided(part).items()} == {
        2: RELEASE,
        3: RELEASE,
        6: RELEASE,
    }
    assert [(part.first_offset, part.last_offset) for part in parts] == [(0, 1), (2, 2), (3, 3), (4, 5), (6, 6), (7, 7)]
    assert all(record.delivery_count == 2 for part in parts for record in part)


def test_raising_at_the_first_and_the_last_record() -> None:
    def no(raw: bytes) -> int:
        raise ValueError(raw)

    result = decoded(Decoder(value_deserializer=no, raise_errors=True), acquired((5, 6)), batch(5, 6))
    assert outline(result) == [5, [], 6, []]


def test_raising_with_a_corrupt_batch_behind() -> None:
    blob = batch(0, 3) + corrupted(batch(4, 5))
    result = decoded(Decoder(value_deserializer=picky, raise_errors=True), acquired((0, 5)), blob)
    assert outline(result) == [[0, 1], 2, [], 3, [], [], "corrupt"]
    assert isinstance(result[-2], DeliveredRecords)
    assert decided(result[-2]) == {4: REJECT, 5: REJECT}


def test_an_unreadable_batch_with_deserialisers_is_an_error_after_the_good_records() -> None:
    delivery = acquired((0, 4))
    result = decoded(Decoder(value_deserializer=number), delivery, unreadable(0, 1) + batch(2, 4))
    assert outline(result) == [[2, 3, 4], "corrupt"]
    assert decided(delivery) == {0: REJECT, 1: REJECT}


def test_a_key_that_fails_is_none_and_the_value_is_still_there() -> None:
    def no(raw: bytes) -> int:
        raise ValueError(raw)

    (record,) = decode_one(acquired((0, 0)), batch(0, 0), key_deserializer=no, value_deserializer=number)
    assert (record.key, record.raw_key, record.value) == (None, b"k", 0)
    assert "the key of the record orders-0@0" in str(record.error)


# ------------------------------------------------------------------------------- how deserialisers are called


class Confluent:
    """Called as confluent-kafka calls its deserialisers."""

    def __call__(self, data: bytes | None, ctx: Any = None) -> tuple[object, ...]:
        return (data, ctx.topic, ctx.field, ctx.headers)


def required(data: bytes, where: DeserializationContext) -> tuple[object, ...]:
    return (data, where.topic, where.field, where.headers)


@pytest.mark.parametrize("deserializer", [Confluent(), required, partial(required)])
def test_a_deserialiser_of_two_parameters_gets_topic_field_and_headers(deserializer: Any) -> None:
    log = build_batch([NewRecord(value=b"v", key=b"k", headers=[("id", b"7")])], 0)
    (record,) = decode_one(acquired((0, 0)), log, value_deserializer=deserializer, key_deserializer=deserializer)
    assert record.value == (b"v", "orders", "value", [("id", b"7")])
    assert record.key == (b"k", "orders", "key", [("id", b"7")])


def with_encoding(data: bytes, encoding: str = "utf-8") -> str:
    return data.decode(encoding)


def starred(*data: bytes) -> str:
    return data[0].decode()


@pytest.mark.parametrize("deserializer", [bytes.decode, str, with_encoding, starred, lambda raw: raw.decode()])
def test_every_other_deserialiser_gets_the_bytes_alone(deserializer: Any) -> None:
    (record,) = decode_one(acquired((0, 0)), batch(0, 0), value_deserializer=deserializer)
    assert record.value in ("v0", "b'v0'")
    assert not takes_context(deserializer)
    assert not takes_context(int)
    assert not takes_context(json.loads)


def test_confluent_kafkas_own_deserialisers_are_called_with_a_context() -> None:
    assert takes_context(StringDeserializer())
    (record,) = decode_one(acquired((0, 0)), batch(0, 0), value_deserializer=StringDeserializer())
    assert record.value == "v0"
    assert str(MessageField.KEY) == DeserializationContext("t", "key", []).field


async def later(raw: bytes) -> bytes:
    return raw


class Later:
    async def __call__(self, raw: bytes) -> bytes:
        return raw


@pytest.mark.parametrize("deserializer", [later, Later()])
def test_an_asynchronous_deserialiser_is_refused(deserializer: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"value_deserializer.*async def.*give an ordinary function"):
        share_consumer_config(None, bootstrap_servers="b:1", group_id="g", value_deserializer=deserializer)
