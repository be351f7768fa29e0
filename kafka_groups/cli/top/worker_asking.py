"""Ask a worker for its status at its probe address."""

import asyncio
import json
import os
from typing import Final

from attrs import field, frozen

from kafka_groups.cli.documents.reading import UnfitDocumentError, read_document
from kafka_groups.config.readers import UnfitError, read_host_port
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences, text_of
from kafka_groups.share.workers.status import WorkerStatus

__all__ = ["NoStatusError", "ProbeAddress", "ask_worker"]

_TIMEOUT_S: Final = 3.0
_LARGEST: Final = 4_000_000
"""The most bytes of an answer that are read. Workers answer with less."""
_OK: Final = 200
_NOT_FOUND: Final = 404
_HEAD_ENDS: Final = b"\r\n\r\n"


class NoStatusError(Exception):
    """A worker has not told its status.

    Args:
        reason: Why.
        remedy: What to do, or nothing.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(sentences(reason, remedy))
        self.reason = reason
        self.remedy = remedy or None


@frozen
class ProbeAddress:
    """The probe address of a worker.

    Attributes:
        name: The address as it was given.
        host: The host.
        port: The port.
    """

    name: str
    host: str = field(repr=False)
    port: int = field(repr=False)

    @classmethod
    def of(cls, text: str) -> "ProbeAddress":
        """Return the address that a text has: `host:port`.

        Raises:
            ConfigurationError: It is none.
        """
        try:
            return cls(text, *read_host_port(text))
        except UnfitError as error:
            remedy = "Give the probe address of a worker: HOST:PORT"
            raise ConfigurationError(sentences(f"{text!r}: {error}", remedy)) from error


async def ask_worker(address: ProbeAddress, timeout_s: float = _TIMEOUT_S) -> WorkerStatus:
    """Return the status of a worker.

    Args:
        address: Where it answers.
        timeout_s: How long the whole answer may take.

    Raises:
        NoStatusError: It does not answer in time, or does not answer as a worker.
    """
    try:
        async with asyncio.timeout(timeout_s):
            answer = await _answer(address)
    except TimeoutError as error:
        raise NoStatusError(f"no answer within {timeout_s:g} s") from error
    except (OSError, UnicodeError) as error:  # the latter for names that no host can have
        raise NoStatusError(f"cannot connect: {_reason(error)}", "Is it running, with this --probe-address?") from error
    return _status(answer)


def _reason(error: OSError | UnicodeError) -> str:
    # asyncio's texts repeat the address. Numbers below 0 are those of the resolver, which has texts of its own.
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno > 0 else error.strerror or text_of(error)
    return text_of(error)


async def _answer(address: ProbeAddress) -> bytes:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        host = f"[{address.host}]" if ":" in address.host else address.host
        # With HTTP/1.0 the body ends with the connection, whoever answers.
        writer.write(f"GET /status HTTP/1.0\r\nHost: {host}:{address.port}\r\n\r\n".encode())
        await writer.drain()
        return await _read_all(reader)
    finally:
        writer.transport.abort()  # nothing is left to send, and a peer that does not read must not hold up the rest


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    read = bytearray()
    while piece := await reader.read(65_536):
        read += piece
        if len(read) > _LARGEST:
            raise NoStatusError(
                f"its answer has more than {_LARGEST:,} bytes", "Is this the probe address of a worker?"
            )
    return bytes(read)


def _status(answer: bytes) -> WorkerStatus:
    head, _, body = answer.partition(_HEAD_ENDS)
    status = _status_code(head)
    if status == _NOT_FOUND:
        raise NoStatusError("it has no /status", "Is it a worker of this release, and not another program?")
    if status != _OK:
        raise NoStatusError(f"it answers with status {status}")
    try:
        return read_document(WorkerStatus, json.loads(body), "the status")
    # The parser follows nested lists as deep as Python allows.
    except (ValueError, RecursionError, UnfitDocumentError) as error:
        raise _no_worker() from error


def _status_code(head: bytes) -> int:
    words = head.split(b"\r\n", 1)[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit() or len(words[1]) != 3:
        raise _no_worker()
    return int(words[1])


def _no_worker() -> NoStatusError:
    return NoStatusError("it does not answer like a worker", "Is this the probe address of a worker?")
