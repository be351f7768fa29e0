"""The directory of an application: its lock, and the id of its process."""

from pathlib import Path

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.workers.state_directory import StateDirectory


def test_a_restart_has_the_same_process_id_and_other_applications_have_others(tmp_path: Path) -> None:
    first = StateDirectory(str(tmp_path), "shop")
    first.close()
    again, other = StateDirectory(str(tmp_path), "shop"), StateDirectory(str(tmp_path), "../shop")
    assert again.process_id == first.process_id != other.process_id
    assert {each.parent for each in tmp_path.glob("*/process-id")} == set(tmp_path.iterdir())
    again.close()
    other.close()


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    first = StateDirectory(str(tmp_path), "shop")
    with pytest.raises(ConfigurationError, match=f"uses {tmp_path}/app-shop"):
        StateDirectory(str(tmp_path), "shop")
    first.close()
    StateDirectory(str(tmp_path), "shop").close()


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=f"{tmp_path}/file/app-shop of state.dir cannot be used: .* Give a"):
        StateDirectory(str(tmp_path / "file"), "shop")
    (tmp_path / "app-shop" / "process-id").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match=f"{tmp_path}/app-shop of state.dir cannot be used: .*process-id"):
        StateDirectory(str(tmp_path), "shop")
    (tmp_path / "app-shop" / "process-id").rmdir()
    (tmp_path / "app-shop" / "process-id").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"process-id does not contain the id of a process. Delete the file"):
        StateDirectory(str(tmp_path), "shop")


def test_a_crash_while_the_process_id_is_written_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_descriptor: int) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", crash)
        with pytest.raises(ConfigurationError, match="no space left"):
            StateDirectory(str(tmp_path), "shop")
    assert not (tmp_path / "app-shop" / "process-id").exists()
    StateDirectory(str(tmp_path), "shop").close()
