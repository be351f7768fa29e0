"""What distinguishes one release of Kafka from another, asked of any broker: a real Kafka or the embedded one.

The answers are plain values, so that they can be stored as JSON and compared.
"""

import struct
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from attrs import evolve

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.framing import frame
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    SET,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import (
    FINAL_EPOCH,
    AcquireMode,
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchTopic,
)
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.types import AcknowledgeType
from tests.support.kafka.real_kafka import RawConnection, unique
from tests.support.requests.share_requests import ShareRequests

Answers = dict[str, Any]
"""Values that JSON can hold."""

GROUP_KEYS = (
    "consumer.assignment.interval.ms",
    "consumer.assignor.offload.enable",
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "errors.deadletterqueue.copy.record.enable",
    "errors.deadletterqueue.topic.name",
    "share.assignment.interval.ms",
    "share.assignor.offload.enable",
    "share.auto.offset.reset",
    "share.delivery.count.limit",
    "share.heartbeat.interval.ms",
    "share.isolation.level",
    "share.partition.max.record.locks",
    "share.record.lock.duration.ms",
    "share.renew.acknowledge.enable",
    "share.session.timeout.ms",
    "streams.assignment.interval.ms",
    "streams.assignor.name",
    "streams.assignor.offload.enable",
    "streams.heartbeat.interval.ms",
    "streams.initial.rebalance.delay.ms",
    "streams.num.standby.replicas",
    "streams.rack.aware.assignment.tags",
    "streams.session.timeout.ms",
)
"""The configs of a group in all releases."""
NO_GROUP_KEYS = ("no.such.key", "group.share.heartbeat.interval.ms", "share.max.size", "retention.ms")
"""Names that are configs of a group in no release."""
GROUP_VALUES = (
    *("", "-1", "0", "1", "2", "5", "10", "11", "25", "26", "99", "100", "2000", "4000", "4001", "4999", "5000"),
    *("9999", "10000", "10001", "14999", "15000", "15001", "29999", "30000", "44999", "45000", "60000", "60001"),
    *("2147483648", "1.5", "five", " 5000 ", "true", "TRUE", "maybe", "latest", "LATEST", "earliest", "none"),
    *("by_duration:PT1H", "by_duration:-PT1H", "by_duration:1h", "read_committed", "read_uncommitted", "sticky"),
)
"""Values around the bounds of all configs of a group. Every value is tried for every config."""
FAMILIES = ("group.share.", "share.", "group.consumer.", "group.streams.", "group.coordinator.", "errors.")
"""How the names of a broker's configs about groups begin."""
LAST_API_KEY = 100
FIRST_WITH_NODE_ID = 5
RECORDS = 40
PATIENCE = 60
_PAUSE_S = 0.25
_NOT_READY = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_RESOURCE_TYPES = {"unknown": 0, "topic": TOPIC_RESOURCE, "broker": BROKER_RESOURCE, "broker logger": 8,
                   "client metrics": 16, "group": GROUP_RESOURCE, "other": 64}  # fmt: skip
_NO_BODY = struct.Struct(">hhihb")


def questions(
    host: str, port: int, *, broker_keys: Iterable[str] = (), versions: Mapping[str, list[int]] | None = None
) -> Answers:
    """Ask a broker everything.

    Args:
        host: The broker's host.
        port: The broker's port.
        broker_keys: More of the broker's configs that are of interest. They are left out if the broker lacks them.
        versions: The ranges around which requests in other versions are tried. Those that the broker lists otherwise.
    """
    with RawConnection(host, port) as connection:
        found = _versions(connection)
        return {
            **found,
            "other versions": _other_versions(host, port, versions or found["versions"]),
            "other brokers": dict(_other_brokers(connection, found["versions"][str(ApiKey.API_VERSIONS)][1])),
            "configs of a group": _described(connection, GROUP_RESOURCE, unique("group")),
            "configs of a broker": _configs_of_broker(connection, frozenset(broker_keys)),
            "resources": dict(_resources(connection)),
            "values of a group": {key: _values(connection, key) for key in (*GROUP_KEYS, *NO_GROUP_KEYS)},
            "values as they come back": _normalised(connection),
            "epochs of a share group": dict(_epochs(connection)),
            "share requests": dict(_share_requests(connection)),
            "deleted groups": dict(_deleted_groups(connection, found["versions"][str(ApiKey.DELETE_GROUPS)][1])),
        }


# --------------------------------------------------------------------------------------------- versions


def _versions(connection: RawConnection) -> Answers:
    request = ApiVersionsRequest(client_software_name="kafka-groups", client_software_version="0")
    newest, old = connection.ask(request, 4), connection.ask(request, 3)
    return {
        "versions": {str(api.api_key): [api.min_version, api.max_version] for api in newest.api_keys},
        "supported features": {f.name: [f.min_version, f.max_version] for f in newest.supported_features},
        "supported features in v3": {f.name: [f.min_version, f.max_version] for f in old.supported_features},
        "finalised features": {f.name: f.max_version_level for f in newest.finalized_features},
    }


def _other_brokers(connection: RawConnection, version: int) -> Iterator[tuple[str, str]]:
    """What answers a client that takes the broker for another one, where it can say so."""
    if version < FIRST_WITH_NODE_ID:
        return
    cluster_id = connection.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), 0).cluster_id
    for shown, asked in {"this": cluster_id, "another": "A" * 22, "no": None}.items():
        for node_id in (1, 2, -1):
            request = ApiVersionsRequest(client_software_name="n", client_software_version="0", cluster_id=asked,
                                         node_id=node_id)  # fmt: skip
            yield f"{shown} cluster, node {node_id}", connection.ask(request, version).error_code.name


def _other_versions(host: str, port: int, versions: Mapping[str, list[int]]) -> dict[str, str]:
    """What happens to a request in the version below and above each range, and for each API that is not listed."""
    found: dict[str, str] = {}
    for key in range(LAST_API_KEY + 1):
        low, high = versions.get(str(key), (0, -1))
        for version in (low - 1, high + 1):
            if version >= 0:
                found[f"{key} v{version}"] = _answer_to(host, port, key, version)
    return found


def _answer_to(host: str, port: int, key: int, version: int) -> str:
    with RawConnection(host, port) as connection:
        try:
            answer = connection.send_bytes(frame(_NO_BODY.pack(key, version, 1, -1, 0)))
        except ConnectionResetError:
            return "closed"
    return ErrorCode(struct.unpack_from(">h", answer, 4)[0]).name


# ---------------------------------------------------------------------------------------------- configs


def _configs_of_broker(connection: RawConnection, also: frozenset[str]) -> Answers:
    found = _described(connection, BROKER_RESOURCE, "1")
    return {name: entry for name, entry in found.items() if name.startswith(FAMILIES) or name in also}


def _described(connection: RawConnection, resource_type: int, name: str) -> Answers:
    result = _describe(connection, resource_type, name)
    assert not result.error_code, result
    return {
        config.name: {
            "value": config.value,
            "type": config.config_type,
            "source": config.config_source,
            "read only": config.read_only,
            "sensitive": config.is_sensitive,
            "synonyms": [[synonym.name, synonym.value, synonym.source] for synonym in config.synonyms],
        }
        for config in sorted(result.configs, key=lambda config: config.name)
    }


def _describe(connection: RawConnection, resource_type: int, name: str) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=resource_type, resource_name=name, configuration_keys=None)
    response = connection.ask(DescribeConfigsRequest(resources=(resource,), include_synonyms=True), 4)
    result: DescribeConfigsResult = response.results[0]
    return result


def _resources(connection: RawConnection) -> Iterator[tuple[str, str]]:
    for kind, resource_type in _RESOURCE_TYPES.items():
        for name in ("", "1", unique("name")):
            shown = "a name" if len(name) > 1 else repr(name)
            yield f"{kind} {shown}", _describe(connection, resource_type, name).error_code.name


def _values(connection: RawConnection, key: str) -> dict[str, list[str]]:
    """The values by what answers them."""
    names = {unique("group"): value for value in GROUP_VALUES}
    resources = tuple(_change(name, {key: value}) for name, value in names.items())
    response = connection.ask(IncrementalAlterConfigsRequest(resources=resources, validate_only=True), 1)
    codes = {names[result.resource_name]: result.error_code.name for result in response.responses}
    return {code: [value for value in GROUP_VALUES if codes[value] == code] for code in sorted({*codes.values()})}


def _change(group_id: str, values: Mapping[str, str]) -> AlterConfigsResource:
    configs = tuple(AlterableConfig(name=key, config_operation=SET, value=value) for key, value in values.items())
    return AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group_id, configs=configs)


def _normalised(connection: RawConnection) -> Answers:
    """Configs that were set with spaces around them, and in capital letters."""
    given = {"share.heartbeat.interval.ms": " 6000 ", "share.isolation.level": " read_committed "}
    if "share.renew.acknowledge.enable" in _described(connection, GROUP_RESOURCE, unique("group")):
        given["share.renew.acknowledge.enable"] = " FALSE "
    group_id = unique("group")
    request = IncrementalAlterConfigsRequest(resources=(_change(group_id, given),), validate_only=False)
    assert not connection.ask(request, 1).responses[0].error_code
    for _ in range(PATIENCE):
        found = _described(connection, GROUP_RESOURCE, group_id)
        if found["share.heartbeat.interval.ms"]["value"] != "5000":  # a real Kafka takes a moment
            break
    return {name: found[name] for name in given}


# --------------------------------------------------------------------------------------- share requests


def _share_requests(connection: RawConnection) -> Iterator[tuple[str, str]]:
    """What answers requests that only some versions, or none, can make."""
    group_id = unique("group")
    group = ShareRequests(connection, group_id)
    topic = unique("topic")
    topic_id = group.create_topic(topic)
    _until_ready(group)
    group.configure(share_auto_offset_reset="earliest")
    joined = group.heartbeat("A" * 22, 0, [topic])
    assert not joined.error_code, joined
    group.produce(topic_id, 0, RECORDS)
    cases = _ShareCases(connection, group_id, topic_id)
    renew, unknown = int(AcknowledgeType.RENEW), 5
    for version in (1, 2):
        yield f"acknowledge v{version}, renew", cases.acknowledge(version, renew)
        yield f"acknowledge v{version}, unknown type", cases.acknowledge(version, unknown)
        yield f"fetch v{version}, renew", cases.fetch(version, renew)
        yield f"fetch v{version}, unknown type", cases.fetch(version, unknown)
    yield "acknowledge v2, is_renew_ack", cases.acknowledge(2, renew, is_renew_ack=True)
    yield "fetch v2, is_renew_ack", cases.fetch(2, renew, is_renew_ack=True, max_bytes=0, max_records=0)
    yield "fetch v2, is_renew_ack with limits", cases.fetch(2, renew, is_renew_ack=True)
    yield "fetch v2, unknown acquire mode", cases.fetch(2, int(AcknowledgeType.ACCEPT), share_acquire_mode=2)


def _epochs(connection: RawConnection) -> Iterator[tuple[str, list[int]]]:
    """Epochs of the member, the group and its assignment, while a member comes and goes."""
    group_id, member_id, topics = unique("group"), "A" * 22, [unique("missing")]
    group = ShareRequests(connection, group_id)
    _until_ready(group)
    for step, epoch in {"first member joins": 0, "last member leaves": -1, "first member joins again": 0}.items():
        heartbeat = group.heartbeat(member_id, epoch, topics if epoch == 0 else None)
        request = ShareGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False)
        (described,) = connection.ask(request, 1).groups
        yield step, [heartbeat.member_epoch, described.group_epoch, described.assignment_epoch]


def _deleted_groups(connection: RawConnection, version: int) -> Iterator[tuple[str, list[str | None]]]:
    """What answers the deletion of groups, in the newest version."""
    group_id, topic = unique("group"), unique("topic")
    group = ShareRequests(connection, group_id)
    group.create_topic(topic)
    yield "missing", _deleted(connection, version, group_id)
    assert not group.heartbeat("A" * 22, 0, [topic]).error_code
    yield "with a member", _deleted(connection, version, group_id)
    group.heartbeat("A" * 22, -1)
    yield "empty", _deleted(connection, version, group_id)


def _deleted(connection: RawConnection, version: int, group_id: str) -> list[str | None]:
    (result,) = connection.ask(DeleteGroupsRequest(groups_names=(group_id,)), version).results
    message = None if result.error_message is None else result.error_message.replace(group_id, "GROUP")
    return [result.error_code.name, message]


def _until_ready(group: ShareRequests) -> None:
    for _ in range(PATIENCE):
        if group.has_coordinator() and group.heartbeat("B" * 22, -1).error_code not in _NOT_READY:
            return
        threading.Event().wait(_PAUSE_S)  # a real Kafka creates the topic of its coordinators first
    raise AssertionError("there is no coordinator")


class _ShareCases:
    """Each case has a session of its own, in which one record is acquired first."""

    def __init__(self, connection: RawConnection, group_id: str, topic_id: UUID) -> None:
        self._connection = connection
        self._group_id = group_id
        self._topic_id = topic_id
        self._members = 0

    def acknowledge(self, version: int, kind: int, **fields: Any) -> str:
        """Acknowledge the record by ShareAcknowledge."""
        request, offset = self._opened()
        partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=(_batch(offset, kind),))
        acknowledge = ShareAcknowledgeRequest(
            group_id=self._group_id,
            member_id=request.member_id,
            share_session_epoch=request.share_session_epoch,
            topics=(AcknowledgeTopic(topic_id=self._topic_id, partitions=(partition,)),),
            **fields,
        )
        response = self._connection.ask(acknowledge, version)
        self._close(request)
        return _codes(response.error_code, *(p.error_code for topic in response.responses for p in topic.partitions))

    def fetch(self, version: int, kind: int, **fields: Any) -> str:
        """Acknowledge the record by ShareFetch."""
        request, offset = self._opened()
        partition = ShareFetchPartition(partition_index=0, acknowledgement_batches=(_batch(offset, kind),))
        topics = (ShareFetchTopic(topic_id=self._topic_id, partitions=(partition,)),)
        fetch = evolve(request, topics=topics, max_wait_ms=0, min_bytes=0, **fields)
        response = self._connection.ask(fetch, version)
        self._close(request)
        partitions = (p for topic in response.responses for p in topic.partitions)
        return _codes(response.error_code, *(p.acknowledge_error_code for p in partitions))

    def _opened(self) -> tuple[ShareFetchRequest, int]:
        """A session with an acquired record: the next request in it, and the record's offset."""
        self._members += 1
        opening = ShareFetchRequest(
            group_id=self._group_id, member_id=f"{self._members:022}", share_session_epoch=0, max_wait_ms=1_000,
            min_bytes=1, max_records=1, batch_size=1, share_acquire_mode=AcquireMode.RECORD_LIMIT,
            topics=(ShareFetchTopic(topic_id=self._topic_id, partitions=(ShareFetchPartition(partition_index=0),)),),
        )  # fmt: skip
        for epoch in range(PATIENCE):
            request = evolve(opening, share_session_epoch=epoch, topics=() if epoch else opening.topics)
            response = self._connection.ask(request, 2)
            found = [a for topic in response.responses for p in topic.partitions for a in p.acquired_records]
            if found:
                return evolve(request, share_session_epoch=epoch + 1, share_acquire_mode=0), found[0].first_offset
        raise AssertionError("nothing was acquired")

    def _close(self, request: ShareFetchRequest) -> None:
        closing = ShareAcknowledgeRequest(
            group_id=self._group_id, member_id=request.member_id, share_session_epoch=FINAL_EPOCH
        )
        self._connection.ask(closing, 2)


def _batch(offset: int, kind: int) -> AcknowledgementBatch:
    return AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=(kind,))


def _codes(*codes: ErrorCode) -> str:
    return ", ".join(code.name for code in codes)
