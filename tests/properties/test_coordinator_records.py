"""Every record of every type is read back as it was written, and damaged ones are refused by an error of ours.

What we write is what kio writes.
"""

import dataclasses
import io
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_writer

from kafka_groups.errors import MalformedRecordError, UnknownRecordTypeError
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord, RecordTable, RecordType
from kafka_groups.protocol.schemas.plain_schema import is_nullable_structure
from tests.support.broker.coordinator_records import (
    RECORD_TYPES,
    VERSIONS,
    records_of,
    tombstones_of,
    values_of,
    with_value,
    written_in,
)


@pytest.mark.parametrize(("table", "record_type"), RECORD_TYPES, ids=repr)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=settings().max_examples)
def test_every_record(table: RecordTable[Any], record_type: RecordType, data: st.DataObject, seed: int) -> None:
    record = data.draw(records_of(record_type))
    key, value = table.encode(record)
    _is_read_back(table, record, key, value)
    _is_written_as_kio_writes_it(record_type, record, key, value)
    _is_refused_or_read_if_damaged(table, key, value, random.Random(seed))


@pytest.mark.parametrize(("table", "record_type", "version"), VERSIONS, ids=repr)
@given(data=st.data())
@settings(max_examples=settings().max_examples // 2)
def test_every_version_is_read(
    table: RecordTable[Any], record_type: RecordType, version: int, data: st.DataObject
) -> None:
    deleted, value = data.draw(tombstones_of(record_type)), data.draw(values_of(record_type, version))
    key, _ = table.encode(deleted)

    assert table.decode(key, written_in(record_type, version, value)) == with_value(deleted, value)


def _is_read_back(table: RecordTable[Any], record: CoordinatorRecord, key: bytes, value: bytes | None) -> None:
    assert table.decode(key, value) == record
    assert (value is None) == (record.value is None)
    assert table.most_bytes(record) >= len(key) + len(value or b"")


def _is_written_as_kio_writes_it(
    record_type: RecordType, record: CoordinatorRecord, key: bytes, value: bytes | None
) -> None:
    assert key[2:] == _by_kio(record_type.key_binding.schema, record)
    if value is None:
        return
    schema = record_type.value_binding(record_type.version_of(record.value)).schema
    if not any(map(is_nullable_structure, dataclasses.fields(schema))):  # kio writes these otherwise
        assert value[2:] == _by_kio(schema, record.value)


def _is_refused_or_read_if_damaged(
    table: RecordTable[Any], key: bytes, value: bytes | None, rng: random.Random
) -> None:
    for damaged in ((_damaged(key, rng), value), (key, _damaged(value or b"", rng))):
        try:
            read = table.decode(*damaged)
        except (MalformedRecordError, UnknownRecordTypeError):
            continue
        assert type(read) in {each.record_class for each in table.types}


def _by_kio(schema: Any, message: Any) -> bytes:
    written = io.BytesIO()
    entity_writer(schema)(written, message)
    return written.getvalue()


def _damaged(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    match rng.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + rng.randbytes(rng.randint(1, 8)) + data[at:]
        case 2:
            return data[:at] + b"\xff\xff\xff\xff\x07" + data[at + 5 :]
    return data[:at] + rng.randbytes(1) + data[at + 1 :]
