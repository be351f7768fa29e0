"""Commands whose clients log nothing, as what does not pass becomes an error of the command."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet_clients"]


@contextmanager
def quiet_clients() -> Iterator[None]:
    """Log no warnings of clients in a block."""
    log = logging.getLogger("kafka_groups")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
