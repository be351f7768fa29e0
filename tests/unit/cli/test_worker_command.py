"""The command `kafka-groups worker`: its options reach the worker."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main

STALL = """
from kafka_groups import Worker

worker = Worker("stall", bootstrap_servers="localhost:1", state_dir="of/the/worker")


@worker.handler("orders")
def handle(value): ...
"""


@pytest.mark.parametrize("processes", ["1", "2"])
def test_the_state_directory_of_the_command_overrides_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stall.py").write_text(STALL, encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "of").write_text("", encoding="utf-8")
    for arguments, used in [(["--state-dir", "file/below"], "file/below"), ([], "of/the/worker")]:
        ended = CliRunner().invoke(main, ["worker", "stall:worker", "--processes", processes, *arguments])
        assert ended.exit_code == 2
        text = "".join(ended.output.replace("│", "").split())
        assert f"state_dir='{tmp_path}/{used}':" in text
        assert "theworkercannotkeepitsnotesthere" in text


def test_a_check_creates_no_topics() -> None:
    ended = CliRunner().invoke(main, ["worker", "stall:worker", "--check", "--create-topics"])
    assert ended.exit_code == 2
    assert "--check changes nothing: use --create-topics without it." in ended.output
