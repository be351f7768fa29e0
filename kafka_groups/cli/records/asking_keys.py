"""`share-consume --ask`: a key for each record."""

import os
import sys
import termios
import tty
from collections.abc import Mapping
from contextlib import suppress
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
    """Return the next key; that to quit if the terminal was closed. Keys that were typed ahead count."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        # Not click.getchar: what was typed before it waits is lost.
        tty.setcbreak(terminal, termios.TCSADRAIN)
        with interruption.blocking():
            return os.read(terminal, 1).decode(errors="replace").lower() or _QUIT[0]
    except OSError:  # it was closed, and nobody can type
        return _QUIT[0]
    finally:
        with suppress(termios.error):  # as above
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
