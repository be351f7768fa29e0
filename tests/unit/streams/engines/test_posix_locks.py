"""Locks of files, and systems without them."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.engines.posix_locks import has_locked


def test_one_has_the_lock_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as one, path.open("w") as other:
        assert has_locked(one.fileno())
        assert not has_locked(other.fileno())
    with path.open("w") as third:
        assert has_locked(third.fileno())


def test_a_system_without_such_locks_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with (tmp_path / "lock").open("w") as file, pytest.raises(ConfigurationError, match="which Windows lacks"):
        has_locked(file.fileno())


def test_applications_can_be_imported_without_such_locks() -> None:
    program = "import sys; sys.modules['fcntl'] = None; from kafka_groups.streams import KafkaStreams"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
