"""The configuration of a member of a streams group, given as keywords, by Kafka's dotted names, or both.

Keys of Kafka Streams that have no effect on a streams group raise an error that names the group configuration to set
instead: Kafka's own client ignores them. One error names everything that is wrong.
"""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from kafka_groups.config.clients import client
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.keys import INT_MAX, Key, KeyType
from kafka_groups.config.readers import read_host_port, read_not_empty, read_tags
from kafka_groups.config.security import security
from kafka_groups.config.settings import KeyTable, gather, missing_keys, raise_together, refused_key, setting

__all__ = ["IGNORED_BY_KAFKA", "StreamsMemberConfig", "streams_member_config", "streams_member_keys"]

_TAG: Final = "client.tag."


@frozen(kw_only=True)
class StreamsMemberConfig(ClientConfig):
    """The configuration of a member of a streams group; `streams_member_config` builds it."""

    whose = "a streams group member"

    application_id: str = setting(
        Key(
            name="application.id",
            type=KeyType.STRING,
            reader=read_not_empty,
            form="a name that is not empty",
            doc="The application, which is the id of its streams group.",
        )
    )
    application_server: tuple[str, int] | None = setting(
        Key(
            name="application.server",
            type=KeyType.STRING,
            default=None,
            reader=read_host_port,
            form="host:port",
            annotation="str | tuple[str, int] | None",
            doc="Where the process answers interactive queries. The other members of the group get to know it.",
        )
    )
    client_rack: str = setting(client.CLIENT_RACK)
    client_tags: tuple[tuple[str, str], ...] = setting(
        Key(
            name="client.tags",
            type=KeyType.LIST,
            default=(),
            reader=read_tags,
            form="a mapping, such as {'zone': 'a'}; or one key for each tag, such as client.tag.zone",
            annotation="Mapping[str, str]",
            doc="Tags of the process, for assignors that place standby tasks by them.",
        )
    )
    group_instance_id: str | None = setting(
        Key(
            name="group.instance.id",
            type=KeyType.STRING,
            default=None,
            reader=read_not_empty,
            form="a name that is not empty, and that no other process of the application has",
            doc="Makes the members of this process static (KIP-345): one that is restarted within the session timeout "
            "of the group gets its tasks back. The number of the member is added, as in <id>-1.",
        )
    )
    max_poll_interval_ms: int = setting(
        Key(
            name="max.poll.interval.ms",
            type=KeyType.INT,
            default=300_000,
            unit="ms",
            minimum=1,
            maximum=INT_MAX,
            doc="If you do not poll for this long, the member leaves the group, and other members get its tasks. It is "
            "also how long the group waits for the member to give up tasks.",
        )
    )
    metadata_max_age_ms: int = setting(client.METADATA_MAX_AGE_MS)


def _of_the_group(name: str) -> tuple[str, str]:
    return "it is a setting of the streams group, not of its members", f"set the group configuration {name}"


_ASSIGNOR: Final = (
    "the group coordinator assigns tasks",
    "remove it, or choose an assignor of the brokers with the group configuration streams.assignor.name",
)
_TAGS: Final = (
    "racks are a matter of the assignor on the group coordinator",
    "remove it, or set the group configuration streams.rack.aware.assignment.tags",
)
_NO_WARMUPS: Final = (
    "the group coordinator decides about warm-up tasks, and no release of Kafka assigns any",
    "remove it, or set the group configuration streams.num.standby.replicas",
)

IGNORED_BY_KAFKA: Final[Mapping[str, tuple[str, str]]] = {
    "acceptable.recovery.lag": _NO_WARMUPS,
    "heartbeat.interval.ms": _of_the_group("streams.heartbeat.interval.ms"),
    "max.warmup.replicas": _NO_WARMUPS,
    "num.standby.replicas": _of_the_group("streams.num.standby.replicas"),
    "probing.rebalance.interval.ms": _NO_WARMUPS,
    "rack.aware.assignment.non_overlap_cost": _TAGS,
    "rack.aware.assignment.strategy": _TAGS,
    "rack.aware.assignment.tags": _TAGS,
    "rack.aware.assignment.traffic_cost": _TAGS,
    "session.timeout.ms": _of_the_group("streams.session.timeout.ms"),
    "task.assignor.class": _ASSIGNOR,
}
"""Keys that Kafka Streams ignores in streams groups: why, and what to do."""

_RUNTIME: Final = ("a member only joins its group; your program runs the tasks", "remove it")
_FOREIGN: Final[Mapping[str, tuple[str, str]]] = {
    "auto.offset.reset": ("a member reads no records", "set it on the consumer that reads the tasks' partitions"),
    "commit.interval.ms": _RUNTIME,
    "enable.auto.commit": ("offsets are committed with commit()", "remove it"),
    "group.id": ("the id of a streams group is its application's", "set application_id"),
    "group.protocol": ("a member always uses the streams group protocol", "remove it"),
    "group.remote.assignor": _ASSIGNOR,
    "num.stream.threads": _RUNTIME,
    "partition.assignment.strategy": _ASSIGNOR,
    "processing.guarantee": _RUNTIME,
    "state.dir": _RUNTIME,
}

_TABLE = KeyTable(StreamsMemberConfig)


def streams_member_keys() -> dict[str, Key]:
    """Return the keys of a member of a streams group by attribute name, in the order of the class."""
    return dict(_TABLE)


def streams_member_config(mapping: Mapping[str, object] | None = None, **keywords: object) -> StreamsMemberConfig:
    """Read and check the configuration of a member of a streams group.

    Args:
        mapping: Keys by Kafka's dotted names.
        **keywords: Keys by the attributes' names.

    Raises:
        ConfigurationError: A key is unknown, has no effect on a streams group, is missing, given twice with different
            values or conflicts with another, or a value is invalid. The message names every such key, its value and
            what to do.
    """
    given = security.from_java(_with_tags([*(mapping or {}).items(), *keywords.items()]))
    found = gather(_TABLE, given)
    whose = StreamsMemberConfig.whose
    refused = [refused_key(_TABLE, name, value, whose, _advice(name)) for name, value in found.unknown]
    raise_together([*refused, *found.problems, *missing_keys(_TABLE, given)], whose)
    return StreamsMemberConfig(**found.values)


def _with_tags(given: list[tuple[str, object]]) -> list[tuple[str, object]]:
    """Return the keys with those of single tags gathered into one."""
    tags = {name.removeprefix(_TAG): value for name, value in given if name.startswith(_TAG)}
    others = [(name, value) for name, value in given if not name.startswith(_TAG)]
    return [*others, ("client.tags", tags)] if tags else others


def _advice(name: str) -> tuple[str, str] | None:
    """Return why a member does not have a key, however its parts are separated; None if no client has it."""
    return _ADVICE.get(name.replace(".", "_"))


_ADVICE: Final = {name.replace(".", "_"): advice for name, advice in {**IGNORED_BY_KAFKA, **_FOREIGN}.items()}
