"""The configuration of a share consumer: by keyword, or by Kafka's dotted names, or both.

What share groups cannot have (an offset reset by the client, static membership …) is an error that says what to do
instead, as in Kafka's own share consumer.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kafka_groups.config import client
from kafka_groups.config.keys import INT_MAX, Key, KeyType
from kafka_groups.config.readers import read_callable
from kafka_groups.config.settings import KeyTable, UnknownKeyError, gather, setting, shown_value
from kafka_groups.errors import ConfigurationError

__all__ = ["FORBIDDEN", "ShareConsumerConfig", "share_consumer_config", "share_consumer_keys"]


def _int(name: str, default: int, doc: str, **options: Any) -> Any:
    limits: dict[str, Any] = {"minimum": 0, "maximum": INT_MAX} | options
    return setting(Key(name=name, type=KeyType.INT, default=default, doc=doc, **limits))


def _choice(name: str, choices: tuple[str, ...], doc: str) -> Any:
    return setting(Key(name=name, type=KeyType.STRING, default=choices[0], choices=choices, doc=doc))


def _deserializer(name: str, doc: str) -> Key:
    form = "a function of the raw bytes"
    return Key(name=name, type=KeyType.CLASS, default=None, reader=read_callable, form=form, doc=doc)


@frozen(kw_only=True)
class ShareConsumerConfig:
    """The configuration of a share consumer; `share_consumer_config` builds it.

    Every attribute can be given by its own name or by Kafka's dotted one. Values are checked whichever way the
    object is built. The repr hides secrets.
    """

    bootstrap_servers: tuple[tuple[str, int], ...] = setting(client.BOOTSTRAP_SERVERS)
    group_id: str = setting(client.GROUP_ID)
    client_id: str = setting(client.CLIENT_ID)
    client_rack: str = setting(client.CLIENT_RACK)
    acknowledgement_mode: str = _choice(
        "share.acknowledgement.mode",
        ("implicit", "explicit"),
        "implicit: the next poll or commit accepts all records that were delivered. explicit: the application "
        "acknowledges every record before it polls again.",
    )
    acquire_mode: str = _choice(
        "share.acquire.mode",
        ("batch_optimized", "record_limit"),
        "batch_optimized: whole batches of the log are acquired, so that a poll may return more than "
        "max.poll.records. record_limit: never more than max.poll.records, at a lower rate (KIP-1206).",
    )
    max_poll_records: int = _int(
        "max.poll.records",
        500,
        "How many records one fetch asks for; a limit in the record_limit mode, a wish otherwise.",
        minimum=1,
    )
    fetch_min_bytes: int = _int(
        "fetch.min.bytes", 1, "The broker waits until it has this much, or fetch.max.wait.ms is over.", unit="bytes"
    )
    fetch_max_bytes: int = _int(
        "fetch.max.bytes",
        52_428_800,
        "The most that one response holds; a single larger batch is still returned.",
        unit="bytes",
    )
    fetch_max_wait_ms: int = _int(
        "fetch.max.wait.ms",
        500,
        "How long the broker may wait for fetch.min.bytes.",
        unit="ms",
        aliases=("fetch.wait.max.ms",),
    )
    max_poll_interval_ms: int = _int(
        "max.poll.interval.ms",
        300_000,
        "An application that does not poll for this long leaves the group, and its records go to other members.",
        unit="ms",
        minimum=1,
    )
    default_api_timeout_ms: int = setting(client.DEFAULT_API_TIMEOUT_MS)
    request_timeout_ms: int = setting(client.REQUEST_TIMEOUT_MS)
    check_crcs: bool = setting(client.CHECK_CRCS)
    allow_auto_create_topics: bool = setting(client.ALLOW_AUTO_CREATE_TOPICS)
    metadata_max_age_ms: int = setting(client.METADATA_MAX_AGE_MS)
    retry_backoff_ms: int = setting(client.RETRY_BACKOFF_MS)
    retry_backoff_max_ms: int = setting(client.RETRY_BACKOFF_MAX_MS)
    reconnect_backoff_ms: int = setting(client.RECONNECT_BACKOFF_MS)
    reconnect_backoff_max_ms: int = setting(client.RECONNECT_BACKOFF_MAX_MS)
    socket_connection_setup_timeout_ms: int = setting(client.SOCKET_CONNECTION_SETUP_TIMEOUT_MS)
    security_protocol: str = setting(client.SECURITY_PROTOCOL)
    ssl_ca_location: str | None = setting(client.SSL_CA_LOCATION)
    ssl_certificate_location: str | None = setting(client.SSL_CERTIFICATE_LOCATION)
    ssl_key_location: str | None = setting(client.SSL_KEY_LOCATION)
    ssl_key_password: str | None = setting(client.SSL_KEY_PASSWORD)
    ssl_endpoint_identification_algorithm: str = setting(client.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM)
    prefetch_batches: int = _int(
        "prefetch.batches",
        1,
        "How many batches per leader are fetched ahead while the application works; 0 turns it off.",
        maximum=1,
    )
    auto_renew: bool = setting(
        Key(
            name="auto.renew",
            type=KeyType.BOOLEAN,
            default=False,
            doc="Whether the locks of records that were handed out and not yet acknowledged are renewed before they "
            "run out (KIP-1222). Explicit mode only.",
        )
    )
    on_deserialization_error: str = _choice(
        "on.deserialization.error",
        ("release", "raise"),
        "release: a record that fails to deserialise carries its raw bytes and the error, and is released unless it "
        "is acknowledged. raise: poll raises, as in Java.",
    )
    key_deserializer: Callable[[bytes], object] | None = setting(
        _deserializer("key.deserializer", "Makes a record's key from its bytes; without one the key is bytes.")
    )
    value_deserializer: Callable[[bytes], object] | None = setting(
        _deserializer("value.deserializer", "Makes a record's value from its bytes; without one the value is bytes.")
    )

    def __attrs_post_init__(self) -> None:
        """Check the keys against each other."""
        client.check_backoff(client.RETRY_BACKOFF_MS, "retry_backoff_ms", self)
        client.check_backoff(client.RECONNECT_BACKOFF_MS, "reconnect_backoff_ms", self)
        client.check_tls(self)
        if self.auto_renew and self.acknowledgement_mode != "explicit":
            raise _TABLE.key("auto_renew").problem(
                self.auto_renew,
                f"acknowledgement_mode (share.acknowledgement.mode) is {self.acknowledgement_mode!r}, and locks are "
                "renewed in the explicit mode only",
                named="auto_renew",
                remedy="set acknowledgement_mode to 'explicit', or auto_renew to False",
            )


_TABLE = KeyTable(ShareConsumerConfig)

_ACKNOWLEDGEMENTS = (
    "share groups have no committed offsets",
    "choose between acknowledgement_mode='implicit' and 'explicit'",
)
_BY_THE_GROUP = "the coordinator tells the interval to the members"

FORBIDDEN: Mapping[str, tuple[str, str]] = {
    "auto.offset.reset": (
        "where a share group starts belongs to the group, not to its members",
        "set the group configuration share.auto.offset.reset",
    ),
    "enable.auto.commit": _ACKNOWLEDGEMENTS,
    "group.instance.id": ("share groups have no static members", "remove it"),
    "isolation.level": (
        "the isolation level belongs to the group, not to its members",
        "set the group configuration share.isolation.level",
    ),
    "partition.assignment.strategy": ("the coordinator assigns the partitions of a share group", "remove it"),
    "interceptor.classes": ("a share consumer has no interceptors", "handle the records after poll"),
    "session.timeout.ms": (
        "the session timeout belongs to the group, not to its members",
        "set the group configuration share.session.timeout.ms",
    ),
    "heartbeat.interval.ms": (_BY_THE_GROUP, "set the group configuration share.heartbeat.interval.ms"),
    "group.protocol": ("a share consumer always uses the protocol of share groups", "remove it"),
    "group.remote.assignor": ("share groups have one assignor, on the coordinator", "remove it"),
}
"""Keys of other consumers that a share consumer refuses, each with the reason and the remedy."""

_ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "auto.commit.interval.ms": _ACKNOWLEDGEMENTS,
    "enable.auto.offset.store": _ACKNOWLEDGEMENTS,
    "max.partition.fetch.bytes": (
        "share fetches have no limit by partition; the broker divides fetch.max.bytes",
        "set fetch_max_bytes",
    ),
    "ssl.truststore.location": ("key stores of Java are not read", "give the certificates as PEM in ssl_ca_location"),
    "ssl.keystore.location": (
        "key stores of Java are not read",
        "give PEM files in ssl_certificate_location and ssl_key_location",
    ),
    "sasl.mechanism": ("SASL is not supported", "use security_protocol='SSL' with a client certificate"),
    "sasl.mechanisms": ("SASL is not supported", "use security_protocol='SSL' with a client certificate"),
}


def share_consumer_keys() -> dict[str, Key]:
    """The keys of a share consumer by attribute name, in the order of the class."""
    return dict(_TABLE)


def share_consumer_config(mapping: Mapping[str, object] | None = None, **keywords: object) -> ShareConsumerConfig:
    """The configuration of a share consumer.

    Args:
        mapping: Keys by Kafka's dotted names, or confluent-kafka's where the two mean the same.
        **keywords: Keys by the attributes' names.

    Raises:
        ConfigurationError: A key is unknown, forbidden, missing, given twice differently or at odds with another, or
            a value does not fit. The message names the key, the value and the remedy.
    """
    given = [*(mapping or {}).items(), *keywords.items()]
    for name, value in given:
        _refuse(name, value)
    try:
        values: dict[str, Any] = gather(_TABLE, given)
    except UnknownKeyError as unknown:
        name = str(unknown.args[0])
        shown = shown_value(name, dict(given)[name])
        raise ConfigurationError(f"{name}={shown} is no key of a share consumer; {_TABLE.suggestion(name)}") from None
    for attribute, key in _TABLE:
        if key.required and attribute not in values:
            raise ConfigurationError(f"{attribute} ({key.name}) is missing; give {key.allowed}")
    return ShareConsumerConfig(**values)


def _refuse(name: str, value: object) -> None:
    dotted = name.replace("_", ".")
    refusal = FORBIDDEN.get(dotted) or _ELSEWHERE.get(dotted)
    if refusal is not None:
        why, remedy = refusal
        shown = shown_value(name, value)
        raise ConfigurationError(f"{name} is {shown}, but a share consumer cannot have it: {why}; {remedy}")
