"""Dependencies of handlers in workers that run: in this process, in several, at the start and at the end."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from kafka_groups import Backoff, Batch, Worker, inject
from tests.integration.workers.test_processes import NEEDS_NO_KAFKA, send_everywhere, wide
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_programs import Start, is_alive
from tests.support.workers.worker_scenes import Calls, WorkerScene

SOON = Backoff(first=0.01, most=0.02, times=3)

FACTORIES = """
import os
from contextlib import contextmanager
from functools import partial

from kafka_groups import Worker, inject

SERVERS = os.environ["SERVERS"]


def say(what):
    os.write(1, f"{os.getpid()} {what}\\n".encode())  # in one piece, as several processes write here


@contextmanager
def noted(what):
    say(f"opens {what}")
    yield what
    say(f"closes {what}")


@contextmanager
def open_pool(database=inject(partial(noted, "database"))):
    with noted("pool"):
        yield f"{database} {os.getpid()}"


def fail(pool=inject(open_pool)):
    raise ConnectionRefusedError("no bank answers")


lifespan = partial(noted, "lifespan")
worker = Worker(os.environ["GROUP"], bootstrap_servers=SERVERS, fetch_max_wait_ms=50, lifespan=lifespan)
broken = Worker(os.environ["GROUP"], bootstrap_servers=SERVERS)


@worker.handler(os.environ["TOPIC"])
def handle(value, *, pool=inject(open_pool)):
    say(f"handles {value.decode()} with {pool}")


@broken.handler(os.environ["TOPIC"])
def never(value, *, bank=inject(fail)):
    say("handles")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """The module of a worker with dependencies."""
    (tmp_path / "factories.py").write_text(FACTORIES, encoding="utf-8")
    return "factories"


def lines_by_process(out: str) -> dict[int, list[str]]:
    """What each process has said, in order."""
    said: dict[int, list[str]] = {}
    for line in out.splitlines():
        pid, _, what = line.partition(" ")
        said.setdefault(int(pid), []).append(what)
    return said


# ------------------------------------------------------------------------------------------- in this process


@contextmanager
def entering(worker: Worker, way: str) -> Iterator[None]:
    """Run a worker in the background, by `with` or by `async with` on a loop of its own."""
    if way == "with":
        with worker:
            yield
        return
    is_ready, is_done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with worker:
            is_ready.set()
            await asyncio.to_thread(is_done.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert is_ready.wait(30)
    yield
    is_done.set()
    thread.join(30)


@pytest.mark.parametrize("way", ["with", "async with"])
def test_handlers_of_all_kinds_share_what_the_process_makes(scene: WorkerScene, way: str) -> None:
    events: list[str] = []
    calls = Calls()

    @contextmanager
    def noted(name: str) -> Iterator[str]:
        events.append(f"open {name}")
        yield name
        events.append(f"close {name}")

    @asynccontextmanager
    async def connect() -> AsyncIterator[asyncio.AbstractEventLoop]:
        with noted("bank"):
            yield asyncio.get_running_loop()

    database = partial(noted, "database")
    worker = scene.worker(lifespan=partial(noted, "lifespan"))
    more, most = scene.broker.new_topic(), scene.broker.new_topic()

    @worker.handler(scene.name)
    def handle(value: bytes, *, db: str = inject(database), session: str = inject(partial(noted, "session"))) -> None:
        calls.add(f"{db} {session}".encode())

    @worker.handler(more.name)
    async def pay(value: bytes, *, bank: asyncio.AbstractEventLoop = inject(connect)) -> None:
        assert bank is asyncio.get_running_loop()
        calls.add(b"paid")

    @worker.batch_handler(most.name, max_wait=0.01)
    def store(batch: Batch[bytes], *, db: str = inject(database, scope="attempt")) -> None:
        calls.add(f"stored in {db}".encode())

    scene.send(b"1")
    scene.broker.produce(more, [b"2"])
    scene.broker.produce(most, [b"3"])
    with entering(worker, way):
        calls.wait_for(3)
    assert sorted(calls.values) == [b"database session", b"paid", b"stored in database"]
    attempt = events.index("open database", 2)  # that of the batch handler's attempt
    assert events[attempt : attempt + 2] == ["open database", "close database"]
    del events[attempt : attempt + 2]
    assert events == [
        "open lifespan", "open database", "open session", "open bank",
        "close bank", "close session", "close database", "close lifespan",
    ]  # fmt: skip


def test_an_attempt_whose_dependency_fails_is_retried(scene: WorkerScene) -> None:
    calls, made = Calls(), iter(range(10))
    worker = scene.worker()

    def flaky() -> int:
        if (number := next(made)) < 2:
            raise ConnectionError("not yet")
        return number

    @worker.handler(scene.name, retries=SOON)
    def handle(value: bytes, *, number: int = inject(flaky, scope="attempt")) -> None:
        calls.add(value + b" %d" % number)

    scene.send(b"1")
    with worker:
        scene.wait_until_done()
    assert calls.values == [b"1 2"]


def test_a_start_that_a_dependency_ends_may_be_tried_again(scene: WorkerScene) -> None:
    calls, events = Calls(), list[str]()
    fails = [True]

    @contextmanager
    def open_database() -> Iterator[str]:
        events.append("open")
        yield "database"
        events.append("close")

    def connect(db: str = inject(open_database)) -> str:
        if fails:
            raise ConnectionError(f"{fails.pop()}")
        return f"connected to {db}"

    worker = scene.worker()

    @worker.handler(scene.name)
    def handle(value: bytes, *, bank: str = inject(connect)) -> None:
        calls.add(bank.encode())

    with pytest.raises(ConnectionError, match="True"), worker:
        pytest.fail("it has started")
    assert worker.health().reasons == ("the worker is not running",)
    scene.send(b"1")
    with worker:
        scene.wait_until_done()
    assert calls.values == [b"connected to database"]
    assert events == ["open", "open", "close"], "the first one saw the error, and went no further"


def test_handlers_end_before_what_they_use(scene: WorkerScene) -> None:
    events: list[str] = []
    stopping = threading.Event()

    @contextmanager
    def open_database() -> Iterator[Callable[[str], None]]:
        yield events.append
        events.append("close")

    worker = scene.worker()

    @worker.handler(scene.name, concurrency=1)
    def handle(value: bytes, *, note: Callable[[str], None] = inject(open_database)) -> None:
        note("begins")
        stopping.wait(30)
        note("ends")

    scene.send(b"1")
    with worker:
        wait_until(lambda: "begins" in events)
        worker.stop()
        stopping.set()
    assert events == ["begins", "ends", "close"]


# ------------------------------------------------------------------------------------------- processes


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 3])
def test_each_process_makes_its_own_and_its_parent_makes_none(
    broker: WorkerBroker, start: Start, program: str, processes: int
) -> None:
    scene = wide(broker)
    worker = start(scene, f"{program}:worker", "--processes", str(processes), "--probe-address", "127.0.0.1:{port}")
    worker.wait_until_ready()

    def all_work() -> bool:
        send_everywhere(scene, "value", 2)
        return (
            sum(any("handles" in line for line in said) for said in lines_by_process(worker.out).values()) == processes
        )

    wait_until(all_work, 40, lambda: (worker.out, worker.log))
    assert worker.stopped() == 0
    said = lines_by_process(worker.out)
    assert len(said) == processes
    assert (worker.process.pid in said) == (processes == 1)
    for pid, lines in said.items():
        assert lines[:3] == ["opens lifespan", "opens database", "opens pool"]
        assert lines[-3:] == ["closes pool", "closes database", "closes lifespan"]
        handled = lines[3:-3]
        assert handled
        assert all(line.endswith(f"with database {pid}") for line in handled), handled
    assert not any(map(is_alive, said))


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_process_that_replaces_a_killed_one_makes_its_own(broker: WorkerBroker, start: Start, program: str) -> None:
    scene = wide(broker)
    worker = start(scene, f"{program}:worker", "--processes", "2", "--probe-address", "127.0.0.1:{port}")
    worker.wait_until_ready()
    first = min(lines_by_process(worker.out))
    os.kill(first, 9)
    wait_until(lambda: worker.out.count("opens pool") == 3, 40, lambda: worker.log)
    worker.wait_until_ready()
    send_everywhere(scene, "value", 2)
    scene.wait_until_done()
    assert worker.stopped() == 0
    said = lines_by_process(worker.out)
    assert len(said) == 3
    assert [lines[-1] for pid, lines in said.items() if pid != first] == ["closes lifespan"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "2"])
@NEEDS_NO_KAFKA
def test_a_dependency_that_fails_at_the_start_ends_the_command(
    broker: WorkerBroker, start: Start, program: str, processes: str
) -> None:
    worker = start(WorkerScene(broker), f"{program}:broken", "--processes", processes)
    assert worker.ended() == 1
    assert "no bank answers" in worker.log
    assert "while the worker made the dependency fail, before it handled records" in worker.log
    assert "handles" not in worker.out


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_check_makes_nothing(broker: WorkerBroker, start: Start, program: str) -> None:
    checked = start(WorkerScene(broker), f"{program}:worker", "--check")
    assert checked.ended() == 0
    assert "opens" not in checked.out
