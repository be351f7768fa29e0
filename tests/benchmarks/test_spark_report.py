"""The figures of Spark's benchmarks, from outcomes made up here; Spark itself is not started."""

import json
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from rich.console import Console

from tests.benchmarks import spark_report as report
from tests.benchmarks.spark_measures import BySize, Ceiling, Pair
from tests.benchmarks.spark_runs import Outcome


def outcome(records: int, *seconds: float, task_seconds: Mapping[str, float] = MappingProxyType({})) -> Outcome:
    return Outcome(
        records=[records] * len(seconds), seconds=list(seconds), cpu_seconds=0.4, task_seconds=dict(task_seconds)
    )


NOTHING = outcome(100, 0.25, 0.25)


def shown(table: object) -> str:
    console = Console(width=140, no_color=True)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_throughput_is_compared_round_by_round() -> None:
    pair = Pair([outcome(100_000, 0.5), outcome(100_000, 1.0)], [outcome(100_000, 1.0), outcome(100_000, 1.0)])
    figures = json.loads(json.dumps(report.throughput_as_json(pair)))
    assert figures["rate_ratio"] == pytest.approx(1.5)
    assert figures["cpu_ratio"] == pytest.approx(1.0)
    assert "1.50" in shown(report.throughput_table(pair))


def test_overhead_is_the_median_micro_batch() -> None:
    pairs = {"workers / empty": Pair([outcome(100, 0.2, 0.3, 9.0)], [outcome(0, 0.25)])}
    assert report.overhead_as_json(pairs)["workers / empty"]["ratio"] == pytest.approx(1.2)
    assert "1.20" in shown(report.overhead_table(pairs))


def test_drain_is_compared_by_the_records_of_a_block() -> None:
    pairs = {32_000: Pair([outcome(33_000, 0.5)], [outcome(32_000, 1.0)])}
    figures = json.loads(json.dumps(report.drained_as_json(pairs)))
    assert figures["32000"]["rate_ratio"] == pytest.approx(66 / 32)
    table = shown(report.drained_table(pairs))
    assert "32,000" in table
    assert "2.06" in table


def test_cost_of_a_record_leaves_the_fixed_cost_out() -> None:
    times = {"poll": 0.1, "process": 0.2, "ack": 0.1}
    measured = BySize(NOTHING, {10_000: outcome(10_000, 0.30, 0.30, task_seconds=times)})
    figures = report.workers_as_json(measured)["10000"]
    assert figures["net_us_per_record"] == pytest.approx(5.0)
    assert figures["task_us_per_record"] == pytest.approx(20.0)
    assert "5.00" in shown(report.workers_table(measured))


def test_source_is_measured_by_what_the_locks_allow() -> None:
    ceiling = Ceiling(2_000, outcome(6_000, 0.4, 0.4), NOTHING, outcome(8_000, 0.5))
    (figures,) = report.source_as_json([ceiling])
    assert figures["ceiling_records_per_second"] == pytest.approx(20_000)
    assert figures["fraction"] == pytest.approx(0.75)
    assert figures["net_us_per_record"] == pytest.approx(25.0)
    assert "0.75" in shown(report.source_table([ceiling]))
