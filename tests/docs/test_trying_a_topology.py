"""The guide to topologies shows what `kafka-groups streams try` prints."""

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main
from tests.docs.blocks import ROOT, programs

PAGE = ROOT / "docs" / "how-to" / "topologies.md"
SHOWN = re.search(r"```text\n\$ cat posts\.jsonl\n(.*?)\$ kafka-groups (.*?)\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_guide_shows_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SHOWN is not None
    posts, command, printed = SHOWN.groups()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "words", raising=False)
    (tmp_path / "words.py").write_text(next(program.code for program in programs() if program.page == PAGE))
    (tmp_path / "posts.jsonl").write_text(posts)
    done = CliRunner().invoke(main, command.split())
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == printed
