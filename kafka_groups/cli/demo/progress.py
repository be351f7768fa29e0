"""Shows the progress of a run: a live display on a terminal, plain lines otherwise."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from attrs import frozen
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from kafka_groups.cli.output import say

__all__ = ["LiveProgress", "PlainProgress", "Progress", "ProgressView", "progress_on"]

_PLAIN_INTERVAL_MS = 1_000
_PLAIN_UNCHANGED_INTERVAL_MS = 10_000


@frozen(kw_only=True)
class ProgressView:
    """The state of a run at one moment.

    Attributes:
        elapsed_ms: Time since the start of the run.
        total: How many records the run processes.
        done: How many of them are done.
        figures: Values to show, by name; `None` if unknown.
        rows: Further names and texts; only a live display has the room for them.
    """

    elapsed_ms: int
    total: int
    done: int
    figures: Mapping[str, int | str | None]
    rows: Sequence[tuple[str, str]] = ()

    def fields(self) -> tuple[tuple[str, str], ...]:
        """Return names and values as text."""
        return tuple((name, _text(figure)) for name, figure in self.figures.items())


def _text(figure: int | str | None) -> str:
    if figure is None:
        return "?"
    return figure if isinstance(figure, str) else f"{figure:,}"


class Progress(Protocol):
    """Shows the progress of a run. Use it as a context manager around the run."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def show(self, view: ProgressView) -> None:
        """Show the state."""
        ...

    def note(self, text: str) -> None:
        """Report an event."""
        ...


class PlainProgress:
    """Prints a line every second, or every ten seconds while nothing changes."""

    def __init__(self) -> None:
        self._last: ProgressView | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def show(self, view: ProgressView) -> None:
        """Print the state, unless a line was printed recently."""
        if self._is_due(view):
            self._last = view
            fields = "  ".join(f"{name} {value}" for name, value in view.fields())
            say(f"{view.elapsed_ms / 1000:5.1f} s  {fields}")

    def _is_due(self, view: ProgressView) -> bool:
        if self._last is None:
            return True
        is_new = view.figures != self._last.figures
        return view.elapsed_ms - self._last.elapsed_ms >= (
            _PLAIN_INTERVAL_MS if is_new else _PLAIN_UNCHANGED_INTERVAL_MS
        )

    def note(self, text: str) -> None:
        """Print the text."""
        say(text)


class LiveProgress:
    """Shows a live display on a terminal."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.__exit__(exc_type, exc, traceback)

    def show(self, view: ProgressView) -> None:
        """Display the state."""
        fields = Table.grid(padding=(0, 2))
        for _ in view.fields():
            fields.add_column(justify="right", no_wrap=True)
        fields.add_row(*(f"[dim]{name}[/dim]" for name, _ in view.fields()))
        fields.add_row(*(f"[bold]{value}[/bold]" for _, value in view.fields()))
        bar = Table.grid()
        bar.add_row(ProgressBar(total=max(1, view.total), completed=view.done, width=72))
        rows = Table.grid(padding=(0, 2))
        for name, text in view.rows:
            rows.add_row(f"[dim]{name}[/dim]", text)
        self._live.update(Group(bar, fields, rows))

    def note(self, text: str) -> None:
        """Print the text above the display."""
        self._live.console.print(text, highlight=False, markup=False)


def progress_on(console: Console) -> Progress:
    """Return a live display if the console is a terminal, and plain lines otherwise."""
    return LiveProgress(console) if console.is_terminal else PlainProgress()
