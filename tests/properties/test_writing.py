"""Our writers write lengths as kio's own writer does, and refuse what the protocol cannot carry."""

import io

import pytest
from kio.serial import entity_writer

from kafka_groups.errors import ProtocolError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import encode_request, encode_response, request_schema
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import (
    ShareFetchableTopicResponse,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kafka_groups.protocol.writers import writer


@pytest.mark.parametrize("length", [0, 126, 127, 128, 16_382, 16_383, 16_384, 40_000])
def test_lengths_are_written_as_variable_length_integers(length: int) -> None:
    request = FindCoordinatorRequest(coordinator_keys=("x" * length,))
    schema = request_schema(ApiKey.FIND_COORDINATOR, 4)
    written, parts = io.BytesIO(), list[bytes]()
    entity_writer(schema)(written, request)
    writer(schema)(request, parts.append)
    assert b"".join(parts) == written.getvalue()


def test_a_number_that_does_not_fit_is_refused() -> None:
    request = ShareFetchRequest(
        group_id="g", member_id="m", share_session_epoch=2**31, max_wait_ms=0, min_bytes=1, max_records=1, batch_size=1
    )
    with pytest.raises(ProtocolError, match="Cannot encode ShareFetchRequest"):
        encode_request(request, 2, 0, None)


def test_an_element_that_does_not_fit_is_refused() -> None:
    batch = AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=(200,))
    partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=(batch,))
    request = ShareAcknowledgeRequest(
        group_id="g", member_id="m", share_session_epoch=1, topics=(AcknowledgeTopic(partitions=(partition,)),)
    )
    with pytest.raises(ProtocolError, match="Cannot encode ShareAcknowledgeRequest"):
        encode_request(request, 2, 0, None)


def test_a_null_that_the_protocol_lacks_is_refused() -> None:
    partition = ShareFetchPartitionData(partition_index=0, records=None)
    response = ShareFetchResponse(
        acquisition_lock_timeout_ms=0, responses=(ShareFetchableTopicResponse(partitions=(partition,)),)
    )
    with pytest.raises(ProtocolError, match="records must not be null"):
        encode_response(response, 2, 0)
