"""One Spark session for all tests of this folder: starting one takes seconds."""

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pytest

from tests.support.spark.sessions import reason_to_skip, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `spark_versions(since=(4, 2))` where PySpark is older."""
    try:
        major, minor = version("pyspark").split(".")[:2]
    except PackageNotFoundError:
        return  # they skip anyway
    for item in items:
        marker = item.get_closest_marker("spark_versions")
        since = marker.kwargs.get("since", (0, 0)) if marker is not None else (0, 0)
        if (int(major), int(minor)) < since:
            item.add_marker(pytest.mark.skip(f"needs PySpark {since[0]}.{since[1]}, {major}.{minor} is installed"))


@pytest.fixture(scope="session")
def spark_or_skip() -> None:
    """Java and PySpark are there, or the test is skipped with the reason."""
    reason = reason_to_skip()
    if reason is not None:
        if os.environ.get("KAFKA_GROUPS_REQUIRE_SPARK"):
            pytest.fail(f"KAFKA_GROUPS_REQUIRE_SPARK is set, but there is {reason}")
        pytest.skip(reason)


@pytest.fixture(scope="session")
def spark(spark_or_skip: None) -> Iterator["SparkSession"]:
    """A session with four slots."""
    with spark_session() as session:
        yield session
