"""Missing rights: the operation that each API asks for, and the text that says what to grant, for clients and commands.

Brokers refuse requests with a code that names the type of the resource alone, such as GROUP_AUTHORIZATION_FAILED. The
API tells which operation they have asked for; a test compares the table with what Kafka's authorizer logs.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar, cast

from attrs import frozen

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.errors import BrokerError, KafkaGroupsError, error_for
from kafka_groups.errors.texts import GRANT_IT
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = [
    "OPERATIONS",
    "RESOURCE_TYPES",
    "NeededRight",
    "explained",
    "is_refusal",
    "missing_rights",
    "needed",
    "refused",
]

E = TypeVar("E", bound=KafkaGroupsError)

_TOPIC, _GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
_ID, _CLUSTER = AclResourceType.TRANSACTIONAL_ID, AclResourceType.CLUSTER
_O, _A = AclOperation, ApiKey

RESOURCE_TYPES: Final[Mapping[ErrorCode, AclResourceType]] = MappingProxyType({
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: _TOPIC,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: _GROUP,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _ID,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: _CLUSTER,
})  # fmt: skip
"""The type of the resource for which a right is missing, by the error."""

_IN_GROUP: Final = {_GROUP: _O.READ}
_OF_RECORDS: Final = {_GROUP: _O.READ, _TOPIC: _O.READ}
_DESCRIBED: Final = {_GROUP: _O.DESCRIBE, _TOPIC: _O.DESCRIBE}
_SHOWN_CONFIGS: Final = dict.fromkeys((_TOPIC, _GROUP, _CLUSTER), _O.DESCRIBE_CONFIGS)
_CHANGED_CONFIGS: Final = dict.fromkeys((_TOPIC, _GROUP, _CLUSTER), _O.ALTER_CONFIGS)
_OF_BROKERS: Final = {_CLUSTER: _O.CLUSTER_ACTION}

OPERATIONS: Final[Mapping[ApiKey, Mapping[AclResourceType, AclOperation]]] = MappingProxyType({
    _A.PRODUCE: {_TOPIC: _O.WRITE, _ID: _O.WRITE},
    _A.FETCH: {_TOPIC: _O.READ},
    _A.LIST_OFFSETS: {_TOPIC: _O.DESCRIBE},
    _A.METADATA: {_TOPIC: _O.DESCRIBE},
    _A.OFFSET_COMMIT: _OF_RECORDS,
    _A.OFFSET_FETCH: _DESCRIBED,
    _A.FIND_COORDINATOR: {_GROUP: _O.DESCRIBE, _ID: _O.DESCRIBE, _CLUSTER: _O.CLUSTER_ACTION},
    _A.JOIN_GROUP: _IN_GROUP,
    _A.HEARTBEAT: _IN_GROUP,
    _A.LEAVE_GROUP: _IN_GROUP,
    _A.SYNC_GROUP: _IN_GROUP,
    _A.DESCRIBE_GROUPS: {_GROUP: _O.DESCRIBE},
    _A.CREATE_TOPICS: {_TOPIC: _O.CREATE},
    _A.DELETE_TOPICS: {_TOPIC: _O.DELETE},
    _A.DELETE_RECORDS: {_TOPIC: _O.DELETE},
    _A.INIT_PRODUCER_ID: {_ID: _O.WRITE, _CLUSTER: _O.IDEMPOTENT_WRITE},
    _A.ADD_PARTITIONS_TO_TXN: {_ID: _O.WRITE, _TOPIC: _O.WRITE, _CLUSTER: _O.CLUSTER_ACTION},
    _A.ADD_OFFSETS_TO_TXN: {_ID: _O.WRITE, _GROUP: _O.READ},
    _A.END_TXN: {_ID: _O.WRITE},
    _A.WRITE_TXN_MARKERS: {_CLUSTER: _O.ALTER},
    _A.TXN_OFFSET_COMMIT: {_ID: _O.WRITE, **_OF_RECORDS},
    _A.DESCRIBE_ACLS: {_CLUSTER: _O.DESCRIBE},
    _A.CREATE_ACLS: {_CLUSTER: _O.ALTER},
    _A.DELETE_ACLS: {_CLUSTER: _O.ALTER},
    _A.DESCRIBE_CONFIGS: _SHOWN_CONFIGS,
    _A.ALTER_CONFIGS: _CHANGED_CONFIGS,
    _A.INCREMENTAL_ALTER_CONFIGS: _CHANGED_CONFIGS,
    _A.DESCRIBE_CLIENT_QUOTAS: {_CLUSTER: _O.DESCRIBE_CONFIGS},
    _A.LIST_CONFIG_RESOURCES: {_CLUSTER: _O.DESCRIBE_CONFIGS},
    _A.CREATE_PARTITIONS: {_TOPIC: _O.ALTER},
    _A.DELETE_GROUPS: {_GROUP: _O.DELETE},
    _A.OFFSET_DELETE: {_GROUP: _O.DELETE, _TOPIC: _O.READ},
    _A.DESCRIBE_USER_SCRAM_CREDENTIALS: {_CLUSTER: _O.DESCRIBE},
    _A.ALTER_USER_SCRAM_CREDENTIALS: {_CLUSTER: _O.ALTER},
    _A.UPDATE_FEATURES: {_CLUSTER: _O.ALTER},
    _A.DESCRIBE_PRODUCERS: {_TOPIC: _O.READ},
    _A.DESCRIBE_TRANSACTIONS: {_ID: _O.DESCRIBE},
    _A.CONSUMER_GROUP_HEARTBEAT: {_GROUP: _O.READ, _TOPIC: _O.DESCRIBE},
    _A.CONSUMER_GROUP_DESCRIBE: _DESCRIBED,
    _A.DESCRIBE_TOPIC_PARTITIONS: {_TOPIC: _O.DESCRIBE},
    _A.SHARE_GROUP_HEARTBEAT: {_GROUP: _O.READ, _TOPIC: _O.DESCRIBE},
    _A.SHARE_GROUP_DESCRIBE: _DESCRIBED,
    _A.SHARE_FETCH: _OF_RECORDS,
    _A.SHARE_ACKNOWLEDGE: _OF_RECORDS,
    _A.INITIALIZE_SHARE_GROUP_STATE: _OF_BROKERS,
    _A.READ_SHARE_GROUP_STATE: _OF_BROKERS,
    _A.WRITE_SHARE_GROUP_STATE: _OF_BROKERS,
    _A.DELETE_SHARE_GROUP_STATE: _OF_BROKERS,
    _A.READ_SHARE_GROUP_STATE_SUMMARY: _OF_BROKERS,
    _A.STREAMS_GROUP_HEARTBEAT: {_GROUP: _O.READ, _TOPIC: _O.DESCRIBE},
    _A.STREAMS_GROUP_DESCRIBE: _DESCRIBED,
    _A.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: _IN_GROUP,
    _A.DESCRIBE_SHARE_GROUP_OFFSETS: _DESCRIBED,
    _A.ALTER_SHARE_GROUP_OFFSETS: _OF_RECORDS,
    _A.DELETE_SHARE_GROUP_OFFSETS: {_GROUP: _O.DELETE, _TOPIC: _O.READ},
})  # fmt: skip
"""The operation that brokers ask for, by API and type of the resource. The first one, where another would do too."""

_IMPLYING_DESCRIBE: Final = frozenset({_O.READ, _O.WRITE, _O.DELETE, _O.ALTER})

_NOUNS: Final = MappingProxyType({
    _TOPIC: ("the topic", "the topics"),
    _GROUP: ("the group", "the groups"),
    _ID: ("the transactional id", "the transactional ids"),
})  # fmt: skip

_UNKNOWN_PRINCIPAL: Final = "User:NAME"
"""Stands for the user in commands if the client does not know who it is."""


def needed(api: ApiKey, resource_type: AclResourceType, purpose: AclOperation | None = None) -> AclOperation:
    """Return the operation that an API asks for.

    Args:
        api: The API.
        resource_type: The type of the resource.
        purpose: What the client does with the resource in the end. It is returned in place of DESCRIBE if it implies
            that: who wants to read a topic does not want to be told to grant DESCRIBE first.
    """
    operation = OPERATIONS[api][resource_type]
    return purpose if operation is _O.DESCRIBE and purpose in _IMPLYING_DESCRIBE else operation


@frozen
class NeededRight:
    """Operations on resources of one type that somebody needs.

    Attributes:
        operations: The operations.
        resource_type: The type of the resources.
        names: The resources. Empty: the client does not know them. Topics are those of a group then.
        is_prefix: Whether the names are beginnings of names.
    """

    operations: Sequence[AclOperation]
    resource_type: AclResourceType
    names: Sequence[str] = ()
    is_prefix: bool = False

    def __str__(self) -> str:
        *first, last = [each.name for each in self.operations]
        return f"{', '.join(first)} and {last} on {self._where}" if first else f"{last} on {self._where}"

    @property
    def _where(self) -> str:
        if self.resource_type is _CLUSTER:
            return "the cluster"
        one, several = _NOUNS[self.resource_type]
        if not self.names:
            return f"each of {several} of the group" if self.resource_type is _TOPIC else one
        if self.is_prefix:
            return f"{several} whose names begin with {', '.join(self.names)}"
        return f"{one if len(self.names) == 1 else several} {', '.join(self.names)}"

    def command(self, principal: str | None) -> str:
        """Return the command that grants the operations to a principal; None if the client does not know who it is."""
        option = f"--{self.resource_type.name.lower().replace('_', '-')}"
        named = [f"{option} {shlex.quote(name)}" for name in self.names] or [f"{option} NAME"]
        return " ".join(
            (
                f"kafka-groups acls add --allow {shlex.quote(principal or _UNKNOWN_PRINCIPAL)}",
                *([option] if self.resource_type is _CLUSTER else named),
                *(["--prefix"] if self.is_prefix else []),
                *(f"--operation {each.name}" for each in self.operations),
            )
        )


def missing_rights(code: ErrorCode, rights: Sequence[NeededRight], principal: str | None) -> BrokerError:
    """Return the error about missing rights: who needs what, Kafka's name of the error, and the commands that grant it.

    Args:
        code: Kafka's error.
        rights: The rights.
        principal: Who needs them; None if the client does not know.
    """
    who = "This client" if principal is None else principal
    commands = "; ".join(each.command(principal) for each in rights)
    error = error_for(code, f"{who} needs {', and '.join(map(str, rights))} ({code.name}). {GRANT_IT}{commands}")
    error.says_remedy = True
    return error


def refused(
    api: ApiKey,
    code: ErrorCode,
    names: Iterable[str],
    principal: str | None,
    purpose: AclOperation | None = None,
) -> BrokerError:
    """Return the error for a code of `RESOURCE_TYPES` that an API has answered with.

    Args:
        api: The API.
        code: The error.
        names: The resources, of the type that the code is about. Empty: the client does not know which.
        principal: Who sent the request; None if the client does not know.
        purpose: What the client does with the resources in the end: see `needed`.
    """
    resource_type = RESOURCE_TYPES[code]
    operation = needed(api, resource_type, purpose)
    return missing_rights(code, [NeededRight((operation,), resource_type, tuple(names))], principal)


def explained(
    error: E, api: ApiKey, names: Iterable[str], principal: str | None, purpose: AclOperation | None = None
) -> E:
    """Return an error, with a text that says what to grant if it is about a right that is missing.

    The arguments are those of `refused`. Anything else than such an error, and one that says already what to do, is
    returned as it is.
    """
    if not (isinstance(error, BrokerError) and is_refusal(error, api)) or error.says_remedy:
        return error
    told = refused(api, ErrorCode(error.code), names, principal, purpose)
    told.__cause__ = error
    return cast(E, told)  # a code has one class


def is_refusal(error: KafkaGroupsError, api: ApiKey) -> bool:
    """Return whether an error is about a right that an API asks for."""
    if not isinstance(error, BrokerError) or error.code not in RESOURCE_TYPES:
        return False
    return RESOURCE_TYPES[ErrorCode(error.code)] in OPERATIONS.get(api, {})
