"""Keys of an application in a classic group: read there, and refused in a streams group."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.config.clients.classic_member import CLASSIC_KEYS
from kafka_groups.config.clients.streams import streams_config, streams_keys
from kafka_groups.config.clients.streams_refusals import streams_advice
from kafka_groups.errors import ConfigurationError

REQUIRED = {"bootstrap.servers": "k:9092", "application.id": "app"}
CLASSIC = {**REQUIRED, "group.protocol": "classic"}
NAMES = sorted(streams_keys()[each].name for each in CLASSIC_KEYS)
OF_CONSUMERS = {"heartbeat.interval.ms": 3_000, "session.timeout.ms": 45_000}
"""The defaults of Java's consumer, which Kafka Streams does not list."""


def test_the_keys_are_those_of_the_issue_with_javas_defaults() -> None:
    page = Path(__file__).with_name("java-streams-keys.json").read_text(encoding="utf-8")
    java = {**json.loads(page), **OF_CONSUMERS}
    defaults = {key.name: key.default for key in streams_keys().values()}
    keys = {name: list(it) if isinstance(it, tuple) else it for name, it in defaults.items()}
    assert {name: keys[name] for name in NAMES} == {name: java[name] for name in NAMES}
    assert NAMES == [
        "acceptable.recovery.lag",
        "heartbeat.interval.ms",
        "max.warmup.replicas",
        "num.standby.replicas",
        "probing.rebalance.interval.ms",
        "rack.aware.assignment.non_overlap_cost",
        "rack.aware.assignment.strategy",
        "rack.aware.assignment.tags",
        "rack.aware.assignment.traffic_cost",
        "replication.factor",
        "session.timeout.ms",
        "task.assignor.class",
    ]


OTHERS: dict[str, Any] = {
    "session.timeout.ms": 60_000,
    "probing.rebalance.interval.ms": 70_000,
    "rack.aware.assignment.strategy": "min_traffic",
    "rack.aware.assignment.tags": ("zone", "room"),
    "task.assignor.class": "StickyTaskAssignor",
}
TAGGED = {"client.tag.zone": "a", "client.tag.room": "1"}


@pytest.mark.parametrize("name", NAMES)
def test_a_key_is_read_in_a_classic_group_and_refused_in_a_streams_group(name: str) -> None:
    value = OTHERS.get(name, 5)
    attribute = name.replace(".", "_")
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    config = streams_config({**CLASSIC, **TAGGED, name: text})
    found = getattr(config, attribute)
    assert found == getattr(config.classic_member, attribute)
    assert found == value or str(found) == value
    assert getattr(streams_config({**CLASSIC, **TAGGED}, **{attribute: value}), attribute) == found
    for given in ({name: value}, {attribute: value}, {name: "no number"}):
        with pytest.raises(ConfigurationError, match=r"^Unsupported configuration key") as raised:
            streams_config({**REQUIRED, **given})
        assert "problems" not in str(raised.value)


@pytest.mark.parametrize("value", ["classic", "CLASSIC", " Classic "])
def test_the_protocol_is_read_as_java_reads_it(value: str) -> None:
    config = streams_config({**REQUIRED, "group.protocol": value, "num.standby.replicas": 1})
    assert config.is_classic
    assert config.num_standby_replicas == 1
    assert not streams_config(REQUIRED).is_classic


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"heartbeat.interval.ms": 15_001}, "Use at most 15000, or a longer session"),
        ({"session.timeout.ms": 6_000}, "heartbeat.interval.ms=3000 is more than a third of session.timeout.ms=6000"),
        ({"replication.factor": 0}, "replication.factor=0 is not a number of replicas. Use -1, or 1 or more."),
        ({"probing.rebalance.interval.ms": 59_999}, "Use a whole number from 60000 to"),
        ({"max.warmup.replicas": 0}, "Use a whole number from 1 to"),
        ({"num.standby.replicas": -1}, "Use a whole number from 0 to"),
        ({"replication.factor": 40_000}, "Use a whole number from -1 to 32767"),
        ({"task.assignor.class": "x"}, "no task assignor of Kafka Streams has this name"),
        ({"rack.aware.assignment.tags": "zone"}, "names 'zone', but this process has no such tag. Set client.tag.zone"),
        ({"rack.aware.assignment.tags": "a,b,c,d,e,f"}, "6 tags. Use at most 5 names of client tags"),
        ({"rack.aware.assignment.strategy": "most"}, "not an allowed value. Use none or min_traffic or balance_sub"),
        ({"rack.aware.assignment.traffic_cost": -1}, "Use a whole number from 0 to"),
        ({"rack.aware.assignment.non_overlap_cost": -1}, "Use a whole number from 0 to"),
        ({"upgrade.from": "2.4"}, "members of Kafka Streams 2.5 and later can be in the group without it"),
        ({"partition.assignment.strategy": "x"}, "tasks are assigned as Kafka Streams assigns them by default"),
        ({"admin.retries": 1}, "a member of the group creates its internal topics"),
        ({"group.instance.id": " "}, "it is empty"),
    ],
)
def test_bad_input_names_the_key_the_value_and_the_remedy(given: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(text)):
        streams_config({**CLASSIC, **given})


def test_a_missing_right_to_have_a_key_is_told_in_both_spellings() -> None:
    for name in ("upgrade.from", "upgrade_from"):
        assert streams_advice(name, is_classic=True) != streams_advice(name)
