"""Static members of classic groups: one that is restarted within its session changes nothing for the group."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.streams import KafkaStreams
from kafka_groups.streams.workers.configured import ConfiguredApplication
from tests.integration.test_exactly_once_applications import sums, where_wrong
from tests.support.conditions import wait_until
from tests.support.members.counted_application import CountedApplication, counted
from tests.support.members.described_classic_group import DescribedMember, described_members

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 90.0
KEYS = {
    "group.protocol": "classic", "session.timeout.ms": 120_000, "heartbeat.interval.ms": 300, "commit.interval.ms": 100,
}  # fmt: skip
"""The session does not end within the test."""


@pytest.fixture(
    scope="module", params=["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.long])]
)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 100}) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


def members_of(app: CountedApplication) -> dict[str | None, DescribedMember]:
    return {each.instance_id: each for each in described_members(app.servers, app.application_id)}


def is_shared(app: CountedApplication) -> bool:
    return [len(each.active) for each in members_of(app).values()] == [2, 2]


@pytest.mark.parametrize("process_id", [pytest.param(None, id="same"), pytest.param(str(UUID(int=9)), id="another")])
@pytest.mark.parametrize("number", [pytest.param(0, id="leader"), pytest.param(1, id="follower")])
def test_a_restart_within_the_session_is_no_generation_more(
    servers: str,
    tmp_path: Path,
    number: int,
    process_id: str | None,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level("INFO", "kafka_groups.group")
    app = CountedApplication(servers, tmp_path, protocol="classic")
    app.write(40)

    def made(number: int) -> KafkaStreams:
        return KafkaStreams(
            partial(counted, app.source, app.sink), KEYS, application_id=app.application_id, bootstrap_servers=servers,
            group_instance_id=f"i{number}", processing_guarantee=app.guarantee,
        )  # fmt: skip

    def generations() -> list[int]:
        pattern = re.compile(rf"Generation (\d+) of group {app.application_id}: member i(\d)")
        return [int(found[1]) for each in caplog.messages if (found := pattern.match(each))]

    with ExitStack() as stack:
        running = [stack.enter_context(made(0))]
        running[0].wait_until_running(PATIENCE_S)
        running.append(stack.enter_context(made(1)))
        wait_until(lambda: is_shared(app), PATIENCE_S, lambda: members_of(app))
        wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S)
        before, last = members_of(app), max(generations())
        told = len(generations())
        running[number].close()
        if process_id is not None:  # as of a process in Java whose directory is gone
            monkeypatch.setattr(ConfiguredApplication, "static_process_id", process_id)
        again = stack.enter_context(made(number))
        again.wait_until_running(PATIENCE_S)
        after = members_of(app)
        assert {name: each.active for name, each in after.items()} == {
            name: each.active for name, each in before.items()
        }
        name = f"i{number}-1"
        assert after[name].member_id != before[name].member_id
        assert str(after[name].process_id) == (process_id or str(before[name].process_id))
        app.write(40)
        wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (again.state, again.error))
        assert not (wrong := where_wrong(app)), wrong
        assert generations()[told:] == [last]  # the restarted member, in the generation before
