"""What all tests share: the fixtures of the test kit that users get too."""

import gc

import pytest

pytest_plugins = ["kafka_groups.testing.pytest_plugin", "pytester"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """How thorough the simulation and the runs with faults are."""
    parser.addoption("--seeds", type=int, default=8, help="seeds of the simulation (8; CI runs 200)")
    parser.addoption("--fault-seeds", type=int, default=1, help="seeds of faults for each design (1; CI runs 20)")
    parser.addoption("--fault-brokers", default="embedded", help="where they run (embedded; CI: embedded,kafka)")
    parser.addoption("--slow", action="store_true", help="also the tests marked slow, which take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow, unless it is asked for."""
    if not config.getoption("--slow"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives until the end: tests that collect garbage take half a second less."""
    gc.collect()
    gc.freeze()
