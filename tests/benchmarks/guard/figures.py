"""What the guard compares and what it concludes: pure, it measures nothing."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, Final

from attrs import define, field, frozen
from rich.table import Table

from kafka_groups.cli.output import table

__all__ = ["NOW", "THEN", "VERSIONS", "Case", "Compared", "Row", "as_json", "exit_status", "figure_at", "guard_table"]

NOW, THEN = "now", "then"
VERSIONS: Final = (NOW, THEN)


@frozen
class Row:
    """A line of the table.

    Attributes:
        name: The headline.
        unit: Of its figure.
        path: Where a measurement has the figure; a mapping at its end counts as the sum of its values.
        is_cost: Whether less is better.
    """

    name: str
    unit: str
    path: tuple[str, ...]
    is_cost: bool = False


@frozen
class Case:
    """One thing that is run, and the rows that come of it.

    Attributes:
        rows: At least one.
        rounds: How often each version runs it.
        arguments: What to run, as its part understands it.
        needs: What a checkout must have so that it can be run, each as `module:name`.
        warm_up_rounds: Rounds before those, which are not counted.
    """

    rows: tuple[Row, ...]
    rounds: int
    arguments: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    warm_up_rounds: int = 0


@define
class Compared:
    """The figures of one row.

    Attributes:
        row: The row.
        taken: The figures of each version, in the order of the rounds.
        lacking: Versions that cannot measure it.
        error: Why it could not be measured although it should; empty if it could.
    """

    row: Row
    taken: dict[str, list[float]] = field(factory=lambda: {version: [] for version in VERSIONS})
    lacking: set[str] = field(factory=set)
    error: str = ""

    @property
    def ratios(self) -> list[float]:
        """Now over then of each round, or then over now for a cost: more than 1 is better."""
        pairs = zip(self.taken[NOW], self.taken[THEN], strict=False)
        return [then / now if self.row.is_cost else now / then for now, then in pairs]

    def figure(self, version: str) -> float | None:
        """The mean of the better half of a version's rounds, or None without rounds.

        What else a machine does can only make a round worse, so the better ones have less of it.
        """
        best_first = sorted(self.taken[version], reverse=not self.row.is_cost)
        return mean(best_first[: (len(best_first) + 1) // 2]) if best_first else None

    @property
    def ratio(self) -> float | None:
        """The ratio of the versions' figures, or None if a version lacks the row, or it failed."""
        now, then = self.figure(NOW), self.figure(THEN)
        if self.error or self.lacking or now is None or then is None:
            return None
        return then / now if self.row.is_cost else now / then

    def is_bad(self, least: float) -> bool:
        """Whether it failed, or is worse than allowed."""
        return bool(self.error) or (self.ratio is not None and self.ratio < least)


def figure_at(measured: Any, path: Sequence[str]) -> float | None:
    """Return a figure of a measurement, or None if it does not have it."""
    for name in path:
        if isinstance(measured, list) and name.isdecimal() and int(name) < len(measured):
            measured = measured[int(name)]
        elif isinstance(measured, Mapping) and name in measured:
            measured = measured[name]
        else:
            return None
    return float(sum(measured.values()) if isinstance(measured, Mapping) else measured)


def guard_table(compared: Sequence[Compared], commit: str, least: float) -> Table:
    """A row for each headline."""
    columns = ("headline", "unit", "then", "now", "ratio", "of the rounds", "rounds", "")
    title = f"Now against {commit}: a ratio above 1 is better, whatever the unit; below {least:g} it fails"
    made = table(title, columns, [_cells(each, least) for each in compared])
    made.columns[1].justify = "left"
    return made


def _cells(compared: Compared, least: float) -> tuple[str, ...]:
    figures = (_figure(compared, version) for version in (THEN, NOW))
    name, ratio = compared.row.name, compared.ratio
    if compared.error:
        return (name, compared.row.unit, *figures, "", "", "", "ERROR")
    if ratio is None:
        return (name, compared.row.unit, *figures, "missing", "", "", "")
    spread = f"{min(compared.ratios):.2f} to {max(compared.ratios):.2f}"
    return (name, compared.row.unit, *figures, f"{ratio:.2f}", spread, str(len(compared.ratios)),
            "WORSE" if ratio < least else "")  # fmt: skip


def _figure(compared: Compared, version: str) -> str:
    if version in compared.lacking:
        return "missing"
    figure = compared.figure(version)
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure >= 1_000 else f"{figure:.3g}"


def as_json(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """All figures of all rows."""
    return [
        {
            "name": each.row.name,
            "unit": each.row.unit,
            "ratio": each.ratio,
            "figures": each.taken,
            "missing": sorted(each.lacking),
            "error": each.error,
        }
        for each in compared
    ]


def exit_status(compared: Sequence[Compared], least: float) -> int:
    """1 if a row failed or is worse than allowed; rows that a version lacks do not matter."""
    return int(any(each.is_bad(least) for each in compared))
