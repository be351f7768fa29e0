"""One Spark session for all tests of this folder: starting one takes seconds."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.spark import reason_to_skip, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
