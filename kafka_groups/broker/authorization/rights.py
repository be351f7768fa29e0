"""The rights that each API asks for, in the order in which it asks, and the place of the error for a client without.

The handlers ask through `RequestContext`. This table says the same in one place: for readers, for the documentation,
and for tests, which compare it with the handlers and with a real Kafka (`tests/golden/authorization-4.4.0.json`).
A client without a right does not learn whether the resource exists, because the right is checked first.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.protocol.apis import ApiKey

__all__ = ["RIGHTS", "AskedRight", "Refusal", "Right"]


class Refusal(enum.Enum):
    """The place in a response where a client reads that it lacks a right."""

    REQUEST = "the error of the whole request"
    ITEM = "the error of one topic, group, id, user or other resource"
    PARTITION = "the error of one partition, or of all of them"
    LEFT_OUT = "the resource is left out"
    ELSEWHERE = "a field that says so without an error"


@frozen
class Right:
    """An operation on resources of one type."""

    operation: AclOperation
    resource_type: AclResourceType

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource_type}"


@frozen
class AskedRight:
    """One right that an API asks for.

    Attributes:
        rights: Each of them suffices. They are asked for in this order until one is given.
        refusals: The places of the error, which depend on the request.
    """

    rights: tuple[Right, ...]
    refusals: tuple[Refusal, ...]


def _right(resource_type: AclResourceType, operation: AclOperation, *refusals: Refusal) -> AskedRight:
    return AskedRight((Right(operation, resource_type),), refusals)


def _topic(operation: AclOperation, *refusals: Refusal) -> AskedRight:
    return _right(AclResourceType.TOPIC, operation, *refusals)


def _group(operation: AclOperation, *refusals: Refusal) -> AskedRight:
    return _right(AclResourceType.GROUP, operation, *refusals)


def _transaction(operation: AclOperation, *refusals: Refusal) -> AskedRight:
    return _right(AclResourceType.TRANSACTIONAL_ID, operation, *refusals)


def _cluster(operation: AclOperation, *refusals: Refusal) -> AskedRight:
    return _right(AclResourceType.CLUSTER, operation, *refusals)


def _cluster_or_topic(operation: AclOperation, *refusals: Refusal) -> AskedRight:
    return AskedRight((Right(operation, AclResourceType.CLUSTER), Right(operation, AclResourceType.TOPIC)), refusals)


def _operations(resource_type: AclResourceType, *operations: AclOperation) -> tuple[AskedRight, ...]:
    """Return the questions about authorized operations (KIP-430): one for each bit."""
    return tuple(_right(resource_type, operation, Refusal.ELSEWHERE) for operation in operations)


_READ, _WRITE, _CREATE, _DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE
_ALTER, _DESCRIBE = AclOperation.ALTER, AclOperation.DESCRIBE
_CLUSTER_ACTION = AclOperation.CLUSTER_ACTION
_DESCRIBE_CONFIGS, _ALTER_CONFIGS = AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS

_REQUEST, _ITEM, _PARTITION = Refusal.REQUEST, Refusal.ITEM, Refusal.PARTITION
_LEFT_OUT, _ELSEWHERE = Refusal.LEFT_OUT, Refusal.ELSEWHERE

_TOPIC_OPERATIONS = _operations(
    AclResourceType.TOPIC, _READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS
)
_GROUP_OPERATIONS = _operations(AclResourceType.GROUP, _READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
_CLUSTER_OPERATIONS = _operations(
    AclResourceType.CLUSTER,
    _DESCRIBE, _CREATE, _ALTER, _CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, AclOperation.IDEMPOTENT_WRITE,
)  # fmt: skip

_DESCRIBED_GROUP = (_group(_DESCRIBE, _ITEM), *_GROUP_OPERATIONS, _topic(_DESCRIBE, _ITEM))
_SHARE_STATE = (_cluster(_CLUSTER_ACTION, _PARTITION),)

RIGHTS: Mapping[ApiKey, tuple[AskedRight, ...]] = MappingProxyType({
    ApiKey.PRODUCE: (_transaction(_WRITE, _PARTITION), _topic(_WRITE, _PARTITION)),
    ApiKey.FETCH: (_topic(_READ, _PARTITION),),
    ApiKey.LIST_OFFSETS: (_topic(_DESCRIBE, _PARTITION),),
    ApiKey.METADATA: (
        _topic(_DESCRIBE, _ITEM, _LEFT_OUT),
        _cluster_or_topic(_CREATE, _ITEM),
        *_TOPIC_OPERATIONS,
        *_CLUSTER_OPERATIONS,
    ),
    ApiKey.OFFSET_COMMIT: (_group(_READ, _PARTITION), _topic(_READ, _PARTITION)),
    ApiKey.OFFSET_FETCH: (_group(_DESCRIBE, _ITEM), _topic(_DESCRIBE, _PARTITION, _LEFT_OUT)),
    ApiKey.FIND_COORDINATOR: (
        _group(_DESCRIBE, _ITEM),
        _transaction(_DESCRIBE, _ITEM),
        _cluster(_CLUSTER_ACTION, _ITEM),
    ),
    ApiKey.JOIN_GROUP: (_group(_READ, _REQUEST),),
    ApiKey.HEARTBEAT: (_group(_READ, _REQUEST),),
    ApiKey.LEAVE_GROUP: (_group(_READ, _REQUEST),),
    ApiKey.SYNC_GROUP: (_group(_READ, _REQUEST),),
    ApiKey.DESCRIBE_GROUPS: (_group(_DESCRIBE, _ITEM), *_GROUP_OPERATIONS),
    ApiKey.LIST_GROUPS: (
        AskedRight(
            (Right(_DESCRIBE, AclResourceType.CLUSTER), Right(_DESCRIBE, AclResourceType.GROUP)), (_LEFT_OUT,)
        ),
    ),
    ApiKey.SASL_HANDSHAKE: (),
    ApiKey.API_VERSIONS: (),
    ApiKey.CREATE_TOPICS: (_cluster_or_topic(_CREATE, _ITEM), _topic(_DESCRIBE_CONFIGS, _ELSEWHERE)),
    ApiKey.DELETE_TOPICS: (_cluster_or_topic(_DELETE, _ITEM), _topic(_DESCRIBE, _ELSEWHERE)),
    ApiKey.DELETE_RECORDS: (_topic(_DELETE, _PARTITION),),
    ApiKey.INIT_PRODUCER_ID: (
        _transaction(_WRITE, _REQUEST),
        AskedRight(
            (Right(AclOperation.IDEMPOTENT_WRITE, AclResourceType.CLUSTER), Right(_WRITE, AclResourceType.TOPIC)),
            (_REQUEST,),
        ),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        _transaction(_WRITE, _PARTITION),
        _topic(_WRITE, _PARTITION),
        _cluster(_CLUSTER_ACTION, _REQUEST),
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: (_transaction(_WRITE, _REQUEST), _group(_READ, _REQUEST)),
    ApiKey.END_TXN: (_transaction(_WRITE, _REQUEST),),
    ApiKey.WRITE_TXN_MARKERS: (
        AskedRight(
            (Right(_ALTER, AclResourceType.CLUSTER), Right(_CLUSTER_ACTION, AclResourceType.CLUSTER)), (_PARTITION,)
        ),
    ),
    ApiKey.TXN_OFFSET_COMMIT: (
        _transaction(_WRITE, _PARTITION),
        _group(_READ, _PARTITION),
        _topic(_READ, _PARTITION),
    ),
    ApiKey.DESCRIBE_ACLS: (_cluster(_DESCRIBE, _REQUEST),),
    ApiKey.CREATE_ACLS: (_cluster(_ALTER, _ITEM),),
    ApiKey.DELETE_ACLS: (_cluster(_ALTER, _ITEM),),
    ApiKey.DESCRIBE_CONFIGS: (
        _topic(_DESCRIBE_CONFIGS, _ITEM),
        _group(_DESCRIBE_CONFIGS, _ITEM),
        _cluster(_DESCRIBE_CONFIGS, _ITEM),
    ),
    ApiKey.SASL_AUTHENTICATE: (),
    ApiKey.CREATE_PARTITIONS: (_topic(_ALTER, _ITEM),),
    ApiKey.DELETE_GROUPS: (_group(_DELETE, _ITEM),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        _topic(_ALTER_CONFIGS, _ITEM),
        _group(_ALTER_CONFIGS, _ITEM),
        _cluster(_ALTER_CONFIGS, _ITEM),
    ),
    ApiKey.ALTER_CONFIGS: (
        _topic(_ALTER_CONFIGS, _ITEM),
        _group(_ALTER_CONFIGS, _ITEM),
        _cluster(_ALTER_CONFIGS, _ITEM),
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (_cluster(_DESCRIBE_CONFIGS, _REQUEST),),
    ApiKey.OFFSET_DELETE: (_group(_DELETE, _REQUEST), _topic(_READ, _PARTITION)),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (_cluster(_DESCRIBE, _REQUEST, _ITEM),),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (_cluster(_ALTER, _ITEM),),
    ApiKey.UPDATE_FEATURES: (_cluster(_ALTER, _REQUEST),),
    ApiKey.DESCRIBE_CLUSTER: _CLUSTER_OPERATIONS,
    ApiKey.DESCRIBE_PRODUCERS: (_topic(_READ, _PARTITION),),
    ApiKey.DESCRIBE_TRANSACTIONS: (_transaction(_DESCRIBE, _ITEM), _topic(_DESCRIBE, _LEFT_OUT)),
    ApiKey.LIST_TRANSACTIONS: (_transaction(_DESCRIBE, _LEFT_OUT),),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (_group(_READ, _REQUEST), _topic(_DESCRIBE, _REQUEST, _LEFT_OUT)),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _DESCRIBED_GROUP,
    ApiKey.LIST_CONFIG_RESOURCES: (_cluster(_DESCRIBE_CONFIGS, _REQUEST),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (_topic(_DESCRIBE, _ITEM, _LEFT_OUT), *_TOPIC_OPERATIONS),
    ApiKey.SHARE_GROUP_HEARTBEAT: (_group(_READ, _REQUEST), _topic(_DESCRIBE, _REQUEST)),
    ApiKey.SHARE_GROUP_DESCRIBE: _DESCRIBED_GROUP,
    ApiKey.SHARE_FETCH: (_group(_READ, _REQUEST), _topic(_READ, _PARTITION)),
    ApiKey.SHARE_ACKNOWLEDGE: (_group(_READ, _REQUEST), _topic(_READ, _PARTITION)),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _SHARE_STATE,
    ApiKey.READ_SHARE_GROUP_STATE: _SHARE_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE: _SHARE_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE: _SHARE_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _SHARE_STATE,
    ApiKey.STREAMS_GROUP_HEARTBEAT: (
        _group(_READ, _REQUEST),
        _topic(_DESCRIBE, _REQUEST),
        _cluster_or_topic(_CREATE, _ELSEWHERE),
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: _DESCRIBED_GROUP,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (_group(_DESCRIBE, _ITEM), _topic(_DESCRIBE, _PARTITION, _LEFT_OUT)),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (_group(_READ, _REQUEST), _topic(_READ, _PARTITION)),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (_group(_DELETE, _REQUEST), _topic(_READ, _ITEM)),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: (_group(_READ, _REQUEST),),
})  # fmt: skip
"""The rights by API. An empty entry asks for nothing."""
