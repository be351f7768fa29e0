"""Tasks go from one live instance of a classic group to another in two generations, after one look and one commit."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from kafka_groups.streams import KafkaStreams
from kafka_groups.streams.runtime.blocking_membership import BlockingMembership
from kafka_groups.streams.runtime.task_manager import TaskManager
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee, MixedApplication, keys_of
from tests.support.kafka.mixed_topologies import mixed_topology
from tests.support.members.described_classic_group import described_members

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 60.0
COMMIT_MS = 5_000
"""Long enough for the tasks that are given up to have something to commit."""

HEARTBEATS = 5
"""As many answers show that no other round follows."""

LOOK, CONFIRM = "look", "confirm"
COMMIT = {AT_LEAST_ONCE: "OFFSET_COMMIT", EXACTLY_ONCE: "END_TXN"}
_STEPS = re.compile(rf"({LOOK}|{CONFIRM})$|(OFFSET_COMMIT|END_TXN|JOIN_GROUP) v\d+ to ")
_ROUND = re.compile(r"Generation (\d+) of group .* It takes (.*), and gives up (.*)\.$")
_log = logging.getLogger("tests.hand_over")


@frozen
class Round:
    """A line of the log about a round of the member in Python."""

    place: int
    generation: int
    taken: str
    given_up: str


@pytest.fixture
def app(real_kafka: KafkaProcess, tmp_path: Path, guarantee: Guarantee) -> Iterator[MixedApplication]:
    made = MixedApplication("words", real_kafka.bootstrap_servers, tmp_path, guarantee, protocol="classic")
    made.write(40)
    yield made
    made.end()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    """What the instance in this process logs, requests, looks and confirmations among it."""
    for name in ("kafka_groups.group", "kafka_groups.requests", _log.name):
        caplog.set_level(logging.DEBUG, name)
    monkeypatch.setattr(TaskManager, "look", _noted(LOOK, TaskManager.look))
    monkeypatch.setattr(BlockingMembership, "confirm", _noted(CONFIRM, BlockingMembership.confirm))
    return caplog


def _noted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    async def noted(*arguments: object) -> None:
        _log.debug(name)
        await method(*arguments)

    return noted


def instance(app: MixedApplication) -> KafkaStreams:
    return KafkaStreams(
        partial(mixed_topology, app.kind, app.source, app.sink), keys_of("classic"), application_id=app.application_id,
        bootstrap_servers=app.servers, commit_interval_ms=COMMIT_MS, processing_guarantee=app.guarantee,
    )  # fmt: skip


def rounds(log: pytest.LogCaptureFixture) -> Sequence[Round]:
    found = ((place, _ROUND.match(text)) for place, text in enumerate(list(log.messages)))
    return [Round(place, int(each[1]), each[2], each[3]) for place, each in found if each is not None]


def wait_until_shared(app: MixedApplication, *counts: int) -> None:
    """Wait until the members have so many tasks each."""
    wait_until(
        lambda: [len(each.active) for each in described_members(app.servers, app.application_id)] == list(counts),
        2 * PATIENCE_S,
    )


def wait_until_quiet(log: pytest.LogCaptureFixture) -> None:
    """Wait until some heartbeats of this time are answered."""
    before = _heartbeats(log)
    wait_until(lambda: _heartbeats(log) >= before + HEARTBEATS, PATIENCE_S)


def _heartbeats(log: pytest.LogCaptureFixture) -> int:
    return sum(each.startswith("HEARTBEAT ") and " answered in " in each for each in list(log.messages))


def steps_after(log: pytest.LogCaptureFixture, round_: Round) -> Iterator[str]:
    """What the member did from the answer of this round until it joined again."""
    for text in log.messages[round_.place :]:
        if (found := _STEPS.match(text)) is not None:
            step = found[1] or found[2]
            if step == "JOIN_GROUP":
                return
            yield step


@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, EXACTLY_ONCE])
@pytest.mark.parametrize(
    "begin_other", [MixedApplication.start_child, MixedApplication.start_java], ids=["to Python", "to Java"]
)
def test_a_member_in_python_gives_tasks_up(
    app: MixedApplication,
    guarantee: Guarantee,
    begin_other: Callable[[MixedApplication], None],
    log: pytest.LogCaptureFixture,
) -> None:
    with instance(app) as older, app.flow():
        older.wait_until_running(PATIENCE_S)
        wait_until_quiet(log)
        begin_other(app)
        wait_until_shared(app, 2, 2)
        wait_until_quiet(log)
        _, revoking, handed_over = rounds(log)
        assert (revoking.generation, handed_over.generation) == (2, 3)
        assert re.fullmatch(r"active 0_\d, 1_\d", revoking.given_up)  # without and with state
        steps = Counter(steps_after(log, revoking))
    # A look may have begun just before the line about the round.
    assert steps - Counter({LOOK: 1}) == {COMMIT[guarantee]: 1, CONFIRM: 1}
    app.wait_for_output()


@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE])
def test_a_member_in_python_gets_tasks_from_java(app: MixedApplication, log: pytest.LogCaptureFixture) -> None:
    app.start_java()
    wait_until_shared(app, 4)
    app.wait_for_java_store()
    with app.flow(), instance(app) as newer:
        newer.wait_until_running(PATIENCE_S)
        wait_until_shared(app, 2, 2)
        wait_until_quiet(log)
        joined, handed_over = rounds(log)
    assert joined.taken == "no tasks"
    assert handed_over.generation == joined.generation + 1
    assert re.fullmatch(r"active 0_\d, 1_\d", handed_over.taken)
    app.wait_for_output()
