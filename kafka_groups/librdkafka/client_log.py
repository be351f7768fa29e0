"""The log of librdkafka's clients: one for all of a process, without the flood of lines that an outage makes.

A client of librdkafka logs each connection that fails. It tries ten times a second if it has lost all brokers, and an
application has several clients for each of its threads.
"""

import logging
import os
import re
from typing import Final

from kafka_groups.errors.texts import sentences
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.net.rate_limited_log import RateLimitedLog

__all__ = ["ClientLog", "process_log"]

_log = logging.getLogger("kafka_groups.librdkafka")

_CONNECTION: Final = "FAIL"
"""The facility of lines about connections."""
_OPERATIONAL: Final = re.compile(r"authenticat|SSL|certificate|SASL")
"""Failed connections that do not mend themselves, as far as anybody knows: they stay errors."""
_THREAD: Final = re.compile(r"^\[thrd:.*?\]: ")
_NODE: Final = re.compile(r"(?:\w+://)?(\S+:\d+)(?:/\w+)?")
_NUMBER: Final = re.compile(r"\d+")
_QUIET_MS: Final = 60_000
"""The time without a failure after which a broker's outage is over or no client wants the broker any more.

A client that fails in the same way again logs that every 30 seconds, and waits for some 10 seconds between attempts.
"""


class ClientLog:
    """Takes the place of a logger for clients of librdkafka, from any thread.

    A rate-limited log repeats warnings and errors at growing intervals, counted over all clients. Connections that fail
    have a subject for each broker. They are warnings, because librdkafka makes new ones.

    Args:
        clock: Tells the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._log_limited = RateLimitedLog(clock)
        self._failed_ms: dict[str, int] = {}

    def log(self, level: int, _format: str, facility: str, client: str, text: str) -> None:
        """Log a line of a client. confluent-kafka calls it as it calls a logger.

        Args:
            level: The level.
            facility: The kind of line, such as `FAIL`.
            client: The name that librdkafka gives the client.
            text: The line.
        """
        text = _THREAD.sub("", text)
        if level < logging.WARNING:
            _log.log(level, "%s: %s: %s", client, facility, text)
        elif facility == _CONNECTION:
            self._connection_failed(level, client, text)
        else:
            kind = _NUMBER.sub("", text)
            self._log_limited.warn(_log, facility, "%s: %s: %s", client, facility, text, kind=kind, level=level)
        self.look()

    def look(self) -> None:
        """Log which brokers no connection has failed to for a minute. Does nothing while none has failed."""
        if not self._failed_ms:
            return
        earliest_ms = self._clock.now_ms() - _QUIET_MS
        for node in [node for node, failed_ms in [*self._failed_ms.items()] if failed_ms <= earliest_ms]:
            if self._failed_ms.pop(node, None) is not None:  # another thread may have been first
                left_out = self._log_limited.left_out(node)
                self._log_limited.settled(node)
                _log.info(
                    "No connection to %s has failed for a minute (%d more since the last warning)", node, left_out
                )

    def _connection_failed(self, level: int, client: str, text: str) -> None:
        node = _node_in(text)
        self._failed_ms[node] = self._clock.now_ms()
        if _OPERATIONAL.search(text):
            self._log_limited.warn(_log, node, "%s: %s", client, text, kind="refused", level=level)
        else:
            self._log_limited.warn(
                _log, node, "%s", sentences(f"{client}: {text}", "It tries again"), level=min(level, logging.WARNING)
            )


def _node_in(text: str) -> str:
    """Return the broker's address in a line. Those about coordinators have it behind the coordinator's name."""
    for part in text.split(": ")[:2]:
        if (node := _NODE.fullmatch(part)) is not None:
            return node[1]
    return text.split(": ", 1)[0]


def process_log() -> ClientLog:
    """Return the log of all clients of this process."""
    return _of_process


_of_process = ClientLog(SystemClock())


def _renew() -> None:
    global _of_process  # noqa: PLW0603 - a thread of the parent may have held its lock at the fork
    _of_process = ClientLog(SystemClock())


os.register_at_fork(after_in_child=_renew)
