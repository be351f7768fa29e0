"""The options of the source `kafka-share`: its own, Kafka's with the prefix `kafka.`, and a properties file.

Spark's options are not case-sensitive. An unknown option is an error that names the option, the value and the remedy.
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.config.keys import INT_MAX, Key, KeyType
from kafka_groups.config.properties import parse_properties
from kafka_groups.config.readers import UnfitError, read_list, read_not_empty, read_text, read_upper_case
from kafka_groups.config.settings import KeyTable, read_keys, setting, shown_value
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.rules.failures.outages import DEFAULT_BACKOFF_MS, LONGEST_BACKOFF_MS
from kafka_groups.spark.processes.process_logs import LEVELS
from kafka_groups.spark.source.payload import MAX_BATCH_BYTES

__all__ = ["PREFIX", "SourceOptions", "read_size", "source_option_keys", "source_options"]

PREFIX = "kafka."
_CONFIG_FILE = "configFile"
_FETCH_MAX_BYTES = 16 * 1024 * 1024
# A batch is closed when a leader has answered without records, so this is what an idle leader delays each batch.
_FETCH_MAX_WAIT_MS = 100
_SIZE = re.compile(r"(?P<number>[0-9]{1,18})\s*(?P<unit>[kmg]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def read_size(value: object) -> int:
    """Read a number of bytes: a whole number, or text such as `64m`, `512k` or `1g`, as elsewhere in Spark."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    match = _SIZE.fullmatch(read_text(value))
    if match is None:
        raise UnfitError("it is not a size")
    return int(match["number"]) * _UNITS[match["unit"].lower()]


def read_topics(value: object) -> tuple[str, ...]:
    """Names of topics with commas between them."""
    topics = read_list(value)
    if not topics:
        raise UnfitError("it names no topic")
    return topics


def _int(name: str, default: int, doc: str, **options: Any) -> Any:
    limits: dict[str, Any] = {"minimum": 0, "maximum": INT_MAX} | options
    return setting(Key(name=name, type=KeyType.INT, default=default, doc=doc, **limits))


@frozen(kw_only=True)
class SourceOptions:
    """The source's own options; `source_options` reads them.

    Attributes:
        consumer: The configuration of its share consumer.
    """

    consumer: ShareConsumerConfig = field()
    subscribe: tuple[str, ...] = setting(
        Key(
            name="subscribe",
            type=KeyType.LIST,
            reader=read_topics,
            form="names of topics with commas between them",
            doc="The topics to read.",
        )
    )
    max_records_per_batch: int = _int(
        "maxRecordsPerBatch",
        100_000,
        "The most records in one micro-batch. What the group lets a member lock at a time "
        "(share.partition.max.record.locks for each partition) is a limit too.",
        minimum=1,
    )
    max_bytes_per_batch: int = _int(
        "maxBytesPerBatch",
        MAX_BATCH_BYTES,
        "The most that one micro-batch takes, in Arrow's form; it travels through Spark's driver. A single larger "
        "record is a batch of its own.",
        reader=read_size,
        form="a number of bytes, or a size such as 64m",
        minimum=1024,
        maximum=4 * MAX_BATCH_BYTES,
        unit="bytes",
    )
    num_partitions: int = _int(
        "numPartitions",
        4,
        "How many input partitions, and so tasks, a micro-batch has; small batches have fewer, and those that exceed "
        "8 MiB in one have more.",
        minimum=1,
        maximum=10_000,
    )
    poll_timeout_ms: int = _int(
        "pollTimeoutMs",
        500,
        "How long the source waits for records before it tells Spark that there are none.",
        minimum=10,
        maximum=60_000,
        unit="ms",
    )
    available_now_timeout_ms: int = _int(
        "availableNowTimeoutMs",
        60_000,
        "How long a query with Trigger.AvailableNow waits without any record before it ends, while the group is not "
        "finished: others hold the rest, or a member that was killed still has partitions until its session is over. "
        "If the brokers do not answer at that time, the query fails.",
        unit="ms",
    )
    dead_letter_topic: str | None = setting(
        Key(
            name="deadLetterTopic",
            type=KeyType.STRING,
            default=None,
            reader=read_not_empty,
            form="the name of a topic",
            doc="Where a record is copied to before Spark gets it on the last delivery that the group allows "
            "(share.delivery.count.limit).",
        )
    )
    include_headers: bool = setting(
        Key(
            name="includeHeaders",
            type=KeyType.BOOLEAN,
            default=True,
            doc="Whether there is a column headers.",
        )
    )
    backoff_ms: int = _int(
        "backoffMs",
        DEFAULT_BACKOFF_MS,
        "The longest wait between two tries. After runs that ended without finishing a batch, a run waits before it "
        "acquires records: 0.8 s after one such run, six times as long after each further one. Where that is not "
        "known, because the checkpoint is new, records that have used up half of their deliveries wait as long, except "
        "on their last delivery. 0 turns it off.",
        maximum=LONGEST_BACKOFF_MS,
        unit="ms",
    )
    log_level: str = setting(
        Key(
            name="logLevel",
            type=KeyType.STRING,
            default="INFO",
            reader=read_upper_case,
            choices=LEVELS,
            doc="From which level on the source logs. Its process writes to the driver's standard error, with time, "
            "level and logger.",
        )
    )
    go_on_file: str | None = setting(
        Key(
            name="goOnFile",
            type=KeyType.STRING,
            default=None,
            reader=read_not_empty,
            form="the path of a file",
            doc="A file on the driver's host. When it is created or touched, a source that waits after failed runs "
            "continues at once.",
        )
    )


_TABLE = KeyTable(SourceOptions)
_BY_LOWER_NAME = {key.name.lower(): attribute for attribute, key in _TABLE}

_REFUSED: Mapping[str, tuple[str, str]] = {
    "share.acknowledgement.mode": ("the source acknowledges a batch when Spark has finished it", "remove it"),
    "key.deserializer": ("keys come to Spark as bytes", "cast the column key in Spark"),
    "value.deserializer": ("values come to Spark as bytes", "cast the column value in Spark"),
    "on.deserialization.error": ("the source does not deserialise", "remove it"),
}


_ALIASES: Mapping[str, str] = {
    "maxoffsetspertrigger": "maxRecordsPerBatch",
    "minpartitions": "numPartitions",
}
"""Options of Spark's own Kafka source that mean the same here."""

_RENAMED: Mapping[str, str] = {"deliverybackoffms": "backoffMs, the longest wait between two tries"}
"""Options by their earlier names."""

_OF_SPARKS_KAFKA: Mapping[str, str] = {
    "startingoffsets": "a share group has no offsets to start from; set the group configuration"
    " share.auto.offset.reset to earliest, latest or by_duration:PT1H",
    "startingtimestamp": "set the group configuration share.auto.offset.reset=by_duration:PT1H",
    "endingoffsets": "use trigger(availableNow=True), which ends where the topics end now",
    "subscribepattern": "a share group subscribes to names; list the topics in subscribe",
    "assign": "the group assigns the partitions; list the topics in subscribe",
    "groupidprefix": "the share group is kafka.group.id",
    "failondataloss": "remove it; a share group skips what retention has deleted",
    "mintriggerdelay": "use trigger(processingTime=...)",
    "maxtriggerdelay": "use trigger(processingTime=...)",
}
"""Options of Spark's own Kafka source that are not supported, and what to do instead."""


def source_option_keys() -> dict[str, Key]:
    """Return the source's own keys by attribute name, in the order of the class."""
    return dict(_TABLE)


def source_options(options: Mapping[str, str]) -> SourceOptions:
    """Read the options of a query.

    Args:
        options: The options of the reader, in any case.

    Raises:
        ConfigurationError: An option is unknown, missing or set twice to different values, a value is invalid, or the
            configFile cannot be read.
    """
    given = {name.lower(): value for name, value in options.items()}
    path = given.pop(_CONFIG_FILE.lower(), None)
    in_file = _without_prefix(_read_properties(path)) if path is not None else {}
    own = {name: value for name, value in given.items() if not name.startswith(PREFIX)}
    spelt = [(_own_name(name, value), value) for name, value in own.items()]
    values = read_keys(_TABLE, spelt, "the source kafka-share", ConfigurationError)
    if "subscribe" not in values:
        raise ConfigurationError("subscribe is missing; give names of topics with commas between them")
    kafka = {**in_file, **_without_prefix({n: v for n, v in given.items() if n not in own})}
    return SourceOptions(consumer=_consumer(kafka, values), **values)


def _own_name(name: str, value: str) -> str:
    known = _ALIASES.get(name, name).lower()
    if known not in _BY_LOWER_NAME:
        raise _unknown(name, value)
    return _TABLE.key(_BY_LOWER_NAME[known]).name


def _without_prefix(entries: Mapping[str, str]) -> dict[str, str]:
    return {name.lower().removeprefix(PREFIX): value for name, value in entries.items()}


def _consumer(entries: Mapping[str, str], own: Mapping[str, Any]) -> ShareConsumerConfig:
    for name, value in entries.items():
        if name.replace("_", ".") in _REFUSED:
            why, remedy = _REFUSED[name.replace("_", ".")]
            raise ConfigurationError(f"{PREFIX}{name} is {shown_value(name, value)}, but {why}; {remedy}")
    max_bytes = own.get("max_bytes_per_batch", MAX_BATCH_BYTES)
    # A slow sink must not make the consumer leave its group: the records would be delivered to others, which are as
    # slow.
    defaults: dict[str, object] = {
        "auto.renew": True,
        "client.id": "kafka-groups-spark",
        "fetch.max.bytes": min(_FETCH_MAX_BYTES, max_bytes),
        "fetch.max.wait.ms": _FETCH_MAX_WAIT_MS,
        "max.poll.interval.ms": INT_MAX,
        "max.poll.records": own.get("max_records_per_batch", _TABLE.key("max_records_per_batch").default),
    }
    given = _with_group_id(entries)
    try:
        named = {_CONSUMER_TABLE.attribute(name) for name in given}
        kept = {name: value for name, value in defaults.items() if _CONSUMER_TABLE.attribute(name) not in named}
        return share_consumer_config({**kept, **given, "share.acknowledgement.mode": "explicit"})
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error} (an option of the source kafka-share has the prefix {PREFIX}, a line of its configFile may)"
        ) from None


def _with_group_id(entries: Mapping[str, str]) -> dict[str, str]:
    given = dict(entries)
    other = given.pop("share.group.id", None)
    if other is not None and given.setdefault("group.id", other) != other:
        raise ConfigurationError(
            f"kafka.share.group.id is {other!r}, but kafka.group.id says {given['group.id']!r}; give one of them"
        )
    return given


def _unknown(name: str, value: str) -> ConfigurationError:
    shown = shown_value(name, value)
    if name in _RENAMED:
        return ConfigurationError(f"{name}={shown}: use {_RENAMED[name]}")
    if name in _OF_SPARKS_KAFKA:
        return ConfigurationError(
            f"{name}={shown} is an option of Spark's source kafka, not of kafka-share: {_OF_SPARKS_KAFKA[name]}"
        )
    if share_key_exists(name):
        return ConfigurationError(f"{name}={shown} is Kafka's own key; write it with its prefix: {PREFIX}{name}")
    names = [key.name for _, key in _TABLE] + [_CONFIG_FILE]
    near = difflib.get_close_matches(name, [known.lower() for known in names], n=1, cutoff=0.6)
    hint = next((known for known in names if near and known.lower() == near[0]), None)
    remedy = f"did you mean {hint}?" if hint else f"remove it; there are {', '.join(sorted(names))} and {PREFIX}*"
    return ConfigurationError(f"{name}={shown} is not an option of the source kafka-share; {remedy}")


_CONSUMER_TABLE = KeyTable(ShareConsumerConfig)


def share_key_exists(name: str) -> bool:
    """Return whether a share consumer has a key of this name."""
    return name == "share.group.id" or _CONSUMER_TABLE.attribute(name) is not None


def _read_properties(path: str) -> dict[str, str]:
    """Return the entries of a properties file.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"configFile is {path!r}: it cannot be read on this host: {error}; it must be on the host of the driver,"
            " in UTF-8, and readable by its user"
        ) from error
    return parse_properties(text)
