"""A server with real connections, and an application that answers as it is told."""

import json
import logging
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import StateServer, StoreNotAvailableError
from tests.support.workers.worker_programs import free_port
from tests.unit.streams.serving.test_answering import App


def get(server: StateServer, path: str) -> tuple[int, Any, Any]:
    """The status, the body and the headers of an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), error.headers


def serving(*answers: object) -> StateServer:
    app: Any = App(*answers)
    return StateServer(app, f"127.0.0.1:{free_port()}")


def test_stores_are_read() -> None:
    with serving(7) as server:
        status, body, headers = get(server, "/stores/counts/get?key=a%20b")
        assert (status, body, headers["Content-Type"]) == (200, {"key": "a b", "value": 7}, "application/json")
        assert get(server, "/stores")[1]["stores"] == {"counts": "KeyValue"}
        assert get(server, "/openapi.json")[1]["openapi"] == "3.1.0"
        assert get(server, "/stores/counts/put?key=be")[0] == 404


def test_a_store_that_cannot_be_read_now_says_when_to_ask_again() -> None:
    with serving(StoreNotAvailableError("restoring")) as server:
        status, body, headers = get(server, "/stores/counts/get?key=be")
    assert (status, json.loads(body), headers["Retry-After"]) == (503, {"error": "restoring"}, "1")


def test_a_closed_server_listens_no_longer() -> None:
    server = serving(7)
    server.close()
    with socket.socket() as connection:
        assert connection.connect_ex(("127.0.0.1", server.port)) != 0
    server.close()


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_wrong_addresses_are_refused(taken: int) -> None:
    app: Any = App()
    with pytest.raises(ConfigurationError, match=rf"^address=127.0.0.1:{taken}: cannot listen there"):
        StateServer(app, ("127.0.0.1", taken))
    with pytest.raises(ConfigurationError, match=r"^address='8080': .* Use host:port, such as 0.0.0.0:8080\.$"):
        StateServer(app, "8080")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    app: Any = App()
    with pytest.raises(ConfigurationError, match=r"pip install 'kafka-groups\[streams-http\]'"):
        StateServer(app, "127.0.0.1:8080")


def test_a_start_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.streams.serving.server")
    with serving(7) as server:
        pass
    assert f"Stores are read at port {server.port}" in caplog.text
