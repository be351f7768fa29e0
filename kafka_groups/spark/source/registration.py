"""Making the source known to a Spark session."""

from typing import TYPE_CHECKING

import pyspark

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.processes.interpreter import check_driver_python, choose_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

_OLDEST = (4, 2)


def register(spark: "SparkSession") -> None:
    """Make `spark.readStream.format("kafka-share")` known to a session; a second call does nothing new.

    Args:
        spark: A classic session or one of Spark Connect. The package is needed where Spark's own Python processes
            run: on the host of the driver (or of the Connect server) and on the executors.

    Raises:
        ConfigurationError: PySpark or the server is older than 4.2, or Spark's Python lacks this package.
    """
    for what, version in (("PySpark", pyspark.__version__), ("the Spark of this session", spark.version)):
        check_version(what, version)
    choose_python(spark)
    check_driver_python(spark)
    # Not before the check: older releases lack what these modules import.
    from kafka_groups.spark.source.data_source import KafkaShareDataSource  # noqa: PLC0415

    spark.dataSource.register(KafkaShareDataSource)


def check_version(what: str, version: str) -> None:
    """Refuse releases whose streaming sources are not told where a batch starts.

    Raises:
        ConfigurationError: The release is too old.
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < _OLDEST:
        raise ConfigurationError(
            f"{what} is {version}, but the streaming source kafka-share needs 4.2 or newer: older releases do not tell"
            " a source which batch is finished (latestOffset(start)), so that records would be acknowledged too early"
            " or never; upgrade with pip install 'pyspark>=4.2,<5', or use ShareWorkers, which works with older ones"
        )
