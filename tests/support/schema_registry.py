"""A schema registry over HTTP, as small as confluent-kafka's serialisers and deserialisers allow."""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["schema_registry"]


class _Registry:
    """Schemas by number, and the versions of each subject."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}

    def register(self, subject: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema's id; the same for the same schema."""
        with self._lock:
            kept = {key: schema[key] for key in ("schema", "schemaType", "references") if schema.get(key)}
            if kept not in self.schemas:
                self.schemas.append(kept)
            number = self.schemas.index(kept) + 1
            versions = self.subjects.setdefault(subject, [])
            if number not in versions:
                versions.append(number)
            return self.described(subject, number)

    def described(self, subject: str, number: int) -> dict[str, Any]:
        """A schema as the registry shows it."""
        version = self.subjects[subject].index(number) + 1
        return {"subject": subject, "id": number, "version": version, **self.with_guid(number)}

    def with_guid(self, number: int) -> dict[str, Any]:
        """A schema with the other name that it has, which serialisers put into headers."""
        return {"guid": str(uuid.UUID(int=number)), **self.schemas[number - 1]}


class _Handler(BaseHTTPRequestHandler):
    """`POST /subjects/…` registers and looks up, `GET /schemas/ids/N` and `GET /subjects/S/versions/…` read."""

    registry: _Registry

    def do_POST(self) -> None:
        """Register a schema, or look one up, which here is the same."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(200, self.registry.register(self._parts()[1], body))

    def do_GET(self) -> None:
        """A schema."""
        match self._parts():
            case ["schemas", "ids", number]:
                self._answer(200, self.registry.with_guid(int(number)))
            case ["schemas", "guids", guid]:
                self._answer(200, self.registry.with_guid(uuid.UUID(guid).int))
            case ["subjects", subject, "versions", "latest"]:
                self._answer(200, self.registry.described(subject, self.registry.subjects[subject][-1]))
            case ["subjects", subject, "versions", version]:
                registered = self.registry.subjects[subject][int(version) - 1]
                self._answer(200, self.registry.described(subject, registered))
            case _:
                self._answer(404, {"error_code": 404, "message": f"not found: {self.path}"})

    def log_message(self, *_: Any) -> None:
        """Nothing on standard error."""

    def _parts(self) -> list[str]:
        return self.path.partition("?")[0].strip("/").split("/")

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def schema_registry() -> Iterator[str]:
    """The URL of an empty registry that runs during the block."""
    handler = type("Handler", (_Handler,), {"registry": _Registry()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="schema-registry")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
