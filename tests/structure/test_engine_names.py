"""Engines are made by factories: only the folder of engines, the test driver and the simulation name a class of one."""

import re
from pathlib import Path

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
ENGINES = re.compile(r"\b(Memory|Lmdb|Owned|Shared|Split)Engine\b")
MAKERS = (
    "streams/engines/",
    "streams/state/engine.py",  # declares one
    "streams/state/opened_state.py",  # for states without rows
    "testing/topology_driver/",
    "testing/simulation/streams/kept_engines.py",
)


def test_no_other_module_names_an_engine() -> None:
    paths = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
    naming = {name for name, path in paths.items() if ENGINES.search(path.read_text(encoding="utf-8"))}
    assert {name for name in naming if not name.startswith(MAKERS)} == set()
    assert all(any(name.startswith(maker) for name in naming) for maker in MAKERS)
