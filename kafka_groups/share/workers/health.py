"""The health of a worker, for probes and programs."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.errors import BrokerError, NetworkError
from kafka_groups.errors.texts import named

__all__ = ["HAS_STOPPED", "Health", "stopped_health"]

HAS_STOPPED = "the worker has stopped"
"""The reason why a worker is not ready after `stop` or a signal."""


@frozen
class Health:
    """The health of a worker.

    Attributes:
        is_live: False if a restart of the process is the only remedy: an attempt hangs and cannot be stopped, or an
            error has stopped the worker.
        is_ready: Whether all handlers make progress. False if the worker has stopped.
        reasons: Why it is not ready; empty if it is.
    """

    is_live: bool = True
    is_ready: bool = True
    reasons: tuple[str, ...] = ()


def stopped_health(errors: Mapping[str, Exception]) -> Health:
    """Return the health of a worker that errors have stopped, by the names of their handlers."""
    reasons = [f"handler {name}: the worker was stopped by {_shown(error)}" for name, error in errors.items()]
    return Health(is_live=False, is_ready=False, reasons=tuple(reasons))


def _shown(error: Exception) -> str:
    # Anybody may read the health at the probe address. The text of a handler's error may contain the value of a record;
    # that of a broker's or of the network's does not.
    return named(error) if isinstance(error, (BrokerError, NetworkError)) else type(error).__name__
