"""Keys of other clients that a reader or a producer of records does not have, each with the reason and what to do.

The names are those of Kafka's Java clients, of librdkafka, and of confluent-kafka's callbacks. Tests go through the
lists that Kafka and librdkafka give of themselves.
"""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from kafka_groups.config.clients.foreign import FOREIGN, Advice
from kafka_groups.config.clients.streams_refusals import ABSENT_OF_CONSUMERS, ABSENT_OF_PRODUCERS
from kafka_groups.config.keys import INT_MAX

__all__ = ["FixedKey", "advice_of_clients", "fixed_key", "own_advice"]

_REMOVE: Final = "remove it"
_ONLY_READS: Final = "the application's member of the group does that, and a consumer only reads"
_GROUP: Advice = (_ONLY_READS, _REMOVE)
_WITHOUT_PREFIX: Final = "write it without prefix"
_OWN_KEY: Advice = ("it is a key of the application", _WITHOUT_PREFIX)
_SERDES: Advice = (
    "the serdes are those of the topology",
    "remove it, and give serdes where the topology reads and writes",
)
_COMMITS: Advice = ("offsets are committed together with the state", "remove it, or set commit.interval.ms")
_PARTITIONS: Advice = (
    "partitions are chosen as Java chooses them by default",
    "remove it, and give partitioner= where the topology writes",
)
_DELIVERY_REPORTS: Advice = (
    "there are no delivery reports",
    "remove it, and set production_exception_handler to hear of records that were not written",
)
_ORDER: Advice = ("the order of records is always kept", _REMOVE)
_METRICS: Advice = ("metrics are read with a call", "remove it, and call app.metrics()")
_CALLBACKS: Advice = ("errors go to the application's handlers", "remove it, and set uncaught_exception_handler")
_OF_CLIENT: Final = ("client.id", "retry.backoff.ms", "retry.backoff.max.ms")
_INTERCEPTORS: Advice = ("there are no interceptors", "remove it, and change records in the topology")

_OF_BOTH: Final[Mapping[Advice, str]] = {
    _CALLBACKS: "error_cb background_event_cb",
    _INTERCEPTORS: "interceptor.classes interceptors",
    _METRICS: "statistics.interval.ms stats_cb throttle_cb metric.reporters metrics.num.samples "
    "metrics.sample.window.ms",
    _OWN_KEY: "metrics.recording.level",
    **{("a worker has one client for all its records", f"{_WITHOUT_PREFIX}: {name}"): name for name in _OF_CLIENT},
    ("the client sends no metrics to the brokers", _REMOVE): "enable.metrics.push",
    ("the application reads the topics that its topology names", _REMOVE): "topic.blacklist exclude.internal.topics",
    ("topics are created by the group, and never by reading or writing", _REMOVE): "topic.metadata.propagation.max.ms",
    ("settings are not grouped by topic", "remove it"): "default.topic.config default_topic_conf",
    ("it configures a schema registry client", "remove it, and give it to SchemaRegistryClient"): (
        "schema.registry.url basic.auth.credentials.source basic.auth.user.info schema.registry.basic.auth.user.info "
        "schema.registry.ssl.truststore.location specific.avro.reader"
    ),
}
_OF_READERS: Final[Mapping[Advice, str]] = {
    **ABSENT_OF_CONSUMERS,
    _GROUP: "group.id group.protocol.type group.remote.assignor partition.assignment.strategy "
    "coordinator.query.interval.ms rebalance_cb on_assign on_revoke on_lost",
    **{(_ONLY_READS, f"{_WITHOUT_PREFIX}: {name}"): name for name in ("group.instance.id", "group.protocol")},
    **{
        (_ONLY_READS, f"{_WITHOUT_PREFIX}: {name}, with group.protocol=classic"): name
        for name in ("session.timeout.ms", "heartbeat.interval.ms")
    },
    _OWN_KEY: "auto.offset.reset max.poll.records max.poll.interval.ms",
    _COMMITS: "enable.auto.commit auto.commit.enable auto.commit.interval.ms enable.auto.offset.store offset_commit_cb "
    "on_commit offset.store.method offset.store.path offset.store.sync.interval.ms",
    _SERDES: "key.deserializer value.deserializer",
    ("the largest response is that of a fetch", "set consumer.fetch.max.bytes"): "receive.message.max.bytes",
    ("the application finds the ends of partitions by itself", _REMOVE): "enable.partition.eof",
    ("records go to the tasks of the topology", _REMOVE): "consume_cb consume.callback.max.messages",
    ("it is for share consumers", _REMOVE): "share.acknowledgement.mode share.acquire.mode",
    ("a broker has one fetch of a consumer at a time", _REMOVE): "max.in.flight max.in.flight.requests.per.connection",
}
_OF_PRODUCERS: Final[Mapping[Advice, str]] = {
    **ABSENT_OF_PRODUCERS,
    ("processing.guarantee decides about transactions", "remove it, and set processing.guarantee"): "transactional.id",
    ("transactions have one phase", _REMOVE): "transaction.two.phase.commit.enable",
    _SERDES: "key.serializer value.serializer",
    _PARTITIONS: "partitioner.class partitioner_cb partitioner.adaptive.partitioning.enable "
    "partitioner.availability.timeout.ms partitioner.ignore.keys partitioner.rack.aware sticky.partitioning.linger.ms",
    ("requests to a broker are limited by another key", "set producer.max.in.flight.requests.per.connection"): (
        "queue.buffering.backpressure.threshold"
    ),
    ("batches are built in place", _REMOVE): "buffer.memory.allocation.strategy message.copy.max.bytes",
    _DELIVERY_REPORTS: "dr_cb dr_msg_cb on_delivery delivery.report.only.error produce.offset.report",
    _ORDER: "queuing.strategy msg_order_cmp enable.gapless.guarantee",
    ("the client forgets topics that nobody writes to by itself", _REMOVE): "metadata.max.idle.ms",
    ("a producer writes to leaders, in whatever rack they are", "remove it"): "client.rack",
}


def _by_name(grouped: Mapping[Advice, str]) -> dict[str, Advice]:
    return {name: told for told, names in grouped.items() for name in names.split()}


_OF_ALL: Final = _by_name(_OF_BOTH)
_OWN: Final[Mapping[str, Mapping[str, Advice]]] = {
    "consumer": _by_name(_OF_READERS),
    "producer": _by_name(_OF_PRODUCERS),
}


@frozen
class FixedKey:
    """A key whose value can't be chosen, because what it configures is always so.

    Attributes:
        values: The values that say so, as text in lower case.
        reason: Why there is no other, as half a sentence.
    """

    values: tuple[str, ...]
    reason: str


_ACKS: Final = FixedKey(("all", "-1"), "a record counts as written when all in-sync replicas have it")
_RETRIES: Final = FixedKey(
    (str(INT_MAX),),
    "records are sent again until brokers confirm or refuse them, and task.timeout.ms ends a worker without answer",
)
_NO_TOPICS: Final = FixedKey(("false",), "topics are never created by reading or writing")
_FIXED: Final[Mapping[str, Mapping[str, FixedKey]]] = {
    "consumer": {"allow.auto.create.topics": _NO_TOPICS},
    "producer": {
        "acks": _ACKS,
        "allow.auto.create.topics": _NO_TOPICS,
        "enable.idempotence": FixedKey(("true",), "records are written idempotently in any case"),
        "message.send.max.retries": _RETRIES,
        "partitioner": FixedKey(
            ("murmur2_random",),
            "partitions are chosen as Java chooses them by default, unless the topology has partitioner=",
        ),
        "request.required.acks": _ACKS,
        "retries": _RETRIES,
    },
}


def fixed_key(kind: str, name: str) -> FixedKey | None:
    """Return the values that a key may have, if its client has it, but does not let users choose.

    Args:
        kind: consumer or producer.
        name: The key, with dots.
    """
    return _FIXED[kind].get(name)


def own_advice(kind: str, name: str) -> Advice | None:
    """Return why a reader or producer does not have a key, and what to do; None if nothing is known about it.

    Args:
        kind: consumer or producer.
        name: The key, with dots.
    """
    return _OWN[kind].get(name) or _OF_ALL.get(name)


def advice_of_clients(name: str) -> Advice | None:
    """Return why no client of this package has a key, and what to do; None for a key that no client has."""
    return FOREIGN.get(name)
