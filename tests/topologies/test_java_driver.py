"""Java's TopologyTestDriver answers, and says what the golden files say."""

import pytest

from tests.topologies.golden import ask, golden_names, read_golden
from tests.topologies.oracle import CACHED, UNCACHED, JavaOracle, RefusedTopologyError
from tests.topologies.scripts import Advance, Output, Pipe, Restart, Run, StoreContents, TakeSnapshot, encoded

LENGTH_STORE = "KSTREAM-AGGREGATE-STATE-STORE-0000000001"

pytestmark = [pytest.mark.real_kafka, pytest.mark.xdist_group("java_topologies")]


def test_a_run_has_what_came_out_of_each_step(java_oracle: JavaOracle) -> None:
    script = [Pipe("in", b"k", b"a", 10, (("x", None),)), Pipe("in", b"k", b"b", 5)]
    run = java_oracle.run("count", script, UNCACHED)
    changelog = f"app-{LENGTH_STORE}-changelog"
    assert run.outputs == (
        Output(0, changelog, 0, b"k", encoded(1), 10),
        Output(0, "out", None, b"k", encoded(1), 10, (("x", None),)),
        Output(1, changelog, 0, b"k", encoded(2), 10),
        Output(1, "out", None, b"k", encoded(2), 10),
    )
    assert run.stores == {LENGTH_STORE: StoreContents("key_value", ((b"k", bytes(7) + b"\n" + bytes(7) + b"\x02"),))}


def test_caches_keep_the_last_update_of_a_record(java_oracle: JavaOracle) -> None:
    script = [Pipe("in", b"k", b"a b c", 10)]
    counts = {
        name: [each.value for each in java_oracle.run("words_count", script, config).outputs if each.topic == "out"]
        for name, config in (("uncached", UNCACHED), ("cached", CACHED))
    }
    assert counts == {"uncached": [encoded(1), encoded(2), encoded(3)], "cached": [encoded(3)]}


def test_the_clock_advances_and_punctuates(java_oracle: JavaOracle) -> None:
    run = java_oracle.run("process_wall_clock", [Pipe("in", b"k", b"a", 10), Advance(99), Advance(1)], now_ms=7)
    assert [each for each in run.outputs if each.topic == "out"] == [Output(2, "out", None, b"k", b"a@107", 107)]


def results(run: Run) -> list[tuple[bytes | None, int | None]]:
    return [(each.value, each.timestamp_ms) for each in run.outputs if each.topic == "out"]


@pytest.mark.parametrize("name", ["count", "source_as_changelog", "global_join", "suppress_tumbling"])
def test_a_restart_keeps_the_state(java_oracle: JavaOracle, name: str) -> None:
    inputs = java_oracle.describe(name).inputs
    before = [Pipe(topic, b"a", b"a", 10) for topic in reversed(inputs)]
    after = [Pipe("in", b"a", b"a", 400)]
    stayed = java_oracle.run(name, [*before, TakeSnapshot(), *after])
    restarted = java_oracle.run(name, [*before, Restart(), TakeSnapshot(), *after])
    assert restarted.snapshots == stayed.snapshots
    assert restarted.stores == stayed.stores
    assert results(restarted) == results(stayed)


def test_a_step_that_fails_ends_the_run(java_oracle: JavaOracle) -> None:
    run = java_oracle.run("fails", [Pipe("in", b"k", b"a", 1), Pipe("in", b"k", b"bad", 2), Pipe("in", b"k", b"c", 3)])
    assert run.failed_step == 1
    assert run.error[-1] == "java.lang.IllegalStateException: bad value"
    assert [each.topic for each in run.outputs if each.step == 1] == ["before"]
    assert not [each for each in run.outputs if each.step == 2]


def test_what_kafka_refuses_is_an_error(java_oracle: JavaOracle) -> None:
    with pytest.raises(RefusedTopologyError, match="has not been named"):
        java_oracle.describe("explicit_names_missing")
    with pytest.raises(RefusedTopologyError, match="unknown topology"):
        java_oracle.run("nothing", [])


@pytest.mark.slow
def test_golden_files_say_what_java_says(java_oracle: JavaOracle) -> None:
    names = java_oracle.names()
    assert golden_names() == sorted(names)
    differing = [name for name in names if read_golden(name) != ask(java_oracle, name)]
    assert differing == []
