"""The keys of an application in a classic group, where members decide what a coordinator decides in a streams group."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import fields, frozen
from typing_extensions import override

from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.config.keys import INT_MAX, LONG_MAX, Key, KeyType
from kafka_groups.config.readers import UnfitError, read_list
from kafka_groups.config.settings import KeyTable, setting
from kafka_groups.errors import ConfigurationError

__all__ = ["CLASSIC_KEYS", "ClassicMemberConfig", "is_classic"]

_ONLY = " Only with group.protocol=classic."
_DEFAULT_ASSIGNOR = "HighAvailabilityTaskAssignor"
_HEARTBEATS = 3
"""The least number of heartbeats in a session: the coordinator may miss two of them."""


_MOST_TAGS = 5
"""As in Kafka Streams (StreamsConfig.MAX_RACK_AWARE_ASSIGNMENT_TAG_LIST_SIZE)."""


def _number(name: str, default: int | None, doc: str, **options: Any) -> Any:
    limits: dict[str, Any] = {"type": KeyType.INT, "minimum": 0, "maximum": INT_MAX} | options
    return setting(Key(name=name, default=default, doc=doc + _ONLY, **limits))


def _choice(name: str, default: str, choices: tuple[str, ...], doc: str) -> Any:
    return setting(Key(name=name, type=KeyType.STRING, default=default, choices=choices, doc=doc + _ONLY))


def _read_tag_names(value: object) -> tuple[str, ...]:
    if len(names := read_list(value)) > _MOST_TAGS:
        raise UnfitError(f"{len(names)} tags")
    return names


def _read_assignor(value: object) -> object:
    # Only an application that chooses an assignor imports them.
    from kafka_groups.config.clients.application_assignor import read_assignor  # noqa: PLC0415

    return read_assignor(value)


@frozen(kw_only=True)
class ClassicMemberConfig(StreamsMemberConfig):
    """The configuration of a member of a classic group; `streams_config` builds it."""

    session_timeout_ms: int = _number(
        "session.timeout.ms",
        45_000,
        "The group gives the tasks of a member to others if it has not heard from it for this long. Brokers limit it "
        "by group.min.session.timeout.ms and group.max.session.timeout.ms.",
        unit="ms",
        minimum=1,
    )
    heartbeat_interval_ms: int = _number(
        "heartbeat.interval.ms",
        3_000,
        "How often a member tells the group that it is there, and hears of changes; at most a third of the session.",
        unit="ms",
        minimum=1,
    )
    num_standby_replicas: int = _number(
        "num.standby.replicas", 0, "How many other processes keep a copy of the stores of each task."
    )
    max_warmup_replicas: int = _number(
        "max.warmup.replicas",
        2,
        "How many copies of stores are made at a time, in addition to standby tasks, for tasks that will move.",
        minimum=1,
    )
    acceptable_recovery_lag: int = _number(
        "acceptable.recovery.lag",
        10_000,
        "How many records of its changelogs a process may lack to get a task at once.",
        type=KeyType.LONG,
        maximum=LONG_MAX,
    )
    probing_rebalance_interval_ms: int = _number(
        "probing.rebalance.interval.ms",
        600_000,
        "How often the group checks whether copies of stores have caught up, while tasks wait for them to move.",
        type=KeyType.LONG,
        unit="ms",
        minimum=60_000,
        maximum=LONG_MAX,
    )
    rack_aware_assignment_strategy: str = _choice(
        "rack.aware.assignment.strategy",
        "none",
        ("none", "min_traffic", "balance_subtopology"),
        "Whether tasks shall run in the rack of replicas of their partitions (KIP-925). min_traffic: as many as "
        "possible, balance_subtopology: but so that each process has its share of each sub-topology. It needs "
        "client.rack in all instances, and broker.rack on the brokers.",
    )
    rack_aware_assignment_traffic_cost: int | None = _number(
        "rack.aware.assignment.traffic_cost",
        None,
        "What it costs that a task reads a partition from another rack. None: 10, and 1 with the sticky assignors.",
    )
    rack_aware_assignment_non_overlap_cost: int | None = _number(
        "rack.aware.assignment.non_overlap_cost",
        None,
        "What it costs that a task moves for the sake of racks. None: 1, and 10 with the sticky assignors.",
    )
    rack_aware_assignment_tags: tuple[str, ...] = setting(
        Key(
            name="rack.aware.assignment.tags",
            type=KeyType.LIST,
            default=(),
            form=f"at most {_MOST_TAGS} names of client tags",
            reader=_read_tag_names,
            annotation="str | Sequence[str]",
            doc="The client tags by whose values standby tasks are spread (KIP-708). Each must be set with "
            "client.tag.<name>." + _ONLY,
        )
    )
    replication_factor: int = _number(
        "replication.factor",
        -1,
        "The replication factor of internal topics. -1: that of the brokers.",
        minimum=-1,
        maximum=2**15 - 1,
    )

    task_assignor_class: Any = setting(
        Key(
            name="task.assignor.class",
            type=KeyType.CLASS,
            default=None,
            reader=_read_assignor,
            form="a subclass of TaskAssignor, an object of one, a function that takes an ApplicationState, the place "
            "of one of these as module:Class, or the name of an assignor of Kafka Streams",
            annotation="type[TaskAssignor] | TaskAssignor | Callable[[ApplicationState], TaskAssignment] | str | None",
            doc="The task assignor that this instance uses while it leads the group (KIP-924). By default, and for "
            "highly_available, it is HighAvailabilityTaskAssignor. StickyTaskAssignor, LegacyStickyTaskAssignor and "
            "FallbackPriorTaskAssignor are also chosen by their names." + _ONLY,
        )
    )

    @property
    def assignor_name(self) -> str:
        """The name of the task assignor."""
        return _DEFAULT_ASSIGNOR if self.task_assignor_class is None else str(self.task_assignor_class.name)

    @override
    def _checks(self) -> Iterator[Callable[[], object]]:
        yield from super()._checks()
        yield self._check_heartbeats
        yield self._check_replication_factor
        yield self._check_tags

    def _check_heartbeats(self) -> None:
        most_ms = self.session_timeout_ms // _HEARTBEATS
        if self.heartbeat_interval_ms > most_ms:
            raise ConfigurationError(
                f"heartbeat.interval.ms={self.heartbeat_interval_ms} is more than a third of "
                f"session.timeout.ms={self.session_timeout_ms}, so two lost heartbeats would cost a member its tasks. "
                f"Use at most {most_ms}, or a longer session."
            )

    def _check_replication_factor(self) -> None:
        if self.replication_factor == 0:
            raise ConfigurationError("replication.factor=0 is not a number of replicas. Use -1, or 1 or more.")

    def _check_tags(self) -> None:
        # StreamsConfig.validateRackAwarenessConfiguration: a member without the tag would lead others astray.
        set_ = dict(self.client_tags)
        for name in self.rack_aware_assignment_tags:
            if name not in set_:
                raise ConfigurationError(
                    f"rack.aware.assignment.tags names {name!r}, but this process has no such tag. Set "
                    f"client.tag.{name} to the value of this process, or leave the tag out."
                )


CLASSIC_KEYS = frozenset(each.name for each in fields(ClassicMemberConfig)) - {
    each.name for each in fields(StreamsMemberConfig)
}
"""The attributes of keys that only an application in a classic group has."""


def is_classic(table: KeyTable, given: Iterable[tuple[str, object]]) -> bool:
    """Return whether keys, as a user gave them, choose a classic group."""
    named = (value for name, value in given if table.attribute(name) == "group_protocol")
    return any(str(value).strip().lower() == "classic" for value in named)
