"""A few thousand records keep the benchmarks working; their figures mean nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.benchmarks.applications.beside_before import Measured
from tests.benchmarks.consumers import Task, consume
from tests.benchmarks.main import main
from tests.benchmarks.rebalances import JOIN, LEAVE
from tests.support.kafka.kafka_classpath import driver_classpath_or_skip


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_the_clients_are_compared_on_the_embedded_broker(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["share", "--records=4400", "--rounds=1", "--warm-up=0", "--target=embedded", "--batches=large"]
    arguments += ["--mode=explicit", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    cases = json.loads(written.read_text())["share"]
    assert [case["mode"] for case in cases] == ["explicit"]
    for case in cases:
        assert case["rate_ratio"] > 0
        assert case["ours"]["cpu_us_per_record"] > 0
        assert case["ours"]["records_per_poll"] >= 150


@pytest.mark.slow
def test_an_authorizer_is_compared_with_none() -> None:
    result = CliRunner().invoke(main, ["authorization", "--requests=10"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert {"produce", "fetch", "share fetch"} <= {line[1:14].strip() for line in result.output.splitlines()}


@pytest.mark.long
@pytest.mark.timeout(60)
def test_our_client_is_compared_with_itself_in_another_checkout(tmp_path: Path) -> None:
    """Here the other checkout is this one: both clients are found, each in its own process."""
    written = tmp_path / "figures.json"
    arguments = ["share", "--records=4400", "--rounds=1", "--warm-up=0", "--target=embedded", "--batches=large"]
    arguments += ["--mode=implicit", f"--json={written}", "--against", str(Path(__file__).parents[2])]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (case,) = json.loads(written.read_text())["share"]
    assert case["theirs"]["records_per_poll"] >= 150
    assert "embedded large implicit before" in result.output


@pytest.mark.long
@pytest.mark.timeout(120)
def test_members_share_a_topic(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["fairness", "--seconds=1", "--rounds=1", "--target=embedded", "--partitions=1", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    for shared in json.loads(written.read_text())["fairness"]:
        assert sum(member["records"] for member in shared["rounds"]["adaptive"][0]) > 0


@pytest.mark.long
@pytest.mark.timeout(60)
def test_records_go_through_the_embedded_broker_end_to_end() -> None:
    result = CliRunner().invoke(
        main, ["end-to-end", "--records=4400", "--rounds=1", "--batches=small"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    assert "small" in result.output


@pytest.mark.long
@pytest.mark.timeout(120)
def test_records_are_printed_by_turns_with_counting(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["printing", "--records=8800", "--rounds=1", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    figures = json.loads(written.read_text())["printing"]
    assert list(figures)[:3] == ["values", "format", "json"]
    assert min(figures.values()) > 0


def test_records_become_tables_of_the_same_size_whatever_the_columns(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    result = CliRunner().invoke(
        main, ["arrow", "--records=4000", "--rounds=1", f"--json={written}"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    rates = json.loads(written.read_text())["arrow"]["records_per_second"]
    assert len(rates) == 5
    assert min(rates.values()) > 10_000


@pytest.mark.long
def test_the_task_assignor_is_measured_with_groups_that_double(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["assignors", "--members=160", "--doublings=1", "--rounds=1", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    measured = json.loads(written.read_text())["assignors"]
    assert [(each["members"], each["tasks"]) for each in measured] == [(80, 800), (160, 1600)]
    assert all(seconds > 0 for each in measured for seconds in each["seconds"].values())


@pytest.mark.slow
@pytest.mark.timeout(300)  # each measurement collects the garbage of all tests before
def test_rounds_of_a_leader_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["leading", "--members=20", "--tasks=100", "--rounds=2", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    figures = json.loads(written.read_text())
    assert len(figures["limits"]) == 3
    assert all(figure > 0 for figure in figures["limits"].values())
    measured = figures["leading"]
    assert [(each["has_hosts"], each["standbys"], each["strategy"]) for each in measured] == [
        *[(has_hosts, standbys, "none") for has_hosts in (False, True) for standbys in (0, 1)],
        *[(False, standbys, "min_traffic") for standbys in (0, 1)],
    ]
    assert all(each["ratio"] > 0 and len(each["round_s"]) == 2 for each in measured)
    sizes = [each["assignment_bytes"] for each in measured[:4]]
    assert sizes[2] > sizes[0] > 0 < sizes[1] < sizes[3]


@pytest.mark.slow
@pytest.mark.timeout(300)  # as above
def test_plans_of_classic_groups_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["planning", "--members=20", "--tasks=100", "--rounds=2", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    measured = json.loads(written.read_text())["planning"]
    assert [each["standbys"] for each in measured] == [0, 1]
    assert all(each["ratio"] > 0 and len(each["plan_s"]) == 2 and each["moves"] > 0 for each in measured)


@pytest.mark.long
@pytest.mark.timeout(60)
def test_rebalances_and_heartbeats_of_streams_groups_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["streams", "--part=embedded", "--part=heartbeats", "--runs=1", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    measured = json.loads(written.read_text())["streams"]
    [seconds] = measured["embedded"]["seconds"].values()
    assert {measure: len(runs) for measure, runs in seconds.items()} == {JOIN: 1, LEAVE: 1}
    assert all(0 < runs[0] < 5 for runs in seconds.values())
    assert measured["heartbeats"]["without changes"]["records per heartbeat"] == 0
    assert measured["heartbeats"]["each writes records"]["records per heartbeat"] >= 2


@pytest.mark.long
@pytest.mark.real_kafka
@pytest.mark.timeout(120)
def test_topologies_are_compared_with_javas_driver(tmp_path: Path) -> None:
    driver_classpath_or_skip()
    written = tmp_path / "figures.json"
    arguments = ["topologies", "--records=20", "--rounds=1", "--warm-up=1", "--quick-start", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    measured = json.loads(written.read_text())["topologies"]
    assert len(measured["ratios"]) == 14
    assert min(each[kind] for each in measured["ratios"].values() for kind in ("elapsed", "processor")) > 0
    assert min(measured[cost] for cost in ("chain", "driver_ms", "import_ms", "median")) > 0


class _AllAtOnce:
    """A contender whose first poll brings every record."""

    def poll(self) -> Sequence[int]:
        return range(10)

    def read(self, records: Sequence[int]) -> int:
        return len(records)

    def close(self) -> None: ...


def test_a_run_that_leaves_nothing_to_measure_says_so() -> None:
    task = Task(client="ours", mode="implicit", bootstrap_servers="", topic="", group_id="", records=10)
    with pytest.raises(AssertionError, match="ask for more"):
        consume(task, _AllAtOnce())


@pytest.mark.long
@pytest.mark.timeout(120)
def test_the_embedded_broker_is_compared_with_that_of_another_checkout(tmp_path: Path) -> None:
    """Here the other checkout is this one."""
    written = tmp_path / "figures.json"
    arguments = ["broker", "--records=60000", "--rounds=1", "--brokers=3", f"--json={written}"]
    result = CliRunner().invoke(main, [*arguments, "--against", str(Path(__file__).parents[2])], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (compared,) = json.loads(written.read_text())["broker"]
    assert len(compared["cases"]) == 4
    assert all(case["rate_ratio"] > 0 for case in compared["cases"])
    assert compared["resident_bytes"]["before"] > 0


@pytest.mark.long
@pytest.mark.timeout(120)
def test_coordinators_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    result = CliRunner().invoke(main, ["coordinators", "--fraction=0.01", f"--json={written}"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    measured = json.loads(written.read_text())
    assert all(rate > 100 for rate in measured["heartbeats"].values())
    assert [each["groups"] for each in measured["idle groups"]] == [1, 10, 100]
    assert measured["loading"]["records"] >= 1_000
    assert measured["soak"]["__share_group_state_bytes"] < 8 * 2**20


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_memory_and_restoration_of_stores_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = [
        "state", "--keys=20000", "--rounds=1", "--store=window", "--engine=memory", "--engine=lmdb", "--order=random",
        f"--json={written}",
    ]  # fmt: skip
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    memory, disk = json.loads(written.read_text())["state"]
    assert [(each["kind"], each["engine"], each["order"]) for each in (memory, disk)] == [
        ("window", "memory", "random"), ("window", "lmdb", "random"),
    ]  # fmt: skip
    assert memory["bytes_per_key"] > 50
    assert (memory["file_bytes_per_key"], disk["file_bytes_per_key"] > 50) == (0, True)
    assert min(each["seconds_per_million"] for each in (memory, disk)) > 0


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_files_and_memory_of_state_on_disk_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["kept-state", "--fraction=0.01", "--rounds=1", f"--json={written}"]
    arguments += ["--part=growth", "--part=views", "--part=opening", "--part=files", "--part=memory"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    aims = {each["name"]: each["figure"] for each in json.loads(written.read_text())["kept_state"]}
    assert min(aims.values()) > 0
    assert aims["their files, of keys and values"] > 1
    assert len(aims) == 8


@pytest.mark.long
@pytest.mark.timeout(300)
def test_applications_with_state_on_disk_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["kept-state", "--fraction=0.05", "--rounds=1", "--target=embedded", f"--json={written}"]
    arguments += ["--part=rates", "--part=restoration", "--part=questions", "--part=beside"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    aims = {each["name"]: each["figure"] for each in json.loads(written.read_text())["kept_state"]}
    assert min(aims.values()) > 0
    assert len(aims) == 12


@pytest.mark.long
@pytest.mark.timeout(300)
def test_applications_are_measured(tmp_path: Path) -> None:
    """Only ours: those of others need environments that are installed from PyPI."""
    written = tmp_path / "figures.json"
    arguments = [
        "applications",
        "--client=ours",
        "--target=embedded",
        "--records=400000",
        "--seconds=0.3",
        "--rounds=1",
    ]
    arguments += ["--commit-ms=50", "--memory-records=20000", f"--json={written}"]
    arguments += [
        f"--part={part}" for part in ("rates", "exactly-once", "delay", "idle", "start", "memory", "java", "classic")
    ]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    measured = json.loads(written.read_text())["applications"]
    assert len(measured["rates"]) == 4
    assert all(rate > 0 for entry in measured["rates"].values() for rates in entry.values() for rate in rates)
    assert 0 < measured["delay"]["ours"]["median_ms"] <= measured["delay"]["ours"]["p99_ms"]
    assert measured["idle"]["ours"] >= 0
    assert measured["start"][0] > 0
    assert measured["memory"]["at_end"] > 0
    assert set(measured["classic"]["from its start until both have tasks"]) == {"now", "before"}
    assert len(measured["java"]) == 8
    assert all(rate > 0 for each in measured["java"].values() for rate in each["ours"]["per_cpu_second"])


@pytest.mark.long
@pytest.mark.timeout(300)
def test_times_without_records_are_measured_while_a_leader_computes(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["rounds", "--guarantee=exactly_once_v2", "--rate=200", "--seconds=0.5", "--rounds=1"]
    result = CliRunner().invoke(main, [*arguments, f"--json={written}"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    [(guarantee, [gaps])] = json.loads(written.read_text())["rounds"].items()
    assert guarantee == "exactly_once_v2"
    assert gaps.keys() == {"leader_s", "follower_s", "quiet_s", "written_s"}
    assert all(0 < each < 60 for each in gaps.values())


def test_a_comparison_with_an_earlier_commit_needs_its_name() -> None:
    result = CliRunner().invoke(main, ["applications", "--part=before"])
    assert result.exit_code == 2
    assert "name one with --against" in result.output


def test_a_ratio_to_an_earlier_commit_is_the_median_of_the_rounds() -> None:
    rate = Measured("map", "records", now=[20.0, 30.0, 80.0], before=[10.0, 10.0, 10.0], limit=3.5)
    assert rate.ratio == 3
    assert not rate.aim().is_met
    cost = Measured("delay", "ms", now=[2.0], before=[4.0], is_cost=True)
    assert cost.aim().is_met


@pytest.mark.long
@pytest.mark.timeout(120)
def test_workers_are_compared_with_programs_written_by_hand(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    parts = [f"--part={part}" for part in ("rates", "outputs", "import")]
    arguments = ["workers", *parts, "--records=5000", "--rounds=1", f"--json={written}"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    figures = json.loads(written.read_text())["workers"]
    assert len(figures["rates"]["ratios"]) == 4
    assert min(figures["rates"]["records a second"].values()) > 0
    assert len(figures["outputs"]["ratios"]) == 2
    assert min(figures["outputs"]["records a second"].values()) > 0
