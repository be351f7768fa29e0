"""Which Python Spark starts, and what is said if it lacks the package."""

import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.interpreter import check_driver_python, explained, use_driver_python


class Session:
    """A session with a SparkContext; also that."""

    def __init__(self, master: str, python: str = "python3") -> None:
        self.sparkContext = self
        self.master = master
        self.pythonExec = python


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
