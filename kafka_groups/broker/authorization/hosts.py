"""The hosts of bindings: every host, one address, or since Kafka 4.4 a block of addresses. No I/O."""

import ipaddress
from functools import lru_cache

from kafka_groups.broker.authorization.bindings import WILDCARD

__all__ = ["is_in_block", "is_same_host"]

AddressBlock = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_same_host(pattern: str, host: str) -> bool:
    """Return whether a binding's host is every host or, as text, this one."""
    return pattern in (WILDCARD, host)


def is_in_block(pattern: str, host: str) -> bool:
    """Return whether a binding's host is a block of addresses, such as `10.0.0.0/8`, that contains this host."""
    block = _block_of(pattern) if "/" in pattern else None
    if block is None:
        return False
    try:
        return ipaddress.ip_address(host) in block
    except ValueError:
        return False  # a host of a network in memory, which has no address


@lru_cache(1_024)
def _block_of(pattern: str) -> AddressBlock | None:
    try:
        return ipaddress.ip_network(pattern, strict=False)  # host bits may be set, as in Kafka
    except ValueError:
        return None
