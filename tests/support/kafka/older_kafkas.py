"""Releases of Kafka that have neither streams nor share groups, and on which applications run all the same."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["OLDER_KAFKAS"]

OLDER_KAFKAS: Mapping[str, str] = MappingProxyType({f"kafka-{release}": release for release in ("3.9.1", "3.7.2")})
"""Kinds of the clusters that conformance tests run on, and their releases."""
