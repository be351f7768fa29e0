"""Settings that all handlers of a worker share. A module of its own, so that declaring a worker loads no client."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.running.attempts import Middleware
from kafka_groups.share.workers.start_option import GroupStart

if TYPE_CHECKING:
    from kafka_groups.client.assembly import Environment
    from kafka_groups.share.workers.handlers import HandlerSpec
    from kafka_groups.share.workers.processes.notes import HandlerNotes
    from kafka_groups.share.workers.running.opened_dependencies import OpenedDependencies
    from kafka_groups.share.workers.running.record_writing import ProcessWriter
    from kafka_groups.types import TopicIdPartition

__all__ = ["RuntimeSettings"]


@frozen(kw_only=True)
class RuntimeSettings:
    """Settings that all handlers of a worker share.

    Attributes:
        group_id: The share group.
        given: Keys of the consumers, as the user gave them.
        middleware: Around each attempt, the first outermost.
        start: Where the group begins; None leaves it to the group.
        sets_start: Whether this process sets that. A worker process leaves it to its parent.
        processes: The number of processes that this worker has, among which rate limits are divided.
        environment: Network, clock and randomness; None for the real ones.
        shutdown_ms: How long records in hand may run on when the worker stops.
        producer: Keys of the producer, as the user gave them.
        writer: Makes what writes records for the handlers; None for a `ConfirmedWriter`.
        notes: Returns what the slots of a handler note their runs with, for a parent or a successor; None without one.
        suspects: What other processes of the worker were running when they were killed.
        others: Returns what other processes run, or were running when they were killed, of some offsets of a partition.
            The brokers deliver that again, perhaps before the parent has told what it was.
        state_dir: Where a worker without a parent process keeps its notes for its successor; None for nowhere.
        opened: What this process has made for parameters that inject it.
        timer: Returns seconds, for the durations of attempts; the pace of a handler is measured with it.
    """

    group_id: str
    given: Mapping[str, object] = field(repr=False)
    middleware: Sequence[Middleware] = ()
    start: GroupStart | None = None
    sets_start: bool = True
    processes: int = 1
    environment: "Environment | None" = None
    shutdown_ms: int = 25_000
    producer: Mapping[str, object] = field(factory=dict, repr=False)
    writer: "Callable[[], ProcessWriter] | None" = None
    notes: "Callable[[HandlerSpec], HandlerNotes] | None" = None
    suspects: Sequence[RunningRange] = ()
    others: "Callable[[TopicIdPartition, int, int], Sequence[RunningRange]] | None" = None
    state_dir: Path | None = None
    opened: "OpenedDependencies" = field(factory=dict, repr=False)
    timer: Callable[[], float] = time.perf_counter
