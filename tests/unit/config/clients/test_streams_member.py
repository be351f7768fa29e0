"""The configuration of a member of a streams group: which keys there are, and what is said about others."""

import re
from pathlib import Path

import pytest

from kafka_groups.config.clients.connection import config_of
from kafka_groups.config.clients.streams_member import (
    IGNORED_BY_KAFKA,
    StreamsMemberConfig,
    streams_member_config,
    streams_member_keys,
)
from kafka_groups.errors import ConfigurationError

REQUIRED = {"bootstrap.servers": "k:9092", "application.id": "app"}


def test_kafkas_names_and_keywords_mean_the_same() -> None:
    dotted = streams_member_config({
        **REQUIRED,
        "application.server": "me:80",
        "client.rack": "r1",
        "client.tag.zone": "a",
        "client.tag.cluster": "k8s",
        "group.instance.id": "worker",
        "max.poll.interval.ms": "60000",
    })  # fmt: skip
    assert dotted == streams_member_config(
        bootstrap_servers="k:9092",
        application_id="app",
        application_server=("me", 80),
        client_rack="r1",
        client_tags={"zone": "a", "cluster": "k8s"},
        group_instance_id="worker",
        max_poll_interval_ms=60_000,
    )
    assert dotted.client_tags == (("cluster", "k8s"), ("zone", "a"))
    assert dotted.application_server == ("me", 80)


def test_kafka_streams_defaults() -> None:
    config = streams_member_config(REQUIRED)
    assert (config.max_poll_interval_ms, config.application_server, config.client_tags) == (300_000, None, ())


def test_all_keys_that_kafka_ignores_are_refused_with_a_remedy() -> None:
    page = Path(__file__).with_name("ignored-by-streams-groups.txt").read_text(encoding="utf-8").split()
    assert sorted(IGNORED_BY_KAFKA) == sorted(page)
    for name in page:
        for spelling in (name, name.replace(".", "_")):
            with pytest.raises(ConfigurationError, match=re.escape(repr(spelling))):
                streams_member_config({**REQUIRED, spelling: "1"})


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("num.standby.replicas", "streams.num.standby.replicas"),
        ("session_timeout_ms", "streams.session.timeout.ms"),
        ("heartbeat.interval.ms", "streams.heartbeat.interval.ms"),
        ("task.assignor.class", "streams.assignor.name"),
        ("rack.aware.assignment.traffic_cost", "streams.rack.aware.assignment.tags"),
        ("group.id", "application_id"),
    ],
)  # fmt: skip
def test_a_refused_key_names_what_to_set_instead(name: str, remedy: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(remedy)):
        streams_member_config({**REQUIRED, name: "1"})


def test_everything_that_is_wrong_is_in_one_error() -> None:
    with pytest.raises(ConfigurationError) as raised:
        streams_member_config({"num.standby.replicas": 1, "application.server": "no port", "nonsense": 1})
    text = str(raised.value)
    for part in ("num.standby.replicas", "'no port' is not in the form host:port", "nonsense", "application.id"):
        assert part in text


@pytest.mark.parametrize("tags", ["zone=a", {"": "a"}, {"zone": 1}, [("zone",)], 3])
def test_tags_are_a_mapping_of_text(tags: object) -> None:
    with pytest.raises(ConfigurationError, match=r"client_tags \(client.tags\)"):
        streams_member_config(REQUIRED, client_tags=tags)


def test_a_key_is_given_once() -> None:
    with pytest.raises(ConfigurationError, match="application"):
        streams_member_config({**REQUIRED, "application_id": "other"})


def test_the_table_has_the_fields_of_the_class() -> None:
    assert {"application_id", "client_tags", "security_protocol"} <= set(streams_member_keys())
    assert StreamsMemberConfig(bootstrap_servers=(("k", 1),), application_id="app").application_id == "app"


def test_a_finished_configuration_stands_alone() -> None:
    made = streams_member_config(REQUIRED)
    assert config_of(made, {}, StreamsMemberConfig, streams_member_config) is made
    with pytest.raises(ConfigurationError, match="client_rack: give keywords or a finished StreamsMemberConfig"):
        config_of(made, {"client_rack": "r"}, StreamsMemberConfig, streams_member_config)
