"""Applications that do not reach a broker: signals, directories that cannot be used, probes."""

import asyncio
import http.client
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.streams import (
    AsyncKafkaStreams,
    KafkaStreams,
    StandbyUpdateListener,
    StateRestoreListener,
    StreamsError,
    StreamsState,
)
from tests.unit.streams.runtime.counting import counting


class EarlySignal(KafkaStreams):
    """An application that gets SIGTERM before it has started."""

    def start(self) -> None:
        signal.raise_signal(signal.SIGTERM)
        super().start()


def test_a_signal_that_comes_before_the_start_ends_the_run() -> None:
    states: list[StreamsState] = []
    app = EarlySignal(
        counting,
        application_id="early",
        bootstrap_servers="localhost:1",
        on_state=lambda state, _before: states.append(state),
    )
    app.run()
    assert states == [StreamsState.REBALANCING, StreamsState.PENDING_SHUTDOWN, StreamsState.NOT_RUNNING]


def test_an_application_whose_directory_cannot_be_used_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "app-counts" / "process-id").mkdir(parents=True)
    app = KafkaStreams(
        counting, application_id="counts", bootstrap_servers="localhost:1", num_workers=2, state_dir=str(tmp_path)
    )
    with pytest.raises(ConfigurationError, match=f"{tmp_path}/app-counts of state.dir cannot be used"):
        app.start()
    assert app.state is StreamsState.ERROR
    assert isinstance(app.error, ConfigurationError)
    with pytest.raises(StreamsError, match="ERROR> ended: ConfigurationError: The folder"):
        app.wait_until_running(0)
    with pytest.raises(IllegalStateError, match="started before"):
        app.start()
    assert app.close()


def on_disk(kind: Any, state_dir: Path) -> Any:
    return kind(
        counting,
        application_id="counts",
        bootstrap_servers="localhost:1",
        state_dir=state_dir,
        default_dsl_store="lmdb",
    )


def left_files(state_dir: Path) -> Path:
    """The files of a task that a process before has left."""
    left = state_dir / "app-counts" / "tasks" / "0_0" / "1" / "mark.json"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.touch()
    return left


def test_files_are_deleted_on_request_unless_an_application_uses_them(tmp_path: Path) -> None:
    app, other = on_disk(KafkaStreams, tmp_path), on_disk(KafkaStreams, tmp_path)
    left = left_files(tmp_path)
    app.clean_up()
    assert not left.exists()
    left_files(tmp_path)
    with app:
        with pytest.raises(IllegalStateError, match=r"uses its stores\. Call clean_up before start, or after close"):
            app.clean_up()
        with pytest.raises(ConfigurationError, match="Another process of the application uses"):
            other.clean_up()
        assert left.exists()
    app.clean_up()
    assert not left.exists()


async def test_files_are_deleted_on_request_for_asyncio(tmp_path: Path) -> None:
    app = on_disk(AsyncKafkaStreams, tmp_path)
    left = left_files(tmp_path)
    async with app:
        with pytest.raises(IllegalStateError, match="uses its stores"):
            await app.clean_up()
        assert left.exists()
    await app.clean_up()
    assert not left.exists()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    found = connection.getresponse().status
    connection.close()
    return found


def test_probes_are_answered_until_the_application_is_closed() -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    given = {"application.id": "app", "bootstrap.servers": "localhost:1", "probe.address": address}
    app, other = KafkaStreams(counting, given), KafkaStreams(counting, given)
    with app:
        assert (status(port, "/live"), status(port, "/ready")) == (200, 503)
        with pytest.raises(ConfigurationError, match=f"probe_address={address}: cannot listen there: .*in use"):
            other.start()
        assert other.state is StreamsState.ERROR
    with pytest.raises(ConnectionRefusedError):
        status(port, "/live")


def test_a_close_that_gives_up_lets_the_port_go() -> None:
    port, is_let_go = free_port(), threading.Event()

    def hold(state: StreamsState, _before: StreamsState) -> None:
        if state is StreamsState.NOT_RUNNING:
            is_let_go.wait(60)

    app = KafkaStreams(
        counting,
        application_id="app",
        bootstrap_servers="localhost:1",
        probe_address=("127.0.0.1", port),
        on_state=hold,
    )
    app.start()
    assert not app.close(0.1)
    with pytest.raises(ConnectionRefusedError):
        status(port, "/live")
    is_let_go.set()
    assert app.close()


async def test_probes_are_answered_for_asyncio() -> None:
    port = free_port()
    async with AsyncKafkaStreams(
        counting, application_id="app", bootstrap_servers="localhost:1", probe_address=("127.0.0.1", port)
    ):
        assert await asyncio.to_thread(status, port, "/live") == 200
    with pytest.raises(ConnectionRefusedError):
        await asyncio.to_thread(status, port, "/live")


async def awaited(*_given: object) -> None:
    """Do nothing."""


@pytest.mark.parametrize("kind", [KafkaStreams, AsyncKafkaStreams])
@pytest.mark.parametrize(
    ("listener", "message"),
    [
        ({"on_state": awaited}, "on_state=.* is declared with async def"),
        (
            {"state_restore_listener": type("Told", (StateRestoreListener,), {"on_restore_end": awaited})()},
            "the method 'on_restore_end' of Told is declared with async def",
        ),
        (
            {"standby_update_listener": type("Told", (StandbyUpdateListener,), {"on_update_start": awaited})()},
            "the method 'on_update_start' of Told is declared with async def",
        ),
    ],
)
def test_listeners_that_do_nothing_when_they_are_called_are_refused(
    kind: type[KafkaStreams | AsyncKafkaStreams], listener: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__}: {message}"):
        kind(counting, application_id="told", bootstrap_servers="localhost:1", **listener)
