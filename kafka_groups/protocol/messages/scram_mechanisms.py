"""The numbers of the SCRAM mechanisms in requests (KIP-554)."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["MECHANISM_NAMES", "MECHANISM_NUMBERS"]

MECHANISM_NAMES: Mapping[int, str] = MappingProxyType({1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"})
MECHANISM_NUMBERS: Mapping[str, int] = MappingProxyType({name: number for number, name in MECHANISM_NAMES.items()})
