"""Random scripts: nothing is lost, and every call is the one that workers have always made."""

import hashlib

import pytest

from kafka_groups.types import AcknowledgeType
from tests.unit.spark.workers.scripts import Played, random_script

# One process plays the scripts, for all tests of this module.
pytestmark = pytest.mark.xdist_group("sub_batch_scripts")

CALLS = "f165b1c1d77ee50ef0cff72c6e1a43e5bbf1f184dcff581b0dbc2ef03da1984e"
"""The digest of all calls of the scripts, made by the implementation before the rules were free of I/O."""
SEEDS = range(60)


@pytest.fixture(scope="module")
def played() -> list[Played]:
    return [Played(random_script(seed)) for seed in SEEDS]


def test_the_calls_and_their_order_are_those_of_before(played: list[Played]) -> None:
    calls = "\n".join(repr(event) for each in played for event in each.events)
    assert hashlib.sha256(calls.encode()).hexdigest() == CALLS


def test_nothing_is_accepted_before_it_was_stored(played: list[Played]) -> None:
    for each in played:
        accepted = {offset for offset, kind in each.broker.decisions.items() if kind == AcknowledgeType.ACCEPT}
        assert accepted <= each.succeeded


def test_nothing_is_rejected_before_its_copy_is_confirmed(played: list[Played]) -> None:
    for seed, each in zip(SEEDS, played, strict=True):
        rejected = {offset for offset, kind in each.broker.decisions.items() if kind == AcknowledgeType.REJECT}
        assert not random_script(seed).has_letters or rejected <= each.copied


def test_each_record_is_settled_once(played: list[Played]) -> None:
    for seed, each in zip(SEEDS, played, strict=True):
        settled = [offset for commit in each.broker.sent for offset in commit]
        assert len(settled) == len(set(settled))
        polled = {offset for ranges in random_script(seed).polls for r in ranges for offset in range(r[0], r[1] + 1)}
        assert not each.is_over or polled <= set(settled)


def test_most_scripts_come_to_their_end(played: list[Played]) -> None:
    assert sum(each.is_over for each in played) >= len(played) // 2
