"""The topologies of `tests/topologies/java`, built in Python: the same names, operators and functions."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.topologies.catalogue import (
    aggregates,
    by_hand,
    copartitioned,
    failing,
    merged_sources,
    null_keys,
    null_results,
    patterns,
    processing,
    rewritten,
    stateless,
    stream_joins,
    suppressed,
    table_joins,
    tables,
    versioned,
    windowed,
)
from tests.topologies.catalogue.registry import Twin

__all__ = ["TWINS", "Twin"]

TWINS: Mapping[str, Twin] = MappingProxyType({
    name: twin
    for module in (
        stateless, processing, by_hand, aggregates, windowed, suppressed, tables, stream_joins, table_joins, rewritten,
        failing, null_keys, merged_sources, null_results,
        copartitioned, versioned, patterns,
    )
    for name, twin in module.twins.items()
})  # fmt: skip
"""The twins by name."""
