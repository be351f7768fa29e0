"""Environments of LMDB in a process whose address space is limited."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.streams.engines.lmdb_engine import LmdbEngine

ROOT = Path(__file__).parents[4]
LIMITED = """
import logging, resource, sys
from pathlib import Path
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.types import TopicPartition

logging.basicConfig(level=logging.WARNING, format="%(message)s")
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20,) * 2)
for name in ("one", "other"):
    engine = LmdbEngine(Path(sys.argv[2]) / name)
    engine.commit({"s": {b"a": b"1"}}, {TopicPartition("t", 0): 1})
    engine.close()
"""


def run_limited(mebibytes: int, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Make two environments in a process with so much address space."""
    for name in ("one", "other"):
        (folder / name).mkdir()
    command = [sys.executable, "-c", LIMITED, str(mebibytes), str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
def test_maps_become_smaller_until_they_fit_with_one_warning(tmp_path: Path) -> None:
    done = run_limited(6 << 10, tmp_path)
    assert done.returncode == 0, done.stderr
    (warning,) = done.stderr.splitlines()
    assert f"The store files in {tmp_path / 'one'} are mapped to 4096 MiB in place of 65536 MiB" in warning
    for name in ("one", "other"):
        engine = LmdbEngine(tmp_path / name)
        assert engine.table("s").get(b"a") == b"1"
        engine.close()
