"""The hosts of bindings: every host, one address, or since Kafka 4.4 a block of addresses. No I/O."""

import ipaddress
import re
from functools import lru_cache

from kafka_groups.broker.authorization.bindings import WILDCARD

__all__ = ["check_host", "is_in_block", "is_same_host"]

AddressBlock = ipaddress.IPv4Network | ipaddress.IPv6Network

_IPV4_BLOCK = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/(\d{1,2})", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,10}", re.ASCII)
_SCOPE = re.compile(r"%\d+$", re.ASCII)  # names of interfaces depend on the machine, and are refused
_OCTET_MAX = 255
_IPV4_BITS = 32
_IPV6_BITS = 128


def is_same_host(pattern: str, host: str) -> bool:
    """Return whether a binding's host is every host or, as text, this one."""
    return pattern in (WILDCARD, host)


def is_in_block(pattern: str, host: str) -> bool:
    """Return whether a binding's host is a block of addresses, such as `10.0.0.0/8`, that contains this host."""
    block = _block_or_none(pattern) if "/" in pattern else None
    if block is None:
        return False
    try:
        return "%" not in (bare := _SCOPE.sub("", host)) and ipaddress.ip_address(bare) in block
    except ValueError:
        return False  # a host of a network in memory, which has no address


def check_host(pattern: str) -> None:
    """Check the host of a new binding. A text without `/` may be any, also a name, which no client ever has.

    Raises:
        ValueError: It is empty, or it has a `/` and is not a block of addresses. The text is Kafka's.
    """
    if not pattern:
        raise ValueError("Host pattern cannot be null or empty")
    if "/" not in pattern:
        return
    try:
        _block_of(pattern)
    except ValueError as error:
        raise ValueError(f"Invalid CIDR notation '{pattern}': {error}") from None


@lru_cache(1_024)
def _block_or_none(pattern: str) -> AddressBlock | None:
    try:
        return _block_of(pattern)
    except ValueError:
        return None


def _block_of(pattern: str) -> AddressBlock:
    return _ipv6_block(pattern) if ":" in pattern else _ipv4_block(pattern)


def _ipv4_block(pattern: str) -> ipaddress.IPv4Network:
    found = _IPV4_BLOCK.fullmatch(pattern)
    if found is None:
        raise ValueError(f"Could not parse [{pattern}]")
    *octets, bits = map(int, found.groups())
    for value, highest in (*((octet, _OCTET_MAX) for octet in octets), (bits, _IPV4_BITS)):
        if value > highest:
            raise ValueError(f"Value [{value}] not in range [0,{highest}]")
    # Host bits may be set, as in Kafka. A zero before a number does not make it octal.
    return ipaddress.IPv4Network((int.from_bytes(octets), bits), strict=False)


def _ipv6_block(pattern: str) -> ipaddress.IPv6Network:
    text, _, bits = pattern.partition("/")
    if not _INTEGER.fullmatch(bits):
        raise ValueError(f"Could not parse [{pattern}] - invalid prefix length")
    if not 0 <= int(bits) <= _IPV6_BITS:
        raise ValueError(f"Could not parse [{pattern}] - prefix length must be between 0 and {_IPV6_BITS}")
    return ipaddress.IPv6Network((int(_ipv6_address(text)), int(bits)), strict=False)


def _ipv6_address(text: str) -> ipaddress.IPv6Address:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        address = ipaddress.IPv6Address(_SCOPE.sub("", bare))
    except ValueError:
        raise ValueError(f"Could not parse [{text}]") from None
    # Java turns such an address into one of IPv4.
    if address.ipv4_mapped is not None:
        raise ValueError(f"Could not parse [{text}] - not an IPv6 address")
    return address
