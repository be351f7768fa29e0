"""The end of commands that print records: errors of one line, and signals."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import click

from kafka_groups.cli.records.interruption import InterruptedCommandError, Interruption, nobody
from kafka_groups.errors import ConfigurationError, KafkaGroupsError, WakeupError

__all__ = ["run_until_struck", "unless_stopped"]

T = TypeVar("T")


def run_until_struck(interruption: Interruption, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop of its own, and cancel it when a signal comes. It may still close what is open.

    Raises:
        asyncio.CancelledError: A signal has come.
    """

    async def run() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine
        interruption.on_strike = lambda: loop.call_soon_threadsafe(task.cancel)
        if interruption.has_struck:
            task.cancel()
        return await work

    try:
        return asyncio.run(run())
    finally:
        interruption.on_strike = nobody


def unless_stopped(interruption: Interruption, work: Callable[[], T], *, runs_on: bool, stopped: T) -> T:
    """Return the result of some work, and turn its errors into those of commands.

    Args:
        interruption: Knows whether there was a signal.
        work: The work.
        runs_on: Whether the command runs until it is stopped, so that a signal is no failure.
        stopped: The result after a signal.

    Raises:
        click.ClickException: A client has failed.
        click.Abort: A signal came before the command was done.
    """
    try:
        return work()
    except (InterruptedCommandError, WakeupError, asyncio.CancelledError) as error:
        if not interruption.has_struck:
            raise
        if not runs_on:
            raise click.Abort from error
        return stopped
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except KafkaGroupsError as error:
        raise click.ClickException(str(error)) from error
