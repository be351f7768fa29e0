"""A real Kafka in a container, through testcontainers, with the settings that share groups need."""

import contextlib
import gc
import random
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kafka_groups.net.clock import SystemClock
from kafka_groups.testing.kafka_jars import DEFAULT_KAFKA_VERSION, RealKafkaUnavailableError
from kafka_groups.testing.kafka_process import SINGLE_NODE_PROPERTIES, free_ports, kafka_answers

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

__all__ = ["DEFAULT_IMAGE", "KafkaContainer", "environment_of", "missing_engine", "missing_image"]

DEFAULT_IMAGE = f"apache/kafka:{DEFAULT_KAFKA_VERSION}"

_CLIENT_PORT, _CONTROLLER_PORT, _BROKER_PORT = 9092, 9093, 9094
_START_TIMEOUT_S = 90.0


class KafkaContainer:
    """One Kafka node in a container, reachable from this machine.

    Share groups need two things that a plain Kafka container lacks: internal topics with one replica, and a
    listener on which the broker reaches *itself*, as its share-partitions store their state by requests to the
    share coordinator. Use it as a context manager, or call `start` and `close`.

    ```python
    with KafkaContainer() as kafka:
        consumer = KafkaShareConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="g")
    ```

    Args:
        image: An image that takes `KAFKA_…` environment variables as the official one does.
        properties: Entries of `server.properties`, over those of `SINGLE_NODE_PROPERTIES`.
    """

    def __init__(self, image: str = DEFAULT_IMAGE, properties: Mapping[str, str] | None = None) -> None:
        self.image = image
        self.host = "127.0.0.1"
        self.port = 0
        self._properties = {**SINGLE_NODE_PROPERTIES, **(properties or {})}
        self._container: DockerContainer | None = None

    def __repr__(self) -> str:
        state = f"at {self.bootstrap_servers}" if self._container is not None else "stopped"
        return f"<KafkaContainer {self.image} {state}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of the node, as seen from this machine."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Start the container and wait until Kafka serves requests (about 10 s; longer when the image is pulled).

        Raises:
            RealKafkaUnavailableError: There is no engine or no image, or Kafka does not start; the message has
                the end of its log.
        """
        missing = missing_engine()
        if missing is not None:
            raise RealKafkaUnavailableError(missing)
        self.port = free_ports(random.Random(), 1)[0]
        self._container = self._made()
        try:
            self._container.start()
            self._wait_until_it_serves(self._container)
        except BaseException:  # also Ctrl-C: the container must not run on
            self.close()
            raise

    def close(self) -> None:
        """Remove the container. Does nothing if it is already removed."""
        container, self._container = self._container, None
        if container is not None:
            container.stop()

    def _made(self) -> "DockerContainer":
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - an optional dependency

        container = DockerContainer(self.image)
        self.host = _address(container.get_docker_client().host())
        for name, value in environment_of(self._all_properties()).items():
            container.with_env(name, value)
        return container.with_bind_ports(_CLIENT_PORT, self.port)

    def _all_properties(self) -> dict[str, str]:
        itself = f"BROKER://127.0.0.1:{_BROKER_PORT}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{_CONTROLLER_PORT}",
            "listeners": f"PLAINTEXT://0.0.0.0:{_CLIENT_PORT},CONTROLLER://127.0.0.1:{_CONTROLLER_PORT},{itself}",
            "advertised.listeners": f"PLAINTEXT://{self.host}:{self.port},{itself}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,BROKER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "BROKER",
            **self._properties,
        }

    def _wait_until_it_serves(self, container: "DockerContainer") -> None:
        clock = SystemClock()
        deadline_ms = clock.now_ms() + int(_START_TIMEOUT_S * 1000)
        while not kafka_answers(self.host, self.port):
            ended = _wait_for_end(container, 0.2)
            if ended or clock.now_ms() > deadline_ms:
                what = "ended" if ended else f"did not serve within {_START_TIMEOUT_S} s"
                raise RealKafkaUnavailableError(f"Kafka in {self.image} {what}; its log:\n{_log_of(container)}")


def environment_of(properties: Mapping[str, str]) -> dict[str, str]:
    """Convert entries of `server.properties` to the environment variables that Kafka's official image reads."""
    return {_variable(name): value for name, value in properties.items()}


def missing_engine() -> str | None:
    """Return the reason why containers cannot run here, or None if they can."""
    if find_spec("testcontainers") is None:
        return (
            "testcontainers is not installed: run pip install '.[container]' in the checkout of kafka-groups, or"
            " pip install testcontainers"
        )
    from docker.client import DockerClient  # noqa: PLC0415 - comes with testcontainers
    from docker.errors import DockerException  # noqa: PLC0415

    reason = None
    with warnings.catch_warnings():
        # docker leaves the socket of a connection that failed to the garbage collector, which warns of it.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            with contextlib.closing(DockerClient.from_env()) as client:
                client.ping()
        except DockerException as error:
            reason = f"no container engine answers: {error}"
        gc.collect()
    return reason


def missing_image(image: str) -> str | None:
    """Return why the image is not available, or None if the engine has it or can pull it. Needs an engine."""
    from docker.client import DockerClient  # noqa: PLC0415 - comes with testcontainers
    from docker.errors import DockerException, ImageNotFound  # noqa: PLC0415

    with contextlib.closing(DockerClient.from_env()) as client:
        try:
            client.images.get(image)
        except ImageNotFound:
            try:
                client.images.pull(image)
            except DockerException as error:
                return f"the image {image} is not there and cannot be pulled: {error}"
    return None


def _variable(name: str) -> str:
    return "KAFKA_" + name.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _address(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else host


def _wait_for_end(container: "DockerContainer", timeout_s: float) -> bool:
    from docker.errors import APIError  # noqa: PLC0415 - comes with testcontainers
    from requests.exceptions import ConnectionError as NoEndYet  # noqa: PLC0415
    from requests.exceptions import ReadTimeout  # noqa: PLC0415

    try:
        container.get_wrapped_container().wait(timeout=timeout_s)
    except (NoEndYet, ReadTimeout):
        return False
    except APIError as error:
        raise RealKafkaUnavailableError(f"the container is gone: {error}") from error
    return True


def _log_of(container: "DockerContainer") -> str:
    return "".join(part.decode(errors="replace")[-3000:] for part in container.get_logs())
