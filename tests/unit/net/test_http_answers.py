"""Answers over TCP, also for clients that send too much or too slowly."""

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from kafka_groups.net import http_answers
from kafka_groups.net.http_answers import HttpAnswers, plain_answer


@pytest.fixture
def server() -> Iterator[HttpAnswers]:
    made = HttpAnswers(("127.0.0.1", 0), {"/live": lambda: plain_answer("fine", is_fine=True), "/ready": broken})
    yield made
    made.close()


def broken() -> http_answers.HttpAnswer:
    raise RuntimeError("broken")


def sent(server: HttpAnswers, request: bytes) -> bytes:
    """All that the server answers until it closes the connection, which must be soon."""
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client, suppress(ConnectionResetError):
        client.sendall(request)
        while piece := client.recv(1_000):
            answer += piece
    return answer


def status(answer: bytes) -> bytes:
    return answer.split(b" ", 2)[1]


def test_requests_for_known_paths_are_answered(server: HttpAnswers) -> None:
    answer = sent(server, b"GET /live HTTP/1.1\r\nHost: here\r\n\r\n")
    assert (status(answer), answer.rpartition(b"\r\n\r\n")[2]) == (b"200", b"fine\n")
    assert sent(server, b"GET /other HTTP/1.1\r\n\r\n").endswith(b"Ask for /live or /ready.\n")


def test_requests_that_are_too_large_are_refused(server: HttpAnswers) -> None:
    assert status(sent(server, b"GET /live HTTP/1.1\r\n" + b"X: y\r\n" * 2_731)) == b"431"


def test_clients_that_are_too_slow_are_disconnected(server: HttpAnswers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answers, "_SLOW_MS", 20)
    assert sent(server, b"GET /live HTTP/1.1\r\n") == b""


def test_clients_beyond_the_most_are_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answers, "_MOST_CLIENTS", 1)
    server = HttpAnswers(("127.0.0.1", 0), {"/live": lambda: plain_answer("fine", is_fine=True)})
    with socket.create_connection(("127.0.0.1", server.port)):
        assert sent(server, b"GET /live HTTP/1.1\r\n\r\n") == b""
    server.close()


def test_an_answer_that_fails_ends_the_connection_and_nothing_else(server: HttpAnswers) -> None:
    assert sent(server, b"GET /ready HTTP/1.1\r\n\r\n") == b""
    assert status(sent(server, b"GET /live HTTP/1.1\r\n\r\n")) == b"200"
