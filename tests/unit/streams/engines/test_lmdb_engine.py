"""The engine on disk: queries beside the worker, full maps, full disks, and tables that are dropped."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import lmdb
import pytest

from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.lmdb_rows import LmdbRows
from kafka_groups.streams.errors import CorruptedStateError, InvalidStateStoreError, StateDiskError, StateFilesError
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.types import TopicPartition
from tests.support.asked_engines import Asked
from tests.support.conditions import wait_until

PLACE, OTHER = TopicPartition("s-changelog", 0), TopicPartition("s-changelog", 1)
SMALL_MAP = 1 << 16
ROWS = {b"%04d" % at: b"v" * 100 for at in range(2_000)}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[LmdbEngine]:
    made = LmdbEngine(tmp_path, map_bytes=SMALL_MAP)
    made.set_status(EngineStatus.ACTIVE)
    yield made
    made.close()


@pytest.fixture
def elsewhere() -> Iterator[ThreadPoolExecutor]:
    """Another thread."""
    with ThreadPoolExecutor(1) as threads:
        yield threads


def rows(engine: LmdbEngine, name: str = "s") -> list[tuple[bytes, bytes]]:
    return list(engine.table(name).scan(b"", None))


def tables_in_files(engine: LmdbEngine) -> set[str]:
    with engine._env.begin() as txn, txn.cursor() as cursor:
        return {key.decode() for key in cursor.iternext(values=False) if not key.startswith(b"#")}


class Failing:
    """An environment whose transactions fail: while they begin, or at the end, after everything was written."""

    def __init__(self, env: Any, where: str, error: Exception) -> None:
        self._env = env
        self._where = where
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def begin(self, *, write: bool = False) -> Any:
        if write and self._where == "begin":
            raise self._error
        begun = self._env.begin(write=write)
        return FailingTransaction(begun, self._error) if write else begun


class FailingTransaction:
    """A transaction that cannot be committed."""

    def __init__(self, txn: Any, error: Exception) -> None:
        self._txn = txn
        self._error = error

    def __enter__(self) -> Any:
        return self._txn.__enter__()

    def __exit__(self, *_args: object) -> None:
        self._txn.abort()
        raise self._error


# ------------------------------------------------------------------------------------------------------------- reopened


def test_what_was_committed_is_there_after_it_was_opened_again(tmp_path: Path) -> None:
    first = LmdbEngine(tmp_path)
    first.commit({"s": {b"a": b"1"}}, {PLACE: 3, OTHER: 2**40}, {"s#time": b"\0"})
    first.commit({"s": {b"b": b"2"}}, {PLACE: 4})
    first.close()
    second = LmdbEngine(tmp_path)
    assert second.positions == {PLACE: 4, OTHER: 2**40}
    assert second.notes == {"s#time": b"\0"}
    assert rows(second) == [(b"a", b"1"), (b"b", b"2")]
    second.close()


def test_a_process_does_not_open_the_same_files_twice(engine: LmdbEngine, tmp_path: Path) -> None:
    with pytest.raises(StateDiskError, match="already open in this process"):
        LmdbEngine(tmp_path)
    engine.commit({"s": {b"a": b"1"}})


def test_a_large_file_is_opened_with_a_small_map(tmp_path: Path) -> None:
    first = LmdbEngine(tmp_path, map_bytes=1 << 24)
    first.commit({"s": ROWS})
    first.close()
    second = LmdbEngine(tmp_path, map_bytes=SMALL_MAP)
    second.commit({"t": ROWS})
    assert rows(second) == rows(second, "t") == list(ROWS.items())
    second.close()


def test_what_is_left_of_dropped_tables_is_deleted_after_the_next_opening(tmp_path: Path) -> None:
    first = LmdbEngine(tmp_path)
    first.commit({"s@1": {b"a": b"1"}, "s@2": {b"a": b"1"}})
    scan = first.table("s@2").scan(b"", None)
    first.commit({"s@1": None})
    first.close()  # with a scan open, as a process that is killed
    del scan
    second = LmdbEngine(tmp_path)
    assert tables_in_files(second) == {"s@1", "s@2"}
    second.commit({})
    assert tables_in_files(second) == {"s@2"}
    second.close()


# ----------------------------------------------------------------------------------------------------------------- keys


def test_long_keys_and_the_empty_one_are_keys_as_all_others(engine: LmdbEngine) -> None:
    start = b"k" * 478
    keys = [b"", b"\0", start[:-1], start, start + b"a", start + b"a" * 40, start + b"b", b"k" * 5_000, b"l"]
    committed = {key: b"%d" % at for at, key in enumerate(keys)}
    engine.commit({"s": committed})
    assert rows(engine) == sorted(committed.items())
    assert {key: engine.table("s").get(key) for key in keys} == committed
    assert engine.count("s") == len(keys)
    reader = Asked(engine, "s").table("s")
    assert {key: reader.get(key) for key in keys} == committed
    assert list(reader.scan(start + b"a", start + b"b")) == [
        (key, committed[key]) for key in sorted(keys) if start + b"a" <= key < start + b"b"
    ]
    engine.commit({"s": dict.fromkeys(keys[:5])})
    assert [key for key, _ in rows(engine)] == sorted(keys[5:])


def test_the_empty_keys_of_two_tables_are_two_rows(engine: LmdbEngine) -> None:
    engine.commit({"s": {b"": b"1"}, "t": {b"": b"2"}})
    assert (rows(engine), rows(engine, "t")) == ([(b"", b"1")], [(b"", b"2")])
    engine.commit({"s": None})
    assert (rows(engine), rows(engine, "t")) == ([], [(b"", b"2")])
    assert engine.tables("") == ["t"]


# ------------------------------------------------------------------------------------------------------- queries


def test_queries_of_other_threads_see_what_is_committed(engine: LmdbEngine, elsewhere: ThreadPoolExecutor) -> None:
    engine.commit({"s": {b"a": b"1"}}, notes={"s#time": b"1"})
    reader = Asked(engine, "s")
    begun, may_end = threading.Event(), threading.Event()
    apply = LmdbRows.apply

    def slow(table: Any, txn: Any, changed: Any) -> None:
        apply(table, txn, changed)
        begun.set()
        assert may_end.wait(15)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LmdbRows, "apply", slow)
        commit = elsewhere.submit(engine.commit, {"s": {b"a": b"2", b"b": b"2"}}, notes={"s#time": b"2"})
        assert begun.wait(15)
        found = list(engine._env.begin().cursor(engine._tables["s"].db))
        assert found == [(b"a", b"1")], "nothing of the transaction is seen"
        may_end.set()
        commit.result(15)
    assert list(reader.table("s").scan(b"", None)) == [(b"a", b"2"), (b"b", b"2")]
    assert reader.notes == {"s#time": b"2"}


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0001)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_threads")
def test_queries_and_commits_go_on_beside_each_other(engine: LmdbEngine, elsewhere: ThreadPoolExecutor) -> None:
    """Tables come and go, the map grows, and each answer is that of one commit."""
    is_over = threading.Event()

    def ask() -> int:
        reader, answers = Asked(engine, "s"), 0
        while not is_over.is_set():
            for name in reader.tables("s@"):
                found = list(reader.table(name).scan(b"", None))
                assert len({value[:8] for _, value in found}) <= 1, "rows of two commits"
                assert len(found) in (0, 50)
            assert engine.count("s") % 50 == 0
            answers += 1
        return answers

    asking = elsewhere.submit(ask)
    for at in range(30):
        value = b"%08d" % at * 40
        engine.commit({f"s@{at}": {b"%d" % key: value for key in range(50)}, f"s@{at - 3}": None})
    is_over.set()
    assert asking.result(15) > 0


@pytest.mark.parametrize("status", [EngineStatus.CLOSED, EngineStatus.STANDBY])
def test_queries_of_a_task_that_is_not_active_here_raise(engine: LmdbEngine, status: EngineStatus) -> None:
    engine.commit({"s": {b"a": b"1"}})
    reader = Asked(engine, "s")
    table, asked = reader.table("s"), Asked(engine, "s").table("s")
    if status is EngineStatus.CLOSED:
        engine.close()
    else:
        engine.set_status(status)
    questions: list[Callable[[], object]] = [
        lambda: table.get(b"a"),
        lambda: asked.scan(b"", None),
        lambda: reader.tables(""),
        lambda: reader.notes,
    ]
    for ask in questions:
        with pytest.raises(InvalidStateStoreError, match="Store 's' is not here any more"):
            ask()
    assert engine.count("s") == (0 if status is EngineStatus.CLOSED else 1), "that is for metrics"


def asked_slowly(
    engine: LmdbEngine, elsewhere: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> tuple[Future[Any], threading.Event]:
    """Begin a query of another thread. It ends when the event is set."""
    begun, may_end = threading.Event(), threading.Event()
    get = LmdbRows.get

    def slow(table: Any, txn: Any, key: bytes) -> bytes | None:
        if key == b"asked":
            begun.set()
            assert may_end.wait(15)
        return get(table, txn, key)

    monkeypatch.setattr(LmdbRows, "get", slow)
    asking = elsewhere.submit(Asked(engine, "s").table("s").get, b"asked")
    assert begun.wait(15)
    return asking, may_end


def test_a_query_that_reads_is_answered_before_the_files_are_closed(
    engine: LmdbEngine, elsewhere: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.commit({"s": {b"asked": b"1"}})
    asking, may_end = asked_slowly(engine, elsewhere, monkeypatch)
    with ThreadPoolExecutor(1) as closer:
        closing = closer.submit(engine.close)
        wait_until(lambda: not engine.is_open)
        with pytest.raises(InvalidStateStoreError):
            _ = Asked(engine, "s").notes
        assert not closing.done()
        may_end.set()
        assert asking.result(15) == b"1"
        closing.result(15)


def test_a_query_that_reads_is_answered_before_the_map_grows(
    engine: LmdbEngine, elsewhere: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.commit({"s": {b"asked": b"1"}})
    asking, may_end = asked_slowly(engine, elsewhere, monkeypatch)
    waiting = threading.Event()
    wait = engine._unasked.wait

    def waited(timeout: float | None = None) -> bool:
        waiting.set()
        return wait(timeout)

    monkeypatch.setattr(engine._unasked, "wait", waited)
    with ThreadPoolExecutor(1) as writer:
        writing = writer.submit(engine.commit, {"t": ROWS})
        assert waiting.wait(15)
        may_end.set()
        assert asking.result(15) == b"1"
        writing.result(15)
    assert rows(engine, "t") == list(ROWS.items())


def test_a_query_does_not_lose_a_table_that_is_dropped_meanwhile(
    engine: LmdbEngine, elsewhere: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.commit({"s": {b"asked": b"1"}, "t": {b"b": b"2"}})
    asking, may_end = asked_slowly(engine, elsewhere, monkeypatch)
    engine.commit({"s": None})
    engine.commit({"u": {b"asked": b"3"}})  # could have the handle of the table that was dropped
    assert tables_in_files(engine) == {"s", "t", "u"}
    may_end.set()
    assert asking.result(15) == b"1"
    engine.commit({})
    assert tables_in_files(engine) == {"t", "u"}


def test_a_query_that_began_before_a_table_was_made_does_not_know_it(engine: LmdbEngine) -> None:
    with engine.moment("s") as snapshot:
        engine.commit({"s@1": {b"a": b"1"}})
        assert snapshot.tables("s@") == []
        assert snapshot.rows.get("s@1") is None
    assert Asked(engine, "s").tables("s@") == ["s@1"]


# --------------------------------------------------------------------------------------------------------------- drops


def test_a_dropped_table_is_deleted_at_once_if_nothing_reads(engine: LmdbEngine) -> None:
    engine.commit({"s@1": {b"a": b"1", b"": b"2"}, "s@2": {b"a": b"1"}})
    engine.commit({"s@1": None, "never": None})
    assert tables_in_files(engine) == {"s@2"}
    assert (rows(engine, "s@1"), engine.table("s@1").get(b"a"), engine.table("s@1").get(b"")) == ([], None, None)
    engine.commit({"s@1": {b"b": b"3"}})
    assert rows(engine, "s@1") == [(b"b", b"3")]


def test_a_scan_goes_on_over_a_table_that_is_dropped_which_is_deleted_later(engine: LmdbEngine) -> None:
    engine.commit({"s": {b"a": b"1", b"b": b"2"}})
    scan = engine.table("s").scan(b"", None)
    assert list(islice(scan, 1)) == [(b"a", b"1")]
    engine.commit({"s": None})
    assert (rows(engine), engine.tables("")) == ([], [])
    engine.commit({"t": {b"c": b"3"}})
    assert tables_in_files(engine) == {"s", "t"}
    assert list(scan) == [(b"b", b"2")]
    del scan
    engine.commit({})
    assert tables_in_files(engine) == {"t"}


def test_a_table_that_has_rows_again_is_not_deleted_later(engine: LmdbEngine) -> None:
    engine.commit({"s": {b"a": b"1"}})
    scan = engine.table("s").scan(b"", None)
    engine.commit({"s": None})
    engine.commit({"s": {b"b": b"2"}})
    del scan
    engine.commit({})
    assert rows(engine) == [(b"b", b"2")]


@pytest.mark.parametrize("where", ["begin", "commit"])
def test_a_drop_that_fails_leaves_the_table_as_it_was(engine: LmdbEngine, where: str) -> None:
    engine.commit({"s@1": {b"a": b"1", b"": b"2"}, "s@2": {b"a": b"1"}}, {PLACE: 1})
    env, engine._env = engine._env, Failing(engine._env, where, lmdb.DiskError("No space left on device"))
    with pytest.raises(StateDiskError):
        engine.commit({"s@1": None, "s@3": {b"a": b"1"}}, {PLACE: 2})
    engine._env = env
    assert rows(engine, "s@1") == [(b"", b"2"), (b"a", b"1")]
    assert (set(engine.tables("s@")), engine.positions) == ({"s@1", "s@2"}, {PLACE: 1})
    engine.commit({"s@1": None, "s@3": {b"a": b"1"}}, {PLACE: 2})
    assert tables_in_files(engine) == set(engine.tables("s@")) == {"s@2", "s@3"}


def test_a_table_that_cannot_be_deleted_is_empty_and_may_be_used_again(
    engine: LmdbEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.commit({"s@1": {b"a": b"1"}, "s@2": {b"a": b"1"}})
    delete = engine._delete_dropped

    def failing() -> None:
        env, engine._env = engine._env, Failing(engine._env, "commit", lmdb.DiskError("No space left on device"))
        delete()
        engine._env = env

    monkeypatch.setattr(engine, "_delete_dropped", failing)
    engine.commit({"s@1": None}, {PLACE: 2})
    monkeypatch.undo()
    assert (engine.tables("s@"), engine.positions) == (["s@2"], {PLACE: 2})
    engine.commit({"s@1": {b"b": b"2"}, "s@3": {b"c": b"3"}})
    assert [rows(engine, f"s@{at}") for at in (1, 2, 3)] == [[(b"b", b"2")], [(b"a", b"1")], [(b"c", b"3")]]


# --------------------------------------------------------------------------------------------------------- a full map


def test_a_full_map_grows_until_a_commit_fits(engine: LmdbEngine) -> None:
    engine.commit({"s": {b"a": b"1"}, "gone": {b"a": b"1"}}, {PLACE: 1})
    before = engine._env.info()["map_size"]
    engine.commit({"s": ROWS, "gone": None}, {PLACE: 2}, {"s#time": b"1"})
    assert engine._env.info()["map_size"] >= 4 * before, "it was doubled more than once"
    assert rows(engine) == sorted({b"a": b"1", **ROWS}.items())
    assert (engine.tables(""), engine.positions, engine.notes) == (["s"], {PLACE: 2}, {"s#time": b"1"})


READER = """
import sys
import lmdb

env = lmdb.open(sys.argv[1], map_size=65536, readonly=True, max_dbs=9)
table = env.open_db(b"s", create=False)
kept = env.begin(db=table)
for _ in sys.stdin:
    try:
        with env.begin(db=table) as txn:
            answer = str(txn.stat()["entries"])
    except lmdb.MapResizedError:
        env.set_mapsize(0)
        answer = "resized"
    print(answer, flush=True)
"""


def test_a_map_grows_beside_a_reader_of_another_process(engine: LmdbEngine, tmp_path: Path) -> None:
    engine.commit({"s": {b"a": b"1"}}, {PLACE: 1})
    with subprocess.Popen(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{READER}", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask() -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("?\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        try:
            assert ask() == "1"
            engine.commit({"s": ROWS}, {PLACE: 2})
            assert ask() == "resized", "that is the reader's matter"
            assert ask() == str(1 + len(ROWS))
        finally:
            process.kill()
    assert (engine.count("s"), engine.positions) == (1 + len(ROWS), {PLACE: 2})


# ---------------------------------------------------------------------------------------------------- a full disk


@pytest.mark.parametrize("where", ["begin", "commit"])
@pytest.mark.parametrize(
    "error", [lmdb.Error("mdb_txn_commit: Input/output error"), lmdb.DiskError("No space left on device")]
)
@pytest.mark.parametrize("is_load", [False, True])
def test_a_commit_that_the_disk_refuses_leaves_what_there_was(
    engine: LmdbEngine, tmp_path: Path, where: str, error: Exception, is_load: bool
) -> None:
    engine.commit({"s": {b"a": b"1"}}, {PLACE: 1}, {"s#time": b"1"})
    env, engine._env = engine._env, Failing(engine._env, where, error)
    with pytest.raises(StateDiskError) as caught:
        (engine.load if is_load else engine.commit)({"s": {b"a": b"2"}, "t": ROWS}, {PLACE: 2}, {"s#time": b"2"})
    told = str(caught.value)
    assert f"The store files in {tmp_path} cannot be used: {error}. " in told
    needed = 2 + sum(len(key) + len(value) for key, value in ROWS.items())
    assert f" bytes are free there, and the commit needs more than {needed:,}. Free some space, or" in told
    assert caught.value.retriable
    assert not engine.is_damaged
    engine._env = env
    assert (rows(engine), engine.tables("")) == ([(b"a", b"1")], ["s"])
    assert (engine.positions, engine.notes) == ({PLACE: 1}, {"s#time": b"1"})
    assert Asked(engine, "s").table("s").get(b"a") == b"1"
    engine.commit({"s": {b"a": b"3"}, "t": {b"b": b"4"}}, {PLACE: 3})
    engine.close()
    again = LmdbEngine(tmp_path)
    assert (rows(again), rows(again, "t"), again.positions) == ([(b"a", b"3")], [(b"b", b"4")], {PLACE: 3})
    again.close()


def test_an_error_of_the_system_while_the_files_are_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_args: object, **_settings: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lmdb, "open", refused)
    with pytest.raises(StateDiskError, match="Permission denied"):
        LmdbEngine(tmp_path)


# ----------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize(
    "error",
    [
        lmdb.CorruptedError,
        lmdb.PageNotFoundError,
        lmdb.PanicError,
        lmdb.InvalidError,
        lmdb.VersionMismatchError,
        lmdb.IncompatibleError,
    ],
)
def test_damage_that_a_read_or_a_write_finds_is_remembered(
    engine: LmdbEngine, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    engine.commit({"s": {b"a": b"1"}})

    def damaged(*_args: object, **_settings: object) -> None:
        raise error("page 7")

    for name, ask in (
        ("get", lambda: engine.table("s").get(b"a")),
        ("scan", lambda: rows(engine)),
        ("get", lambda: Asked(engine, "s").table("s").get(b"a")),
        ("apply", lambda: engine.commit({"s": {b"a": b"2"}})),
    ):
        engine.is_damaged = False
        with monkeypatch.context() as faults:
            faults.setattr(LmdbRows, name, damaged)
            with pytest.raises(CorruptedStateError, match="are damaged: page 7"):
                ask()
        assert engine.is_damaged


def test_files_that_are_not_lmdbs_are_damaged(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"garbage " * 4096)
    with pytest.raises(CorruptedStateError):
        LmdbEngine(tmp_path)


def test_files_whose_opening_has_failed_are_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LmdbEngine(tmp_path).close()

    def damaged(_engine: LmdbEngine) -> None:
        raise lmdb.CorruptedError("page 7")

    with monkeypatch.context() as faults:
        faults.setattr(LmdbEngine, "_read_positions", damaged)
        with pytest.raises(StateFilesError) as caught:
            LmdbEngine(tmp_path)
    engine = LmdbEngine(tmp_path)
    assert caught.value.__traceback__ is not None, "it has all that the attempt had"
    engine.close()


# -------------------------------------------------------------------------------------------------------------- copies


def test_a_copy_is_compact_and_has_all_that_is_committed(engine: LmdbEngine, tmp_path: Path) -> None:
    engine.commit({"s": ROWS, "t": {b"": b"1"}}, {PLACE: 1}, {"s#time": b"1"})
    engine.commit({"s": dict.fromkeys(list(ROWS)[10:])}, {PLACE: 2})
    engine.close()
    target = tmp_path / "copy"
    target.mkdir()
    LmdbEngine.copy(tmp_path, target)
    assert (target / "data.mdb").stat().st_size < (tmp_path / "data.mdb").stat().st_size / 2
    copied = LmdbEngine(target)
    assert rows(copied) == list(ROWS.items())[:10]
    assert (rows(copied, "t"), copied.positions, copied.notes) == ([(b"", b"1")], {PLACE: 2}, {"s#time": b"1"})
    copied.close()


def test_a_copy_of_nothing_or_of_damage_is_told(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    with pytest.raises(StateDiskError, match="No such file"):
        LmdbEngine.copy(source, target)
    (source / "data.mdb").write_bytes(b"garbage " * 4096)
    with pytest.raises(CorruptedStateError):
        LmdbEngine.copy(source, target)
