"""Figures beside what they should be."""

from attrs import frozen

__all__ = ["Aim"]


@frozen
class Aim:
    """A figure beside what it should be.

    Attributes:
        name: What was measured.
        figure: The figure.
        limit: What it should be at most. None: it is only reported.
        is_least: Whether it should be the limit at least.
    """

    name: str
    figure: float
    limit: float | None = None
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the figure is what it should be."""
        if self.limit is None:
            return True
        return self.figure >= self.limit if self.is_least else self.figure <= self.limit

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table: the name, the figure, the aim, and whether it is met."""
        if self.limit is None:
            return self.name, f"{self.figure:,.3g}", "", ""
        sign = "≥" if self.is_least else "≤"
        return self.name, f"{self.figure:,.3g}", f"{sign} {self.limit:,g}", "yes" if self.is_met else "no"
