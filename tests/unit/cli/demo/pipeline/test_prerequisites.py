"""Java and PySpark are looked for first, and what is missing is named with its remedy."""

import shutil
from pathlib import Path

import pytest

from kafka_groups.cli.demo.pipeline.prerequisites import MissingPrerequisiteError, check_prerequisites, java_version


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_versions_are_read(said: str, version: int | None) -> None:
    assert java_version(said) == version


def java_that_says(directory: Path, said: str) -> Path:
    command = directory / "bin" / "java"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    command.chmod(0o755)
    return command


def test_a_new_java_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path, 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_prerequisites()


@pytest.mark.parametrize(
    ("said", "message"), [('java version "11.0.2"', "is Java 11"), ("install me first", "prints no version")]
)
def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, message: str) -> None:
    command = java_that_says(tmp_path, said)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingPrerequisiteError, match=message) as raised:
        check_prerequisites()
    assert str(command) in str(raised.value)
    assert "apt-get install openjdk-17-jre-headless" in str(raised.value)
    assert "--no-spark" in str(raised.value)


def test_no_java_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingPrerequisiteError, match=r"no Java was found\. Install it with"):
        check_prerequisites()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(MissingPrerequisiteError, match="no Java was found"):
        check_prerequisites()


def test_java_that_cannot_be_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path, "").chmod(0o644)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingPrerequisiteError, match="prints no version"):
        check_prerequisites()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pyspark" else name)
    with pytest.raises(MissingPrerequisiteError, match=r"needs pyspark: run pip install '\.\[demo\]' in the checkout"):
        check_prerequisites()
