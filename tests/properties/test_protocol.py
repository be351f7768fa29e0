"""Every message in every version is read back as it was written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.protocol.codec import correlation_id_of, decode_request, decode_request_header, decode_response
from kafka_groups.protocol.error_codes import ErrorCode
from tests.support.requests.protocol_messages import CLIENT_ID, CORRELATION_ID, SHAPES, Shape


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@given(data=st.data())
@settings(max_examples=8)
def test_what_is_written_is_read_back(shape: Shape, data: st.DataObject) -> None:
    message = data.draw(shape.messages())
    payload = shape.encode(message)

    if shape.kind == "response":
        assert correlation_id_of(payload) == CORRELATION_ID
        assert decode_response(payload, shape.api.key, shape.version) == message
        return
    header = decode_request_header(payload)
    assert (header.api_key, header.version) == (shape.api.key, shape.version)
    assert (header.correlation_id, header.client_id) == (CORRELATION_ID, CLIENT_ID)
    assert decode_request(payload, header) == message


@given(st.integers(-(2**15), 2**15 - 1))
def test_every_number_is_an_error_code(number: int) -> None:
    code = ErrorCode(number)

    assert code == number
    assert code.name == f"UNKNOWN({number})" or ErrorCode[code.name] is code
