"""The session in which the documentation's programs for Spark run."""

from tests.integration.spark.conftest import spark, spark_or_skip

__all__ = ["spark", "spark_or_skip"]
