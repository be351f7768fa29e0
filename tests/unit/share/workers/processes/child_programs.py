"""Programs that stand in for a worker process."""

import os
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from uuid import UUID

from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.child import ChildProgram
from kafka_groups.share.workers.processes.messages import ChildEnded, ChildReport, ChildStarted, NameSuspects
from kafka_groups.share.workers.processes.notes import RunningNotes, RunningNotesLayout
from kafka_groups.share.workers.rules.steps import InvokeHandler
from kafka_groups.types import TopicIdPartition

__all__ = ["LAYOUT", "ORDERS", "dying_once", "dying_twice", "failing_at_start", "noting", "obedient", "stubborn"]

ORDERS = TopicIdPartition(UUID(int=1), 3, "orders")
LAYOUT = RunningNotesLayout((("handle", 2, ("orders",)),))


def obedient(_program: ChildProgram, pipe: Connection, _memory: Any) -> None:
    """Is healthy until it is told to stop."""
    pipe.send(ChildStarted())
    pipe.send(ChildReport({}, Health()))
    pipe.recv()
    pipe.send(ChildEnded())


def failing_at_start(_program: ChildProgram, _pipe: Connection, _memory: Any) -> None:
    """Ends without a word."""
    os._exit(3)


def stubborn(_program: ChildProgram, pipe: Connection, _memory: Any) -> None:
    """Does not stop."""
    pipe.send(ChildStarted())
    threading.Event().wait()


class _Placed:
    """A record with nothing but a place."""

    offset = 7

    class _Delivery:
        topic_partition = ORDERS

    _delivery = _Delivery()


def dying_once(program: ChildProgram, pipe: Connection, memory: Any) -> None:
    """The first process 1 dies while it runs a record. All others write down what they are told of it."""
    pipe.send(ChildStarted())
    if program.number == 1 and not program.suspects:
        run: InvokeHandler[Any] = InvokeHandler([_Placed()])
        RunningNotes(LAYOUT, memory).notes_for(program.part, "handle").began(1, run)
        os._exit(3)
    told = list(map(str, program.suspects))
    message = pipe.recv()
    if isinstance(message, NameSuspects):
        told += map(str, message.ranges)
        message = pipe.recv()
    Path(f"told-{program.number}").write_text(" ".join(told), encoding="utf-8")
    pipe.send(ChildEnded())


def dying_twice(program: ChildProgram, pipe: Connection, memory: Any) -> None:
    """Each process dies while it runs a record, all but the first when they are told to stop."""
    pipe.send(ChildStarted())
    if program.suspects:
        pipe.recv()
    run: InvokeHandler[Any] = InvokeHandler([_Placed()])
    RunningNotes(LAYOUT, memory).notes_for(program.part, "handle").began(1, run)
    os._exit(3)


def noting(layout: RunningNotesLayout, memory: Any) -> None:
    """Ends while it runs a record."""
    run: InvokeHandler[Any] = InvokeHandler([_Placed()])
    RunningNotes(layout, memory).notes_for(1, "handle").began(1, run)
    os._exit(3)
