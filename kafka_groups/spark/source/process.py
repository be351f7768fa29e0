"""The process of a source: Spark's source runner, one for each run of a query.

Spark ends it with SIGTERM, or by closing its end of the socket. If the driver is killed, nothing ends it.
"""

import os
import signal
import threading
from collections.abc import Mapping
from types import FrameType

from kafka_groups.net.clock import SystemClock
from kafka_groups.net.repeated_signals import RepeatedSignals
from kafka_groups.processes.parent import exit_when_orphaned
from kafka_groups.spark.processes.process_logs import set_up_logging
from kafka_groups.spark.source.options import source_options
from kafka_groups.spark.source.shared_reading import SharedReading
from kafka_groups.spark.source.source import ShareSource

__all__ = ["exit_when_terminated", "source_of_this_process"]

_GRACE_S = 4.5
_TERMINATED = 128 + signal.SIGTERM


def source_of_this_process(options: Mapping[str, str], columns: tuple[str, ...]) -> ShareSource:
    """Return the process's source, and make it end within five seconds of SIGTERM or of its parent's end.

    Raises:
        ConfigurationError: An option is unknown or missing, or a value is invalid.
    """
    checked = source_options(options)
    set_up_logging(checked.log_level)
    shared = SharedReading(options, os.getppid(), SystemClock().now_ms())
    source = ShareSource(checked, columns, shared=shared)
    if threading.current_thread() is threading.main_thread():
        exit_when_terminated()
        exit_when_orphaned(os.getppid())
    return source


def exit_when_terminated() -> None:
    """Make SIGTERM end this process cleanly: Spark's loop then stops the reader, which leaves the group."""
    repeated = RepeatedSignals((signal.SIGTERM,))

    def terminate(_signal: int, _frame: FrameType | None) -> None:
        repeated.ran()
        _terminate()

    signal.signal(signal.SIGTERM, terminate)
    repeated.start()  # Spark's loop waits for its driver without a limit


def _terminate() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    last = threading.Timer(_GRACE_S, os._exit, (_TERMINATED,))
    last.daemon = True
    last.start()
    raise SystemExit(_TERMINATED)
