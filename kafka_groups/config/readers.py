"""Functions that read values from Python objects or text; each raises `UnfitError` if a value is invalid."""

import math
import os
import re
from collections.abc import Iterable, Mapping

from kafka_groups.functions import idle_kind

__all__ = [
    "PATH_ANNOTATION",
    "STANDARD_AUTHORIZER",
    "UnfitError",
    "duration_ms",
    "is_utf8",
    "offset_reset_duration_ms",
    "read_authorizer",
    "read_boolean",
    "read_callable",
    "read_dead_letter_queue",
    "read_endpoint_identification",
    "read_fetch_records",
    "read_host_port",
    "read_host_ports",
    "read_integer",
    "read_list",
    "read_not_empty",
    "read_offset_reset",
    "read_part",
    "read_path",
    "read_principals",
    "read_tags",
    "read_text",
    "read_upper_case",
]

ADAPTIVE = "adaptive"
BY_DURATION = "by_duration:"

_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<days>[+-]?\d{1,19})D)?"
    r"(?P<time>T(?:(?P<hours>[+-]?\d{1,19})H)?(?:(?P<minutes>[+-]?\d{1,19})M)?"
    r"(?:(?P<seconds>[+-]?\d{1,19})(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS_OF = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_NANOSECONDS = 10**9
_LONG_MAX = 2**63 - 1

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""The name of Kafka's authorizer, the only one that the embedded broker has."""

PATH_ANNOTATION = "str | PathLike[str]"
"""The Python type of what `read_path` takes."""


class UnfitError(ValueError):
    """A value is invalid. The message is half a sentence; the key adds its name and what to do."""


def read_boolean(value: object) -> bool:
    """Read `True` or `False`, also as text in any case."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else None
    if word not in ("true", "false"):
        raise UnfitError("not true or false")
    return word == "true"


def read_integer(value: object) -> int:
    """Read a whole number, also as decimal text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,40}", value.strip()):
        return int(value)
    raise UnfitError("not a whole number")


def read_part(value: object) -> float:
    """Read a number from 0 to 1, also as text."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UnfitError("not a number") from None
    if not 0 <= number <= 1:
        raise UnfitError("it is not between 0 and 1")
    return number


def read_fetch_records(value: object) -> int | str:
    """Read a number of records that a fetch may ask for, or `adaptive`."""
    if isinstance(value, str) and value.strip().lower() == ADAPTIVE:
        return ADAPTIVE
    try:
        return read_integer(value)
    except UnfitError:
        raise UnfitError(f"neither a whole number nor {ADAPTIVE!r}") from None


def is_utf8(text: str) -> bool:
    """Return whether text can be sent: lone surrogates have no representation in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_text(value: object) -> str:
    """Read text, and strip it."""
    if not isinstance(value, str):
        raise UnfitError("not a string")
    if not is_utf8(value):
        raise UnfitError("it has a surrogate, which UTF-8 cannot represent")
    return value.strip()


def read_not_empty(value: object) -> str:
    """Read text that is not empty."""
    text = read_text(value)
    if not text:
        raise UnfitError("it is empty")
    return text


def read_dead_letter_queue(value: object) -> str:
    """Read the name of a group's dead-letter queue. As in Kafka, internal names are the only ones that are refused."""
    name = read_text(value)
    if name.startswith("__"):
        raise UnfitError("DLQ topic name must not start with '__'")
    return name


def read_path(value: object) -> str:
    """Read the path of a file or directory: text, or an object with a path of text, such as one of `pathlib`."""
    return read_text(os.fspath(value) if isinstance(value, os.PathLike) else value)


def read_list(value: object) -> tuple[str, ...]:
    """Read a sequence of words, or text with words separated by commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Iterable) or isinstance(parts, (bytes, bytearray)):
        raise UnfitError("not a list")
    return tuple(word for part in parts if (word := read_text(part)))


def read_principals(value: object) -> tuple[str, ...]:
    """Read a sequence of principals such as `User:ann`, or text with principals separated by semicolons."""
    principals = read_list(value.split(";") if isinstance(value, str) else value)
    for principal in principals:
        if ":" not in principal:
            raise UnfitError(f"{principal!r} has no type")
    return principals


def read_authorizer(value: object) -> str:
    """Read the name of Kafka's authorizer, or empty text."""
    name = read_text(value)
    if name not in ("", STANDARD_AUTHORIZER):
        raise UnfitError("the embedded broker does not have this authorizer")
    return name


def read_upper_case(value: object) -> str:
    """Read a word and convert it to upper case."""
    return read_text(value).upper()


def read_endpoint_identification(value: object) -> str:
    """Read `https` or `none`. As in Kafka, empty text means `none`."""
    return read_text(value).lower() or "none"


def read_callable(value: object) -> object:
    """Anything that can be called, and that returns its result at once."""
    if not callable(value):
        raise UnfitError("not a function")
    if (kind := idle_kind(value)) is not None:
        raise UnfitError(f"it is {kind}, and calling it does nothing: give an ordinary function")
    return value


def read_host_ports(value: object) -> tuple[tuple[str, int], ...]:
    """Read hosts and ports: `host:port,[ipv6]:port`, or a sequence of such texts or of (host, port) pairs."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Iterable) or isinstance(parts, (bytes, bytearray)):
        raise UnfitError("not a list of hosts and ports")
    servers = tuple(_host_port(part) for part in parts if not (isinstance(part, str) and not part.strip()))
    if not servers:
        raise UnfitError("no server given")
    return servers


def read_host_port(value: object) -> tuple[str, int]:
    """Read one host and port: `host:port`, or a pair."""
    return _host_port(value)


def read_tags(value: object) -> tuple[tuple[str, str], ...]:
    """Read a mapping of text to text, or its pairs; returns the pairs, sorted."""
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise UnfitError("not a mapping")
    found = [tuple(pair) if isinstance(pair, (tuple, list)) else () for pair in pairs]
    if any(len(pair) != 2 for pair in found):
        raise UnfitError("not a mapping")
    return tuple(sorted((read_not_empty(key), read_not_empty(tag)) for key, tag in found))


def _host_port(part: object) -> tuple[str, int]:
    if isinstance(part, (tuple, list)) and len(part) == 2:
        host, port = read_text(part[0]), part[1]
    else:
        host, port = _split_host_port(read_text(part))
    number = read_integer(port)
    if not host:
        raise UnfitError(f"{part!r} has no host")
    if not 0 < number < 65536:
        raise UnfitError(f"the port of {part!r} is not between 1 and 65535")
    return host, number


def _split_host_port(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"(?:\[(?P<ipv6>[^\[\]]+)\]|(?P<host>[^:\[\]/]+)):(?P<port>[0-9]{1,9})", text)
    if match is None:
        raise UnfitError(f"{text!r} is not in the form host:port")
    return match["ipv6"] or match["host"], match["port"]


def duration_ms(text: str) -> int:
    """Return the milliseconds of an ISO-8601 duration of days and smaller units, `PnDTnHnMn.nS`; never negative."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match[name] for name in _SECONDS_OF) or match["time"] in ("T", "t"):
        raise UnfitError(f"{text!r} is not an ISO-8601 duration PnDTnHnMn.nS")
    total_ms = _nanoseconds(match) // 1_000_000
    if total_ms < 0:
        raise UnfitError(f"the duration {text!r} is negative")
    if total_ms > _LONG_MAX:
        raise UnfitError(f"the duration {text!r} is too long")
    return total_ms


def _nanoseconds(match: re.Match[str]) -> int:
    whole = sum(int(match[name] or 0) * seconds for name, seconds in _SECONDS_OF.items()) * _NANOSECONDS
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    if (match["seconds"] or "").startswith("-"):
        fraction = -fraction
    return -(whole + fraction) if match["sign"] == "-" else whole + fraction


def read_offset_reset(value: object) -> str:
    """Read `latest`, `earliest`, or `by_duration:` with an ISO-8601 duration."""
    text = read_text(value)
    if text not in ("latest", "earliest"):
        if not text.startswith(BY_DURATION):
            raise UnfitError("not an allowed strategy")
        duration_ms(text.removeprefix(BY_DURATION))
    return text


def offset_reset_duration_ms(strategy: str) -> int | None:
    """Return the milliseconds of a `by_duration:` strategy, or `None` for other strategies."""
    return duration_ms(strategy.removeprefix(BY_DURATION)) if strategy.startswith(BY_DURATION) else None
