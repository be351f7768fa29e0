"""Which Python Spark starts, and what is said if it lacks the package."""

import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.processes import interpreter
from kafka_groups.spark.processes.interpreter import check_driver_python, choose_python, explained, use_driver_python


class Session:
    """A session with a SparkContext; also that."""

    def __init__(self, master: str, python: str = "python3") -> None:
        self.sparkContext = self
        self.master = master
        self.pythonExec = python


class ConnectSession:
    """A session of Spark Connect; also its settings."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, **settings: str) -> None:
        self.conf = self
        self.settings = settings

    def get(self, name: str, default: str) -> str:
        return self.settings.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """A Python without packages."""
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" -I -S "$@"\n')
    python.chmod(0o755)
    return str(python)


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]", "local-cluster[2,1,1024]"])
def test_a_local_session_starts_this_programs_python(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    session: Any = Session(master)
    use_driver_python(session)
    assert session.pythonExec == sys.executable


def test_a_session_on_a_cluster_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    session: Any = Session("spark://elsewhere:7077")
    use_driver_python(session)
    assert session.pythonExec == "python3"


def test_the_users_choice_stays_and_is_checked(monkeypatch: pytest.MonkeyPatch, bare_python: str) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", bare_python)
    session: Any = Session("local[1]", bare_python)
    with pytest.raises(
        ConfigurationError, match=r"Spark starts .*python3 .* which has no kafka_groups: install"
    ) as said:
        use_driver_python(session)
    assert session.pythonExec == bare_python
    assert "\n" not in str(said.value)


def test_a_python_that_does_not_exist() -> None:
    session: Any = Session("yarn", "./environment/bin/no-python")
    with pytest.raises(ConfigurationError, match=r"'\./environment/bin/no-python' .* does not exist here"):
        check_driver_python(session)


def test_an_executor_without_the_package_is_explained_in_a_line() -> None:
    screens = "org.apache.spark.SparkException\n\tat x\nModuleNotFoundError: No module named 'kafka_groups'\n\tat y"
    explanation = explained(RuntimeError(screens))
    assert isinstance(explanation, ConfigurationError)
    assert "\n" not in str(explanation)
    assert "PYSPARK_PYTHON" in str(explanation)
    assert explained(RuntimeError("something else")) is None


_SETTING = "spark.sql.execution.pyspark.python"


def test_tasks_of_a_local_session_of_spark_connect_run_in_this_programs_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    session: Any = ConnectSession()
    choose_python(session)
    assert session.settings == {_SETTING: sys.executable}
    chosen: Any = ConnectSession(**{_SETTING: "/opt/python"})
    choose_python(chosen)
    assert chosen.settings == {_SETTING: "/opt/python"}


def test_other_sessions_of_spark_connect_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = ConnectSession()
    monkeypatch.delenv("SPARK_LOCAL_REMOTE", raising=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    choose_python(session)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    choose_python(session)
    assert session.settings == {}


@pytest.mark.parametrize("variable", ["PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"])
def test_the_python_of_a_local_server_of_spark_connect_is_checked(
    variable: str, monkeypatch: pytest.MonkeyPatch, bare_python: str
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    monkeypatch.setattr(interpreter, "_environment_of_server", lambda: {variable: bare_python})
    session: Any = ConnectSession()
    with pytest.raises(
        ConfigurationError, match=r"Spark starts .*python3 .* which has no kafka_groups.*before the Spark"
    ):
        check_driver_python(session)
    monkeypatch.setattr(interpreter, "_environment_of_server", lambda: {variable: sys.executable})
    check_driver_python(session)
