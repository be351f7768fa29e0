"""Instances on older releases of Kafka Streams and instances in Python in one classic group on Kafka 3.9.1.

User data has another form in each of these releases, so a member of another release makes the others change theirs.
Either side leads the other one.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee, MixedApplication
from tests.support.kafka.mixed_topologies import expected
from tests.support.members.described_classic_group import described_members

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(400)]

SETTINGS = {"group.initial.rebalance.delay.ms": "100", "group.min.session.timeout.ms": "1000"}
VERSIONS = {"2.5.1": 6, "2.8.2": 9, "3.1.2": 10}
"""The newest user data of each release."""

LATEST, PATIENCE_S = 11, 60.0
MIXTURES = (
    ("2.5.1", "words", AT_LEAST_ONCE, "at_least_once"),
    ("2.5.1", "counts", EXACTLY_ONCE, "exactly_once"),  # with a producer for each task, which is gone since 4.0
    ("2.8.2", "counts", EXACTLY_ONCE, "exactly_once_beta"),  # the name of exactly_once_v2 before 3.0
    ("3.1.2", "counts", EXACTLY_ONCE, "exactly_once_v2"),
)
"""A release, the kind of application, and what the instances in Python and in Java promise."""


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with KafkaProcess("3.9.1", SETTINGS) as kafka:
        yield kafka.bootstrap_servers


@pytest.mark.parametrize(("release", "kind", "guarantee", "in_java"), MIXTURES)
def test_each_leads_the_other_and_continues_its_work(  # noqa: PLR0917 - fixtures
    servers: str,
    tmp_path: Path,
    release: str,
    kind: str,
    guarantee: Guarantee,
    in_java: str,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.group")
    app = MixedApplication(
        kind, servers, tmp_path, guarantee, protocol="classic", release=release, java_guarantee=in_java
    )
    request.addfinalizer(app.end)
    app.write(40)
    app.start_python()
    app.wait_until_shared()
    with app.flow():
        app.start_java()
        app.wait_until_shared()
        assert _roles(caplog) == {"leads"}
        _check_versions(app, VERSIONS[release])
        app.close_python()
        app.wait_until_shared()
    app.wait_for_java_store()
    caplog.clear()
    with app.flow():
        app.start_python()
        app.wait_until_shared()
        assert _roles(caplog) == {"follows"}
        _check_versions(app, VERSIONS[release])
        app.close_java()
        app.wait_until_shared()
        _check_versions(app, LATEST)
    app.wait_for_python_store()
    app.wait_for_output()
    app.close_python()
    app.check_committed()
    assert app.changelog() == expected(kind, app.lines)


def _check_versions(app: MixedApplication, wanted: int) -> None:
    """Wait until all members send user data of this version."""
    wait_until(
        lambda: {each.version for each in described_members(app.servers, app.application_id)} == {wanted}, PATIENCE_S
    )


def _roles(caplog: pytest.LogCaptureFixture) -> set[str]:
    """What the member in Python did in the rounds of the log."""
    rounds = [each.getMessage() for each in caplog.records if each.getMessage().startswith("Generation ")]
    return {role for role in ("leads", "follows") for each in rounds if f" {role}. It joined because " in each}
