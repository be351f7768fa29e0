"""The session in which the documentation's programs for Spark run."""

from tests.integration.spark.conftest import spark

__all__ = ["spark"]
