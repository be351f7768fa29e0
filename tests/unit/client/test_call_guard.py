"""Who may call a client."""

import os
import threading

import pytest

from kafka_groups.client.call_guard import CallGuard
from kafka_groups.errors import ClosedError, ConcurrentUseError, IllegalStateError


def test_one_call_at_a_time() -> None:
    guard = CallGuard("member")
    with guard.entered(), pytest.raises(ConcurrentUseError, match=f"in thread {threading.get_ident()}; a member"):
        guard.entered()
    with guard.entered():
        pass


def test_no_call_after_close() -> None:
    guard = CallGuard("member")
    guard.mark_closed()
    with pytest.raises(ClosedError, match="the member was closed"):
        guard.entered()


def test_no_call_in_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = CallGuard("member")
    with guard.entered():
        assert not guard.is_forked
    mine = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: mine + 1)
    with pytest.raises(IllegalStateError, match=f"used in process {mine}"):
        guard.entered()
    assert guard.is_forked
