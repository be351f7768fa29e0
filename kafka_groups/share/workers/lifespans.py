"""Enters the lifespan of a worker: the context manager around a whole run, with what its handlers share."""

from contextlib import AsyncExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import name_of
from kafka_groups.share.workers.running.attempts import entered_before
from kafka_groups.share.workers.surroundings import Lifespan

if TYPE_CHECKING:
    from kafka_groups.share.workers.running.stop_signals import StopSignals

__all__ = ["enter_lifespan"]


async def enter_lifespan(
    stack: AsyncExitStack, lifespan: Lifespan | None, signals: "StopSignals | None" = None
) -> None:
    """Enter a worker's lifespan, to be left with a stack of context managers.

    Args:
        stack: Leaves it.
        lifespan: The lifespan, or None.
        signals: The signals that may end the start; None if no signal does.

    Raises:
        ConfigurationError: It returned no context manager, or one of an earlier run that serves only once.
        StartInterrupted: One of the signals has come.
    """
    if lifespan is None:
        return
    with nullcontext() if signals is None else signals.interrupting_code():
        manager: Any = lifespan()
        if (problem := entered_before(manager)) is not None:
            raise ConfigurationError(f"lifespan={name_of(lifespan)} {problem} for each run")
        if not hasattr(manager, "__aenter__"):
            if not hasattr(manager, "__enter__"):
                raise ConfigurationError(f"lifespan={name_of(lifespan)} returned {manager!r}: return a context manager")
            stack.enter_context(manager)
            return
    with nullcontext() if signals is None else signals.interrupting_awaits():
        await stack.enter_async_context(manager)
