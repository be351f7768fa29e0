"""Tracebacks in logs, cut like messages: the text of an exception of the user's code may have megabytes."""

import logging

from kafka_groups.errors.local import KafkaGroupsError
from kafka_groups.errors.texts import traceback_of

__all__ = ["cut_tracebacks", "log_end"]


def log_end(log: logging.Logger, what: str, error: BaseException) -> None:
    """Log the error that ends something. One that says what to do, such as a missing right, needs no traceback.

    Args:
        log: The log.
        what: What ends, as a sentence without its full stop.
        error: The error.
    """
    if isinstance(error, KafkaGroupsError) and error.says_remedy:
        log.error("%s: %s", what, error)
    else:
        log.error(what, exc_info=error)


def cut_tracebacks(log: logging.Logger) -> None:
    """Have a logger cut its tracebacks, for all handlers that get its records.

    The record keeps the exception itself, for handlers that send it elsewhere.
    """
    if _CUTS not in log.filters:
        log.addFilter(_CUTS)


class _CutTracebacks(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not record.exc_text:
            record.exc_text = traceback_of(error).rstrip("\n")  # formatters take the text that is there already
        return True


_CUTS = _CutTracebacks()
