"""The configuration of a streams application: its keys, those with a prefix, and what is said about others."""

import json
import re
from pathlib import Path

import pytest

from kafka_groups.config.clients.classic_member import CLASSIC_KEYS
from kafka_groups.config.clients.connection import config_of
from kafka_groups.config.clients.streams import StreamsConfig, streams_config, streams_keys
from kafka_groups.config.clients.streams_member import IGNORED_BY_KAFKA, streams_member_config
from kafka_groups.config.clients.streams_refusals import REFUSED_BY_STREAMS
from kafka_groups.errors import ConfigurationError

REQUIRED = {"bootstrap.servers": "k:9092", "application.id": "app"}
OWN_DEFAULTS = {
    "default.dsl.store": "stores are in memory, as always before",
    "client.id": "its default is that of all clients of this package",
    "commit.interval.ms": "one second instead of 30: fewer duplicates",
    "request.timeout.ms": "its default is that of all clients of this package",
    "state.dir": "Java's files are others",
}


def test_kafkas_names_and_keywords_mean_the_same() -> None:
    dotted = streams_config({
        **REQUIRED,
        "num.workers": "4",
        "commit.interval.ms": "200",
        "max.task.idle.ms": "-1",
        "cache.max.bytes.buffering": "0",
        "probe.address": "0.0.0.0:8080",
        "client.tag.zone": "a",
        "producer.linger.ms": 5,
        "main.consumer.fetch.min.bytes": 3,
        "topic.min.insync.replicas": 2,
        "errors.dead.letter.queue.topic.name": "dead",
    })  # fmt: skip
    assert dotted == streams_config(
        bootstrap_servers="k:9092",
        application_id="app",
        num_workers=4,
        commit_interval_ms=200,
        max_task_idle_ms=-1,
        statestore_cache_max_bytes=0,
        probe_address=("0.0.0.0", 8080),
        client_tags={"zone": "a"},
        producer={"linger.ms": 5},
        main_consumer={"fetch.min.bytes": 3},
        topic={"min.insync.replicas": 2},
        errors_dead_letter_queue_topic_name="dead",
    )
    assert dotted.num_workers == 4
    assert dotted.producer == (("linger.ms", 5),)


def java_keys() -> dict[str, str | int | bool | list[str] | None]:
    """The keys of Kafka Streams 4.3.1 with their defaults, as `StreamsConfig.configDef()` lists them."""
    page = Path(__file__).with_name("java-streams-keys.json").read_text(encoding="utf-8")
    found = json.loads(page)
    assert isinstance(found, dict)
    return found


def test_the_state_directory_is_a_path_or_text() -> None:
    assert streams_config(REQUIRED, state_dir=Path("/var/state")).state_dir == "/var/state"
    with pytest.raises(ConfigurationError, match=r"for state_dir .*: it is empty"):
        streams_config(REQUIRED, state_dir=" ")


def test_every_key_of_kafka_streams_is_a_key_or_has_a_remedy() -> None:
    ours = {name for key in streams_keys().values() for name in (key.name, *key.aliases)}
    assert set(java_keys()) - ours <= {*REFUSED_BY_STREAMS, *IGNORED_BY_KAFKA}
    only_classic = {streams_keys()[name].name for name in CLASSIC_KEYS}
    assert ours & {*REFUSED_BY_STREAMS, *IGNORED_BY_KAFKA} == only_classic


def test_defaults_are_those_of_kafka_streams_except_for_reasons() -> None:
    keys = {key.name: key for key in streams_keys().values()}
    compared = {name: keys[name].default for name in java_keys() if name in keys and not keys[name].required}
    compared = {name: list(it) if isinstance(it, tuple) else it for name, it in compared.items()}
    differing = {name for name, default in compared.items() if default not in (java_keys()[name], None)}
    assert differing == {*OWN_DEFAULTS, "group.protocol"}


def test_every_refused_key_is_refused_in_both_spellings() -> None:
    for name in (*REFUSED_BY_STREAMS, *IGNORED_BY_KAFKA):
        for spelling in (name, name.replace(".", "_")):
            with pytest.raises(ConfigurationError, match=f"^Unsupported configuration key {re.escape(repr(spelling))}"):
                streams_config({**REQUIRED, spelling: "1"})


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("num.stream.threads", 2, "Set num_workers"),
        ("topology.optimization", "all", "StreamsBuilder(optimization=Optimization.ALL)"),
        ("ensure.explicit.internal.resource.naming", True, "StreamsBuilder(explicit_names=True)"),
        ("default.key.serde", "x", "give key= and value="),
        ("num.standby.replicas", 1, "Set the group configuration streams.num.standby.replicas"),
        ("upgrade.from", "3.9", "Remove it"),
        ("group.protocol", "consumer", "Use streams or classic"),
        ("processing_guarantee", "exactly_once", "Use at_least_once or exactly_once_v2"),
        ("linger.ms", 5, "producer.linger.ms"),
        ("fetch_min_bytes", 5, "consumer.fetch.min.bytes"),
        ("delivery.timeout.ms", 5, "Remove it; task.timeout.ms ends a worker that gets no answer"),
        ("batch_num_messages", 5, "Set producer.batch.size"),
        ("queued.min.messages", 5, "Set consumer.fetch.buffer.bytes"),
        ("connections.max.idle.ms", 5, "tune reconnect.backoff.ms"),
        ("send.buffer.bytes", 5, "sockets keep their system defaults"),
        ("admin.retries", 5, "the group coordinator creates its internal topics"),
        ("comit.interval.ms", 5, "Did you mean 'commit.interval.ms'?"),
        ("num_worker", 2, "Did you mean 'num_workers'?"),
        ("num_workers", 0, "Use a whole number from 1 to 1000"),
        ("deserialization.exception.handler", "org.example.Mine", "Use a function"),
        ("processing_exception_handler", 5, "Use a function"),
        ("errors_dead_letter_queue_topic_name", "no spaces", "Use a name of 1 to 249 letters"),
        ("errors_dead_letter_queue_topic_name", "x" * 250, "Use a name of 1 to 249 letters"),
        ("auto.offset.reset", "none", "Use earliest, latest, or by_duration:"),
        ("probe_address", "8080", "Use host:port"),
        ("producer", "linger.ms=5", "Use a mapping of names and values"),
    ],
)
def test_an_error_names_key_value_and_remedy(name: str, value: object, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        streams_config({**REQUIRED, name: value})
    text = str(raised.value)
    assert name in text
    assert repr(value) in text
    assert remedy in text


def test_a_config_of_internal_topics_is_text_or_a_number() -> None:
    with pytest.raises(ConfigurationError, match=r"the value of retention\.ms is neither text nor a number"):
        streams_config({**REQUIRED, "topic.retention.ms": [5]})


def test_a_consumer_has_the_settings_of_all_and_its_own() -> None:
    config = streams_config({
        **REQUIRED,
        "consumer.fetch.min.bytes": 1,
        "consumer.debug": "all",
        "restore.consumer.fetch.min.bytes": 100,
    })  # fmt: skip
    assert config.consumer_settings("restore") == {"fetch.min.bytes": 100, "debug": "all"}
    assert config.consumer_settings("main") == {"fetch.min.bytes": 1, "debug": "all"}


@pytest.mark.parametrize("prefix", ["consumer", "main.consumer"])
def test_the_sources_of_an_application_at_least_once_may_read_committed_records(prefix: str) -> None:
    given = {**REQUIRED, f"{prefix}.isolation.level": "read_committed"}
    config = streams_config(given)
    assert config.consumer_settings("main") == {"isolation.level": "read_committed"}
    assert config.consumer_settings("restore") == {}
    with pytest.raises(
        ConfigurationError, match=r"isolation\.level='read_committed' can't be set with processing\.guar"
    ):
        streams_config({**given, "processing.guarantee": "exactly_once_v2"})


def test_a_mapping_and_single_keys_must_agree() -> None:
    with pytest.raises(ConfigurationError, match="the key is given twice"):
        streams_config({**REQUIRED, "producer.linger.ms": 5}, producer={"linger.ms": 6})


def test_a_protocol_of_a_java_configuration_may_stay() -> None:
    assert streams_config({**REQUIRED, "group.protocol": "STREAMS"}).group_protocol == "streams"


def test_everything_that_is_wrong_is_in_one_error() -> None:
    with pytest.raises(ConfigurationError) as raised:
        streams_config({"num.stream.threads": 1, "probe.address": "no port", "nonsense": 1})
    for part in ("num.stream.threads", "'no port' is not in the form host:port", "nonsense", "application.id"):
        assert part in str(raised.value)


def test_a_member_of_the_group_has_its_part_of_the_configuration() -> None:
    given = {**REQUIRED, "client.rack": "r1", "application.server": "me:80", "security.protocol": "SSL"}
    assert streams_config({**given, "num.workers": 3}).member == streams_member_config(given)


def test_a_finished_configuration_stands_alone() -> None:
    made = streams_config(REQUIRED)
    assert config_of(made, {}, StreamsConfig, streams_config) is made
    with pytest.raises(ConfigurationError, match="num_workers: give keywords or a finished StreamsConfig"):
        config_of(made, {"num_workers": 2}, StreamsConfig, streams_config)
