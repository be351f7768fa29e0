"""End a Python process whose Spark has died, because it would renew locks and acquire records for no purpose."""

import logging
import os
import signal
import threading

__all__ = ["exit_when_orphaned"]

_LOG = logging.getLogger(__name__)
_WATCH_INTERVAL_S = 1.0
_WATCHED: set[tuple[int, int]] = set()


def exit_when_orphaned(parent: int) -> None:
    """Send SIGTERM to this process when its parent has died; further calls for the same parent do nothing."""
    if (os.getpid(), parent) in _WATCHED:
        return
    _WATCHED.add((os.getpid(), parent))
    threading.Thread(target=_watch, args=(parent,), name="orphan-watchdog", daemon=True).start()


def _watch(parent: int) -> None:
    waiting = threading.Event()
    while os.getppid() == parent:
        waiting.wait(_WATCH_INTERVAL_S)
    _LOG.warning("Spark has ended, so process %d ends too; its records are redelivered", os.getpid())
    os.kill(os.getpid(), signal.SIGTERM)
