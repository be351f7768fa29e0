"""Keys behind a prefix: each key of librdkafka and of Java is the same, an alias, or refused with a text."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.config.keys import Key
from kafka_groups.config.records.prefixed_keys import CLASSES, PrefixedKeys, check_agreement, log_aliases, read_prefixed
from kafka_groups.config.records.unsupported import fixed_key
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import ConfigurationError
from tests.support.librdkafka_properties import KEYS_OF_LIBRDKAFKA
from tests.unit.config.records.client_keys import ALWAYS, another

CLIENTS = Path(__file__).parents[1] / "clients"
JAVA = {kind: (CLIENTS / f"java-{kind}-keys.txt").read_text().split() for kind in CLASSES}
"""`ProducerConfig.configNames()` and `ConsumerConfig.configNames()` of Kafka 4.4.0."""
OF_CONFLUENT_KAFKA = ["error_cb", "logger", "oauth_cb", "on_commit", "on_delivery", "stats_cb", "throttle_cb"]
KINDS = ["producer", "consumer"]

SAME = {
    "producer": {
        "batch.size",
        "buffer.memory",
        "compression.gzip.level",
        "compression.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "linger.ms",
        "max.in.flight.requests.per.connection",
        "max.request.size",
        "metadata.max.age.ms",
        "request.timeout.ms",
        "transaction.timeout.ms",
    },
    "consumer": {
        "check.crcs",
        "client.rack",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "isolation.level",
        "max.partition.fetch.bytes",
        "metadata.max.age.ms",
        "request.timeout.ms",
    },
}
ALIASES = {
    "producer": {
        "compression.codec": "compression.type",
        "max.in.flight": "max.in.flight.requests.per.connection",
        "message.max.bytes": "max.request.size",
        "queue.buffering.max.kbytes": "buffer.memory",
        "queue.buffering.max.ms": "linger.ms",
        "socket.timeout.ms": "request.timeout.ms",
    },
    "consumer": {
        "fetch.message.max.bytes": "max.partition.fetch.bytes",
        "fetch.wait.max.ms": "fetch.max.wait.ms",
        "queued.max.messages.kbytes": "fetch.buffer.bytes",
        "socket.timeout.ms": "request.timeout.ms",
    },
}


def all_keys(kind: str) -> list[str]:
    return sorted({*KEYS_OF_LIBRDKAFKA, *JAVA[kind], *OF_CONFLUENT_KAFKA})


def read(prefix: str, **given: object) -> dict[str, Any]:
    return read_prefixed([PrefixedKeys(prefix, list(given.items()))])


def refusal(prefix: str, **given: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(prefix, **given)
    return str(caught.value)


def taken(kind: str) -> Iterator[tuple[str, str, Key]]:
    """The keys of other clients that are taken: their names, and ours."""
    table = KeyTable(CLASSES[kind])
    for name in all_keys(kind):
        real = ALIASES[kind].get(name, name)
        if real in SAME[kind] or name in ALIASES[kind]:
            attribute = table.attribute(real)
            assert attribute is not None
            yield name, attribute, table.key(attribute)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_the_same_or_an_alias_or_allowed_with_its_value_or_refused(kind: str) -> None:
    known = {*SAME[kind], *ALIASES[kind], *ALWAYS[kind]}
    assert known <= set(all_keys(kind))
    wrong = []
    for name in all_keys(kind):
        if name in known:
            continue
        text = refusal(kind, **{name: "1"})
        if not re.fullmatch(
            rf"Unsupported configuration key '{kind}\.{re.escape(name)}' \(.+\): \w.+\. [A-Z].+\.", text
        ):
            wrong.append(text)
    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_keys_that_are_the_same_and_aliases_are_not_ignored(kind: str) -> None:
    seen = set()
    for name, attribute, key in taken(kind):
        given, value = (7, 7 * 1_024) if name.endswith("kbytes") else (another(key), another(key))
        assert read(kind, **{name: given}) == {attribute: value}, name
        assert value != key.default
        seen.add(name)
    assert seen == SAME[kind] | ALIASES[kind].keys()


@pytest.mark.parametrize("kind", KINDS)
def test_an_alias_is_told_at_info_and_the_real_name_is_not(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "kafka_groups.config"):
        log_aliases(PrefixedKeys(kind, [(name, 7) for name in all_keys(kind)]))
    told = [f"The key {kind}.{name} is read as {kind}.{real}" for name, real in sorted(ALIASES[kind].items())]
    assert caplog.messages == told


@pytest.mark.parametrize("kind", KINDS)
def test_keys_that_are_always_so_take_that_value_alone(kind: str) -> None:
    for name, value in ALWAYS[kind].items():
        assert read(kind, **{name: value}) == {}
        text = refusal(kind, **{name: "5"})
        assert re.fullmatch(rf"Invalid value '5' for {kind}\.{name}: \w.+\. Use .+, or omit the key\.", text), text
    assert {name for name in all_keys(kind) if fixed_key(kind, name)} == ALWAYS[kind].keys()


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_speaks_of_another_client(kind: str) -> None:
    refused = [name for name in all_keys(kind) if name not in {*SAME[kind], *ALIASES[kind], *ALWAYS[kind]}]
    texts = [refusal(kind, **{name: "1"}) for name in refused if not name.startswith("share.")]
    assert [
        text for text in texts if "share" in text.lower() or " consumer.metrics()" in text or "prefetch" in text
    ] == []


@pytest.mark.parametrize(
    ("prefix", "name", "text"),
    [
        ("producer", "acks", "Invalid value '1' for producer.acks: a record counts as written when all in-sync"),
        ("producer", "delivery.timeout.ms", "records are sent again until brokers confirm or refuse them. Remove it;"),
        ("producer", "batch.num.messages", "batches are limited in bytes. Set producer.batch.size."),
        ("producer", "ssl.ca.location", "connect to the same brokers in the same way. Write it without prefix."),
        ("producer", "sasl.kerberos.keytab", "Kerberos (SASL/GSSAPI) is not supported"),
        ("producer", "reconnect.backoff.ms", "Write it without prefix."),
        ("producer", "client.id", "a worker has one client for all its records. Write it without prefix: client.id."),
        ("main.consumer", "retry.backoff.ms", "for all its records. Write it without prefix: retry.backoff.ms."),
        ("global.consumer", "retry.backoff.max.ms", "Write it without prefix: retry.backoff.max.ms."),
        (
            "consumer",
            "fetch.error.backoff.ms",
            "a failed fetch waits as any failed request does. Set retry.backoff.ms.",
        ),
        ("producer", "fetch.min.bytes", "it configures the consumer. Write it as consumer.fetch.min.bytes."),
        ("main.consumer", "acks", "'main.consumer.acks' ('1'): it configures the producer. Write it as producer.acks."),
        ("main.consumer", "queued.min.messages", "Set consumer.fetch.buffer.bytes."),
        ("main.consumer", "group.id", "the application's member of the group does that, and a consumer only reads. R"),
        ("main.consumer", "group.instance.id", "a consumer only reads. Write it without prefix: group.instance.id."),
        ("consumer", "group.protocol", "a consumer only reads. Write it without prefix: group.protocol."),
        (
            "consumer",
            "session.timeout.ms",
            "Write it without prefix: session.timeout.ms, with group.protocol=classic.",
        ),
        ("main.consumer", "heartbeat.interval.ms", "Write it without prefix: heartbeat.interval.ms, with gr"),
        ("consumer", "enable.ssl.certificate.verification", "broker certificates are always verified"),
        ("consumer", "auto.offset.reset", "it is a key of the application. Write it without prefix."),
        ("consumer", "fetch.min.byte", "Unknown configuration key 'consumer.fetch.min.byte' ('1') for a consumer. Did"),
        ("consumer", "fetch_min_bytes", "Did you mean 'consumer.fetch.min.bytes'"),
        ("consumer", "queued.max.messages.kbytes", None),
        ("producer", "queue.buffering.max.kbytes", None),
    ],
)
def test_what_is_said(prefix: str, name: str, text: str | None) -> None:
    if text is not None:
        assert text in refusal(prefix, **{name: "1"})
    else:
        assert f"for {prefix}.{name}" in refusal(prefix, **{name: "many"})


def test_a_secret_is_not_shown() -> None:
    assert "swordfish" not in refusal("producer", **{"sasl.password": "swordfish"})


def test_all_problems_of_all_prefixes_are_told_together() -> None:
    levels = [
        PrefixedKeys("consumer", [("fetch.min.bytes", -1), ("acks", "1")]),
        PrefixedKeys("main.consumer", [("check.crcs", 7), ("no.such.key", 1)]),
    ]
    with pytest.raises(ConfigurationError) as caught:
        read_prefixed(levels)
    lines = str(caught.value).splitlines()
    assert lines[0] == "The configuration of a consumer has 4 problems:"
    assert "'consumer.acks'" in lines[1]
    assert "Invalid value -1 for consumer.fetch.min.bytes (fetch.min.bytes)" in lines[2]
    assert "'main.consumer.no.such.key'" in lines[3]
    assert "Invalid value 7 for main.consumer.check.crcs (check.crcs)" in lines[4]


def test_a_later_prefix_comes_first_whatever_names_are_used() -> None:
    levels = [
        PrefixedKeys("consumer", [("fetch.wait.max.ms", 1), ("fetch.min.bytes", 5)]),
        PrefixedKeys("main.consumer", [("fetch.max.wait.ms", 2)]),
    ]
    assert read_prefixed(levels) == {"fetch_max_wait_ms": 2, "fetch_min_bytes": 5}


def test_a_key_and_its_alias_must_agree() -> None:
    assert read("producer", **{"linger.ms": 5, "queue.buffering.max.ms": "5"}) == {"linger_ms": 5}
    text = refusal("producer", **{"linger.ms": 5, "queue.buffering.max.ms": 6})
    assert "the same key is given as producer.linger.ms with 5" in text


def test_two_prefixes_agree_whatever_names_and_types_are_used() -> None:
    one = PrefixedKeys("restore.consumer", [("fetch.max.wait.ms", 5), ("queued.max.messages.kbytes", 1)])
    check_agreement(one, PrefixedKeys("global.consumer", [("fetch.wait.max.ms", "5"), ("check.crcs", False)]), "why")
    check_agreement(one, PrefixedKeys("global.consumer", [("fetch.buffer.bytes", 1_024)]), "why")
    other = PrefixedKeys("global.consumer", [("fetch.wait.max.ms", 6), ("fetch.buffer.bytes", 1_025)])
    with pytest.raises(ConfigurationError) as caught:
        check_agreement(one, other, "there is one reader")
    remedy = "differ, but there is one reader. Remove one of them, or give both the same value."
    assert str(caught.value).splitlines() == [
        "The configuration of a consumer has 2 problems:",
        f"  - restore.consumer.fetch.max.wait.ms=5 and global.consumer.fetch.wait.max.ms=6 {remedy}",
        f"  - restore.consumer.queued.max.messages.kbytes=1 and global.consumer.fetch.buffer.bytes=1025 {remedy}",
    ]
