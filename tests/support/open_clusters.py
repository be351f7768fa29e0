"""Embedded clusters that run on a thread of this process."""

import threading

__all__ = ["open_clusters"]

_THREAD = "embedded-cluster"


def open_clusters() -> list[threading.Thread]:
    """Return the threads of the clusters that run."""
    return [thread for thread in threading.enumerate() if thread.name == _THREAD]
