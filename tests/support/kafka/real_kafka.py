"""Questions that tests ask a real Kafka, over a plain socket and our codec."""

import random
import socket
from collections import deque
from typing import Any

from kafka_groups.protocol.apis import api_of
from kafka_groups.protocol.codec import decode_response, encode_request
from kafka_groups.protocol.framing import FrameDecoder, frame
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import random_uuid

CLIENT_ID = "kafka-groups-test"


def unique(prefix: str) -> str:
    """A name that no other test of this run uses, as they share one Kafka."""
    return f"{prefix}-{random_uuid(random.Random()).hex[:12]}"


class RawConnection:
    """One blocking connection that sends our messages and decodes what comes back."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._frames = FrameDecoder()
        self._received: deque[memoryview] = deque()
        self._correlation_id = 0

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: object, version: int) -> Any:
        """Send a request and wait for its response."""
        self.send(request, version)
        return decode_response(self._next_frame(), api_of(type(request)).key, version)

    def send(self, request: object, version: int) -> None:
        """Send a request."""
        self._correlation_id += 1
        self._socket.sendall(frame(encode_request(request, version, self._correlation_id, CLIENT_ID)))

    def send_bytes(self, sent: bytes) -> memoryview:
        """Send raw bytes and wait for the payload that comes back."""
        self._socket.sendall(sent)
        return self._next_frame()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _next_frame(self) -> memoryview:
        while not self._received:
            chunk = self._socket.recv(65536)
            if not chunk:
                raise ConnectionResetError("the broker closed the connection")
            self._received.extend(self._frames.feed(chunk))
        return self._received.popleft()


def finalized_features(kafka: KafkaProcess) -> dict[str, int]:
    """The features that the cluster has finalised, with their levels."""
    request = ApiVersionsRequest(client_software_name="kafka-groups", client_software_version="0")
    with RawConnection(kafka.host, kafka.port) as connection:
        response = connection.ask(request, 4)
    return {feature.name: feature.max_version_level for feature in response.finalized_features}
