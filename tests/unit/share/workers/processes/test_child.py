"""A worker process's link to its parent."""

import logging
import os
import queue
import signal
from collections.abc import Iterator, Sequence
from multiprocessing import Pipe
from uuid import UUID

import pytest

from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes import child
from kafka_groups.share.workers.processes.address import WorkerAddress
from kafka_groups.share.workers.processes.child import ChildControls, ChildProgram, ParentLink
from kafka_groups.share.workers.processes.messages import NameSuspects, StopChild
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.types import TopicIdPartition
from tests.unit.share.workers.processes.child_programs import LAYOUT


class Exited(BaseException):
    """The process would have ended here."""


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[ParentLink]:
    """A link whose threads do not run, in a process that stays as it is."""

    def leave(status: int) -> None:
        raise Exited(status)

    monkeypatch.setattr(ParentLink, "_start", lambda *_: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setattr(child, "exit_at_the_latest", lambda *_: None)
    monkeypatch.setattr(os, "_exit", leave)
    ours, theirs = Pipe()
    with ours, theirs:
        yield ParentLink(ChildProgram(WorkerAddress("shop", "worker"), LAYOUT, logging.INFO, 3), theirs)


def test_both_threads_that_notice_the_end_of_the_parent_end_the_process_once(
    link: ParentLink, caplog: pytest.LogCaptureFixture
) -> None:
    stops: list[float] = []
    link.begin(ChildControls(stops.append, lambda _: None, dict, Health))
    for _ in range(2):
        link._orphaned()
    assert len(stops) == 1
    assert [each.getMessage() for each in caplog.records] == ["The parent process has ended, so process 3 ends too"]


def test_suspects_that_are_named_at_the_moment_of_the_start_are_heard(
    link: ParentLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Sequence[RunningRange]] = []
    named = NameSuspects((RunningRange(TopicIdPartition(UUID(int=1), 0, "orders"), 3, 3),))

    class StartsFirst(queue.SimpleQueue[NameSuspects]):
        def put(self, item: NameSuspects, block: bool = True, timeout: float | None = None) -> None:
            link.begin(ChildControls(lambda _: None, heard.append, dict, Health))
            super().put(item)

    monkeypatch.setattr(link, "_named", StartsFirst())
    link._obey(named)
    assert heard == [named.ranges]


def test_a_process_that_is_starting_when_its_parent_ends_leaves_its_lifespan(
    link: ParentLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(signal, "pthread_kill", lambda _thread, number: sent.append(number))
    link.starting()
    link._orphaned()
    assert sent == [signal.SIGTERM]


def test_a_process_that_has_not_imported_its_worker_when_its_parent_ends_exits(link: ParentLink) -> None:
    with pytest.raises(Exited):
        link._orphaned()


def test_an_order_to_stop_is_a_signal_while_the_process_starts(
    link: ParentLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(signal, "pthread_kill", lambda _thread, number: sent.append(number))
    with pytest.raises(Exited):
        link._obey(StopChild(0))  # it has not imported the worker yet
    link.starting()
    link._obey(StopChild(0))
    assert sent == [signal.SIGTERM]
    link.terminated()
    link._obey(StopChild(0))  # it would end the process, which leaves its lifespan
    assert sent == [signal.SIGTERM]
