"""The embedded broker's settings, under Kafka's names (KIP-932, KIP-848, KIP-1071)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs
from attrs import frozen

from kafka_groups.config.cluster.consumer_group import ConsumerGroupConfig
from kafka_groups.config.cluster.group_limits import LIMITED, check_limits
from kafka_groups.config.cluster.principal_rules import DEFAULT_PRINCIPAL_RULES, PrincipalRules, read_principal_rules
from kafka_groups.config.cluster.share_group import (
    ShareGroupConfig,
    flag,
    integer,
    long_integer,
    milliseconds,
    short_integer,
)
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig, StreamsGroupSettings
from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.readers import STANDARD_AUTHORIZER, read_authorizer, read_principals
from kafka_groups.config.settings import KeyTable, read_keys, setting
from kafka_groups.errors import InvalidConfigError

__all__ = [
    "BROKER_KEYS",
    "OWN_BROKER_KEYS",
    "BrokerSettings",
    "ConsumerGroupConfig",
    "ShareGroupConfig",
    "StreamsGroupConfig",
    "broker_keys",
    "broker_settings",
    "changed_settings",
    "check_standby_replicas",
    "read_config",
    "validate_broker_config",
]


@frozen(kw_only=True)
class BrokerSettings(StreamsGroupSettings):
    """The settings of an embedded broker, with Kafka's defaults; `broker_settings` builds it from dotted names.

    Attributes are named like Kafka's keys, with underscores.
    """

    share_session_timeout_ms: int = milliseconds(
        "group.share.session.timeout.ms", 45_000, "Default of share.session.timeout.ms.", minimum=1
    )
    share_min_session_timeout_ms: int = milliseconds(
        "group.share.min.session.timeout.ms", 45_000, "The smallest share.session.timeout.ms allowed.", minimum=1
    )
    share_max_session_timeout_ms: int = milliseconds(
        "group.share.max.session.timeout.ms", 60_000, "The largest share.session.timeout.ms allowed.", minimum=1
    )
    share_heartbeat_interval_ms: int = milliseconds(
        "group.share.heartbeat.interval.ms", 5_000, "Default of share.heartbeat.interval.ms.", minimum=1
    )
    share_min_heartbeat_interval_ms: int = milliseconds(
        "group.share.min.heartbeat.interval.ms", 5_000, "The smallest share.heartbeat.interval.ms allowed.", minimum=1
    )
    share_max_heartbeat_interval_ms: int = milliseconds(
        "group.share.max.heartbeat.interval.ms", 15_000, "The largest share.heartbeat.interval.ms allowed.", minimum=1
    )
    share_record_lock_duration_ms: int = milliseconds(
        "group.share.record.lock.duration.ms",
        30_000,
        "Default of share.record.lock.duration.ms.",
        minimum=1_000,
        maximum=3_600_000,
    )
    share_min_record_lock_duration_ms: int = milliseconds(
        "group.share.min.record.lock.duration.ms",
        15_000,
        "The smallest share.record.lock.duration.ms allowed.",
        minimum=1_000,
        maximum=30_000,
    )
    share_max_record_lock_duration_ms: int = milliseconds(
        "group.share.max.record.lock.duration.ms",
        60_000,
        "The largest share.record.lock.duration.ms allowed.",
        minimum=30_000,
        maximum=3_600_000,
    )
    share_delivery_count_limit: int = integer(
        "group.share.delivery.count.limit", 5, "Default of share.delivery.count.limit.", minimum=2, maximum=10
    )
    share_min_delivery_count_limit: int = integer(
        "group.share.min.delivery.count.limit",
        2,
        "The smallest share.delivery.count.limit allowed.",
        minimum=2,
        maximum=5,
    )
    share_max_delivery_count_limit: int = integer(
        "group.share.max.delivery.count.limit",
        10,
        "The largest share.delivery.count.limit allowed.",
        minimum=5,
        maximum=25,
    )
    share_partition_max_record_locks: int = integer(
        "group.share.partition.max.record.locks",
        2_000,
        "Default of share.partition.max.record.locks.",
        minimum=100,
        maximum=10_000,
    )
    share_min_partition_max_record_locks: int = integer(
        "group.share.min.partition.max.record.locks",
        100,
        "The smallest share.partition.max.record.locks allowed.",
        minimum=100,
        maximum=2_000,
    )
    share_max_partition_max_record_locks: int = integer(
        "group.share.max.partition.max.record.locks",
        4_000,
        "The largest share.partition.max.record.locks allowed.",
        minimum=2_000,
        maximum=10_000,
    )
    share_assignment_interval_ms: int = milliseconds(
        "group.share.assignment.interval.ms", 1_000, "Default of share.assignment.interval.ms.", minimum=0
    )
    share_min_assignment_interval_ms: int = milliseconds(
        "group.share.min.assignment.interval.ms", 0, "The smallest share.assignment.interval.ms allowed.", minimum=0
    )
    share_max_assignment_interval_ms: int = milliseconds(
        "group.share.max.assignment.interval.ms",
        15_000,
        "The largest share.assignment.interval.ms allowed.",
        minimum=0,
    )
    share_initialize_retry_interval_ms: int = milliseconds(
        "group.share.initialize.retry.interval.ms",
        30_000,
        "How long to wait before retrying the initialisation of a share-partition that got no response.",
        minimum=1,
    )
    initial_rebalance_delay_ms: int = milliseconds(
        "group.initial.rebalance.delay.ms",
        3_000,
        "How long an empty classic group waits for more members after the first.",
        minimum=0,
    )
    min_session_timeout_ms: int = milliseconds(
        "group.min.session.timeout.ms", 6_000, "The shortest session timeout of members of a classic group.", minimum=0
    )
    max_session_timeout_ms: int = milliseconds(
        "group.max.session.timeout.ms",
        1_800_000,
        "The longest session timeout of members of a classic group.",
        minimum=0,
    )
    classic_group_max_size: int = integer(
        "group.max.size", 2_147_483_647, "The maximum number of members in a classic group.", minimum=1
    )
    group_max_size: int = integer(
        "group.share.max.size", 200, "The maximum number of members in a share group.", minimum=1, maximum=1_000
    )
    max_share_sessions: int = integer(
        "group.share.max.share.sessions",
        2_000,
        "The maximum number of share sessions on a broker. Must be at least group.share.max.size.",
        minimum=1,
    )
    share_assignors: tuple[str, ...] = setting(
        Key(
            name="group.share.assignors",
            type=KeyType.LIST,
            default=("simple",),
            choices=("simple",),
            doc="The assignor of share groups.",
            error=InvalidConfigError,
        )
    )
    offsets_topic_num_partitions: int = integer(
        "offsets.topic.num.partitions", 50, "The number of partitions of the topic that keeps groups.", minimum=1
    )
    offsets_retention_minutes: int = integer(
        "offsets.retention.minutes",
        10_080,
        "How long committed offsets are kept, unless members of the group subscribe to the topic.",
        minimum=1,
    )
    offsets_retention_check_interval_ms: int = long_integer(
        "offsets.retention.check.interval.ms",
        600_000,
        "How often the broker looks for committed offsets that have expired.",
        unit="ms",
        minimum=1,
    )
    offset_metadata_max_bytes: int = integer(
        "offset.metadata.max.bytes", 4_096, "The largest metadata that may be committed with an offset.", unit="bytes"
    )
    offsets_topic_replication_factor: int = short_integer(
        "offsets.topic.replication.factor",
        3,
        "The replication factor of that topic. With fewer brokers, each of them has a replica.",
        minimum=1,
    )
    share_state_topic_num_partitions: int = integer(
        "share.coordinator.state.topic.num.partitions",
        50,
        "The number of partitions of the topic that keeps the state of share groups.",
        minimum=1,
    )
    share_state_topic_replication_factor: int = short_integer(
        "share.coordinator.state.topic.replication.factor",
        3,
        "The replication factor of that topic. With fewer brokers, each of them has a replica.",
        minimum=1,
    )
    share_updates_per_snapshot: int = integer(
        "share.coordinator.snapshot.update.records.per.snapshot",
        500,
        "How many changes of a share-partition's state are written between two snapshots of the whole state.",
        minimum=0,
        maximum=500,
    )
    num_partitions: int = integer(
        "num.partitions", 1, "The number of partitions of a topic that is created without one.", minimum=1
    )
    default_replication_factor: int = integer(
        "default.replication.factor", 1, "The replication factor of a topic that is created without one.", minimum=1
    )
    auto_create_topics_enable: bool = flag(
        "auto.create.topics.enable",
        "Whether to create unknown topics that a metadata request names, if the request allows it.",
    )
    delete_topic_enable: bool = flag("delete.topic.enable", "Whether topics can be deleted.")
    message_max_bytes: int = integer(
        "message.max.bytes", 1_048_588, "The largest record batch accepted.", unit="bytes", minimum=0
    )
    fetch_max_bytes: int = integer(
        "fetch.max.bytes", 57_671_680, "The largest response to a fetch.", unit="bytes", minimum=1_024
    )
    socket_request_max_bytes: int = integer(
        "socket.request.max.bytes",
        104_857_600,
        "The largest request. The broker closes a connection that announces a larger one.",
        unit="bytes",
        minimum=1,
    )
    max_incremental_fetch_session_cache_slots: int = integer(
        "max.incremental.fetch.session.cache.slots",
        1_000,
        "The maximum number of fetch sessions on a broker.",
        minimum=0,
    )
    producer_id_expiration_ms: int = milliseconds(
        "producer.id.expiration.ms",
        86_400_000,
        "How long the broker remembers the sequence numbers of a producer that sends nothing.",
        minimum=1,
    )
    transaction_max_timeout_ms: int = milliseconds(
        "transaction.max.timeout.ms",
        900_000,
        "The largest transaction.timeout.ms of a producer that is allowed.",
        minimum=1,
    )
    transactional_id_expiration_ms: int = milliseconds(
        "transactional.id.expiration.ms",
        604_800_000,
        "How long a transactional id without an open transaction is kept after its last use.",
        minimum=1,
    )
    transaction_state_log_num_partitions: int = integer(
        "transaction.state.log.num.partitions",
        50,
        "The number of partitions of the topic that keeps transactional ids.",
        minimum=1,
    )
    transaction_state_log_replication_factor: int = short_integer(
        "transaction.state.log.replication.factor",
        3,
        "The number of replicas of the topic that keeps transactional ids. With fewer brokers, each has a replica.",
        minimum=1,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = milliseconds(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "The time between two checks for transactions that have timed out.",
        minimum=1,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = milliseconds(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "The time between two checks for transactional ids that have expired.",
        minimum=1,
    )
    transaction_partition_verification_enable: bool = flag(
        "transaction.partition.verification.enable",
        "Whether the leader of a partition asks the transaction coordinator before it takes the first records of a "
        "transaction.",
    )
    add_partitions_to_txn_retry_backoff_ms: int = milliseconds(
        "add.partitions.to.txn.retry.backoff.ms",
        20,
        "How long a leader waits before it tries again to add a partition, while the transaction before is being "
        "ended.",
        minimum=1,
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = milliseconds(
        "add.partitions.to.txn.retry.backoff.max.ms",
        100,
        "How long a leader tries to add a partition.",
        minimum=0,
    )
    log_retention_check_interval_ms: int = long_integer(
        "log.retention.check.interval.ms",
        300_000,
        "The time between two checks for segments that retention.ms or retention.bytes no longer keeps.",
        unit="ms",
        minimum=1,
    )
    log_initial_task_delay_ms: int = long_integer(
        "log.initial.task.delay.ms",
        30_000,
        "The time from the start of a broker to its first check for such segments.",
        unit="ms",
        minimum=0,
    )
    log_cleaner_backoff_ms: int = long_integer(
        "log.cleaner.backoff.ms",
        15_000,
        "The time between two checks for logs to compact.",
        unit="ms",
        minimum=0,
    )
    errors_deadletterqueue_topic_name_prefix: str = setting(
        Key(
            name="errors.deadletterqueue.topic.name.prefix",
            type=KeyType.STRING,
            default="dlq.",
            doc="The prefix of topics to which brokers write dead letters (KIP-1191). Nothing allows all names.",
            error=InvalidConfigError,
        )
    )
    errors_deadletterqueue_auto_create_topics_enable: bool = flag(
        "errors.deadletterqueue.auto.create.topics.enable",
        "Whether the brokers create a missing topic for dead letters (KIP-1191).",
        default=False,
    )
    connections_max_idle_ms: int = long_integer(
        "connections.max.idle.ms",
        600_000,
        "How long an idle connection stays open. A negative number keeps it open indefinitely.",
        unit="ms",
    )
    connections_max_reauth_ms: int = long_integer(
        "connections.max.reauth.ms",
        0,
        "How long a client that authenticated with SASL stays connected unless it authenticates again. 0: forever.",
        unit="ms",
        minimum=0,
    )
    connection_failed_authentication_delay_ms: int = integer(
        "connection.failed.authentication.delay.ms",
        100,
        "How long a connection that failed to authenticate stays open before it gets the error and is closed.",
        unit="ms",
        minimum=0,
    )

    authorizer_class_name: str = setting(
        Key(
            name="authorizer.class.name",
            type=KeyType.STRING,
            default="",
            reader=read_authorizer,
            form=f"{STANDARD_AUTHORIZER}, or empty text for none",
            doc="Kafka's StandardAuthorizer checks each request against the ACLs. Without it, everything is allowed.",
            error=InvalidConfigError,
        )
    )
    ssl_principal_mapping_rules: PrincipalRules = setting(
        Key(
            name="ssl.principal.mapping.rules",
            type=KeyType.STRING,
            default=DEFAULT_PRINCIPAL_RULES,
            reader=read_principal_rules,
            form="DEFAULT, or rules such as RULE:^CN=([^,]+).*$/$1/L,DEFAULT",
            annotation="str",
            doc="How the subject of a client's certificate becomes the name of its principal.",
            error=InvalidConfigError,
        )
    )
    super_users: tuple[str, ...] = setting(
        Key(
            name="super.users",
            type=KeyType.LIST,
            default=(),
            reader=read_principals,
            form="principals such as User:ann, separated by semicolons",
            annotation="str | tuple[str, ...]",
            doc="Principals that may do everything, whatever ACLs say. Only the authorizer reads them.",
            error=InvalidConfigError,
        )
    )
    allow_everyone_if_no_acl_found: bool = setting(
        Key(
            name="allow.everyone.if.no.acl.found",
            type=KeyType.BOOLEAN,
            default=False,
            doc="Whether the authorizer allows everything on a resource that no ACL applies to.",
            error=InvalidConfigError,
        )
    )

    def __attrs_post_init__(self) -> None:
        """Check the settings against each other."""
        for kind in LIMITED:
            check_limits(kind, self, BROKER_KEYS)
        check_standby_replicas(self, BROKER_KEYS.key("streams_num_standby_replicas"), self.streams_num_standby_replicas)
        if self.max_share_sessions < self.group_max_size:
            raise BROKER_KEYS.key("max_share_sessions").problem(
                self.max_share_sessions,
                "below group.share.max.size",
                remedy=f"Use at least {self.group_max_size}, so that every member of a full group gets a session",
            )


BROKER_KEYS = KeyTable(BrokerSettings)
"""The keys of a broker, by attribute and by any spelling."""
_BROKER_DOTTED = KeyTable(BrokerSettings, dotted_only=True)


OWN_BROKER_KEYS = frozenset({
    "allow.everyone.if.no.acl.found", "group.streams.assignor.timeout.ms", "super.users",
})  # fmt: skip
"""The keys that Kafka's brokers do not define: one is ours, and two are read by Kafka's authorizer alone.

DescribeConfigs does not show them, as its clients know Kafka's keys only. Kafka shows the authorizer's without values.
"""


def broker_keys() -> dict[str, Key]:
    """Return the keys of a broker by dotted name (resource type BROKER)."""
    return BROKER_KEYS.by_name()


def broker_settings(
    given: Mapping[str, object] | None = None, defaults: Mapping[str, object] = MappingProxyType({})
) -> BrokerSettings:
    """Return the settings of a broker from Kafka's dotted names (or the attributes' names).

    Args:
        given: The values that were given.
        defaults: Values by attribute that replace the keys' defaults.

    Raises:
        InvalidConfigError: A key is unknown or a value does not fit.
    """
    return BrokerSettings(**{**defaults, **read_config(BROKER_KEYS, given or {}, "a broker")})


def changed_settings(settings: BrokerSettings, changes: Mapping[str, str]) -> BrokerSettings:
    """Return the settings of a broker with other values for some keys, by dotted name.

    Raises:
        InvalidConfigError: A key is unknown, a value does not fit, or it does not go with the others.
    """
    return attrs.evolve(settings, **read_config(_BROKER_DOTTED, changes, "a broker"))


def validate_broker_config(settings: BrokerSettings, name: str, value: str) -> None:
    """Check one broker-level value together with the broker's other settings, for IncrementalAlterConfigs.

    Raises:
        InvalidConfigError: The key is unknown, the value does not fit, or it does not go with the others.
    """
    changed_settings(settings, {name: value})


def check_standby_replicas(settings: BrokerSettings, key: Key, count: int) -> None:
    """Check the number of standby tasks against the broker's limit.

    Raises:
        InvalidConfigError: It is above the limit.
    """
    most = settings.streams_max_standby_replicas
    if count > most:
        raise key.problem(
            count,
            f"above {most}, the group.streams.max.standby.replicas of the broker",
            remedy=f"Use 0 to {most}, or change the broker's limit",
        )


def read_config(table: KeyTable, given: Mapping[str, object], whose: str) -> dict[str, Any]:
    """Return the values by attribute.

    Raises:
        InvalidConfigError: A key is unknown or a value does not fit.
    """
    return read_keys(table, given.items(), whose, InvalidConfigError)
