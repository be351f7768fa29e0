"""Messages of classic, consumer and streams groups and of offsets: we read in them what Kafka's classes read."""

import pytest

from tests.recording.group_messages import SHAPES_OF_GROUPS, KafkasMessage, as_json, examples, load_messages

MESSAGES = load_messages()
each_message = pytest.mark.parametrize("kafkas", MESSAGES, ids=lambda kafkas: kafkas.shape)


def test_every_version_was_shown_to_kafka() -> None:
    assert {kafkas.shape for kafkas in MESSAGES} == SHAPES_OF_GROUPS.keys()


def test_kafka_writes_the_bytes_that_it_was_given() -> None:
    assert [kafkas.written for kafkas in MESSAGES] == [shape.encode_body(each).hex() for shape, each in examples()]


@each_message
def test_we_read_what_kafka_reads(kafkas: KafkasMessage) -> None:
    shape = SHAPES_OF_GROUPS[kafkas.shape]

    assert as_json(shape.decode_body(bytes.fromhex(kafkas.written)), shape.schema) == kafkas.read
