"""What `ShareWorkers` does on the driver, with a session that only notes down what it is told."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError, IllegalStateError, OperationTimeoutError
from kafka_groups.spark import ShareBatch, ShareRunResult, ShareWorkers, ShareWorkersError, WorkerMetrics
from kafka_groups.spark.groups import preflight
from kafka_groups.spark.result import METRICS_DDL
from kafka_groups.spark.workers import share_workers as workers_module


@pytest.fixture(autouse=True)
def nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no broker that could tell which partitions nobody has read; the search would take a second."""
    monkeypatch.setattr(workers_module, "group_unread", lambda _config, _topics: {})


class Context:
    """A SparkContext with local properties."""

    def __init__(self) -> None:
        self.properties: dict[str, str | None] = {"spark.job.description": "mine"}
        self.master = "spark://elsewhere"

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802 - Spark's name
        return self.properties.get(name)

    def setLocalProperty(self, name: str, value: str | None) -> None:  # noqa: N802
        self.properties[name] = value

    def setJobDescription(self, value: str) -> None:  # noqa: N802
        self.properties["spark.job.description"] = value


class Session:
    """A session whose workers return what they are told; also the DataFrame of each job."""

    def __init__(self, *answers: ShareRunResult, **configs: str) -> None:
        self.answers = list(answers)
        self.configs = {name.replace("_", "."): value for name, value in configs.items()}
        self.sparkContext = Context()
        self.described: list[str | None] = []
        self.ranges: list[tuple[int, ...]] = []

    @property
    def conf(self) -> dict[str, str]:
        return self.configs

    @property
    def sparkSession(self) -> "Session":  # noqa: N802
        return self

    def range(self, *bounds: int) -> "Session":
        self.ranges.append(bounds)
        return self

    def mapInArrow(self, body: Callable[..., Any], ddl: str) -> "Session":  # noqa: N802
        assert ddl == METRICS_DDL
        return self

    def collect(self) -> list[dict[str, Any]]:
        self.described.append(self.sparkContext.properties["spark.job.description"])
        return [worker.row() for worker in self.answers.pop(0).workers]


def process(batch: ShareBatch) -> None:
    pass


def made(**keywords: Any) -> ShareWorkers:
    return ShareWorkers(bootstrap_servers="b:9092", group_id="g", topics=["t"], process=process, **keywords)


def result(**values: Any) -> ShareRunResult:
    return ShareRunResult((WorkerMetrics(worker=0, **values),))


def test_jobs_have_a_description_and_what_was_there_before_comes_back() -> None:
    session = Session(result(accepted=3))
    assert made().run(session, 7) == result(accepted=3)  # type: ignore[arg-type]
    assert session.described == ["kafka-share g batch 7"]
    assert session.sparkContext.properties["spark.job.description"] == "mine"


def test_speculation_and_what_is_worth_saying_of_the_group_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "_SAID", set())
    session = Session(*[result(notes=("mind the gap",))] * 2, spark_speculation="true")
    share_workers = made()
    share_workers.run(session, 1)  # type: ignore[arg-type]
    share_workers.run(session, 2)  # type: ignore[arg-type]
    warned = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 3, "the dead-letter topic that there is none of, too"
    assert warned[0].startswith("spark.speculation is true")
    assert "has no dead-letter topic" in warned[1]
    assert warned[2] == "mind the gap"


def test_an_error_that_is_not_to_be_raised_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    made().run(Session(result(error="ValueError: boom", pid=9)), 1)  # type: ignore[arg-type]
    assert "worker 0 (pid 9): ValueError: boom" in caplog.text


def test_an_error_that_is_to_be_raised_brings_the_result() -> None:
    bad = result(error="Traceback\nValueError: boom", failed=True)
    with pytest.raises(ShareWorkersError, match="1 of 1 worker failed:\nTraceback\nValueError: boom") as raised:
        made().run(Session(bad), 1)  # type: ignore[arg-type]
    assert raised.value.result == bad


def test_workers_run_until_nothing_comes_and_the_group_has_nothing_left() -> None:
    session = Session(
        result(pid=1, accepted=5),
        result(pid=1, empty_ms=2_000, lag=3),
        result(pid=1, accepted=3, empty_ms=500),
        result(pid=1, empty_ms=2_000, lag=0),
    )
    total = made().run_until(session, workers=2, drained_for=2.0)  # type: ignore[arg-type]
    assert (total.total.accepted, session.ranges) == (8, [(0, 2, 1, 2)] * 4)
    assert session.described[-1] == "kafka-share g round 4"


def test_a_run_that_cannot_know_what_is_left_says_so(caplog: pytest.LogCaptureFixture) -> None:
    session = Session(result(pid=1, empty_ms=2_000, lag_unknown="Nobody knows.", accepted=5))
    total = made().run_until(session, workers=1, drained_for=2.0)  # type: ignore[arg-type]
    assert (total.lag_unknown, total.total.lag) == ("Nobody knows.", None)
    assert str(total).endswith("\nNobody knows.")
    assert [record.message for record in caplog.records if record.levelname == "WARNING"].count("Nobody knows.") == 1


def test_in_doubt_a_run_ends_at_its_timeout_at_the_latest() -> None:
    session = Session(*[result(pid=1, empty_ms=10, lag_unknown="Nobody knows.", patience_ms=60_000)] * 100_000)
    total = made().run_until(session, workers=1, drained_for=0.01, timeout=0.05)  # type: ignore[arg-type]
    assert total.lag_unknown == "Nobody knows."
    known = Session(*[result(pid=1, empty_ms=10, lag=7)] * 100_000)
    with pytest.raises(OperationTimeoutError, match=r"not drained after 0\.05 s\. It has 7 records left, which other"):
        made().run_until(known, workers=1, drained_for=0.01, timeout=0.05)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"drained_for": 0}, "drained_for=0: give seconds"),
        ({"timeout": "1"}, "timeout='1': give seconds"),
        ({"drained_for": 5, "timeout": 2}, "timeout=2: give more than drained_for, which is 5 s"),
        ({"workers": 0}, "workers=0"),
    ],
)
def test_bad_values(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        made().run_until(Session(), **{"workers": 1, **values})  # type: ignore[arg-type]


def test_the_figures_of_each_run_go_to_a_function_also_when_the_run_raises() -> None:
    told: list[ShareRunResult] = []
    session = Session(result(accepted=5), result(error="ValueError: boom", failed=True))
    share_workers = made(on_result=told.append)
    share_workers.run(session, 1)  # type: ignore[arg-type]
    with pytest.raises(ShareWorkersError):
        share_workers.run(session, 2)  # type: ignore[arg-type]
    assert [one.total.accepted for one in told] == [5, 0]
    with pytest.raises(ConfigurationError, match="on_result=3 is not callable: give a function of a ShareRunResult"):
        made(on_result=3)


def test_the_figures_of_the_last_runs_can_be_looked_up_without_a_function() -> None:
    told: list[ShareRunResult | None] = []
    share_workers: ShareWorkers = made(on_result=lambda _: told.append(share_workers.last_progress))
    assert (share_workers.recent_progress, share_workers.last_progress) == ((), None)
    results = [result(accepted=1), result(error="ValueError: boom", failed=True), result(accepted=2, empty_ms=99)]
    session = Session(*results)
    share_workers.run(session, 1)  # type: ignore[arg-type]
    with pytest.raises(ShareWorkersError):
        share_workers.run(session, 2)  # type: ignore[arg-type]
    share_workers.run_until(session, workers=1, drained_for=0.05)  # type: ignore[arg-type]
    assert share_workers.recent_progress == tuple(results)
    assert share_workers.last_progress == results[-1]
    assert told == results, "the function that is called with a result finds it there"


def test_only_the_last_hundred_runs_are_kept() -> None:
    session, share_workers = Session(*[result(accepted=number) for number in range(103)]), made()
    for number in range(103):
        share_workers.run(session, number)  # type: ignore[arg-type]
    assert [one.total.accepted for one in share_workers.recent_progress] == list(range(3, 103))


def test_exporters_see_the_sums_over_all_runs() -> None:
    share_workers = made()
    runs = [result(accepted=2, max_delivery_count=4), result(accepted=3, max_delivery_count=1)]
    session = Session(*runs, result(accepted=1, error="ValueError: boom", failed=True))
    for number in range(2):
        share_workers.run(session, number)  # type: ignore[arg-type]
    with pytest.raises(ShareWorkersError):
        share_workers.run(session, 2)  # type: ignore[arg-type]
    source = share_workers.telemetry
    samples = {sample.family.name: sample.value for sample in source.read()}
    assert source.labels == (("group", share_workers._spec.config.group_id),)
    assert samples["kafka_spark_workers_accepted_total"] == 6
    assert samples["kafka_spark_workers_max_delivery_count"] == 4
    assert set(samples) == {family.name for family in source.families}


def test_run_until_after_a_stop_is_no_success() -> None:
    session = Session()
    share_workers = made()
    share_workers._switch._is_on = True
    with pytest.raises(IllegalStateError, match="stop_gracefully was called"):
        share_workers.run_until(session, workers=1)  # type: ignore[arg-type]
    assert share_workers.run(session, 1) == ShareRunResult()  # type: ignore[arg-type]


def test_a_group_that_is_not_drained_in_time_is_no_success() -> None:
    session = Session(*[result(empty_ms=0)] * 100_000)
    with pytest.raises(OperationTimeoutError, match=r"not drained after 0\.05 s"):
        made().run_until(session, workers=1, drained_for=0.01, timeout=0.05)  # type: ignore[arg-type]
