"""What is read and written element by element ends too early, or pauses after each element."""

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.errors import MalformedFrameError
from kafka_groups.protocol.codec import (
    decode_request_header,
    decoding_request,
    encode_request,
    encode_response,
    encoding_response,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartition, ShareFetchRequest, ShareFetchTopic
from tests.support.generators import ended
from tests.support.requests.protocol_messages import SHAPES


@given(data=st.data())
@settings(max_examples=50)
def test_what_ends_too_early_is_refused(data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from(SHAPES))
    body = shape.encode_body(data.draw(shape.messages()))
    if body:
        with pytest.raises(MalformedFrameError):
            ended(shape.decoding_body(body[: data.draw(st.integers(0, len(body) - 1))]))


def test_there_is_a_pause_after_each_element() -> None:
    partitions = tuple(ShareFetchPartition(partition_index=index) for index in range(7))
    topics = tuple(
        ShareFetchTopic(topic_id=topic_id, partitions=partitions)
        for topic_id in (UUID(int=1 + number) for number in range(3))
    )
    request = ShareFetchRequest(
        group_id="g", member_id="m", share_session_epoch=0, max_wait_ms=0, min_bytes=1, max_records=1, batch_size=1,
        topics=topics,
    )  # fmt: skip
    frame = encode_request(request, 2, 1, "client")
    assert ended(decoding_request(frame, decode_request_header(frame))) == (request, 3 * 7 + 3)


def test_there_is_no_pause_without_elements() -> None:
    frame = encode_request(MetadataRequest(topics=()), 13, 1, None)
    assert ended(decoding_request(frame, decode_request_header(frame))) == (MetadataRequest(topics=()), 0)
    response = MetadataResponse(brokers=(), cluster_id="c", controller_id=1, topics=())
    assert ended(encoding_response(response, 13, 1)) == (encode_response(response, 13, 1), 0)
