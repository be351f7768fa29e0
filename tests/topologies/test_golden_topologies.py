"""The golden files of the topologies are whole and small, and can be read without Java."""

import pytest

from tests.topologies.golden import DIRECTORY, golden_names, read_golden
from tests.topologies.scripts import Pipe, Restart, random_script, script_for, with_restarts

MOST_BYTES = 1_450_000


def test_there_are_many_of_them_in_little_space() -> None:
    assert len(golden_names()) >= 60
    assert sum(path.stat().st_size for path in DIRECTORY.glob("*.json")) < MOST_BYTES


@pytest.mark.parametrize("name", golden_names())
def test_a_file_has_a_description_and_runs(name: str) -> None:
    golden = read_golden(name)
    if golden.refused:
        assert golden.description is None
        return
    assert golden.description is not None
    assert golden.uncached is not None
    assert golden.cached is not None
    assert golden.description.text.startswith("Topologies:\n")
    assert {step.topic for step in golden.script if isinstance(step, Pipe)} == set(golden.description.inputs)
    assert {each.step for each in golden.uncached.outputs} <= set(range(len(golden.script)))


def test_scripts_come_from_the_seed() -> None:
    script = random_script(3, ("in", "numbers"), 200)
    assert script == random_script(3, ("in", "numbers"), 200)
    assert script != random_script(4, ("in", "numbers"), 200)
    piped = [step for step in script if isinstance(step, Pipe)]
    assert len(piped) == 200
    assert {step.topic for step in piped} == {"in", "numbers"}
    assert {None} < {step.key for step in piped}
    assert {None} < {step.value for step in piped}
    assert {len(step.value) for step in piped if step.topic == "numbers" and step.value is not None} == {8}
    assert not any(isinstance(step, Restart) for step in script)
    times = [step.timestamp_ms for step in piped]
    assert times != sorted(times)
    assert min(times) >= 0


def test_restarts_come_after_the_first_step() -> None:
    script = script_for("count", 1, ("in",), 5)
    for seed in range(20):
        restarted = with_restarts(seed, script)
        assert restarted[0] == script[0]
        assert [step for step in restarted if not isinstance(step, Restart)] == list(script)
        assert restarted.count(Restart()) == 2


def test_scripts_have_what_a_topology_is_about() -> None:
    assert -1 in {step.timestamp_ms for step in script_for("timestamps_own", 1, ("in",), 50) if isinstance(step, Pipe)}
    assert b"bad" in {step.value for step in script_for("unreadable", 1, ("numbers",), 50) if isinstance(step, Pipe)}
    assert script_for("count", 1, ("in",), 50) == random_script(1, ("in",), 50)
