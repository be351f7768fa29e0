"""Golden bytes: frames that other clients and a real Kafka exchanged, and what is told about them in the manifest.

A frame's file holds its payload (header and body, without the length in front) as hexadecimal digits, 40 bytes
a line. The manifest says which client and which broker sent it, and what it shows.
"""

import json
import textwrap
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import decode_request, decode_request_header, decode_response

DIRECTORY = Path(__file__).parent.parent / "golden"
MANIFEST = DIRECTORY / "manifest.json"

_BYTES_PER_LINE = 40


@frozen(kw_only=True)
class Golden:
    """One captured frame.

    Attributes:
        name: What the frame shows; also the name of its file.
        api: Name of the API, as in `ApiKey`, in lower case; also the folder.
        kind: `request` or `response`.
        version: Version of the API.
        client: Client that sent or got the frame, with its version.
        broker: Broker on the other side, with its version.
        correlation_id: That of the frame's header.
        client_id: Client id in a request's header; `None` for a response.
    """

    name: str
    api: str
    kind: str
    version: int
    client: str
    broker: str
    correlation_id: int
    client_id: str | None = None

    @property
    def key(self) -> ApiKey:
        """The API's key."""
        return ApiKey[self.api.upper()]

    @property
    def path(self) -> Path:
        """Where the bytes are."""
        return DIRECTORY / self.api / f"{self.name}.hex"

    def read(self) -> bytes:
        """The frame's payload."""
        return bytes.fromhex(self.path.read_text(encoding="ascii"))

    def message(self) -> Any:
        """The frame's body as our message."""
        payload = self.read()
        if self.kind == "request":
            return decode_request(payload, decode_request_header(payload))
        return decode_response(payload, self.key, self.version)

    def write(self, payload: bytes) -> None:
        """Store the payload."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = textwrap.wrap(payload.hex(), 2 * _BYTES_PER_LINE)
        self.path.write_text("\n".join(lines) + "\n", encoding="ascii")


def load_manifest() -> tuple[Golden, ...]:
    """All captured frames."""
    return tuple(Golden(**entry) for entry in json.loads(MANIFEST.read_text(encoding="utf-8")))


def save_manifest(frames: list[Golden]) -> None:
    """Replace the manifest."""
    entries = [attrs.asdict(frame) for frame in sorted(frames, key=lambda frame: (frame.api, frame.name))]
    MANIFEST.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def golden(name: str) -> Golden:
    """The frame with this name."""
    return next(frame for frame in load_manifest() if frame.name == name)
