"""A real Kafka with one node as a child process, for tests that must not rely on the embedded broker."""

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Self

from kafka_groups.errors import ConfigurationError, ProtocolError
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import decode_response, encode_request
from kafka_groups.protocol.framing import frame
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest
from kafka_groups.testing.class_archive import archive_options, make_archive
from kafka_groups.testing.kafka_jars import (
    DEFAULT_KAFKA_VERSION,
    RealKafkaUnavailableError,
    find_tool,
    kafka_jars,
    missing_tools,
)
from kafka_groups.types import member_id_of, random_uuid

__all__ = ["QUICK_START", "SINGLE_NODE_PROPERTIES", "KafkaProcess", "free_ports", "kafka_answers"]

SINGLE_NODE_PROPERTIES: Mapping[str, str] = MappingProxyType({
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.share.initialize.retry.interval.ms": "1000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "0",
})  # fmt: skip
"""Settings of a one-node cluster, and lower bounds that let tests wait for seconds instead of minutes."""

QUICK_START: tuple[str, ...] = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that starts Kafka quickly, and takes little of a machine that tests share with it."""

_OLDEST_RELEASE = (3, 7)
_FIRST_WITH_DYNAMIC_QUORUMS = (3, 9)  # KIP-853: before, each node is told who the controllers are
_HOST = "127.0.0.1"
_FIRST_PORT, _LAST_PORT = 20_000, 31_999  # below the ports that Linux gives to outgoing connections
_START_ATTEMPTS = 3
_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 30.0
_ENDED_BY_SIGTERM = 128 + signal.SIGTERM  # the status that a JVM ends with when it has closed everything
_LOG_TAIL_LINES = 40
_LOGGING = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")
# Kills Kafka when the pipe on its standard input ends, and so also when the test run is killed.
_WATCHED = 'exec 3<&0; (read -r _ <&3; kill -KILL $$) & exec 3<&- </dev/null; exec "$@"'


class KafkaProcess:
    """One Kafka node in KRaft mode on loopback, started from Maven Central's jars.

    Use it as a context manager, or call `start` and `close`. Data and logs live in a temporary directory that
    `close` removes; Kafka also ends when this process dies. Nothing here is thread-safe.

    The project's tests start 3.7.2, 3.9.1 and the releases from 4.2 on. It does not start clusters of several nodes,
    nodes with ZooKeeper, releases before 3.7, or versions that Maven Central does not have.

    ```python
    with KafkaProcess("4.4.0", {"group.share.max.size": "2"}) as kafka:
        consumer = KafkaShareConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="g")
    ```

    Args:
        version: A release of Kafka, 3.7 or newer. Streams and share groups need 4.2 or newer; what an older release
            does not have, such as the settings of these groups, is ignored.
        properties: Entries of `server.properties`, over those of `SINGLE_NODE_PROPERTIES`. None removes one of those,
            so that Kafka's default applies.
        listeners: Security protocols of more listeners, by name, such as `{"SECURE": "SASL_SSL"}`; `address` tells
            their ports. Configure them with properties that begin with `listener.name.secure.`. The listener
            PLAINTEXT is always there.
        features: Levels of features to format the storage with, such as `{"share.version": 1}`; the release's
            own defaults otherwise. Releases before 3.9 take none.
        java_options: Options for the JVM, before the class path. With the default, Kafka starts quickly and needs
            little while it is idle, but is slower under load: measure with `("-Xmx1g",)`.
        keep_log_in: Directory into which `close` copies the broker's log; without one, the log is kept only
            when Kafka does not start, and the error says where.

    Raises:
        ConfigurationError: The version is not a release, it is older than 3.7, or it takes no features.
    """

    def __init__(
        self,
        version: str = DEFAULT_KAFKA_VERSION,
        properties: Mapping[str, str | None] | None = None,
        *,
        listeners: Mapping[str, str] | None = None,
        features: Mapping[str, int] | None = None,
        java_options: Sequence[str] = QUICK_START,
        keep_log_in: Path | None = None,
    ) -> None:
        self.version = version
        self._has_dynamic_quorum = _release(version) >= _FIRST_WITH_DYNAMIC_QUORUMS
        self.host = _HOST
        self.port = 0
        self._properties = {**SINGLE_NODE_PROPERTIES, **(properties or {})}
        self._listeners = dict(listeners or {})
        self._ports: dict[str, int] = {}
        self._features = dict(features or {})
        if self._features and not self._has_dynamic_quorum:
            raise ConfigurationError(f"Kafka {version} formats storages without features: leave out {self._features}.")
        self._java_options = tuple(java_options)
        self._keep_log_in = keep_log_in
        self._directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._rng = random.Random()

    def __repr__(self) -> str:
        state = f"at {self.bootstrap_servers}" if self.is_running else "stopped"
        return f"<KafkaProcess {self.version} {state}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and self._directory is not None:
            error.add_note(f"end of Kafka's log:\n{self.log_tail()}")
        self.close()

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of the node; the same after `restart`."""
        return f"{self.host}:{self.port}"

    def address(self, listener: str) -> str:
        """`host:port` of one of the `listeners`; the same after `restart`."""
        return f"{self.host}:{self._ports[listener]}"

    @property
    def is_running(self) -> bool:
        """True if the process is running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Resolve the jars, format a storage, start Kafka and wait until it serves requests (2 s or more).

        The first start of a version on a machine also starts and stops another one, to make the archive of its classes.

        Raises:
            RealKafkaUnavailableError: Java or Maven are missing, or Kafka does not start; the message has the
                end of its log.
        """
        if self._directory is not None:
            raise RealKafkaUnavailableError(f"{self!r} was started before; use restart, or close it first")
        missing = missing_tools()
        if missing is not None:
            raise RealKafkaUnavailableError(missing)
        jars = kafka_jars(self.version)
        make_archive(jars, _java(), self._start_once)
        self._start(jars)

    def _start_once(self, options: tuple[str, ...]) -> bool:
        """Start and stop a Kafka of the same version. Return whether the JVM ended by itself."""
        other = KafkaProcess(self.version, java_options=(*QUICK_START, *options))
        other._start(kafka_jars(self.version))
        try:
            return other._end(signal.SIGTERM) == _ENDED_BY_SIGTERM
        finally:
            other.close()

    def _start(self, jars: Path) -> None:
        for attempt in range(1, _START_ATTEMPTS + 1):
            self._directory = Path(tempfile.mkdtemp(prefix=f"kafka-{self.version}-"))
            self._log.touch()
            try:
                self._write_properties()
                self._format_storage(jars)
                self._launch(jars)
                return
            except RealKafkaUnavailableError as error:
                clash = "Address already in use" in self._log.read_text(encoding="utf-8", errors="replace")
                if not clash or attempt == _START_ATTEMPTS:
                    self._note_log(error)
                    self.close()
                    raise
                self.close()
            except BaseException:  # interrupted: nothing may stay behind
                self.close()
                raise

    def stop(self) -> None:
        """Stop Kafka cleanly and keep its storage. `restart` starts it again."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill Kafka at once, as a crash would, and keep its storage.

        `restart` brings it back after some 10 s: the controller first lets the old broker's session run out.
        """
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop Kafka in good order if it runs, and start it again on the same port with the same storage.

        Raises:
            RealKafkaUnavailableError: It was never started, or does not start again.
        """
        if self._directory is None:
            raise RealKafkaUnavailableError(f"{self!r} was never started")
        self.stop()
        self._launch(kafka_jars(self.version))

    def close(self) -> None:
        """Kill Kafka and remove its files. Does nothing if this is already done."""
        self.kill()
        if self._directory is None:
            return
        if self._keep_log_in is not None:
            self._copy_log(self._keep_log_in)
        shutil.rmtree(self._directory)
        self._directory = None

    def log_tail(self, lines: int = _LOG_TAIL_LINES) -> str:
        """Return the last lines of the broker's log."""
        if self._directory is None or not self._log.exists():
            return ""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    # ------------------------------------------------------------------------------------------- steps

    @property
    def _home(self) -> Path:
        if self._directory is None:
            raise RealKafkaUnavailableError(f"{self!r} has no storage")
        return self._directory

    @property
    def _log(self) -> Path:
        return self._home / "server.log"

    def _write_properties(self) -> None:
        self.port, controller_port, *others = free_ports(self._rng, 2 + len(self._listeners))
        self._ports = dict(zip(self._listeners, others, strict=True))
        clients = ",".join(f"{name}://{_HOST}:{port}" for name, port in {"PLAINTEXT": self.port, **self._ports}.items())
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **self._listeners}
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            **self._controller(f"{_HOST}:{controller_port}"),
            "listeners": f"{clients},CONTROLLER://{_HOST}:{controller_port}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self._home / "data"),
            **self._properties,
        }
        text = "".join(f"{name}={value}\n" for name, value in properties.items() if value is not None)
        (self._home / "server.properties").write_text(text, encoding="utf-8")

    def _controller(self, address: str) -> dict[str, str]:
        if self._has_dynamic_quorum:
            return {"controller.quorum.bootstrap.servers": address}
        return {"controller.quorum.voters": f"1@{address}"}

    def _format_storage(self, jars: Path) -> None:
        features = [part for name, level in self._features.items() for part in ("--feature", f"{name}={level}")]
        command = self._java(
            jars, "kafka.tools.StorageTool", "format", "--cluster-id", self._cluster_id(),
            *(("--standalone",) if self._has_dynamic_quorum else ()),
            "--config", str(self._home / "server.properties"), *features, options=("-XX:TieredStopAtLevel=1",),
        )  # fmt: skip
        try:
            with self._log.open("ab") as log:
                subprocess.run(  # noqa: S603 - the command is ours
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True, timeout=_START_TIMEOUT_S
                )
        except subprocess.SubprocessError as error:
            raise RealKafkaUnavailableError(f"formatting the storage of Kafka {self.version} failed") from error

    def _cluster_id(self) -> str:
        cluster_id = member_id_of(random_uuid(self._rng))
        return self._cluster_id() if cluster_id.startswith("-") else cluster_id  # it would read as an option

    def _launch(self, jars: Path) -> None:
        properties = str(self._home / "server.properties")
        command = self._java(jars, "kafka.Kafka", properties, options=self._java_options)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours
                ["/bin/sh", "-c", _WATCHED, "kafka", *command],
                stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, cwd=self._home,
            )  # fmt: skip
        self._wait_until_it_serves(self._process)

    def _java(self, jars: Path, main_class: str, *arguments: str, options: Sequence[str]) -> list[str]:
        java = _java()
        return [java, *_LOGGING, *options, *archive_options(jars, java), "-cp", f"{jars}/*", main_class, *arguments]

    def _wait_until_it_serves(self, process: "subprocess.Popen[bytes]") -> None:
        clock = SystemClock()
        deadline_ms = clock.now_ms() + int(_START_TIMEOUT_S * 1000)
        while not kafka_answers(self.host, self.port):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
            if process.poll() is not None:
                raise RealKafkaUnavailableError(f"Kafka {self.version} ended with status {process.returncode}")
            if clock.now_ms() > deadline_ms:
                raise RealKafkaUnavailableError(f"Kafka {self.version} did not serve within {_START_TIMEOUT_S} s")

    # --------------------------------------------------------------------------------------------- ends

    def _end(self, signal_number: signal.Signals) -> int | None:
        """End the process. Return its status if it was one of its own."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.poll() is None:
            process.send_signal(signal_number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_STOP_TIMEOUT_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the watching shell too
        process.wait()
        _close_pipe(process.stdin)
        return process.returncode

    def _note_log(self, error: RealKafkaUnavailableError) -> None:
        kept = self._copy_log(self._keep_log_in or Path(tempfile.mkdtemp(prefix="kafka-log-")))
        error.add_note(f"its log is kept in {kept}; the end of it:\n{self.log_tail()}")

    def _copy_log(self, directory: Path) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        kept = directory / f"kafka-{self.version}-{self.port}.log"
        shutil.copyfile(self._log, kept)
        return kept


def _release(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version.

    Raises:
        ConfigurationError: It is not a version that can be started.
    """
    found = re.match(r"(\d+)\.(\d+)\.", version)
    if found is None:
        raise ConfigurationError(
            f"Invalid version of Kafka {version!r}: name a release, such as {DEFAULT_KAFKA_VERSION}."
        )
    release = int(found[1]), int(found[2])
    if release < _OLDEST_RELEASE:
        oldest = ".".join(map(str, _OLDEST_RELEASE))
        raise ConfigurationError(f"KafkaProcess cannot start Kafka {version}: name a release from {oldest} on.")
    return release


def _java() -> str:
    return find_tool("java") or "java"


def kafka_answers(host: str, port: int, *, timeout_s: float = 5.0) -> bool:
    """Return whether a Kafka broker at the address serves requests and knows at least one live broker, itself."""
    requests = ((ApiVersionsRequest(), ApiKey.API_VERSIONS, 0), (MetadataRequest(topics=()), ApiKey.METADATA, 4))
    try:
        with (
            socket.create_connection((host, port), timeout=timeout_s) as connection,
            connection.makefile("rb") as answers,
        ):
            for message, key, version in requests:
                connection.sendall(frame(encode_request(message, version, 0, "kafka-groups")))
                response = decode_response(_read_frame(answers), key, version)
    except (OSError, ProtocolError):
        return False
    return bool(response.brokers)


def _read_frame(stream: IO[bytes]) -> bytes:
    header = stream.read(4)
    if len(header) < 4:  # the connection was closed
        raise ConnectionResetError("no answer")
    length: int = struct.unpack(">i", header)[0]
    return stream.read(length)


def _close_pipe(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()


def free_ports(rng: random.Random, count: int) -> list[int]:
    """Ports of loopback that nothing listens on, outside the range that Linux gives to outgoing connections."""
    with contextlib.ExitStack() as held:
        return [_hold_free_port(rng, held) for _ in range(count)]


def _hold_free_port(rng: random.Random, held: contextlib.ExitStack) -> int:
    for _ in range(100):
        port = rng.randint(_FIRST_PORT, _LAST_PORT)
        listener = held.enter_context(socket.socket())
        with contextlib.suppress(OSError):
            listener.bind((_HOST, port))
            return port
    raise RealKafkaUnavailableError(f"no free port between {_FIRST_PORT} and {_LAST_PORT} in 100 tries")
