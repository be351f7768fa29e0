"""Reports of held records: while the sink is down, workers ask the driver whether to try now or to end.

A task cannot tell Spark anything before it ends, and during an outage it does not end. So a waiting worker opens a
connection to the driver's host for each report, and the driver's answer reaches workers on every host. If the driver
cannot be reached, the worker still waits.
"""

import hmac
import json
import logging
import os
import secrets
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Self

from attrs import asdict, define, field, frozen

from kafka_groups.net.clock import Clock
from kafka_groups.share.workers.rules.failures.outages import Outage
from kafka_groups.spark.failures.go_on import GoOn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["HeldRecords", "OutageAddress", "OutageAnswer", "OutageClient", "OutageServer"]

_LOG = logging.getLogger(__name__)
_TIMEOUT_S: Final = 2.0
_LONGEST_LINE: Final = 10_000


@frozen(kw_only=True)
class HeldRecords:
    """The records that a worker holds because records fail and nothing succeeds.

    Attributes:
        worker: Number of the task's partition.
        host: The host on which it runs.
        pid: The process.
        held: The number of records that it holds.
        failures: The number of failed tries.
        failing_since: Time of the first failure, in seconds as `time.time()` returns it.
        next_try: Time of the next try, in seconds as `time.time()` returns it.
        error: The last error in one line.
    """

    worker: int
    host: str
    pid: int
    held: int
    failures: int
    failing_since: float
    next_try: float
    error: str

    @classmethod
    def of(cls, outage: Outage, clock: Clock, *, worker: int, held: int, next_try_ms: int, error: str) -> Self:
        """Describe what this process holds during an outage."""
        now_ms, now_s = clock.now_ms(), clock.wall_ms() / 1000
        since_ms = now_ms if outage.failing_since_ms is None else outage.failing_since_ms
        return cls(
            worker=worker,
            host=socket.gethostname(),
            pid=os.getpid(),
            held=held,
            failures=outage.failures,
            failing_since=now_s - (now_ms - since_ms) / 1000,
            next_try=now_s + (next_try_ms - now_ms) / 1000,
            error=error,
        )


@frozen
class OutageAddress:
    """The address where the driver listens, and the secret that authenticates a worker."""

    host: str
    port: int
    token: str = field(repr=False)


@frozen
class OutageAnswer:
    """The driver's answer to the report of a waiting worker.

    Attributes:
        go_on: The number of times that an operator reported the sink as fixed.
        is_ending: True if the run ends: then workers release records that may be redelivered.
    """

    go_on: int = 0
    is_ending: bool = False


class OutageServer:
    """The driver's end.

    Args:
        go_on: Counts how often an operator reported the sink as fixed.
    """

    def __init__(self, go_on: GoOn) -> None:
        self.go_on = go_on
        self._is_ending = False
        self._held: dict[int, HeldRecords] = {}

    def __reduce__(self) -> tuple[type["OutageServer"], tuple[GoOn]]:
        # With Spark Connect, `run` is called in another process, which listens itself.
        return OutageServer, (self.go_on,)

    @property
    def held(self) -> tuple[HeldRecords, ...]:
        """The records that workers hold, ordered by worker number; empty while everything succeeds."""
        return tuple(held for _, held in sorted(dict(self._held).items()))

    def end(self) -> None:
        """Ask waiting workers to end."""
        self._is_ending = True

    @contextmanager
    def listening(self, session: "SparkSession") -> Iterator[OutageAddress]:
        """Listen for the workers of one run in this session; yields where they report.

        A query that is stopped leaves no socket behind, and nothing that its workers held.
        """
        host = session.conf.get("spark.driver.host", None) or socket.gethostname()
        bound = session.conf.get("spark.driver.bindAddress", None) or host
        token = secrets.token_hex(16)
        server = _Server((bound, 0), lambda line: self._answered(token, line))
        threading.Thread(target=server.serve, name="kafka-share-outages", daemon=True).start()
        self._held.clear()
        try:
            yield OutageAddress(host, server.server_address[1], token)
        finally:
            server.end()
            self._held.clear()

    def _answered(self, token: str, line: bytes) -> bytes:
        """Note a report and return the answer. A sender without the secret gets no answer."""
        report = _report_in(line)
        # The port is open to everybody who can reach the host. A report from elsewhere must not end the run.
        if not hmac.compare_digest(str(report.pop("token", "")).encode(), token.encode()):
            return b""
        number = int(report["worker"])
        if report.get("held"):
            self._held[number] = HeldRecords(**report)
        else:
            self._held.pop(number, None)
        return json.dumps(asdict(OutageAnswer(self.go_on.asked, self._is_ending))).encode() + b"\n"


def _report_in(line: bytes) -> dict[str, Any]:
    """Read a report; empty if it is not from a worker."""
    try:
        report = json.loads(line)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], answered: Callable[[bytes], bytes]) -> None:
        super().__init__(address, _Handler)
        self.answered = answered
        self._place = address[0], self.server_address[1]
        self._is_over = False

    def serve(self) -> None:
        """Answer until `end` is called, then close the socket."""
        with self:
            while not self._is_over:
                self.handle_request()

    def end(self) -> None:
        """Have `serve` return: it waits for a connection, so this opens one."""
        self._is_over = True
        with suppress(OSError):  # it has seen the flag already
            socket.create_connection(self._place, _TIMEOUT_S).close()


class _Handler(socketserver.StreamRequestHandler):
    timeout = _TIMEOUT_S

    def handle(self) -> None:
        server: Any = self.server
        self.wfile.write(server.answered(self.rfile.readline(_LONGEST_LINE)))


@define
class OutageClient:
    """The worker's end.

    Attributes:
        address: The driver's address; None if the driver does not listen.
        worker: Number of the worker.
    """

    address: OutageAddress | None
    worker: int
    _is_lost: bool = False

    def tell(self, held: HeldRecords | None) -> OutageAnswer | None:
        """Report what is held, None for nothing more. Returns the driver's answer; None if it cannot be reached."""
        if self.address is None:
            return None
        report = {"worker": self.worker, "held": 0} if held is None else asdict(held)
        try:
            with socket.create_connection((self.address.host, self.address.port), _TIMEOUT_S) as line:
                line.sendall(json.dumps({**report, "token": self.address.token}).encode() + b"\n")
                answer = line.makefile("rb").readline(_LONGEST_LINE)
            return OutageAnswer(**json.loads(answer))
        except (OSError, ValueError) as error:
            # The driver may be gone, or a firewall may be in between. The worker only lacks an operator's answer then,
            # and tries again by itself. It warns once, since it reports twice a second.
            if not self._is_lost:
                self._is_lost = True
                _LOG.warning(
                    "The driver at %s:%d cannot learn what this worker holds, and cannot end its waits: %s",
                    self.address.host,
                    self.address.port,
                    error,
                )
            return None
