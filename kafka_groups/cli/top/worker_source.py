"""Workers as `top` shows them: a row for each handler, or for a worker that does not answer."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from kafka_groups.cli.documents.document import ErrorEntry
from kafka_groups.cli.documents.top import TOP_WORKER, TopWorkerEntry
from kafka_groups.cli.text_tables import UNKNOWN, cut_line, one_line, table_lines
from kafka_groups.cli.top.looks import TopLook
from kafka_groups.cli.top.worker_asking import NoStatusError, ProbeAddress, ask_worker
from kafka_groups.errors.texts import sentences
from kafka_groups.share.workers.status import FailureStatus, HandlerStatus, RetryTopicStatus, WindowStatus, WorkerStatus

__all__ = ["WorkerSource", "worker_lines"]

_NUMBERS: Final = ("RATE", "RUN", "HELD", "WAIT", "DELAY", "WRITE", "OUT")
_HEADINGS: Final = ("WORKER", "GROUP", "HANDLER", "STATE", *_NUMBERS, "BREAKER", "WINDOW", "RETRIES", "LAST ERROR")
_BETWEEN: Final = len(_HEADINGS) - 5
"""The cells between the state and the last one."""


class WorkerSource:
    """Asks workers for their status, all at the same time.

    Args:
        addresses: Where they answer.
    """

    def __init__(self, addresses: Sequence[ProbeAddress]) -> None:
        self._addresses = addresses

    def __repr__(self) -> str:
        return f"<WorkerSource {', '.join(each.name for each in self._addresses)}>"

    async def look(self) -> TopLook:
        """Return what the workers say now. One that does not answer has an error."""
        entries = await asyncio.gather(*map(_entry, self._addresses))
        return TopLook(partial(worker_lines, entries), entries, any(each.error is not None for each in entries))


async def _entry(address: ProbeAddress) -> TopWorkerEntry:
    try:
        return TopWorkerEntry(TOP_WORKER, address.name, await ask_worker(address), None)
    except NoStatusError as error:
        entry = ErrorEntry(f"worker {address.name}", None, error.reason, error.remedy)
        return TopWorkerEntry(TOP_WORKER, address.name, None, entry)


# --------------------------------------------------------------------------------------------------- the view


def worker_lines(entries: Sequence[TopWorkerEntry], width: int | None) -> Sequence[str]:
    """Return the table of workers, and below it the reasons why some are not ready."""
    rows = [row for entry in entries for row in _rows(entry)]
    reasons = [f"{one_line(entry.worker)}: {reason}" for entry in entries for reason in _reasons(entry, width)]
    table = table_lines(_HEADINGS, rows, numbers=_NUMBERS, width=width)
    return [*table, *(cut_line(reason, width) for reason in reasons)]


def _rows(entry: TopWorkerEntry) -> Iterator[Sequence[str]]:
    worker = one_line(entry.worker)
    if entry.status is None:
        yield worker, UNKNOWN, UNKNOWN, "no answer", *[UNKNOWN] * _BETWEEN, _error(entry)
        return
    place = worker, one_line(entry.status.group)
    for handler in entry.status.handlers:
        yield *place, *_handler_cells(entry.status, handler)
    if not entry.status.handlers:
        yield *place, UNKNOWN, _state(entry.status), *[UNKNOWN] * _BETWEEN, UNKNOWN


def _handler_cells(status: WorkerStatus, handler: HandlerStatus) -> Sequence[str]:
    flight = handler.in_flight
    states = (flight.running, flight.held, flight.waiting, flight.delayed, flight.writing)
    return (
        one_line(handler.name),
        _state(status),
        f"{handler.rate:.1f}",
        *map(str, states),
        str(handler.unconfirmed_outputs),
        "open" if handler.is_breaker_open else "closed",
        _window(handler.fullest_window),
        _retries(handler.retry_topics),
        _failure(handler.last_error),
    )


def _state(status: WorkerStatus) -> str:
    return "ready" if status.is_ready else "not ready" if status.is_live else "not live"


def _window(window: WindowStatus | None) -> str:
    if window is None:
        return UNKNOWN
    return f"{window.used:.0%} {one_line(window.topic)}-{window.partition}@{window.oldest_offset}"


def _retries(topics: Sequence[RetryTopicStatus]) -> str:
    # The topics are in the reference, the page and the JSON. Ten of them would make the row too wide.
    if not topics:
        return UNKNOWN
    return f"{sum(each.waiting for each in topics)} wait, {sum(each.due for each in topics)} due"


def _failure(failure: FailureStatus | None) -> str:
    if failure is None:
        return UNKNOWN
    place = f"{one_line(failure.topic)}-{failure.partition}@{failure.offset}"
    return f"{one_line(failure.error_type)} x {failure.count} {place}"


def _error(entry: TopWorkerEntry) -> str:
    return UNKNOWN if entry.error is None else one_line(sentences(entry.error.message, entry.error.remedy or ""))


def _reasons(entry: TopWorkerEntry, width: int | None) -> Iterator[str]:
    if entry.status is None:
        # Most terminals cut the last column, where the row has it.
        if width is not None:
            yield _error(entry)
        return
    yield from map(one_line, entry.status.reasons)
    if entry.status.left_out:
        yield f"handlers and reasons left out: {entry.status.left_out}"
