"""`share-consume --ask`: a key for each record."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from kafka_groups.cli.records.interruption import Interruption
from kafka_groups.types import AcknowledgeType

__all__ = ["asked_acknowledgement"]

_KEYS: Final[Mapping[str, AcknowledgeType]] = MappingProxyType({
    "a": AcknowledgeType.ACCEPT,
    "r": AcknowledgeType.RELEASE,
    "x": AcknowledgeType.REJECT,
})  # fmt: skip
_QUIT: Final = ("q", "\x04")
_QUESTION: Final = "[a]ccept, [r]elease, [x] reject, [q]uit? "


def asked_acknowledgement(interruption: Interruption) -> AcknowledgeType | None:
    """Ask for one key on the terminal. Return what it stands for; None to quit.

    Raises:
        InterruptedCommandError: A signal came.
    """
    click.echo(_QUESTION, err=True, nl=False)
    while True:
        key = _typed(interruption)
        if key in _QUIT:
            click.echo("quit", err=True)
            return None
        if kind := _KEYS.get(key):
            click.echo(kind.name.lower(), err=True)
            return kind


def _typed(interruption: Interruption) -> str:
    try:
        with interruption.blocking():
            return click.getchar().lower()
    except (EOFError, KeyboardInterrupt):  # Ctrl-D, the end of the terminal, and Ctrl-C, which is a key here
        return _QUIT[0]
