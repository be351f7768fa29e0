"""The configuration of a streams application, given as keywords, by Kafka's dotted names, or both.

Keys with a prefix, such as `producer.linger.ms`, configure a part of the application. They are gathered into one
mapping for each prefix. Keys that Kafka Streams has and this package has not are in `streams_refusals.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import evolve, fields, frozen

from kafka_groups.config.clients.classic_member import CLASSIC_KEYS, ClassicMemberConfig, is_classic
from kafka_groups.config.clients.prefixed import ISOLATION_LEVEL, gathered_by_prefix, overrides
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.config.clients.streams_refusals import streams_advice
from kafka_groups.config.keys import INT_MAX, LONG_MAX, Key, KeyType
from kafka_groups.config.readers import (
    PATH_ANNOTATION,
    UnfitError,
    read_callable,
    read_host_port,
    read_not_empty,
    read_offset_reset,
    read_path,
    read_text,
)
from kafka_groups.config.security import security
from kafka_groups.config.settings import KeyTable, gather, missing_keys, raise_together, refused_key, setting
from kafka_groups.errors import ConfigurationError
from kafka_groups.types import is_topic_name

__all__ = ["StreamsConfig", "streams_config", "streams_keys"]


_PROTOCOLS = ("streams", "classic")


def _number(name: str, default: int, doc: str, **options: Any) -> Any:
    limits: dict[str, Any] = {"type": KeyType.LONG, "minimum": 0, "maximum": LONG_MAX} | options
    return setting(Key(name=name, default=default, doc=doc, **limits))


def _ms(name: str, default: int, doc: str, **options: Any) -> Any:
    return _number(name, default, doc, unit="ms", **options)


def _function(name: str, doc: str, *aliases: str) -> Key:
    options: dict[str, Any] = {"form": "a function", "annotation": "Callable[..., object] | None"}
    return Key(name=name, type=KeyType.CLASS, default=None, reader=_read_function, doc=doc, aliases=aliases, **options)


def _read_function(value: object) -> object:
    if isinstance(value, str):
        raise UnfitError("it is text, and this key takes a function of Python, not the name of a class")
    return read_callable(value)


def _read_protocol(value: object) -> str:
    if (protocol := read_text(value).strip().lower()) not in _PROTOCOLS:
        raise UnfitError("it is neither KIP-1071's protocol of streams groups nor the one of classic groups")
    return protocol


def _read_topic(value: object) -> str:
    name = read_not_empty(value)
    if not is_topic_name(name):
        raise UnfitError("not the name of a topic")
    return name


def _read_directory(value: object) -> str:
    return read_not_empty(read_path(value))


def _optional(name: str, doc: str, form: str, **options: Any) -> Any:
    return setting(Key(name=name, type=KeyType.STRING, default=None, form=form, doc=doc, **options))


@frozen(kw_only=True)
class StreamsConfig(ClassicMemberConfig):
    """The configuration of a streams application; `streams_config` builds it."""

    whose = "a streams application"

    state_dir: str = setting(
        Key(
            name="state.dir",
            type=KeyType.STRING,
            default="/tmp/kafka-groups",  # noqa: S108, as Kafka Streams has it; shared by design
            reader=_read_directory,
            annotation=PATH_ANNOTATION,
            form="a directory",
            doc="The directory for local state. Each application has a folder of its id in it, which one process uses "
            "at a time. It has the id by which the group recognises the process after a restart.",
        )
    )
    default_dsl_store: str = setting(
        Key(
            name="default.dsl.store",
            type=KeyType.STRING,
            default="in_memory",
            choices=("in_memory", "lmdb"),
            doc="Where operators keep stores whose definition does not say so. in_memory: a restart reads their "
            "changelogs from the beginning. lmdb: in files in state.dir, and a restart continues with them; it needs "
            "the package lmdb, which kafka-groups[streams] installs.",
        )
    )
    state_cleanup_delay_ms: int = _ms(
        "state.cleanup.delay.ms",
        600_000,
        "How long the files of a task that has moved to another process are kept, so that it may come back to them.",
    )
    num_workers: int = _number(
        "num.workers",
        1,
        "How many workers process tasks. One runs in a thread of your process. From two on, each is a process.",
        type=KeyType.INT,
        minimum=1,
        maximum=1_000,
    )
    processing_guarantee: str = setting(
        Key(
            name="processing.guarantee",
            type=KeyType.STRING,
            default="at_least_once",
            choices=("at_least_once", "exactly_once_v2"),
            doc="What is promised after a failure. at_least_once: every record is processed, and some may be processed "
            "twice. exactly_once_v2: outputs, stores and offsets are written in transactions, so that those who read "
            "committed records see the results of each record once.",
        )
    )
    commit_interval_ms: int = _ms(
        "commit.interval.ms", 1_000, "The longest time between two commits of the offsets and the state of tasks."
    )
    max_task_idle_ms: int = _ms(
        "max.task.idle.ms",
        0,
        "How long a task waits for records of an empty partition before it processes those of its others, so that "
        "joins see records in the order of their timestamps. 0: only while it is known to have more. -1: never.",
        minimum=-1,
    )
    buffered_records_per_partition: int = _number(
        "buffered.records.per.partition",
        1_000,
        "How many records of a partition wait in memory before reading of it is paused. The limit isn't exact.",
        type=KeyType.INT,
        minimum=1,
        maximum=INT_MAX,
    )
    max_poll_records: int = _number(
        "max.poll.records",
        1_000,
        "How many records a worker takes from the consumer at once.",
        type=KeyType.INT,
        minimum=1,
        maximum=INT_MAX,
    )
    poll_ms: int = _ms("poll.ms", 100, "How long an idle worker waits for records before it looks at its other work.")
    auto_offset_reset: str = setting(
        Key(
            name="auto.offset.reset",
            type=KeyType.STRING,
            default="earliest",
            reader=read_offset_reset,
            form="earliest, latest, or by_duration: with an ISO-8601 duration, such as by_duration:PT1H",
            doc="Where to begin in a partition without a committed offset, if its source doesn't say it with "
            "offset_reset.",
        )
    )
    statestore_cache_max_bytes: int = _number(
        "statestore.cache.max.bytes",
        10 * 1024 * 1024,
        "Memory for updates that the operators of a task hold back until the next commit, so that they forward a "
        "key's last one. When they have more, they forward all of them. 0: every update is forwarded.",
        unit="bytes",
        aliases=("cache.max.bytes.buffering",),
    )
    statestore_uncommitted_max_bytes: int = _number(
        "statestore.uncommitted.max.bytes",
        64 * 1024 * 1024,
        "How much uncommitted state a worker may have in memory. When it has more, it commits at once.",
        unit="bytes",
        minimum=1,
    )
    task_timeout_ms: int = _ms(
        "task.timeout.ms",
        300_000,
        "How long a task may make no progress because of errors that can be retried, before it fails.",
    )
    repartition_purge_interval_ms: int = _ms(
        "repartition.purge.interval.ms",
        30_000,
        "The shortest time between two deletions of processed records from repartition topics.",
    )
    metrics_recording_level: str = setting(
        Key(
            name="metrics.recording.level",
            type=KeyType.STRING,
            default="INFO",
            choices=("INFO", "DEBUG"),
            doc="Which metrics are recorded. INFO: those that cost time for each turn of a worker. DEBUG: also those "
            "that cost time for each record: sizes, ages and lateness of records.",
        )
    )
    default_timestamp_extractor: Callable[..., Any] | None = setting(
        _function(
            "default.timestamp.extractor",
            "Returns the timestamp of a record in ms since 1970, for sources without one of their own. By default, "
            "records have the timestamps that their topics have for them, and a negative one is an error.",
        )
    )
    deserialization_exception_handler: Callable[..., Any] | None = setting(
        _function(
            "deserialization.exception.handler",
            "Decides about records that can't be decoded. By default, they end the application.",
            "default.deserialization.exception.handler",
        )
    )
    processing_exception_handler: Callable[..., Any] | None = setting(
        _function(
            "processing.exception.handler",
            "Decides about records for which your code raises an exception. By default, they end the application.",
        )
    )
    production_exception_handler: Callable[..., Any] | None = setting(
        _function(
            "production.exception.handler",
            "Decides about records that can't be serialised, are too large for the producer or the topic, or whose "
            "topic does not exist or may not be written to. By default, they end the application.",
            "default.production.exception.handler",
        )
    )
    uncaught_exception_handler: Callable[..., Any] | None = setting(
        _function(
            "uncaught.exception.handler",
            "Decides what happens when an error ends a worker. By default, it ends the application's instance.",
        )
    )
    errors_dead_letter_queue_topic_name: str | None = _optional(
        "errors.dead.letter.queue.topic.name",
        "The topic for records for which a handler returns DEAD_LETTER. It must exist.",
        "a name of 1 to 249 letters, digits, dots, underscores and hyphens",
        reader=_read_topic,
    )
    probe_address: tuple[str, int] | None = _optional(
        "probe.address",
        "Where to answer HTTP requests for /live and /ready, such as those of Kubernetes.",
        "host:port",
        reader=read_host_port,
        annotation="str | tuple[str, int] | None",
    )
    group_protocol: str = setting(
        Key(
            name="group.protocol",
            type=KeyType.STRING,
            default="streams",
            reader=_read_protocol,
            form="streams or classic",
            annotation='Literal["streams", "classic"]',
            doc="Who assigns the tasks. streams: the brokers, which must be Kafka 4.2 or newer. classic: one of the "
            "members, which may be one of Kafka Streams, on Kafka 3.7 or newer. All instances must have the same one.",
        )
    )
    producer: tuple[tuple[str, object], ...] = overrides("producer")
    consumer: tuple[tuple[str, object], ...] = overrides("consumer")
    main_consumer: tuple[tuple[str, object], ...] = overrides("main.consumer")
    restore_consumer: tuple[tuple[str, object], ...] = overrides("restore.consumer")
    global_consumer: tuple[tuple[str, object], ...] = overrides("global.consumer")
    topic: tuple[tuple[str, object], ...] = overrides("topic")

    @property
    def is_exactly_once(self) -> bool:
        """True if records and offsets are written in transactions."""
        return self.processing_guarantee == "exactly_once_v2"

    @property
    def isolation_level(self) -> str:
        """The isolation level of the sources. If it is not given, the guarantee decides it, as in Java."""
        given = self.consumer_settings("main").get(ISOLATION_LEVEL)
        return str(given or ("read_committed" if self.is_exactly_once else "read_uncommitted"))

    @property
    def is_classic(self) -> bool:
        """True if the group is a classic one, whose members assign the tasks."""
        return self.group_protocol == "classic"

    @property
    def member(self) -> StreamsMemberConfig:
        """The configuration of the application's members of its group."""
        return StreamsMemberConfig(**{each.name: getattr(self, each.name) for each in fields(StreamsMemberConfig)})

    @property
    def classic_member(self) -> ClassicMemberConfig:
        """The configuration of the application's members of a classic group."""
        return ClassicMemberConfig(**{each.name: getattr(self, each.name) for each in fields(ClassicMemberConfig)})

    @property
    def topic_configs(self) -> dict[str, str]:
        """The configs of internal topics, as text."""
        return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in self.topic}

    def consumer_settings(self, purpose: str) -> dict[str, object]:
        """Return the settings of a consumer that you gave: those for all consumers, and those for its purpose.

        Args:
            purpose: main, restore or global.
        """
        found = {**dict(self.consumer), **dict(getattr(self, f"{purpose}_consumer"))}
        if purpose != "main":
            found.pop(ISOLATION_LEVEL, None)  # it is about the sources
        return found

    def _checks(self) -> Iterator[Callable[[], object]]:
        yield from super()._checks()
        yield self._check_isolation

    def _check_isolation(self) -> None:
        level = self.consumer_settings("main").get(ISOLATION_LEVEL)
        if level is not None and self.is_exactly_once:
            raise ConfigurationError(
                f"consumer.isolation.level={level!r} can't be set with processing.guarantee='exactly_once_v2', which"
                " reads committed records. Remove it, or use at_least_once."
            )


def streams_keys() -> dict[str, Key]:
    """Return the keys of a streams application by attribute name, in the order of the class."""
    return dict(KeyTable(StreamsConfig))


def streams_config(mapping: Mapping[str, object] | None = None, **keywords: object) -> StreamsConfig:
    """Read and check the configuration of a streams application.

    Args:
        mapping: Keys by Kafka's dotted names.
        **keywords: Keys by the attributes' names.

    Raises:
        ConfigurationError: A key is unknown, not supported, missing, given twice with different values or conflicts
            with another, or a value is invalid. The message names every such key, its value and what to do.
    """
    raw = gathered_by_prefix([*(mapping or {}).items(), *keywords.items()])
    given = security.from_java(raw)
    table, whose = KeyTable(StreamsConfig), StreamsConfig.whose
    classic = is_classic(table, given)
    # These keys would have no effect in a streams group, as Kafka Streams ignores them there without a word.
    others = [] if classic else [(name, value) for name, value in given if table.attribute(name) in CLASSIC_KEYS]
    found = gather(table, [pair for pair in given if pair not in others])
    unknown = [*others, *found.unknown]
    refused = [refused_key(table, *pair, whose, streams_advice(pair[0], is_classic=classic)) for pair in unknown]
    raise_together([*refused, *found.problems, *missing_keys(table, given)], whose)
    return _with_assignor(StreamsConfig(**found.values), table, raw)


def _with_assignor(config: StreamsConfig, table: KeyTable, given: list[tuple[str, object]]) -> StreamsConfig:
    """Make and configure the assignor last: it is code of the user, which gets a configuration without mistakes."""
    if config.task_assignor_class is None:
        return config
    from kafka_groups.config.clients.application_assignor import keys_for_assignor  # noqa: PLC0415 - few choose one

    assignor = config.task_assignor_class.configured(keys_for_assignor(table, given))
    return evolve(config, task_assignor_class=assignor)
