"""Records that we write, as Kafka reads them: the formatters of its console consumer, and its coordinators.

The records are generated for every type, in every version of its values. For each, Kafka must print every field with
our value, and write the same bytes that we wrote.
"""

import base64
import dataclasses
from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord, RecordTable, RecordType
from kafka_groups.protocol.schemas.plain_schema import Schema, is_nullable_structure, without_none
from kafka_groups.types import member_id_of
from tests.support.broker.coordinator_records import (
    VERSIONS,
    tombstone,
    tombstones_of,
    values_of,
    with_value,
    written_in,
)
from tests.support.kafka.kafka_classpath import libs_or_skip, tools_or_skip
from tests.support.kafka.kafka_records import KafkaRecords, KafkasView

SEED = 932
RECORDS_OF_A_VERSION = 100
WITH_UNITS = frozenset({
    *("ConsumerGroupMemberMetadataValue", "ClassicMemberMetadata"),
    "StreamsGroupMemberMetadataValue",
    "TransactionLogValue",
})  # fmt: skip
"""In these, Kafka's names of times end in `Ms`, too."""

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@attrs.frozen
class Seen:
    """A record of ours, its bytes, and Kafka's view of it."""

    record_type: RecordType
    version: int
    record: CoordinatorRecord
    key: bytes
    value: bytes | None
    kafkas: KafkasView


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[Seen]:
    kafka = KafkaRecords(tmp_path_factory.mktemp("java"), libs_or_skip(), tools_or_skip())
    written = [
        (table, record_type, version, record, *_bytes(table, record_type, version, record))
        for table, record_type, version in VERSIONS
        for record in _generated(record_type, version)
    ]
    views = kafka.view((table.topic, key, value) for table, _, _, _, key, value in written)
    return [Seen(*ours[1:], view) for ours, view in zip(written, views, strict=True)]


def test_the_records_are_worth_comparing(seen: list[Seen]) -> None:
    for _, record_type, version in VERSIONS:
        of_version = [each for each in seen if (each.record_type, each.version) == (record_type, version)]
        assert len(of_version) > RECORDS_OF_A_VERSION / 2
        assert any(each.value is None for each in of_version)
        assert sum(each.value is not None for each in of_version) > len(of_version) / 4


def test_kafka_prints_what_we_wrote(seen: list[Seen]) -> None:
    for each in seen:
        record_type, record = each.record_type, each.record
        expected: dict[str, Any] = {
            "key": {"type": record_type.number, "data": _as_json(record, record_type.key_binding.schema)},
            "value": None,
        }
        if record.value is not None:
            schema = record_type.value_binding(each.version).schema
            expected["value"] = {"version": each.version, "data": _as_json(record.value, schema)}
        assert each.kafkas.printed == expected


def test_kafka_writes_the_same_bytes(seen: list[Seen]) -> None:
    for each in seen:
        assert (each.kafkas.key, each.kafkas.value) == (each.key, each.value), each.record


def _bytes(
    table: RecordTable[Any], record_type: RecordType, version: int, record: CoordinatorRecord
) -> tuple[bytes, bytes | None]:
    key, _ = table.encode(tombstone(record))
    return key, None if record.value is None else written_in(record_type, version, record.value)


def _generated(record_type: RecordType, version: int) -> list[CoordinatorRecord]:
    records: list[CoordinatorRecord] = []

    @seed(SEED)
    @settings(max_examples=RECORDS_OF_A_VERSION, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(tombstones_of(record_type), st.none() | values_of(record_type, version))
    def collect(deleted: CoordinatorRecord, value: object | None) -> None:
        records.append(with_value(deleted, value))

    collect()
    return records


def _as_json(value: Any, schema: Schema) -> Any:
    """The value as Kafka's JSON: names in camel case, ids in base64, and no tagged fields that have their default."""
    fields = {field.name: field for field in dataclasses.fields(schema)}
    return {
        _camel(name, schema): _plain(getattr(value, name), field)
        for name, field in fields.items()
        if "tag" not in field.metadata or is_nullable_structure(field) or getattr(value, name) != field.default
    }


def _plain(value: Any, field: "dataclasses.Field[Any]") -> Any:
    if isinstance(value, UUID):
        return member_id_of(value)
    if attrs.has(type(value)):
        return _as_json(value, without_none(field.type)[0])
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple):
        return [_element(element, field) for element in value]
    return value


def _element(element: Any, field: "dataclasses.Field[Any]") -> Any:
    if not attrs.has(type(element)):
        return element
    schema: Schema = without_none(field.type)[0].__args__[0]
    return _as_json(element, schema)


def _camel(name: str, schema: Schema) -> str:
    kept = name if schema.__name__ in WITH_UNITS else name.removesuffix("_ms")
    first, *others = kept.split("_")
    return first + "".join(part.capitalize() for part in others)
