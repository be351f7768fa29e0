import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.serving.owners import HttpDocument, ask_owner


@contextmanager
def one_answer(answer: bytes) -> Iterator[tuple[UserEndpoint, list[bytes]]]:
    """A server that gives one answer and closes the connection, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                asked.append(connection.recv(1 << 16))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield UserEndpoint(host="127.0.0.1", port=server.getsockname()[1]), asked
        thread.join()


def test_the_owner_is_asked_with_the_mark_of_a_forwarded_question() -> None:
    with one_answer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}") as (owner, asked):
        assert ask_owner(owner, "/stores/counts/get?key=be") == HttpDocument(404, b"{}")
    assert asked[0].startswith(b"GET /stores/counts/get?key=be HTTP/1.1\r\n")
    assert b"x-kafka-groups-forwarded: 1\r\n" in asked[0]


def test_an_owner_that_does_not_speak_http_is_an_error() -> None:
    with one_answer(b"SSH-2.0-OpenSSH_9.6\r\n") as (owner, _), pytest.raises(OSError, match="does not answer in HTTP"):
        ask_owner(owner, "/stores")


def test_an_owner_that_is_away_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        ask_owner(UserEndpoint(host="127.0.0.1", port=port), "/stores")
