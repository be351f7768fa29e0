"""Bytes that other clients and a real Kafka exchanged: we read in them what they said, and write the same bytes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.codec import (
    correlation_id_of,
    decode_request_header,
    encode_request,
    encode_response,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.types import AcknowledgeType
from tests.recording.coordinator_keys import FILE as COORDINATOR_KEYS
from tests.recording.golden import DIRECTORY, MANIFEST, Golden, load_manifest
from tests.recording.golden_consumer_groups import FILE as CONSUMER_GROUPS
from tests.recording.golden_group_migration import FILE as GROUP_MIGRATION
from tests.recording.golden_records import FILE as RECORDS
from tests.recording.golden_state import NEWEST, OLDEST, STATE_MEANINGS, STATE_RESPONSES
from tests.recording.golden_streams_groups import FILE as STREAMS_GROUPS
from tests.recording.group_messages import FILE as GROUP_MESSAGES
from tests.recording.java_application_assignors import GOLDEN as APPLICATION_ASSIGNORS
from tests.recording.java_commit_metadata import GOLDEN as COMMIT_METADATA
from tests.recording.java_key_hashes import GOLDEN as KEY_HASHES
from tests.recording.java_producer_batches import GOLDEN as PRODUCER_BATCHES
from tests.recording.java_records_metrics import GOLDEN as RECORDS_METRICS
from tests.recording.java_serdes import GOLDEN as SERDES
from tests.recording.java_streams_metrics import GOLDEN as STREAMS_METRICS
from tests.recording.java_topologies import CAPTURED as STREAMS_TOPOLOGIES
from tests.recording.profile_capture import DIRECTORY as PROFILES
from tests.support.members.user_data_golden import GOLDEN as STREAMS_USER_DATA
from tests.support.rights.recorded_rights import GOLDEN as RIGHTS
from tests.support.worker_statuses import GOLDEN as WORKER_STATUS

FRAMES = load_manifest()
SHARE_APIS = (
    ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS,
)  # fmt: skip
ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW
)  # fmt: skip

every_frame = pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.name)


def test_every_version_of_every_share_api_is_captured() -> None:
    captured = {(frame.key, frame.version, frame.kind) for frame in FRAMES}
    wanted = {
        (key, version, kind)
        for key in (*SHARE_APIS, *STATE_RESPONSES)
        for version in range(APIS[key].versions.low, APIS[key].versions.high + 1)
        for kind in ("request", "response")
        if kind == "response" or key in SHARE_APIS
    }

    assert wanted <= captured
    assert {frame.key for frame in FRAMES} - set(SHARE_APIS) - set(STATE_RESPONSES) == {
        ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.FIND_COORDINATOR
    }  # fmt: skip


def test_three_clients_were_captured_and_files_and_manifest_agree() -> None:
    assert {frame.name.partition("-")[0] for frame in FRAMES} == {
        "java", "java41", "librdkafka", "raw", NEWEST, OLDEST
    }  # fmt: skip
    others = {*PROFILES.iterdir(), *WORKER_STATUS.iterdir()}
    stored = {path for path in DIRECTORY.rglob("*") if path.is_file()} - others
    assert stored == {
        MANIFEST,
        RECORDS,
        CONSUMER_GROUPS,
        GROUP_MIGRATION,
        STREAMS_GROUPS,
        STREAMS_TOPOLOGIES,
        STREAMS_USER_DATA,
        SERDES,
        COORDINATOR_KEYS,
        GROUP_MESSAGES,
        COMMIT_METADATA,
        STREAMS_METRICS,
        APPLICATION_ASSIGNORS,
        PRODUCER_BATCHES,
        KEY_HASHES,
        RECORDS_METRICS,
        RIGHTS,
        *(frame.path for frame in FRAMES),
    }


@every_frame
def test_the_header_is_read(frame: Golden) -> None:
    payload = frame.read()
    if frame.kind == "response":
        assert correlation_id_of(payload) == frame.correlation_id
        return
    header = decode_request_header(payload)

    assert (header.api_key, header.version) == (frame.key, frame.version)
    assert (header.correlation_id, header.client_id) == (frame.correlation_id, frame.client_id)
    assert header.client_id in {"golden-consumer", "golden-admin", "golden-producer", "rdkafka"}


@every_frame
def test_our_message_becomes_the_same_bytes(frame: Golden) -> None:
    message = frame.message()
    if frame.kind == "request":
        written = encode_request(message, frame.version, frame.correlation_id, frame.client_id)
    else:
        written = encode_response(message, frame.version, frame.correlation_id)

    assert written == frame.read()


@every_frame
def test_the_message_says_what_the_frame_was_kept_for(frame: Golden) -> None:
    source, _, shown = frame.name.partition("-")

    MEANINGS[shown](frame.message(), f"golden-group-{source}", f"golden-topic-{source}", frame)


# ------------------------------------------------------------------------------------ what the frames say


def _api_versions(message: Any, group: str, topic: str, frame: Golden) -> None:
    names = {"java41": "apache-kafka-java", "librdkafka": "confluent-kafka-python"}

    assert message.client_software_name == names[frame.name.partition("-")[0]]
    assert message.client_software_version.startswith(("4.1.1", "2.16"))


def _api_versions_response(message: Any, group: str, topic: str, frame: Golden) -> None:
    served = {api.api_key: (api.min_version, api.max_version) for api in message.api_keys}
    features = {feature.name: feature.max_version_level for feature in message.finalized_features}

    assert served[ApiKey.SHARE_FETCH] == (1, 2)
    assert served[ApiKey.SHARE_GROUP_HEARTBEAT] == (1, 1)
    assert served[ApiKey.PRODUCE] == (0, 13)
    assert (features["share.version"], features["group.version"]) == (2, 1)
    assert message.finalized_features_epoch > 0


def _metadata_by_name(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert [(t.name, t.topic_id) for t in message.topics] == [(topic, None)]


def _metadata_response(message: Any, group: str, topic: str, frame: Golden) -> None:
    (broker,) = message.brokers
    (described,) = message.topics

    assert (broker.node_id, broker.host, broker.rack) == (1, "127.0.0.1", None)
    assert len(message.cluster_id) == 22
    assert (described.name, described.error_code, described.is_internal) == (topic, ErrorCode.NONE, False)
    assert described.topic_id is not None
    assert sorted(p.partition_index for p in described.partitions) == [0, 1]
    assert all((p.leader_id, p.leader_epoch, p.replica_nodes, p.isr_nodes) == (1, 0, (1,), (1,))
               for p in described.partitions)  # fmt: skip


def _find_coordinator(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.key_type == 0
    assert (message.coordinator_keys or (message.key,)) == (group,)


def _coordinator_found(message: Any, group: str, topic: str, frame: Golden) -> None:
    found = message if frame.version < 4 else message.coordinators[0]

    assert (found.node_id, found.host, found.error_code) == (1, "127.0.0.1", ErrorCode.NONE)
    assert 20_000 <= found.port < 32_000


def _coordinator_missing(message: Any, group: str, topic: str, frame: Golden) -> None:
    (coordinator,) = message.coordinators

    assert (coordinator.key, coordinator.node_id, coordinator.host, coordinator.port) == (group, -1, "", -1)
    assert coordinator.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def _join(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert (message.group_id, message.member_epoch, message.rack_id) == (group, 0, "rack-a")
    assert message.subscribed_topic_names == (topic,)
    assert len(message.member_id) == 22


def _stay(message: Any, group: str, topic: str, frame: Golden) -> None:
    repeats = frame.name.startswith("librdkafka")  # Java leaves out what has not changed

    assert message.member_epoch == 2
    assert message.rack_id == ("rack-a" if repeats else None)
    assert message.subscribed_topic_names == ((topic,) if repeats else None)


def _leave(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert (message.group_id, message.member_epoch) == (group, -1)
    assert not message.subscribed_topic_names


def _joined(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert (message.error_code, message.member_epoch, message.heartbeat_interval_ms) == (ErrorCode.NONE, 2, 5000)
    assert message.assignment.topic_partitions == ()  # the share-partitions are not initialised yet


def _assigned(message: Any, group: str, topic: str, frame: Golden) -> None:
    (assigned,) = message.assignment.topic_partitions

    assert message.member_epoch == 3
    assert assigned.topic_id is not None
    assert sorted(assigned.partitions) == [0, 1]


def _unchanged(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.assignment is None
    assert message.heartbeat_interval_ms == 5000


def _left(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert (message.error_code, message.member_epoch, message.heartbeat_interval_ms) == (ErrorCode.NONE, -1, 0)
    assert message.assignment is None


def _unknown_member(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert message.error_message == f"Member {'B' * 22} is not a member of group {group}."
    assert (message.member_id, message.member_epoch) == (None, 0)


def _describe(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.group_ids == (group,)
    assert message.include_authorized_operations is False


def _described(message: Any, group: str, topic: str, frame: Golden) -> None:
    (described,) = message.groups
    (member,) = described.members
    (assigned,) = member.assignment.topic_partitions

    assert (described.group_id, described.group_state, described.assignor_name) == (group, "Stable", "simple")
    assert (described.group_epoch, described.assignment_epoch) == (3, 3)
    assert described.authorized_operations == -(2**31)
    assert (member.member_epoch, member.rack_id, member.client_id) == (3, "rack-a", "golden-consumer")
    assert (member.client_host, member.subscribed_topic_names) == ("/127.0.0.1", (topic,))
    assert (assigned.topic_name, sorted(assigned.partitions)) == (topic, [0, 1])


def _described_missing(message: Any, group: str, topic: str, frame: Golden) -> None:
    (described,) = message.groups

    assert described.error_code is ErrorCode.GROUP_ID_NOT_FOUND
    assert (described.group_id, described.group_state) == ("no-such-group", "")
    assert described.error_message == "Group no-such-group not found."


def _open_session(message: Any, group: str, topic: str, frame: Golden) -> None:
    _check_fetch(message, group, frame)
    (fetched,) = message.topics

    assert message.share_session_epoch == 0
    assert sorted(p.partition_index for p in fetched.partitions) == [0, 1]
    assert not _batches(message)


def _fetch_on(message: Any, group: str, topic: str, frame: Golden) -> None:
    _check_fetch(message, group, frame)

    assert message.share_session_epoch > 0
    assert message.topics == ()


def _fetch_with_acknowledgements(message: Any, group: str, topic: str, frame: Golden) -> None:
    _check_fetch(message, group, frame)

    assert message.share_session_epoch > 0
    assert {ACCEPT, RELEASE} <= {kind for batch in _batches(message) for kind in batch.acknowledge_types}
    assert all(len(batch.acknowledge_types) in {1, batch.last_offset - batch.first_offset + 1}
               for batch in _batches(message))  # fmt: skip


def _fetch_with_renewal(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.is_renew_ack is True
    assert (message.max_wait_ms, message.min_bytes, message.max_bytes, message.max_records) == (0, 0, 0, 0)
    assert {kind for batch in _batches(message) for kind in batch.acknowledge_types} == {RENEW}


def _fetched(message: Any, group: str, topic: str, frame: Golden) -> None:
    partition = next(_partitions_of(message))

    assert message.acquisition_lock_timeout_ms == 1000
    assert (partition.error_code, partition.acknowledge_error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert [(a.first_offset, a.last_offset, a.delivery_count) for a in partition.acquired_records] == [(0, 5, 1)]
    assert partition.records.count(b"value-") == 6
    assert (partition.current_leader.leader_id, message.node_endpoints) == (0, ())


def _fetched_again(message: Any, group: str, topic: str, frame: Golden) -> None:
    again = [a for p in _partitions_of(message) for a in p.acquired_records if a.delivery_count == 2]

    assert again
    assert all(a.first_offset <= a.last_offset for a in again)


def _fetch_late_acknowledgement(message: Any, group: str, topic: str, frame: Golden) -> None:
    late = [p for p in _partitions_of(message) if p.acknowledge_error_code]

    assert [p.acknowledge_error_code for p in late] == [ErrorCode.INVALID_RECORD_STATE]
    assert late[0].error_code is ErrorCode.NONE
    assert late[0].acknowledge_error_message.endswith("acquired state.")


def _fetch_no_session(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.error_code is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert message.responses == ()


def _acknowledge(message: Any, group: str, topic: str, frame: Golden) -> None:
    types = [kind for batch in _batches(message) for kind in batch.acknowledge_types]

    assert (message.group_id, message.share_session_epoch, message.is_renew_ack) == (group, 1, False)
    assert types == [ACCEPT, RELEASE, REJECT] * 2
    assert (_batches(message)[0].first_offset, _batches(message)[-1].last_offset) == (0, 5)


def _renew(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.is_renew_ack is True
    assert [batch.acknowledge_types for batch in _batches(message)] == [(RENEW,)]


def _close_session(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert (message.group_id, message.share_session_epoch) == (group, -1)


def _acknowledged(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.error_code is ErrorCode.NONE
    assert message.acquisition_lock_timeout_ms == (1000 if frame.version == 2 else 0)
    assert [p.error_code for p in _partitions_of(message)] == [ErrorCode.NONE]


def _acknowledged_late(message: Any, group: str, topic: str, frame: Golden) -> None:
    (partition,) = _partitions_of(message)

    assert message.error_code is ErrorCode.NONE
    assert partition.error_code is ErrorCode.INVALID_RECORD_STATE
    assert partition.error_message == "The batch cannot be acknowledged. The batch is not in the acquired state."


def _acknowledge_bad_epoch(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert message.responses == ()


def _offsets_of_all(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert [(asked.group_id, asked.topics) for asked in message.groups] == [(group, None)]


def _offsets_of_some(message: Any, group: str, topic: str, frame: Golden) -> None:
    (asked,) = message.groups

    assert [(t.topic_name, t.partitions) for t in asked.topics] == [(topic, (1,)), ("no-such-topic", (0,))]


def _offsets(message: Any, group: str, topic: str, frame: Golden) -> None:
    (answered,) = message.groups
    (of_topic,) = answered.topics

    assert (answered.group_id, answered.error_code, of_topic.topic_name) == (group, ErrorCode.NONE, topic)
    assert sorted(p.partition_index for p in of_topic.partitions) == [0, 1]
    assert max(p.start_offset for p in of_topic.partitions) > 0
    assert (max(p.lag for p in of_topic.partitions) > 0) == (frame.version == 1)  # v0 does not tell it


def _offsets_of_unknown_topic(message: Any, group: str, topic: str, frame: Golden) -> None:
    unknown = message.groups[0].topics[1]

    assert (unknown.topic_name, unknown.topic_id) == ("no-such-topic", None)
    assert [(p.start_offset, p.lag, p.error_code) for p in unknown.partitions] == [(-1, -1, ErrorCode.NONE)]


def _offsets_of_missing_group(message: Any, group: str, topic: str, frame: Golden) -> None:
    (answered,) = message.groups

    assert (answered.group_id, answered.topics, answered.error_code) == ("no-such-group", (), ErrorCode.NONE)


def _check_fetch(message: Any, group: str, frame: Golden) -> None:
    wait_ms = 500 if frame.name.startswith("librdkafka") else 300

    assert message.group_id == group
    assert (message.max_wait_ms, message.min_bytes, message.max_bytes) == (wait_ms, 1, 52_428_800)
    assert (message.max_records, message.batch_size) == (6, 6)
    assert (message.share_acquire_mode, message.is_renew_ack) == (0, False)


def _partitions_of(message: Any) -> Iterator[Any]:
    topics = message.responses if hasattr(message, "responses") else message.topics
    return (partition for topic in topics for partition in topic.partitions)


def _batches(message: Any) -> list[Any]:
    return [batch for partition in _partitions_of(message) for batch in partition.acknowledgement_batches]


MEANINGS: Mapping[str, Callable[[Any, str, str, Golden], None]] = {
    "api-versions": _api_versions, "api-versions-response": _api_versions_response,
    "metadata-by-name": _metadata_by_name, "metadata-response": _metadata_response,
    "find-coordinator": _find_coordinator, "coordinator-found": _coordinator_found,
    "coordinator-missing": _coordinator_missing,
    "join": _join, "stay": _stay, "leave": _leave, "joined": _joined, "assigned": _assigned,
    "unchanged": _unchanged, "left": _left, "unknown-member": _unknown_member,
    "describe": _describe, "described": _described, "described-missing": _described_missing,
    "open-session": _open_session, "fetch-on": _fetch_on, "fetch-with-renewal": _fetch_with_renewal,
    "fetch-with-acknowledgements": _fetch_with_acknowledgements, "fetched": _fetched, "fetched-again": _fetched_again,
    "fetch-late-acknowledgement": _fetch_late_acknowledgement, "fetch-no-session": _fetch_no_session,
    "acknowledge": _acknowledge, "renew": _renew, "close-session": _close_session, "acknowledged": _acknowledged,
    "acknowledged-late": _acknowledged_late, "acknowledge-bad-epoch": _acknowledge_bad_epoch,
    "offsets-of-all": _offsets_of_all, "offsets-of-some": _offsets_of_some, "offsets": _offsets,
    "offsets-of-unknown-topic": _offsets_of_unknown_topic, "offsets-of-missing-group": _offsets_of_missing_group,
    **STATE_MEANINGS,
}  # fmt: skip
