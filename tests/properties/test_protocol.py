"""Every message in every version is read back as it was written, at once and element by element.

What our writers write is what kio's own writer writes, byte for byte.
"""

import dataclasses
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_writer

from kafka_groups.protocol.codec import correlation_id_of, decode_request, decode_request_header, decode_response
from kafka_groups.protocol.error_codes import ErrorCode
from tests.support.generators import ended
from tests.support.requests.protocol_messages import CLIENT_ID, CORRELATION_ID, SHAPES, Shape


def slow_if_between(shape: Shape) -> Any:
    """The shape, in the slow tests if its version is neither the oldest nor the newest."""
    is_between = shape.api.versions.low < shape.version < shape.api.versions.high
    return pytest.param(shape, marks=[pytest.mark.slow] if is_between else [])


@pytest.mark.parametrize("shape", [slow_if_between(each) for each in SHAPES], ids=str)
@given(data=st.data())
@settings(max_examples=settings().max_examples // 6)
def test_every_message(shape: Shape, data: st.DataObject) -> None:
    message = data.draw(shape.messages())
    _is_read_back_from_its_frame(shape, message)
    body = shape.encode_body(message)
    _is_written_as_kio_writes_it(shape, message, body)
    _is_read_and_written_the_same_element_by_element(shape, message, body)
    if not _may_end_with_tags(shape):
        _is_read_without_the_tagged_fields_of_newer_versions(shape, message, body)


def _is_read_back_from_its_frame(shape: Shape, message: Any) -> None:
    payload = shape.encode(message)
    if shape.kind == "response":
        assert correlation_id_of(payload) == CORRELATION_ID
        assert decode_response(payload, shape.api.key, shape.version) == message
        return
    header = decode_request_header(payload)
    assert (header.api_key, header.version) == (shape.api.key, shape.version)
    assert (header.correlation_id, header.client_id) == (CORRELATION_ID, CLIENT_ID)
    assert decode_request(payload, header) == message


def _is_written_as_kio_writes_it(shape: Shape, message: Any, body: bytes) -> None:
    written = io.BytesIO()
    entity_writer(shape.schema)(written, message)
    assert body == written.getvalue()


def _is_read_and_written_the_same_element_by_element(shape: Shape, message: Any, body: bytes) -> None:
    assert ended(shape.decoding_body(body))[0] == message
    parts: list[bytes] = []
    for _pause in shape.writing_body(message, parts.append):
        pass
    assert b"".join(parts) == body


def _is_read_without_the_tagged_fields_of_newer_versions(shape: Shape, message: Any, body: bytes) -> None:
    assert ended(shape.decoding_body(body[:-1] + b"\x01\x63\x02ab"))[0] == message


def _may_end_with_tags(shape: Shape) -> bool:
    """Whether the last byte of a message may be something else than an empty list of tagged fields."""
    return not shape.schema.__flexible__ or any("tag" in field.metadata for field in dataclasses.fields(shape.schema))


@given(st.integers(-(2**15), 2**15 - 1))
def test_every_number_is_an_error_code(number: int) -> None:
    code = ErrorCode(number)

    assert code == number
    assert code.name == f"UNKNOWN({number})" or ErrorCode[code.name] is code
