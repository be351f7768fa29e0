"""Who is measured when: both versions by turns, and the one that goes first changes with each round."""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from attrs import define, frozen

from tests.benchmarks.children import ChildFailedError
from tests.benchmarks.guard.figures import VERSIONS, Case, Compared, figure_at
from tests.benchmarks.measures import Say

__all__ = ["Measure", "MissingError", "Pace", "Part", "compare_part", "order_of"]

_LAST_CHARACTERS = 1_500

Measure = Callable[[Case, str], Mapping[str, Any]]
"""Runs a case in a version, and returns what its rows have paths into."""


class MissingError(Exception):
    """A checkout cannot run a case, because it is from before that existed."""


@define
class Pace:
    """How often cases are repeated.

    Attributes:
        least: The ratio below which a row gets as many rounds again, all of which count.
        rounds: Rounds of each case, or None for its own.
        more_s: How long more rounds may take, all cases together; a case that has begun them ends them.
        clock: Seconds.
    """

    least: float
    rounds: int | None = None
    more_s: float = float("inf")
    clock: Callable[[], float] = time.monotonic

    def grants_more(self, compared: Sequence[Compared]) -> bool:
        """Whether rows get more rounds: one is too low, and there is time."""
        return any(each.is_bad(self.least) for each in compared) and self.more_s > 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """More rounds, whose time is taken from what there is."""
        began = self.clock()
        yield
        self.more_s -= self.clock() - began


@frozen
class Part:
    """Cases that share what they need, such as a broker.

    Attributes:
        name: For the command line.
        cases: What is run.
        opened: Starts what they need, and ends it again.
        needs_java: Whether it needs a real Kafka or Spark.
    """

    name: str
    cases: tuple[Case, ...]
    opened: Callable[[], AbstractContextManager[Measure]]
    needs_java: bool = False

    @property
    def nothing(self) -> list[Compared]:
        """Its rows, before anything was measured."""
        return [Compared(row) for case in self.cases for row in case.rows]


def order_of(round_number: int) -> Sequence[str]:
    """Both versions: A B, B A, A B, so that what drifts strikes both."""
    return VERSIONS if round_number % 2 == 0 else VERSIONS[::-1]


def compare_part(part: Part, pace: Pace, say: Say) -> list[Compared]:
    """Measure all cases of a part; rows that fail say why, and do not keep others from being measured."""
    compared: list[Compared] = []
    try:
        with part.opened() as measure:
            for case in part.cases:
                compared += _compare(case, measure, pace, say)
    except Exception as error:  # whatever it was, the table says it
        compared += [Compared(row, error=_text(error)) for row in _rows_after(part, compared)]
    return compared


def _rows_after(part: Part, compared: Sequence[Compared]) -> Iterator[Any]:
    return (each.row for each in part.nothing[len(compared) :])


def _compare(case: Case, measure: Measure, pace: Pace, say: Say) -> list[Compared]:
    compared = [Compared(row) for row in case.rows]
    rounds = pace.rounds or case.rounds

    def take(numbers: range) -> None:
        for number in numbers:
            _take_both(case, number, measure, compared, say)

    take(range(-case.warm_up_rounds, rounds))
    if pace.grants_more(compared):
        with pace.counted():
            take(range(rounds, 2 * rounds))
    return compared


def _take_both(case: Case, number: int, measure: Measure, compared: Sequence[Compared], say: Say) -> None:
    """One round; of warm-ups, figures are not taken. If a version lacks the case, the other is measured once."""
    if number > 0 and all(each.lacking or each.error for each in compared):
        return
    for version in order_of(number):
        if not all(version in each.lacking or each.error for each in compared):
            _take(case, version, measure, compared, say, counts=number >= 0)


def _take(case: Case, version: str, measure: Measure, compared: Sequence[Compared], say: Say, *, counts: bool) -> None:
    try:
        measured = measure(case, version)
    except MissingError as error:
        say(f"{case.rows[0].name}, {version}: missing, {error}")
        for each in compared:
            each.lacking.add(version)
    except Exception as error:  # whatever it was, the table says it
        for each in compared:
            each.error = f"{version}: {_text(error)}"
    else:
        for each in compared if counts else ():
            _note(each, version, figure_at(measured, each.row.path), say)


def _note(compared: Compared, version: str, figure: float | None, say: Say) -> None:
    if figure is None:
        compared.lacking.add(version)
    else:
        compared.taken[version].append(figure)
    say(f"{compared.row.name}, {version}: {'missing' if figure is None else f'{figure:,.4g} {compared.row.unit}'}")


def _text(error: Exception) -> str:
    """What the error says; with the end of its traceback, unless it has the end of a child's output."""
    if isinstance(error, ChildFailedError):
        return str(error)
    return "".join(traceback.format_exception(error))[-_LAST_CHARACTERS:].strip()
