"""Logs of Spark's own Python processes: they go to standard error with time, level and logger, as Spark's own do.

Your program configures logging for itself. Python workers, the process of the source and that of `foreachBatch` on a
Spark Connect server are started by Spark, and nothing configures logging there: Python would print only warnings, as
bare messages.
"""

import logging
import sys
import time
from typing import Final

__all__ = ["LEVELS", "is_process_of_spark", "set_up_logging"]

LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_LOGGER: Final = "kafka_groups"
_FORMAT: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s [pid %(process)d] %(message)s"


class SparkProcessHandler(logging.Handler):
    """Writes to standard error, unless something else in this process has configured the root logger."""

    def __init__(self) -> None:
        super().__init__()
        formatter = logging.Formatter(_FORMAT, "%Y-%m-%dT%H:%M:%S")
        formatter.converter = time.gmtime  # executors may be in different time zones
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if logging.getLogger().handlers:
            return  # the root logger writes it
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:  # as all handlers do: an error of logging must not stop the work
            self.handleError(record)


def is_process_of_spark() -> bool:
    """Return whether Spark started this process, and not a user."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return str(getattr(spec, "name", "")).startswith("pyspark.")


def set_up_logging(level: str) -> None:
    """Let the loggers of this package write to standard error from a level on. Does nothing in a user's own process.

    Args:
        level: One of `LEVELS`.
    """
    if not is_process_of_spark():
        return
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(handler, SparkProcessHandler) for handler in logger.handlers):
        logger.addHandler(SparkProcessHandler())
    logger.setLevel(level)
