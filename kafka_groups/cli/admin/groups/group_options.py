"""Options that select groups by type and state."""

from typing import Final

import click

from kafka_groups.cli.choices import AnyCase

__all__ = ["GROUP_TYPES", "state_option", "type_option"]

GROUP_TYPES: Final = ("classic", "consumer", "share", "streams")

_STATES: Final = (
    "Empty",
    "NotReady",
    "Assigning",
    "Reconciling",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
)

type_option: Final = click.option(
    "--type", "types", multiple=True, type=AnyCase(GROUP_TYPES), help="Only groups of this type. Repeatable."
)
state_option: Final = click.option(
    "--state", "states", multiple=True, type=AnyCase(_STATES), help="Only groups in this state. Repeatable."
)
