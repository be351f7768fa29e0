"""A socket that is garbage and open is reported with the place that opened it."""

import gc
import socket
import sys
from typing import Any

import pytest

from tests.support import open_sockets


def _leak() -> None:
    cycle: list[Any] = [socket.socket()]
    cycle.append(cycle)


def test_the_place_that_opened_a_socket_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    monkeypatch.setattr(socket.socket, "__init__", socket.socket.__init__)
    open_sockets.follow_sockets()
    _leak()
    gc.collect()
    told = [each for each in heard if "in _leak" in (each.err_msg or "")]
    assert [each.exc_type for each in told] == [ResourceWarning]
