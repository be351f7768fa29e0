"""The table of APIs, with their messages and the versions that the client and the broker support."""

import enum
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from attrs import frozen

from kafka_groups.protocol.memo import cached

__all__ = ["APIS", "Api", "ApiKey", "VersionRange", "api_of"]


class ApiKey(enum.IntEnum):
    """The API keys on the wire."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    INCREMENTAL_ALTER_CONFIGS = 44
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    UPDATE_FEATURES = 57
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93


@frozen
class VersionRange:
    """Versions from `low` to `high`, both included."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __str__(self) -> str:
        return f"v{self.low}" if self.low == self.high else f"v{self.low}-v{self.high}"

    def common(self, other: "VersionRange") -> "VersionRange | None":
        """Return the versions in both ranges, or None if there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return VersionRange(low, high) if low <= high else None


@frozen
class Api:
    """One API.

    Attributes:
        key: Its number on the wire.
        versions: The versions that can be encoded and decoded. The client uses the newest one that the broker has, too;
            what the broker serves is a matter of its profile.
    """

    key: ApiKey
    versions: VersionRange

    @property
    def module(self) -> str:
        """Name of the module in `protocol.messages`, and of the handler's module in `broker.api` if it has one."""
        return self.key.name.lower()

    @property
    def request_class(self) -> type[Any]:
        """The request message."""
        return _message_class(self.module, "Request")

    @property
    def response_class(self) -> type[Any]:
        """The response message."""
        return _message_class(self.module, "Response")

    def __str__(self) -> str:
        return f"{_camel(self.module)} ({self.key.value})"


def _camel(module: str) -> str:
    return "".join(part.capitalize() for part in module.split("_"))


@cached
def _message_class(module: str, suffix: str) -> type[Any]:
    # Imported on first use: building all message classes would add about 50 ms to every start of a client.
    message_class: type[Any] = getattr(
        import_module(f"kafka_groups.protocol.messages.{module}"), f"{_camel(module)}{suffix}"
    )
    return message_class


def _api(key: ApiKey, low: int, high: int) -> Api:
    return Api(key, VersionRange(low, high))


# What can be encoded and decoded: the ranges of Kafka 4.4, and InitProducerId v6, which Kafka serves only if configured
# to. The embedded broker serves those that have a handler, in the versions of its profile.
APIS: Mapping[ApiKey, Api] = MappingProxyType({
    api.key: api
    for api in (
        _api(ApiKey.PRODUCE, 3, 13),
        _api(ApiKey.FETCH, 4, 18),
        _api(ApiKey.LIST_OFFSETS, 1, 11),
        _api(ApiKey.METADATA, 0, 13),
        _api(ApiKey.OFFSET_COMMIT, 2, 10),
        _api(ApiKey.OFFSET_FETCH, 1, 10),
        _api(ApiKey.FIND_COORDINATOR, 0, 6),
        _api(ApiKey.JOIN_GROUP, 0, 9),
        _api(ApiKey.HEARTBEAT, 0, 4),
        _api(ApiKey.LEAVE_GROUP, 0, 5),
        _api(ApiKey.SYNC_GROUP, 0, 5),
        _api(ApiKey.DESCRIBE_GROUPS, 0, 6),
        _api(ApiKey.LIST_GROUPS, 0, 5),
        _api(ApiKey.SASL_HANDSHAKE, 1, 1),
        _api(ApiKey.API_VERSIONS, 0, 5),
        _api(ApiKey.CREATE_TOPICS, 2, 7),
        _api(ApiKey.DELETE_TOPICS, 1, 6),
        _api(ApiKey.DELETE_RECORDS, 0, 2),
        _api(ApiKey.INIT_PRODUCER_ID, 0, 6),
        _api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5),
        _api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4),
        _api(ApiKey.END_TXN, 0, 5),
        _api(ApiKey.WRITE_TXN_MARKERS, 1, 2),
        _api(ApiKey.TXN_OFFSET_COMMIT, 0, 6),
        _api(ApiKey.DESCRIBE_ACLS, 1, 3),
        _api(ApiKey.CREATE_ACLS, 1, 3),
        _api(ApiKey.DELETE_ACLS, 1, 3),
        _api(ApiKey.DESCRIBE_CONFIGS, 1, 4),
        _api(ApiKey.ALTER_CONFIGS, 0, 2),
        _api(ApiKey.SASL_AUTHENTICATE, 0, 2),
        _api(ApiKey.CREATE_PARTITIONS, 0, 3),
        _api(ApiKey.DELETE_GROUPS, 0, 3),
        _api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1),
        _api(ApiKey.OFFSET_DELETE, 0, 0),
        _api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1),
        _api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0),
        _api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0),
        _api(ApiKey.UPDATE_FEATURES, 0, 2),
        _api(ApiKey.DESCRIBE_CLUSTER, 0, 2),
        _api(ApiKey.DESCRIBE_PRODUCERS, 0, 0),
        _api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0),
        _api(ApiKey.LIST_TRANSACTIONS, 0, 2),
        _api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1),
        _api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1),
        _api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1),
        _api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0),
        _api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1),
        _api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1),
        _api(ApiKey.SHARE_FETCH, 1, 2),
        _api(ApiKey.SHARE_ACKNOWLEDGE, 1, 2),
        _api(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, 0),
        _api(ApiKey.READ_SHARE_GROUP_STATE, 0, 0),
        _api(ApiKey.WRITE_SHARE_GROUP_STATE, 0, 1),
        _api(ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0),
        _api(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 0, 1),
        _api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, 1),
        _api(ApiKey.STREAMS_GROUP_DESCRIBE, 0, 1),
        _api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1),
        _api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0),
        _api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0),
        _api(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, 0),
    )
})  # fmt: skip

_BY_MODULE: Mapping[str, Api] = {api.module: api for api in APIS.values()}


@cached
def api_of(message_class: type[Any]) -> Api:
    """Return the API of a request or response class."""
    return _BY_MODULE[message_class.__module__.rpartition(".")[2]]
