"""Openings of the state of a task, and what they are looked at for."""

import logging
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DiskEngine
from kafka_groups.streams.state.stores import StoreDefinition
from tests.support.conditions import wait_until
from tests.support.kept_states import CHANGELOG, PERSISTENT, TASK, Kept

UNLOGGED = stores.key_value("unlogged", serdes.string, serdes.string, persistent=True, changelog=False)
WINDOWS = stores.window(
    "counts",
    serdes.string,
    serdes.string,
    size=timedelta(hours=1),
    retention=timedelta(hours=4),
    persistent=True,
)
PATIENCE_MS = 1_000


def rows(engine: LmdbEngine) -> list[tuple[bytes, bytes]]:
    return list(engine.table("counts").scan(b"", None))


def told(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [each.message for each in caplog.records if each.levelno == level]


def has_all(engine: LmdbEngine) -> bool:
    """It has what `Kept.committed` has committed."""
    return (rows(engine), engine.positions) == ([(b"k", b"v")], {CHANGELOG: 7})


def is_fresh(engine: LmdbEngine) -> bool:
    return (rows(engine), dict(engine.positions), dict(engine.notes)) == ([], {}, {})


def garbled(path: Path) -> None:
    path.write_bytes(b"garbage " * 4096)


def opened_in_time(
    kept: Kept, engines: DiskEngines, defined: Collection[StoreDefinition] = (PERSISTENT,)
) -> LmdbEngine:
    """Ask until there is an engine, after the time that a former owner has."""
    found: list[Any] = [engines.open(TASK, defined)]
    kept.clock.advance(PATIENCE_MS)

    def has_opened() -> bool:
        found.append(engines.open(TASK, defined))
        return found[-1] is not None

    wait_until(has_opened)
    engine = found[-1]
    assert isinstance(engine, DiskEngine)
    return engine
