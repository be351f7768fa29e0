"""The `application.server` of a process, as members of classic groups write it."""

import re
from typing import Final

__all__ = ["parsed_endpoint"]

_ENDPOINT: Final = re.compile(r"(?:[a-zA-Z][\w+.-]*://)?\[?([\w.%:-]*?)\]?:([0-9]+)", re.ASCII)


def parsed_endpoint(text: str) -> tuple[str, int] | None:
    """Return host and port of an endpoint such as `host:8080` or `http://[::1]:8080`; None if it is something else."""
    found = _ENDPOINT.fullmatch(text)
    return None if found is None else (found[1], int(found[2]))
