"""Definitions of windows: how records fall into spans of time."""

import functools
import inspect
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Concatenate, ParamSpec, TypeVar

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.serdes import Window
from kafka_groups.streams.state.durations import milliseconds
from kafka_groups.streams.state.timed_rows import MAX_MS

__all__ = ["EmitStrategy", "JoinWindows", "SessionWindows", "SlidingWindows", "TimeWindows", "UnlimitedWindows"]

_P = ParamSpec("_P")
_W = TypeVar("_W")


def _needs_grace(init: Callable[Concatenate[_W, _P], None]) -> Callable[Concatenate[_W, _P], None]:
    """Explain the grace to a caller that leaves it out, together with what is wrong with the other durations."""
    _self, *parameters = inspect.signature(init).parameters.values()
    named = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    positions = len(parameters) - len(named)

    @functools.wraps(init)
    def checked(windows: _W, /, *args: _P.args, **given: _P.kwargs) -> None:
        # Python would count the object itself, and the grace that is added below.
        if len(args) > positions:
            raise TypeError(
                f"{type(windows).__name__} got {counted(len(args), 'argument')} without a name and takes {positions}. "
                f"Give the others by name: {', '.join(f'{name}=' for name in named)}"
            )
        if "grace" in given:
            return init(windows, *args, **given)
        problem = ""
        try:
            init(windows, *args, **given, grace=timedelta(0))  # type: ignore[arg-type] # the one that is missing
        except ConfigurationError as error:
            problem = str(error)
        remedy = "Give the time for which a window still takes late records after its end, such as grace=timedelta(0)"
        raise TypeError(sentences(problem, f"{type(windows).__name__} needs grace=", remedy))

    return checked


class TimeWindows:
    """Windows of fixed size, aligned to 1970: tumbling, or hopping if `advance` is shorter than the size.

    A window contains its start, and not its end.

    Args:
        size: The size of a window.
        advance: The time from one start to the next. None: the size.
        grace: How long after its end a window still takes late records.

    Raises:
        ConfigurationError: A duration is negative or no `timedelta` of whole milliseconds, or `advance` is longer than
            the size.
    """

    @_needs_grace
    def __init__(self, size: timedelta, *, advance: timedelta | None = None, grace: timedelta) -> None:
        self.size_ms = milliseconds("size", size, minimum=1)
        self.advance_ms = self.size_ms if advance is None else milliseconds("advance", advance, minimum=1)
        self.grace_ms = milliseconds("grace", grace)
        if self.advance_ms > self.size_ms:
            raise ConfigurationError(
                f"advance={advance!r} is longer than the windows, size={size!r}, so that records between them would be "
                "in none. Give a shorter one."
            )

    def __repr__(self) -> str:
        return f"<TimeWindows of {self.size_ms} ms every {self.advance_ms} ms, grace {self.grace_ms} ms>"

    @property
    def retention_ms(self) -> int:
        """The time for which a store must keep a window after its start."""
        return self.size_ms + self.grace_ms

    @property
    def grid_ms(self) -> int:
        """The distance of the times between which records have the same windows."""
        # Windows start at multiples of the advance, and end a size later. A program's own definition may do otherwise.
        is_own = type(self).windows_for is not TimeWindows.windows_for
        return 1 if is_own else math.gcd(self.advance_ms, self.size_ms)

    def windows_for(self, timestamp_ms: int) -> list[Window]:
        """Return the windows that contain a time, in the order of their starts."""
        advance_ms, size_ms = self.advance_ms, self.size_ms
        # The first window that contains the time begins at a multiple of the advance (TimeWindows.windowsFor in Kafka).
        # None begins before 1970, because starts are keys of stores and must not be negative.
        first_ms = max(0, timestamp_ms - size_ms + advance_ms) // advance_ms * advance_ms
        # A tumbling window is the most common case, and needs no loop. The end is cut where times end, as in an
        # unlimited window.
        if advance_ms == size_ms and timestamp_ms >= 0:
            return [Window(first_ms, min(first_ms + size_ms, MAX_MS))]
        starts = range(first_ms, timestamp_ms + 1, advance_ms)
        return [Window(start_ms, min(start_ms + size_ms, MAX_MS)) for start_ms in starts]


class UnlimitedWindows:
    """One window for all records from a start on. It never closes.

    Args:
        start_ms: Its start in ms since 1970. Records before it are dropped.

    Raises:
        ConfigurationError: The start is negative or no int.
    """

    def __init__(self, *, start_ms: int = 0) -> None:
        self.start_ms = _time(start_ms)
        self.size_ms = MAX_MS
        self.grace_ms = 0
        self.retention_ms = MAX_MS

    def __repr__(self) -> str:
        return f"<UnlimitedWindows from {self.start_ms}>"

    @property
    def grid_ms(self) -> int:
        """The distance of the times between which records have the same windows."""
        return self.start_ms or MAX_MS

    def windows_for(self, timestamp_ms: int) -> list[Window]:
        """Return the window, if it contains a time."""
        # UnlimitedWindows.windowsFor in Kafka: earlier records are in no window, and are not counted as dropped.
        return [Window(self.start_ms, MAX_MS)] if timestamp_ms >= self.start_ms else []


class SlidingWindows:
    """Windows around records: each begins or ends with a record, and has those at most `difference` apart (KIP-450).

    Both ends belong to a window.

    Args:
        difference: The longest time between two records of a window.
        grace: How long after its end a window still takes late records.

    Raises:
        ConfigurationError: A duration is negative or no `timedelta` of whole milliseconds.
    """

    @_needs_grace
    def __init__(self, difference: timedelta, *, grace: timedelta) -> None:
        self.difference_ms = milliseconds("difference", difference)
        self.grace_ms = milliseconds("grace", grace)

    def __repr__(self) -> str:
        return f"<SlidingWindows of {self.difference_ms} ms, grace {self.grace_ms} ms>"

    @property
    def retention_ms(self) -> int:
        """The time for which a store must keep a window after its start, also for the record before it."""
        # A late record looks at windows that begin up to two differences before it
        # (SlidingWindowStoreMaterializer.retentionPeriod in Kafka, which refuses less).
        return 2 * self.difference_ms + self.grace_ms

    @property
    def size_ms(self) -> int:
        """The time from the start of a window to its end."""
        return self.difference_ms


class SessionWindows:
    """Sessions: records of a key belong together while less than or just `gap` lies between one and the next.

    A session's window has the times of its first and its last record.

    Args:
        gap: The longest time between two records of a session.
        grace: How long after that a session still takes late records.

    Raises:
        ConfigurationError: A duration is negative or no `timedelta` of whole milliseconds.
    """

    @_needs_grace
    def __init__(self, gap: timedelta, *, grace: timedelta) -> None:
        self.gap_ms = milliseconds("gap", gap, minimum=1)
        self.grace_ms = milliseconds("grace", grace)

    def __repr__(self) -> str:
        return f"<SessionWindows with gaps of {self.gap_ms} ms, grace {self.grace_ms} ms>"

    @property
    def retention_ms(self) -> int:
        """The time for which a store must keep a session after its end."""
        return self.gap_ms + self.grace_ms


class JoinWindows:
    """The times at which records of two streams are joined.

    A record of the left stream is joined with those of the right one that are at most `before` earlier or at most
    `after` later, both bounds included. A negative duration makes both bounds lie on one side of the record.

    Args:
        before: How much earlier a right record may be than the left one.
        after: How much later it may be.
        grace: How long after its time a record still waits for late partners, before a left or outer join forwards it
            without one. Both streams are kept for the time from `before` to `after`, and the grace.

    Raises:
        ConfigurationError: A duration is no `timedelta` of whole milliseconds, the grace is negative, or `before` and
            `after` leave no time between them.
    """

    @_needs_grace
    def __init__(self, *, before: timedelta, after: timedelta, grace: timedelta) -> None:
        self.before_ms = milliseconds("before", before, minimum=-MAX_MS)
        self.after_ms = milliseconds("after", after, minimum=-MAX_MS)
        self.grace_ms = milliseconds("grace", grace)
        # One of both may be negative, as long as there is a time between them (the constructor of JoinWindows in
        # Kafka).
        if self.size_ms < 0:
            raise ConfigurationError(
                f"before={before!r} and after={after!r} leave no time between them, so that nothing would be joined. "
                "Give durations whose sum is not negative."
            )

    def __repr__(self) -> str:
        return f"<JoinWindows from {self.before_ms} ms before to {self.after_ms} ms after, grace {self.grace_ms} ms>"

    @property
    def size_ms(self) -> int:
        """The time from the first record that a record is joined with to the last one."""
        return self.before_ms + self.after_ms

    @property
    def retention_ms(self) -> int:
        """The time for which a store must keep a record."""
        return self.size_ms + self.grace_ms


class EmitStrategy:
    """The moment at which a windowed aggregation forwards its results (KIP-825)."""

    def __init__(self, *, on_close: bool) -> None:
        self.on_close = on_close

    def __repr__(self) -> str:
        return f"EmitStrategy.{'on_window_close' if self.on_close else 'on_window_update'}()"

    @classmethod
    def on_window_update(cls) -> "EmitStrategy":
        """Forward each update of a window, as without a strategy."""
        return cls(on_close=False)

    @classmethod
    def on_window_close(cls) -> "EmitStrategy":
        """Forward each window once, when it has closed: its grace is over by the time of the records."""
        return cls(on_close=True)


def _time(start_ms: object) -> int:
    if isinstance(start_ms, bool) or not isinstance(start_ms, int) or not 0 <= start_ms < MAX_MS:
        raise ConfigurationError(f"start_ms={start_ms!r} is not a time in ms since 1970. Give an int from 0 on.")
    return start_ms
