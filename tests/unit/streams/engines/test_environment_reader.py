"""A process reads an environment while another one commits: each moment is one commit, whatever tables come and go."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from kafka_groups.streams.engines.environment_reader import EnvironmentReader
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.status_file import StatusReader, StatusWriter
from kafka_groups.streams.errors import StateStoreMigratedError
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.types import TaskId
from tests.support.conditions import wait_until

COMMITS: Final = 3_000
KEYS: Final = 20


def write(folder: Path) -> None:
    """Commit the number of the commit to all keys of a segment, drop older segments, and let the map grow."""
    engine, status = LmdbEngine(folder, map_bytes=128 << 10), StatusWriter(folder.parent)
    status.write(EngineStatus.ACTIVE)
    for number in range(1, COMMITS + 1):
        value, segment = b"%d" % number, number // 50
        rows: dict[bytes, bytes | None] = {b"%d" % key: value + bytes(number) for key in range(KEYS)}
        engine.commit({f"w@{segment}": rows, f"w@{segment - 2}": None}, notes={"w#number": value})
    status.write(EngineStatus.CLOSED)
    engine.close()


@pytest.mark.slow
def test_each_moment_is_one_commit(tmp_path: Path) -> None:
    folder = tmp_path / "1" / "lmdb"
    folder.mkdir(parents=True)
    writer = subprocess.Popen([sys.executable, "-m", __name__, str(folder)], cwd=Path(__file__).parents[4])
    wait_until(lambda: is_active(folder), 60)
    status = StatusReader(folder.parent)
    reader = EnvironmentReader(OpenFiles(TaskId("0", 0), folder, status.inode, frozenset({"w"}), 1, (1, 1)))
    seen = set()
    with pytest.raises(StateStoreMigratedError):  # noqa: PT012 - until it is closed
        while True:
            with reader.moment("w") as moment:
                number = int(moment.notes["w#number"]) if "w#number" in moment.notes else 0
                segments = {int(each.removeprefix("w@")) for each in moment.tables("w@")}
                rows = dict(moment.table(f"w@{number // 50}").scan(b"", None))
            seen.add(number)
            assert {value.rstrip(b"\0") for value in rows.values()} == ({b"%d" % number} if number else set())
            assert len(rows) == (KEYS if number else 0)
            assert segments == {each for each in (number // 50 - 1, number // 50) if each >= 0 and number}
    assert len(seen) > 10, "it has read while the other process wrote"
    assert writer.wait(60) == 0
    reader.close()
    status.close()


def is_active(folder: Path) -> bool:
    try:
        status = StatusReader(folder.parent)
    except FileNotFoundError:
        return False
    try:
        return status.read()[1] is EngineStatus.ACTIVE
    finally:
        status.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
