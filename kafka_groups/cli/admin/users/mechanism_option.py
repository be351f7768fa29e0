"""The option that names a mechanism of SASL."""

from typing import Final

import click

from kafka_groups.cli.choices import AnyCase

__all__ = ["mechanism_option"]

_MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")

mechanism_option: Final = click.option(
    "--mechanism",
    required=True,
    type=AnyCase(_MECHANISMS),
    help="The mechanism that the password is for (sasl.mechanism of the client).",
)
"""The option, which gives the command `mechanism`."""
