"""The first commands of the README take a newcomer from a broker to an accepted record, with nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from kafka_groups.testing.kafka_process import free_ports
from tests.docs.blocks import ROOT

WAIT_S = 100
PORT = "9092"


def first_commands() -> list[str]:
    """The lines of the README's first program."""
    found = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert found is not None
    return found[1].splitlines()


def test_there_are_five_of_them() -> None:
    assert first_commands() == [
        f"kafka-groups broker --port {PORT} --topic orders:2 &",
        f"export KAFKA_GROUPS_BOOTSTRAP_SERVERS=localhost:{PORT}",
        "echo hello | kafka-groups produce orders",
        "kafka-groups share-consume invoices orders --from earliest -n 1",
        "kafka-groups groups describe invoices",
    ]


@pytest.mark.slow
@pytest.mark.timeout(2 * WAIT_S)
def test_they_print_the_record(tmp_path: Path) -> None:
    """At another port, as somebody may have a Kafka at the usual one. `.ci/wheel` runs the very lines."""
    (port,) = free_ports(Random(), 1)
    lines = "\n".join(first_commands()).replace(PORT, str(port))
    script = f"set -euo pipefail\n{lines}\nkill %1\nwait %1"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True,
        check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "orders: 1 record written\n"), done
    # The broker starts while the next command already waits for it.
    first, record, *group = done.stdout.splitlines()
    assert (first, record) == (f"bootstrap.servers=127.0.0.1:{port}", "hello")
    assert "invoices" in "\n".join(group)
