"""Delays as rows of a table, worst first, for the reports of both versions of the demo."""

from collections.abc import Mapping

from kafka_groups.cli.demo.flights import Delays

__all__ = ["DELAY_COLUMNS", "delay_rows"]

DELAY_COLUMNS = ("flights", "cancelled", "mean departure delay", "mean arrival delay")
"""The columns after the name."""


def delay_rows(delays: Mapping[str, Delays]) -> list[tuple[str, ...]]:
    """Return a row for each name, ordered by mean arrival delay."""
    ordered = sorted(delays.items(), key=lambda item: item[1].mean_arrival_delay or 0.0, reverse=True)
    return [
        (
            name,
            f"{sums.flights:,}",
            f"{sums.flights - sums.departed:,}",
            _minutes(sums.mean_departure_delay),
            _minutes(sums.mean_arrival_delay),
        )
        for name, sums in ordered
    ]


def _minutes(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.1f}"
