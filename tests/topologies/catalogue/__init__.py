"""The topologies of `tests/topologies/java`, built in Python: the same names, operators and functions."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.topologies.catalogue import (
    aggregates,
    by_hand,
    failing,
    processing,
    rewritten,
    stateless,
    stream_joins,
    suppressed,
    table_joins,
    tables,
    windowed,
)
from tests.topologies.catalogue.registry import Twin

__all__ = ["TWINS", "Twin"]

TWINS: Mapping[str, Twin] = MappingProxyType({
    name: twin
    for module in (
        stateless, processing, by_hand, aggregates, windowed, suppressed, tables, stream_joins, table_joins, rewritten,
        failing,
    )
    for name, twin in module.twins.items()
})  # fmt: skip
"""The twins by name."""
