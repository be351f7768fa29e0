"""Passes a question on to the process that has the key."""

import http.client
from typing import Final

from attrs import frozen

from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint

__all__ = ["FORWARDED", "HttpDocument", "ask_owner"]

FORWARDED: Final = "x-kafka-groups-forwarded"
"""The header of a question that was passed on once. It is not passed on again."""

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 64 * 2**20


@frozen
class HttpDocument:
    """An answer in JSON, of this or of another process.

    Attributes:
        status: The status of HTTP.
        body: The JSON document.
    """

    status: int
    body: bytes


def ask_owner(owner: UserEndpoint, target: str) -> HttpDocument:
    """Ask another process. Blocks for up to ten seconds at a time.

    Args:
        owner: Its `application_server`.
        target: The path of the address, with its parameters.

    Raises:
        OSError: It does not answer.
    """
    connection = http.client.HTTPConnection(owner.host, owner.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", target, headers={FORWARDED: "1"})
        answer = connection.getresponse()
        body = answer.read(_MOST_BYTES + 1)
    except http.client.HTTPException as error:
        raise ConnectionError(f"{owner.host}:{owner.port} does not answer in HTTP: {error!r}") from error
    finally:
        connection.close()
    if len(body) > _MOST_BYTES:
        raise ConnectionError(f"The answer of {owner.host}:{owner.port} has more than {_MOST_BYTES} bytes")
    return HttpDocument(answer.status, body)
