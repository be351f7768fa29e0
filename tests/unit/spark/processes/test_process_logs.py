"""Logs of processes that Spark starts, and none in those of a user."""

import logging
import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.processes.process_logs import SparkProcessHandler, is_process_of_spark, set_up_logging
from kafka_groups.spark.source.options import source_options
from kafka_groups.spark.workers.share_workers import ShareWorkers

LOGGER = logging.getLogger("kafka_groups")
SOURCE = {"kafka.bootstrap.servers": "b:1", "kafka.group.id": "g", "subscribe": "t"}


def process(batch: object) -> None:
    pass


@pytest.fixture
def restored() -> Iterator[None]:
    """The logger of the package is as before when the test has ended."""
    level = LOGGER.level
    yield
    LOGGER.handlers[:] = [handler for handler in LOGGER.handlers if not isinstance(handler, SparkProcessHandler)]
    LOGGER.setLevel(level)


def begin_process(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    """Make this process look as if it ran this module, and nobody had configured logging."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    spec: Any = None if name is None else SimpleNamespace(name=name)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", spec)


@pytest.mark.parametrize(
    "name", ["pyspark.daemon", "pyspark.sql.streaming.python_streaming_source_runner", "pyspark.worker"]
)
def test_a_process_of_spark_logs_with_time_level_and_logger(
    name: str, restored: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begin_process(monkeypatch, name)
    set_up_logging("INFO")
    set_up_logging("INFO")
    logging.getLogger("kafka_groups.group").info("Joined %s.", "g")
    logging.getLogger("kafka_groups.group").debug("nothing of this")
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}Z INFO kafka_groups\.group \[pid \d+\] Joined g\.", line)
    set_up_logging("WARNING")
    logging.getLogger("kafka_groups.group").info("Left.")
    assert capsys.readouterr().err == ""


def test_what_configured_the_root_logger_gets_the_records_alone(
    restored: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begin_process(monkeypatch, "pyspark.daemon")
    set_up_logging("INFO")
    kept: list[logging.LogRecord] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", kept.append)
    logging.getLogger().addHandler(handler)
    logging.getLogger("kafka_groups.group").info("Joined.")
    assert [record.getMessage() for record in kept] == ["Joined."]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", [None, "pytest", "my_job"])
def test_a_program_of_a_user_is_left_alone(name: str | None, restored: None, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_process(monkeypatch, name)
    before = list(LOGGER.handlers), LOGGER.level
    set_up_logging("DEBUG")
    assert not is_process_of_spark()
    assert (LOGGER.handlers, LOGGER.level) == before


def test_the_level_is_an_option_of_workers_and_source() -> None:
    config = {"bootstrap.servers": "b:1", "group.id": "g"}
    assert ShareWorkers(config, topics=["t"], process=process).task().log_level == "INFO"
    assert ShareWorkers(config, topics=["t"], process=process, log_level="DEBUG").task().log_level == "DEBUG"
    with pytest.raises(ConfigurationError, match="log_level='info': give one of 'DEBUG', 'INFO'"):
        ShareWorkers(config, topics=["t"], process=process, log_level="info")
    assert source_options(SOURCE).log_level == "INFO"
    assert source_options({**SOURCE, "loglevel": "warning"}).log_level == "WARNING"
    with pytest.raises(ConfigurationError, match="Invalid value 'loud' for logLevel: not an allowed value"):
        source_options({**SOURCE, "logLevel": "loud"})
