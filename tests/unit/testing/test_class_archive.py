import logging
import sys
from pathlib import Path

import pytest

from kafka_groups.testing.class_archive import archive_options, make_archive

JAVA = sys.executable
"""Any program: its place and time are its identity."""


class Jvm:
    """Stands for a JVM that is started and stopped once."""

    def __init__(self, *, writes: bool = True, ends_by_itself: bool = True) -> None:
        self.runs = 0
        self._writes = writes
        self._ends_by_itself = ends_by_itself

    def __call__(self, options: tuple[str, ...]) -> bool:
        self.runs += 1
        (option,) = options
        if self._writes:
            Path(option.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(b"classes")
        return self._ends_by_itself


def test_an_archive_is_made_once_and_used_from_then_on(tmp_path: Path) -> None:
    jvm = Jvm()
    assert archive_options(tmp_path, JAVA) == ()
    for _ in range(2):
        make_archive(tmp_path, JAVA, jvm)
    assert jvm.runs == 1
    used = archive_options(tmp_path, JAVA)[0].removeprefix("-XX:SharedArchiveFile=")
    assert Path(used).read_bytes() == b"classes"


@pytest.mark.parametrize("jvm", [Jvm(writes=False), Jvm(ends_by_itself=False)], ids=["unwritten", "perhaps in part"])
def test_an_archive_that_is_not_whole_is_not_used_and_that_is_logged(
    jvm: Jvm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "kafka_groups"):
        make_archive(tmp_path, JAVA, jvm)
    assert archive_options(tmp_path, JAVA) == ()
    assert "starts more slowly" in caplog.text


def test_another_jvm_has_an_archive_of_its_own(tmp_path: Path) -> None:
    make_archive(tmp_path, JAVA, Jvm())
    other = tmp_path / "java"
    other.touch()
    assert archive_options(tmp_path, str(other)) == ()


def test_no_archive_is_made_in_a_cache_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # a chmod would not stop root
    jvm = Jvm()
    make_archive(tmp_path, JAVA, jvm)
    assert jvm.runs == 0
    assert list(tmp_path.iterdir()) == []
