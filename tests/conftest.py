"""What all tests share: the fixtures of the test kit that users get too."""

import pytest

pytest_plugins = ["kafka_groups.testing.pytest_plugin", "pytester"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """How thorough the simulation is."""
    parser.addoption("--seeds", type=int, default=8, help="seeds of the simulation (8; CI runs 200)")
