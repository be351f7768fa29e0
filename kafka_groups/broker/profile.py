"""Profiles of Kafka's releases: one for each release that the embedded broker can stand in for.

A profile has what the release says. What the embedded broker does not support is in `unsupported`, and is left out of
what it offers: the methods here return what it offers. A test compares both with what the release was captured to
answer (`python -m tests.recording.profile_capture`).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve, field, frozen

from kafka_groups.assignment import TaskAssignors
from kafka_groups.broker.unsupported import LOWEST_SUPPORTED_VERSIONS
from kafka_groups.config.cluster.broker import BrokerSettings, broker_settings
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import InvalidConfigError
from kafka_groups.protocol.apis import APIS, ApiKey, VersionRange

__all__ = ["DEFAULT_PROFILE", "PROFILES", "Feature", "Profile", "profile_named"]

_KEYS = KeyTable(BrokerSettings)
_INTERNAL_BROKER_KEYS = frozenset({"group.share.initialize.retry.interval.ms", "log.initial.task.delay.ms"})
"""Keys that can be set and are never described."""


@frozen
class Feature:
    """A feature of a cluster (KIP-584).

    Attributes:
        levels: The levels that brokers support.
        finalized: The level of a new cluster.
    """

    levels: VersionRange
    finalized: int


@frozen
class Profile:
    """One release.

    Attributes:
        name: The name by which users select it.
        release: The release that it was captured from.
        versions: The versions of each API that the release lists in its ApiVersions response.
        features: Its features by name.
        missing_broker_keys: Keys of a broker that later releases added, with the values that the release acts by.
        missing_group_keys: Keys of a group that later releases added.
        missing_topic_keys: Keys of a topic that later releases added.
        lowest_metadata_level: The lowest level of `metadata.version` to which a cluster can go back.
        describes_broker_defaults: Whether the configs of a group say which config of the broker they fall back to.
        first_share_group_epoch: The group epoch after the first member of a share group joined.
        settles_empty_share_groups: Whether the assignment epoch follows when the last member of a share group leaves.
        has_static_streams_members: Whether members of streams groups may be static and report offsets of tasks.
        has_acl_address_blocks: Whether the host of an ACL can be a block of addresses.
    """

    name: str
    release: str
    versions: Mapping[ApiKey, VersionRange]
    features: Mapping[str, Feature]
    lowest_metadata_level: int
    missing_broker_keys: Mapping[str, Any] = field(factory=dict)
    missing_group_keys: frozenset[str] = frozenset()
    missing_topic_keys: frozenset[str] = frozenset()
    describes_broker_defaults: bool = True
    first_share_group_epoch: int = 2
    settles_empty_share_groups: bool = True
    has_static_streams_members: bool = True
    has_acl_address_blocks: bool = True

    def __str__(self) -> str:
        return f"Kafka {self.name}"

    def advertised(self, key: ApiKey) -> VersionRange | None:
        """Return the versions of an API in an ApiVersions response, or None if the release does not have the API."""
        versions = self.versions.get(key)
        if versions is None:
            return None
        return VersionRange(max(versions.low, LOWEST_SUPPORTED_VERSIONS.get(key, 0)), versions.high)

    def served(self, key: ApiKey) -> VersionRange | None:
        """Return the versions of an API that are served: those advertised, without old ones that no client may use."""
        versions = self.advertised(key)
        return versions.common(APIS[key].versions) if versions is not None else None

    def supported_features(self) -> Mapping[str, VersionRange]:
        """Return the levels of each feature that the broker supports."""
        return {name: feature.levels for name, feature in self.features.items()}

    def finalized_features(self) -> Mapping[str, int]:
        """Return the level of each feature in a new cluster."""
        return {name: feature.finalized for name, feature in self.features.items()}

    def has_broker_key(self, name: str) -> bool:
        """Return whether the configs of a broker have a key."""
        return name not in self.missing_broker_keys and name not in _INTERNAL_BROKER_KEYS

    def has_group_key(self, name: str) -> bool:
        """Return whether the configs of a group have a key."""
        return name not in self.missing_group_keys

    def check_group_keys(self, names: Iterable[str]) -> None:
        """Raise an error if the release does not have one of these keys of a group.

        Raises:
            InvalidConfigError: The key came with a later release.
        """
        for name in sorted(names):
            if not self.has_group_key(name):
                raise InvalidConfigError(f"{self} does not have the group configuration '{name}'. Later releases do.")

    def has_topic_key(self, name: str) -> bool:
        """Return whether the configs of a topic have a key."""
        return name not in self.missing_topic_keys

    def check_topic_keys(self, names: Iterable[str]) -> None:
        """Raise an error if the release does not have one of these keys of a topic.

        Raises:
            InvalidConfigError: The key came with a later release.
        """
        for name in sorted(names):
            if not self.has_topic_key(name):
                raise InvalidConfigError(f"{self} does not have the topic configuration '{name}'. Later releases do.")

    def settings(self, given: BrokerSettings | Mapping[str, object] | None = None) -> BrokerSettings:
        """Return the settings of a broker of this release.

        Args:
            given: Settings by their dotted names, or all of them.

        Raises:
            InvalidConfigError: A key is unknown, came with a later release, or a value does not fit.
        """
        fixed: dict[str, Any] = {_attribute(name): value for name, value in self.missing_broker_keys.items()}
        if isinstance(given, BrokerSettings):
            # Settings that were given as an object have all keys. Those that still have the default of the newest
            # release take the value by which this release acts.
            unchanged = {name: value for name, value in fixed.items() if _is_default(given, name)}
            settings = evolve(given, **unchanged)
        else:
            settings = broker_settings(given, fixed)
        for name, value in self.missing_broker_keys.items():
            if getattr(settings, _attribute(name)) != value:
                raise InvalidConfigError(f"{self} does not have the broker setting '{name}'. Remove it.")
        return settings


def _attribute(name: str) -> str:
    attribute = _KEYS.attribute(name)
    assert attribute is not None, name  # noqa: S101 - the names stand in this module
    return attribute


def _is_default(settings: BrokerSettings, attribute: str) -> bool:
    return bool(getattr(settings, attribute) == _KEYS.key(attribute).default)


def profile_named(name: str) -> Profile:
    """Return a profile by its name.

    Raises:
        ValueError: There is no such profile.
    """
    profile = PROFILES.get(name)
    if profile is None:
        raise ValueError(f"Unknown profile {name!r}. Known profiles: {', '.join(PROFILES)}.")
    return profile


# ------------------------------------------------------------------------------------------- the releases


def _versions(**ranges: tuple[int, int]) -> Mapping[ApiKey, VersionRange]:
    return {ApiKey[name]: VersionRange(low, high) for name, (low, high) in ranges.items()}


def _without(versions: Mapping[ApiKey, VersionRange], key: ApiKey) -> Mapping[ApiKey, VersionRange]:
    return {each: of_api for each, of_api in versions.items() if each is not key}


def _features(**levels: tuple[int, int, int]) -> Mapping[str, Feature]:
    """Features from (lowest, highest, finalised) levels; underscores in their names stand for dots."""
    return {
        name.replace("_", "."): Feature(VersionRange(low, high), finalized)
        for name, (low, high, finalized) in levels.items()
    }


_4_4 = Profile(
    name="4.4",
    release="4.4.0",
    versions=_versions(
        PRODUCE=(0, 13),  # served from v3; old versions of librdkafka need to see v0
        FETCH=(4, 18),
        LIST_OFFSETS=(1, 11),
        METADATA=(0, 13),
        JOIN_GROUP=(0, 9),
        SYNC_GROUP=(0, 5),
        HEARTBEAT=(0, 4),
        LEAVE_GROUP=(0, 5),
        DESCRIBE_GROUPS=(0, 6),
        OFFSET_COMMIT=(2, 10),
        OFFSET_FETCH=(1, 10),
        OFFSET_DELETE=(0, 0),
        FIND_COORDINATOR=(0, 6),
        LIST_GROUPS=(0, 5),
        SASL_HANDSHAKE=(0, 1),
        API_VERSIONS=(0, 5),
        CREATE_TOPICS=(2, 7),
        DELETE_TOPICS=(1, 6),
        DELETE_RECORDS=(0, 2),
        INIT_PRODUCER_ID=(0, 5),  # v6 is unstable, and served only if unstable.api.versions.enable is set
        ADD_PARTITIONS_TO_TXN=(0, 5),
        ADD_OFFSETS_TO_TXN=(0, 4),
        END_TXN=(0, 5),
        WRITE_TXN_MARKERS=(1, 2),
        TXN_OFFSET_COMMIT=(0, 6),
        DESCRIBE_ACLS=(1, 3),
        CREATE_ACLS=(1, 3),
        DELETE_ACLS=(1, 3),
        DESCRIBE_CONFIGS=(1, 4),
        ALTER_CONFIGS=(0, 2),
        DESCRIBE_CLIENT_QUOTAS=(0, 1),
        SASL_AUTHENTICATE=(0, 2),
        CREATE_PARTITIONS=(0, 3),
        DELETE_GROUPS=(0, 3),
        INCREMENTAL_ALTER_CONFIGS=(0, 1),
        DESCRIBE_USER_SCRAM_CREDENTIALS=(0, 0),
        ALTER_USER_SCRAM_CREDENTIALS=(0, 0),
        UPDATE_FEATURES=(0, 2),
        DESCRIBE_CLUSTER=(0, 2),
        DESCRIBE_PRODUCERS=(0, 0),
        DESCRIBE_TRANSACTIONS=(0, 0),
        LIST_TRANSACTIONS=(0, 2),
        LIST_CONFIG_RESOURCES=(0, 1),
        DESCRIBE_TOPIC_PARTITIONS=(0, 0),
        CONSUMER_GROUP_HEARTBEAT=(0, 1),
        CONSUMER_GROUP_DESCRIBE=(0, 1),
        SHARE_GROUP_HEARTBEAT=(1, 1),
        SHARE_GROUP_DESCRIBE=(1, 1),
        SHARE_FETCH=(1, 2),
        SHARE_ACKNOWLEDGE=(1, 2),
        INITIALIZE_SHARE_GROUP_STATE=(0, 0),
        READ_SHARE_GROUP_STATE=(0, 0),
        WRITE_SHARE_GROUP_STATE=(0, 1),
        DELETE_SHARE_GROUP_STATE=(0, 0),
        READ_SHARE_GROUP_STATE_SUMMARY=(0, 1),
        STREAMS_GROUP_HEARTBEAT=(0, 1),
        STREAMS_GROUP_DESCRIBE=(0, 1),
        DESCRIBE_SHARE_GROUP_OFFSETS=(0, 1),
        ALTER_SHARE_GROUP_OFFSETS=(0, 0),
        DELETE_SHARE_GROUP_OFFSETS=(0, 0),
        STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE=(0, 0),
    ),
    features=_features(
        eligible_leader_replicas_version=(0, 1, 1),
        group_version=(0, 1, 1),
        kraft_version=(0, 1, 1),
        metadata_version=(7, 33, 33),  # 33 is 4.4-IV2
        share_version=(0, 2, 2),
        streams_version=(0, 1, 1),
        transaction_version=(0, 2, 2),
    ),
    lowest_metadata_level=33,
)
# Custom assignors of streams groups (KIP-1357), tags for racks, descriptions of topologies (KIP-1331), and dead-letter
# queues (KIP-1191).
_NEW_IN_4_4: Mapping[str, Any] = MappingProxyType({
    "errors.deadletterqueue.auto.create.topics.enable": False,
    "errors.deadletterqueue.topic.name.prefix": "dlq.",
    "group.streams.assignors": TaskAssignors(),
    "group.streams.rack.aware.assignment.tags": (),
    "group.streams.topology.description.plugin.class": None,
})  # fmt: skip
_4_3 = evolve(
    _4_4,
    name="4.3",
    release="4.3.1",
    versions={
        **_without(_4_4.versions, ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE),
        **_versions(
            API_VERSIONS=(0, 4),
            DELETE_GROUPS=(0, 2),
            STREAMS_GROUP_HEARTBEAT=(0, 0),
            STREAMS_GROUP_DESCRIBE=(0, 0),
            TXN_OFFSET_COMMIT=(0, 5),
        ),
    },
    # Level 2 of share.version, with dead-letter queues (KIP-1191), came with 4.4.
    features={**_4_4.features, **_features(metadata_version=(7, 30, 30), share_version=(0, 1, 1))},
    lowest_metadata_level=30,
    settles_empty_share_groups=False,
    has_static_streams_members=False,
    has_acl_address_blocks=False,
    missing_broker_keys=_NEW_IN_4_4,
    missing_group_keys=frozenset(
        {
            "errors.deadletterqueue.copy.record.enable",
            "errors.deadletterqueue.topic.name",
            "streams.assignor.name",
            "streams.rack.aware.assignment.tags",
        }
    ),
    missing_topic_keys=frozenset({"errors.deadletterqueue.group.enable"}),
)
_4_2 = evolve(
    _4_3,
    name="4.2",
    release="4.2.1",
    features={**_4_3.features, **_features(metadata_version=(7, 29, 29))},
    lowest_metadata_level=23,
    missing_broker_keys={
        **_NEW_IN_4_4,
        # Before KIP-1263 in 4.3, assignments were computed with the change that needs them. An interval of 0 acts like
        # that.
        "group.streams.assignment.interval.ms": 0,
        "group.streams.min.assignment.interval.ms": 0,
        "group.streams.max.assignment.interval.ms": 15_000,
        "group.consumer.assignment.interval.ms": 0,
        "group.consumer.min.assignment.interval.ms": 0,
        "group.consumer.max.assignment.interval.ms": 15_000,
        "group.share.assignment.interval.ms": 0,
        "group.share.min.assignment.interval.ms": 0,
        "group.share.max.assignment.interval.ms": 15_000,
        # KIP-1240 in 4.3 brought limits for each group, and these bounds. In 4.2 only the broker has limits.
        "group.share.min.delivery.count.limit": 2,
        "group.share.max.delivery.count.limit": 10,
        "group.share.min.partition.max.record.locks": 100,
        "group.share.max.partition.max.record.locks": 10_000,
    },
    missing_group_keys=frozenset(
        {
            *_4_3.missing_group_keys,
            "streams.assignment.interval.ms",
            "consumer.assignment.interval.ms",
            "share.assignment.interval.ms",
            "share.delivery.count.limit",
            "share.partition.max.record.locks",
            "share.renew.acknowledge.enable",
        }
    ),
    describes_broker_defaults=False,
    first_share_group_epoch=1,
)

PROFILES: Mapping[str, Profile] = MappingProxyType({each.name: each for each in (_4_2, _4_3, _4_4)})
"""The profiles by name."""
DEFAULT_PROFILE = _4_4
"""The newest release."""
