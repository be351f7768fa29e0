"""Which triggers the stream of workers takes, with stand-ins for Spark's classes."""

from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.workers.ticks import worker_ticks


class Writer:
    """Notes down the trigger; every method returns the writer itself, as Spark's do."""

    def __init__(self) -> None:
        self.how: dict[str, object] = {}

    def option(self, _name: str, _value: object) -> "Writer":
        return self

    def trigger(self, **how: object) -> "Writer":
        self.how = how
        return self


class Frame:
    """A streaming DataFrame."""

    @property
    def writeStream(self) -> Writer:  # noqa: N802 - Spark's name
        return Writer()


class Session:
    """A session on a cluster; also its reader and its context."""

    master = "yarn"
    pythonExec = "python3"  # noqa: N815 - Spark's name

    def __init__(self) -> None:
        self.readStream = self.sparkContext = self

    def format(self, _name: str) -> "Session":
        return self

    def option(self, _name: str, _value: object) -> "Session":
        return self

    def load(self) -> Frame:
        return Frame()


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("kafka_groups.spark.workers.ticks.check_driver_python", lambda _spark: None)
    session: Any = Session()
    return worker_ticks(session, workers=3)


@pytest.mark.parametrize("how", [{"availableNow": True}, {"once": True}])
def test_a_trigger_that_ends_after_one_micro_batch_is_refused(ticks: Any, how: dict[str, bool]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"after one micro-batch.*run_until\(spark, workers=3\).*processingTime"
    ):
        ticks.writeStream.option("checkpointLocation", "c").trigger(**how)


def test_other_triggers_pass_and_the_stream_stays_one_of_sparks(ticks: Any) -> None:
    assert ticks.writeStream.option("a", 1).trigger(processingTime="1 second").how == {"processingTime": "1 second"}
    assert isinstance(ticks, Frame)
    assert (type(ticks).__module__, type(ticks).__name__) == (Frame.__module__, "Frame")
