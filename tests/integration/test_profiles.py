"""The embedded broker answers as the release of its profile does, except for what `unsupported.py` lists."""

import json
from collections.abc import Iterator

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.profile import PROFILES
from kafka_groups.broker.unsupported import UNSUPPORTED, Unsupported
from kafka_groups.config.cluster.broker import OWN_BROKER_KEYS, broker_keys
from kafka_groups.config.keys import Key
from tests.recording.profile_capture import BOUNDS, RELEASES, SETTINGS, captured, differences
from tests.recording.profile_questions import Answers, questions
from tests.recording.profile_unsupported import without

STRICTER = {
    "group.initial.rebalance.delay.ms": "[0,...]",
    "group.max.session.timeout.ms": "[0,...]",
    "group.min.session.timeout.ms": "[0,...]",
    "connections.max.reauth.ms": "[0,...]",
    "default.replication.factor": "[1,...]",
    "share.coordinator.snapshot.update.records.per.snapshot": "[0,...,500]",
}
"""Kafka, or Kafka 4.2, starts with any number here, and fails later or ignores it."""


def answers_of_the_embedded_broker(profile: str) -> Answers:
    release = captured(profile)
    with EmbeddedCluster(profile=profile, settings=SETTINGS) as cluster:
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        found = questions(host, int(port), broker_keys=broker_keys(), versions=release["versions"])
    answers: Answers = json.loads(json.dumps({"broker": release["broker"], **found}))
    return answers


def test_every_profile_was_captured() -> None:
    assert {name: profile.release for name, profile in PROFILES.items()} == RELEASES
    assert {name: captured(name)["broker"] for name in PROFILES} == {
        name: f"Apache Kafka {release}" for name, release in RELEASES.items()
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_differs_from_its_release_in_what_is_unsupported_and_in_nothing_else(profile: str) -> None:
    expected = without(UNSUPPORTED, captured(profile))
    del expected[BOUNDS]

    assert list(differences(expected, answers_of_the_embedded_broker(profile))) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_bounds_of_a_brokers_configs(profile: str) -> None:
    missing = PROFILES[profile].missing_broker_keys
    ours = {name: _bounds(key) for name, key in broker_keys().items() if name not in {*missing, *OWN_BROKER_KEYS}}

    bounded = {name: bounds for name, bounds in ours.items() if bounds is not None}

    assert bounded == captured(profile)[BOUNDS] | STRICTER


def _bounds(key: Key) -> str | None:
    """As Kafka writes them."""
    if key.maximum is not None:
        return f"[{key.minimum},...,{key.maximum}]"
    return None if key.minimum is None else f"[{key.minimum},...]"


@pytest.mark.parametrize("entry", UNSUPPORTED, ids=lambda entry: f"{entry.kind.name}-{entry.name}")
def test_every_entry_of_the_table_is_in_a_release(entry: Unsupported) -> None:
    assert any(without([entry], release) != release for release in _releases())


def _releases() -> Iterator[Answers]:
    return (captured(profile) for profile in PROFILES)
