"""Whether the session's Spark still runs: records that are acquired for one that has ended are stored nowhere."""

from typing import TYPE_CHECKING, Any

from kafka_groups.errors import IllegalStateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_running"]


def check_running(spark: "SparkSession") -> None:
    """Check that Spark runs.

    Raises:
        IllegalStateError: The session was stopped, or its JVM or server has died.
    """
    try:
        is_stopped = _is_stopped(spark)
    except Exception as error:  # whatever py4j or gRPC raise if nobody answers
        raise IllegalStateError(f"Spark does not answer, so no records are acquired: {error!r}. {_REMEDY}") from error
    if is_stopped:
        raise IllegalStateError(f"The Spark session was stopped, so no records are acquired. {_REMEDY}")


_REMEDY = "Create a new session, and a new drain with it."


def _is_stopped(spark: Any) -> bool:
    context = getattr(spark, "_sc", None)
    if context is not None:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    if getattr(spark, "is_stopped", False):
        return True
    # With Spark Connect, the version is asked of the server.
    return hasattr(spark, "version") and not spark.version
