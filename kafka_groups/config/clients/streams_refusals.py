"""Keys that a streams application does not have, each with the reason and what to do instead.

They are those of Kafka Streams that have no meaning here, those of the group, and those of producers and consumers
without the prefix that they need.
"""

from collections.abc import Mapping
from typing import Final

from kafka_groups.config.clients.foreign import FOREIGN, Advice
from kafka_groups.config.clients.streams_member import IGNORED_BY_KAFKA

__all__ = ["ABSENT_OF_CONSUMERS", "ABSENT_OF_PRODUCERS", "REFUSED_BY_STREAMS", "streams_advice"]

_REMOVE: Final = "remove it"
_SERDES: Advice = (
    "there are no default serdes",
    "remove it, and give key= and value= where the topology reads, groups and writes",
)
_WINDOWED: Advice = ("there are no default serdes", "remove it, and use serdes.time_windowed(serde, size_ms)")
_ROCKSDB: Advice = ("stores on disk are in LMDB, which has nothing to set", _REMOVE)
_STORES: Advice = ("a store is chosen in the topology", "remove it, and give store=stores.key_value(…) to the operator")
_METRICS: Advice = ("metrics are read with a call", "remove it")
_RECONNECTS: Advice = (
    "the application finds brokers and reconnects to them by itself",
    "remove it, or tune reconnect.backoff.ms and reconnect.backoff.max.ms",
)
_SOCKETS: Advice = ("sockets keep their system defaults", _REMOVE)
_NO_TIMEOUT: Advice = (
    "records are sent again until brokers confirm or refuse them",
    "remove it; task.timeout.ms ends a worker that gets no answer",
)
_FETCHED_AHEAD: Advice = ("what is fetched ahead is limited in bytes", "set consumer.fetch.buffer.bytes")

ABSENT_OF_PRODUCERS: Final[Mapping[Advice, str]] = {
    _NO_TIMEOUT: "delivery.timeout.ms message.timeout.ms",
    ("processing pauses while the memory of the producer is full", "set producer.buffer.memory"): "max.block.ms",
    ("what waits to be sent is limited in bytes", "set producer.buffer.memory"): "queue.buffering.max.messages",
    ("batches are limited in bytes", "set producer.batch.size"): "batch.num.messages",
}
"""Keys of other producers that users give to an application with the prefix or without it."""
ABSENT_OF_CONSUMERS: Final[Mapping[Advice, str]] = {
    _FETCHED_AHEAD: "queued.min.messages fetch.queue.backoff.ms",
    ("a failed fetch waits as any failed request does", "set retry.backoff.ms"): "fetch.error.backoff.ms",
}
"""Keys of other consumers that users give to an application with the prefix or without it."""

REFUSED_BY_STREAMS: Final[Mapping[str, Advice]] = {
    "allow.os.group.write.access": ("folders have the rights that your umask gives", _REMOVE),
    "built.in.metrics.version": _METRICS,
    "config.providers": ("values are not looked up elsewhere", "give the value itself"),
    "connections.max.idle.ms": _RECONNECTS,
    "default.client.supplier": ("the clients of an application can't be replaced", _REMOVE),
    "default.key.serde": _SERDES,
    "default.list.key.serde.inner": _SERDES,
    "default.list.key.serde.type": _SERDES,
    "default.list.value.serde.inner": _SERDES,
    "default.list.value.serde.type": _SERDES,
    "default.value.serde": _SERDES,
    "dsl.store.format": _STORES,
    "dsl.store.suppliers.class": _STORES,
    "enable.metrics.push": ("the client sends no metrics to the brokers", _REMOVE),
    "ensure.explicit.internal.resource.naming": (
        "it is an argument of the builder",
        "remove it, and use StreamsBuilder(explicit_names=True)",
    ),
    "group.id": ("the id of a streams group is its application's", "set application_id"),
    "group.remote.assignor": IGNORED_BY_KAFKA["task.assignor.class"],
    "log.summary.interval.ms": ("no summaries are logged", _REMOVE),
    "metadata.recovery.rebootstrap.trigger.ms": _RECONNECTS,
    "metadata.recovery.strategy": _RECONNECTS,
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "num.stream.threads": ("tasks are processed by workers, which are processes", "set num_workers"),
    "partition.assignment.strategy": IGNORED_BY_KAFKA["task.assignor.class"],
    "processing.exception.handler.global.enabled": (
        "your processing_exception_handler decides about the records of global stores, too",
        _REMOVE,
    ),
    "processor.wrapper.class": ("processors can't be wrapped", _REMOVE),
    "receive.buffer.bytes": _SOCKETS,
    "replication.factor": (
        "internal topics have the brokers' replication factor",
        "remove it, or set default.replication.factor on the brokers",
    ),
    "rocksdb.config.setter": _ROCKSDB,
    "send.buffer.bytes": _SOCKETS,
    "state.cleanup.dir.max.age.ms": (
        "old folders are deleted while the application runs",
        "remove it, and set state_cleanup_delay_ms",
    ),
    "topology.optimization": (
        "it is an argument of the builder",
        "remove it, and use StreamsBuilder(optimization=Optimization.ALL)",
    ),
    "upgrade.from": ("there is no earlier rebalance protocol to upgrade from", _REMOVE),
    "window.size.ms": _WINDOWED,
    "windowed.inner.class.serde": _WINDOWED,
    "windowstore.changelog.additional.retention.ms": (
        "the changelog of a window store keeps records for its retention and one day",
        "remove it, or set retention.ms of the changelog where you define the store",
    ),
}
"""Keys of Kafka Streams that have no meaning here."""

_IN_CLASSIC_GROUPS: Final[Mapping[str, Advice]] = {
    name.replace(".", "_"): told
    for told, names in {
        (
            "members of Kafka Streams 2.5 and later can be in the group without it, and those of 2.3 and older cannot",
            _REMOVE,
        ): "upgrade.from",
        ("tasks are assigned as Kafka Streams assigns them by default", _REMOVE): (
            "group.remote.assignor partition.assignment.strategy"
        ),
    }.items()
    for name in names.split()
}
"""Keys for which the reason and the remedy are others in a classic group."""

_OF_PRODUCERS: Final = (
    "acks batch.size buffer.memory compression.codec compression.gzip.level compression.level compression.lz4.level "
    "compression.type compression.zstd.level enable.idempotence linger.ms "
    "max.in.flight.requests.per.connection max.request.size message.max.bytes queue.buffering.max.kbytes "
    "queue.buffering.max.ms retries transaction.timeout.ms"
)
_OF_CONSUMERS: Final = (
    "check.crcs fetch.buffer.bytes fetch.max.bytes fetch.max.wait.ms fetch.message.max.bytes fetch.min.bytes "
    "fetch.wait.max.ms isolation.level max.partition.fetch.bytes queued.max.messages.kbytes"
)


def streams_advice(name: str, *, is_classic: bool = False) -> Advice | None:
    """Return why an application does not have a key, and what to do; None for a key that no client has.

    Args:
        name: The key, with dots or underscores.
        is_classic: Whether its group is a classic one.
    """
    if name.startswith("admin."):
        who = "a member of the group" if is_classic else "the group coordinator"
        return f"an application has no admin client: {who} creates its internal topics", _REMOVE
    if is_classic and (told := _IN_CLASSIC_GROUPS.get(name.replace(".", "_"))) is not None:
        return told
    dotted = _DOTTED.get(name.replace(".", "_"))
    for kind, names in (("producer", _OF_PRODUCERS), ("consumer", _OF_CONSUMERS)):
        if dotted in names.split():
            return f"it configures the {kind}", f"write it with its prefix, as {kind}.{dotted}"
    return None if dotted is None else _TABLE[dotted]


_ABSENT: Final[Mapping[str, Advice]] = {
    name: told for told, names in (*ABSENT_OF_PRODUCERS.items(), *ABSENT_OF_CONSUMERS.items()) for name in names.split()
}
_TABLE: Final[Mapping[str, Advice]] = {**FOREIGN, **IGNORED_BY_KAFKA, **_ABSENT, **REFUSED_BY_STREAMS}
_DOTTED: Final = {name.replace(".", "_"): name for name in (*_TABLE, *_OF_PRODUCERS.split(), *_OF_CONSUMERS.split())}
