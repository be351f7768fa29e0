"""One worker waits to be killed: the first that finds the file."""

from pathlib import Path

from kafka_groups.cli.demo.plain.plain_process import VICTIM, _is_victim


def test_one_worker_is_the_victim(tmp_path: Path) -> None:
    assert not _is_victim(tmp_path)
    (tmp_path / VICTIM).touch()
    assert [_is_victim(tmp_path) for _ in range(3)] == [True, False, False]
