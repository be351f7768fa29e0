"""What a version does not support, what a newer peer may add, and what damaged lengths come to."""

from typing import Any
from uuid import UUID

import attrs
import pytest

from kafka_groups.errors import MalformedFrameError, ProtocolError
from kafka_groups.protocol.apis import APIS, ApiKey, VersionRange, api_of
from kafka_groups.protocol.binding import bind
from kafka_groups.protocol.codec import request_binding, response_binding
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import is_ignorable
from kafka_groups.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kafka_groups.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kafka_groups.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.support.requests.protocol_messages import SHAPES, Shape

FETCH = ShareFetchRequest(
    group_id="g", member_id="m", share_session_epoch=1, max_wait_ms=0, min_bytes=0, max_records=0, batch_size=0
)
ACKNOWLEDGE = ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=1)
UNKNOWN_TAG = b"\x01\x4b\x02ab"
TOPIC_ID = UUID(int=5)


# ------------------------------------------------------------------------------------------ lost values


@pytest.mark.parametrize(
    ("request_", "key"), [(FETCH, ApiKey.SHARE_FETCH), (ACKNOWLEDGE, ApiKey.SHARE_ACKNOWLEDGE)], ids=["fetch", "ack"]
)
def test_renewal_is_refused_in_version_1_and_carried_in_version_2(request_: Any, key: ApiKey) -> None:
    renewing = attrs.evolve(request_, is_renew_ack=True)

    with pytest.raises(ProtocolError, match=r"v1 does not support is_renew_ack=True"):
        request_binding(key, 1).encode(renewing)
    assert request_binding(key, 2).decode(request_binding(key, 2).encode(renewing)) == renewing


def test_an_ignorable_field_is_left_out_silently() -> None:
    binding = request_binding(ApiKey.SHARE_FETCH, 1)
    limited = attrs.evolve(FETCH, share_acquire_mode=1)

    assert binding.decode(binding.encode(limited)) == FETCH


def test_a_value_inside_an_array_is_refused_too() -> None:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=4)
    request = ListOffsetsRequest(topics=(ListOffsetsTopic(name="t", partitions=(partition,)),))

    with pytest.raises(ProtocolError, match=r"ListOffsetsPartition v1 does not support current_leader_epoch=4"):
        request_binding(ApiKey.LIST_OFFSETS, 1).encode(request)


def test_a_response_leaves_out_what_an_older_client_cannot_hear() -> None:
    binding = response_binding(ApiKey.SHARE_ACKNOWLEDGE, 1)

    assert binding.decode(binding.encode(ShareAcknowledgeResponse(acquisition_lock_timeout_ms=9))) == (
        ShareAcknowledgeResponse(acquisition_lock_timeout_ms=0)
    )


REQUEST_SHAPES = [shape for shape in SHAPES if shape.kind == "request"]


@pytest.mark.parametrize("shape", REQUEST_SHAPES, ids=str)
def test_every_field_that_a_version_lacks_has_a_default_and_is_refused_or_ignorable(shape: Shape) -> None:
    present = {field.name for field in attrs.fields(shape.message_class)} & set(shape.schema.__annotations__)
    absent = [field for field in attrs.fields(shape.message_class) if field.name not in present]
    message = _with_required_fields(shape.message_class)
    for field in absent:
        assert field.default is not attrs.NOTHING
        changed = attrs.evolve(message, **{field.name: _other_than(field.default)})
        if is_ignorable(field):
            assert shape.encode_body(changed) == shape.encode_body(message)
            continue
        with pytest.raises(ProtocolError, match=f"v{shape.version} does not support {field.name}="):
            shape.encode_body(changed)


def _with_required_fields(message_class: type[Any]) -> Any:
    kinds: dict[Any, Any] = {bytes: b"", int: 0, bool: False, str: ""}
    required = [field for field in attrs.fields(message_class) if field.default is attrs.NOTHING]
    return message_class(
        **{
            field.name: _with_required_fields(field.type) if attrs.has(field.type) else kinds[field.type]
            for field in required
        }
    )


def _other_than(default: Any) -> Any:
    match default:
        case bool():
            return not default
        case int():
            return default + 1
        case str() | None:
            return f"not {default}"
    return (None,) if isinstance(default, tuple) else object()


def test_a_message_class_without_a_field_of_its_schema_cannot_be_bound() -> None:
    with pytest.raises(ProtocolError, match=r"ShareFetchResponse lacks the fields \['group_id', 'member_id'"):
        bind(ShareFetchResponse, Shape(APIS[ApiKey.SHARE_FETCH], "request", 2).schema)


# ---------------------------------------------------------------------------------------- unknown values


@pytest.mark.parametrize("number", [137, 999, -2, 32767])
def test_an_unknown_error_code_is_kept(number: int) -> None:
    binding = response_binding(ApiKey.SHARE_ACKNOWLEDGE, 2)
    response = binding.decode(binding.encode(ShareAcknowledgeResponse(error_code=ErrorCode(number))))

    assert response.error_code == number
    assert response.error_code.name == f"UNKNOWN({number})"


def test_unknown_tagged_fields_are_ignored() -> None:
    binding = request_binding(ApiKey.SHARE_FETCH, 2)
    body = binding.encode(FETCH)

    assert body.endswith(b"\x00")
    assert binding.decode(body[:-1] + UNKNOWN_TAG) == FETCH


def test_unknown_tagged_fields_inside_arrays_structures_and_known_tags_are_ignored() -> None:
    leader = LeaderIdAndEpoch(leader_id=3, leader_epoch=4)
    partition = PartitionData(partition_index=1, high_watermark=2, current_leader=leader, aborted_transactions=None)
    response = FetchResponse(
        responses=(FetchableTopicResponse(topic_id=TOPIC_ID, partitions=(partition,)),),
        node_endpoints=(NodeEndpoint(node_id=3, host="h", port=9),),
    )
    binding = response_binding(ApiKey.FETCH, 16)
    body = binding.encode(response)
    leader_tag = b"\x01\x09" + b"\x00\x00\x00\x03\x00\x00\x00\x04\x00"  # tag 1, nine bytes
    with_more = leader_tag.replace(b"\x01\x09", b"\x01\x0d")[:-1] + UNKNOWN_TAG

    assert body.count(leader_tag) == 1
    assert binding.decode(body.replace(leader_tag, with_more)) == response


def test_unknown_tagged_fields_of_a_nullable_structure_are_ignored() -> None:
    assignment = Assignment(topic_partitions=(TopicPartitions(topic_id=TOPIC_ID, partitions=(0,)),))
    response = ShareGroupHeartbeatResponse(member_epoch=1, heartbeat_interval_ms=5, assignment=assignment)
    binding = response_binding(ApiKey.SHARE_GROUP_HEARTBEAT, 1)
    body = binding.encode(response)

    assert body.endswith(b"\x00\x00\x00\x00\x00\x00\x00")
    assert binding.decode(body[:-2] + UNKNOWN_TAG + UNKNOWN_TAG) == response


# -------------------------------------------------------------------------------------------- bad lengths


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "variable-length integer does not end"),
        (b"\x02g\x02m\x00\x00\x00\x01\x00", "announces"),
        (b"\xff\xff\xff\xff\x0f", "announces"),
        (b"\xff\xff\xff\xff\xff\xff", "variable-length integer does not end"),
    ],
)
def test_a_body_that_ends_early_is_malformed(body: bytes, told: str) -> None:
    with pytest.raises(MalformedFrameError, match=told):
        request_binding(ApiKey.SHARE_FETCH, 2).decode(body)


def test_bytes_after_the_end_are_malformed_unless_they_may_follow() -> None:
    binding = request_binding(ApiKey.SHARE_ACKNOWLEDGE, 2)
    body = binding.encode(ACKNOWLEDGE) + b"\x00\x00"

    with pytest.raises(MalformedFrameError, match=r"Unexpected 2 byte\(s\) after the end of the ShareAck"):
        binding.decode(body)
    assert binding.decode(body, whole=False) == ACKNOWLEDGE


def test_a_string_that_is_no_utf_8_is_malformed() -> None:
    body = request_binding(ApiKey.SHARE_ACKNOWLEDGE, 2).encode(attrs.evolve(ACKNOWLEDGE, group_id="\u00e9"))

    with pytest.raises(MalformedFrameError, match="Cannot decode ShareAcknowledgeRequest"):
        request_binding(ApiKey.SHARE_ACKNOWLEDGE, 2).decode(body.replace(b"\xc3\xa9", b"\xc3\x28"))


# ----------------------------------------------------------------------------------------------- the table


def test_the_table_knows_the_api_of_every_message() -> None:
    for api in APIS.values():
        assert api_of(api.request_class) is api
        assert api_of(api.response_class) is api
    assert str(APIS[ApiKey.SHARE_FETCH]) == "ShareFetch (78)"


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [((0, 3), (2, 5), (2, 3)), ((1, 1), (1, 4), (1, 1)), ((0, 1), (2, 3), None)],
)
def test_common_versions(one: tuple[int, int], other: tuple[int, int], both: tuple[int, int] | None) -> None:
    common = VersionRange(*one).common(VersionRange(*other))

    assert common == (VersionRange(*both) if both else None)
    assert VersionRange(*other).common(VersionRange(*one)) == common
