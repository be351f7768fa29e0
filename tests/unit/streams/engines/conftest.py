"""The folder of an application, for tests of what is opened in it."""

import os
from pathlib import Path

import pytest

from kafka_groups.streams.engines import opening
from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER, DiskEngine
from tests.support.kept_states import Kept


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # slow, and no machine crashes here
    return Kept(tmp_path / "app-mine")


@pytest.fixture
def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The files that each engine has found in its folder."""
    found: list[set[str]] = []

    class Noting(DiskEngine):
        def __init__(self, generation: Generation) -> None:
            found.append({each.name for each in (generation.path / DATA_FOLDER).iterdir()})
            super().__init__(generation)

    monkeypatch.setattr(opening, "DiskEngine", Noting)
    return found
