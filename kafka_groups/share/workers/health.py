"""The health of a worker, for probes and programs."""

from attrs import frozen

__all__ = ["HAS_STOPPED", "Health"]

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
