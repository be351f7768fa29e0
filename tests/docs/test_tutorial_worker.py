"""The tutorial about workers, as printed: its files are saved, and its commands run one after the other in a shell."""

import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess, free_ports
from tests.docs.blocks import ROOT, files_of
from tests.support.kafka.real_kafka import unique

PAGE = ROOT / "docs" / "tutorial-worker.md"
BROKER = "kafka-groups broker --port 9092"
COUNT = "ls invoices | wc -l"
SETTLES = {"/ready": "^ready", "/metrics": "outcome=.rejected", "dead-letters list": "'^ *30 '"}
"""What commands print soon: processes report to the probe once a second, and the last records are still tried again."""
TIMEOUT_S = 240

pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S + 60)]


def steps() -> Iterator[tuple[list[str], str]]:
    """The commands of each block, and the text that the page shows after it, up to the next block."""
    blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for number, (language, content) in enumerate(blocks):
        if language == "sh":
            following = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            yield content.splitlines(), following[1] if following[0] == "text" else ""


def script() -> str:
    """The commands after the installation and the broker. Where the page shows a count, the script waits for it."""
    lines = ["set -eu -o pipefail"]
    for commands, shown in list(steps())[2:]:
        for command in commands:
            if command == COUNT:
                lines += [f"until [ $({COUNT}) -eq {int(shown)} ]; do sleep 0.1; done", "echo counted"]
            else:
                awaited = (word for path, word in SETTLES.items() if path in command)
                lines += [f"until {command} | grep -q {word}; do sleep 0.1; done" for word in awaited]
                lines.append(command)
    return "\n".join([*lines, "wait $!", ""])


class Tutorial:
    """A reader's folder and shell.

    Args:
        folder: The folder.
        names: Names and addresses of the page, and what stands for them here.
    """

    def __init__(self, folder: Path, names: dict[str, str]) -> None:
        self._folder = folder
        self._names = names
        for name, content in files_of(PAGE).items():
            (folder / name).write_text(self._renamed(content))

    def _renamed(self, text: str) -> str:
        for name, here in self._names.items():
            text = text.replace(name, here)
        return text

    def start(self, command: str) -> "subprocess.Popen[str]":
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.Popen(
            shlex.split(self._renamed(command)),
            cwd=self._folder,
            env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def follow(self) -> str:
        """Run the commands, and return what they print."""
        (self._folder / "tutorial.sh").write_text(self._renamed(script()))
        shell = self.start(f"timeout {TIMEOUT_S} bash tutorial.sh")
        printed, _ = shell.communicate()
        assert shell.returncode == 0, printed
        return printed


def plain(line: str) -> str:
    """A line without names of topics and groups, places and processes."""
    return " ".join(re.sub(r"orders[\w.-]*(@\d+)?|group=\"[^\"]*\"|process=\"\d\"", "", line).split())


def assert_everything_happened(printed: str) -> None:
    assert printed.count("counted") == 3
    assert re.search(r"Result.*\n.*\n.* ok ", printed), printed
    assert re.search(r"^ *30 .* KeyError$", printed, re.MULTILINE), printed
    here = {plain(line) for line in printed.splitlines()}
    shown = [plain(line) for _, text in steps() for line in text.splitlines()]
    for line in shown:
        if not line.isdigit():
            assert any(line in each for each in here), (line, printed)


def test_commands_do_what_the_page_says(tmp_path: Path) -> None:
    port, probes = free_ports(random.Random(), 2)
    tutorial = Tutorial(tmp_path, {"9092": str(port), "8081": str(probes)})
    broker = tutorial.start(BROKER)
    try:
        assert broker.stdout is not None
        assert str(port) in broker.stdout.readline()
        assert_everything_happened(tutorial.follow())
    finally:
        broker.terminate()
        broker.communicate()


def test_commands_do_the_same_on_a_real_kafka(real_kafka: KafkaProcess, tmp_path: Path) -> None:
    topic, group = unique("orders"), unique("invoices")
    names = {
        "localhost:9092": real_kafka.bootstrap_servers,
        "8081": str(free_ports(random.Random(), 1)[0]),
        '"orders.dead"': f'"{topic}.dead"',
        '"orders"': f'"{topic}"',
        'Worker("invoices"': f'Worker("{group}"',
        "configs invoices": f"configs {group}",
        " orders.dead ": f" {topic}.dead ",
    }
    assert_everything_happened(Tutorial(tmp_path, names).follow())


def test_the_page_begins_with_installation_and_broker() -> None:
    installation, broker, *_ = [commands for commands, _ in steps()]
    assert installation[1].startswith(".venv/bin/pip install '.[")
    assert broker == [BROKER]
