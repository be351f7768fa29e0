"""A plan for a streams group as text and tables."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kafka_groups.admin import CopyBasis, PlannedLoad, PlannedMove, StreamsPlan, TaskCounts, TaskPlace

__all__ = ["print_plan"]

_SHORTEST: Final = 8
"""The least number of characters of a shortened id."""
_NONE: Final = "-"
_LOAD_COLUMNS: Final = ("process, its threads", "active", "standby", "per thread")
_MOVE_COLUMNS: Final = ("task", "role", "from", "to", "was there", "records", "counted")
_NUMBERS: Final = ("active", "standby", "per thread", "records")


def print_plan(console: Console, plan: StreamsPlan) -> None:
    """Print a plan: its moves, the load of processes and threads, the traffic between racks, and follow-ups."""
    uses = "" if plan.group_assignor is None else f" The group uses {plan.group_assignor}."
    _line(
        console, f"{plan.group_id} is {plan.state}. This is what {plan.assignor} would do; nothing was changed.{uses}"
    )
    if not plan.processes:
        return
    console.print(_table("Tasks of processes and threads, now → then", _LOAD_COLUMNS, _load_rows(plan.processes)))
    if plan.moves:
        names = _ShortNames(plan)
        rows = (tuple(_move_row(move, names)) for move in plan.moves)
        console.print(_table("Tasks that move, from and to: process, thread", _MOVE_COLUMNS, rows))
    for line in _closing(plan):
        _line(console, line)


def _line(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False)


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Return a table. Ids that do not fit are folded, so that they can be copied."""
    made = Table(title=title, title_justify="left")
    for column in columns:
        made.add_column(column, justify="right" if column in _NUMBERS else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


# ---------------------------------------------------------------------------------------------------- load


def _load_rows(loads: Iterable[PlannedLoad]) -> Iterator[Sequence[str]]:
    for load in loads:
        threads_now = sum(thread.before is not None for thread in load.threads)
        threads_then = sum(thread.after is not None for thread in load.threads)
        per_thread = _change(_per_thread(load.before, threads_now), _per_thread(load.after, threads_then))
        yield (_described(load), *_numbers(load.before, load.after), per_thread)
        for thread in load.threads:
            yield (f"  {thread.member_id}", *_numbers(thread.before, thread.after), "")


def _described(load: PlannedLoad) -> str:
    tags = [f"{key}={value}" for key, value in load.client_tags.items()]
    return " ".join([load.process_id, *([f"rack={load.rack}"] if load.rack else []), *tags])


def _numbers(before: TaskCounts | None, after: TaskCounts | None) -> Iterator[str]:
    yield _change(None if before is None else str(before.active), None if after is None else str(after.active))
    yield _change(None if before is None else str(before.standby), None if after is None else str(after.standby))


def _per_thread(counts: TaskCounts | None, threads: int) -> str | None:
    return None if counts is None else f"{counts.total / threads:.1f}"


def _change(before: str | None, after: str | None) -> str:
    return f"{_NONE if before is None else before} → {_NONE if after is None else after}"


# --------------------------------------------------------------------------------------------------- moves


def _move_row(move: PlannedMove, names: "_ShortNames") -> Iterator[str]:
    yield str(move.task)
    yield move.role.value
    yield names.place(move.source)
    yield names.place(move.target)
    yield _NONE if move.role_before is None else move.role_before.value
    yield "?" if move.records is None else f"{move.records:,}"
    yield "" if move.basis is CopyBasis.NOTHING else move.basis.value


class _ShortNames:
    """Names of processes and threads that fit into a table: the first characters of ids, and numbers of threads."""

    def __init__(self, plan: StreamsPlan) -> None:
        self._length = _distinct_length([load.process_id for load in plan.processes])
        self._numbers = {
            thread.member_id: number for load in plan.processes for number, thread in enumerate(load.threads, 1)
        }

    def place(self, place: TaskPlace | None) -> str:
        """Return the name of a place."""
        if place is None:
            return _NONE
        return f"{place.process_id[: self._length]}, {self._numbers[place.member_id]}"


def _distinct_length(ids: Collection[str]) -> int:
    """Return how many characters of ids tell them apart."""
    length, longest = _SHORTEST, max(map(len, ids), default=_SHORTEST)
    while length < longest and len({id_[:length] for id_ in ids}) < len(set(ids)):
        length += 1
    return length


# -------------------------------------------------------------------------------------------------- closing


def _closing(plan: StreamsPlan) -> Iterator[str]:
    if not plan.moves:
        yield "No task moves."
    elif plan.records is None:
        yield f"Moves: {len(plan.moves)}. The number of records to copy is unknown."
    else:
        yield f"Moves: {len(plan.moves)}. Records to copy: at most {plan.records:,}."
    if plan.traffic is not None:
        traffic = plan.traffic
        yield f"Partitions read from another rack: {traffic.before} now, {traffic.after} then, of {traffic.partitions}."
    for process_id, deadline in plan.followups.items():
        yield f"Process {process_id} asks for another rebalance at {deadline.isoformat(timespec='seconds')}."
