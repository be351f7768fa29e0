"""Stop between micro-batches: the current one finishes, and no further one starts to poll."""

import random
import threading
from typing import TYPE_CHECKING, Any

from kafka_groups.types import random_uuid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["StopSwitch", "is_connect"]

_CHECK_SECONDS = 0.1
_ON = "true"


def is_connect(spark_object: object) -> bool:
    """Return whether an object uses Spark Connect: no SparkContext, and `foreachBatch` runs on the server."""
    return type(spark_object).__module__.startswith("pyspark.sql.connect")


class StopSwitch:
    """A switch that keeps further runs from starting.

    With classic Spark, `foreachBatch` runs on a thread of this process. With Spark Connect it runs in another process,
    which reads the switch from the session's configuration.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or f"spark.kafkaGroups.stop.{random_uuid(random.Random())}"
        self._is_on = False

    def __reduce__(self) -> tuple[type["StopSwitch"], tuple[str]]:
        return StopSwitch, (self._name,)

    def is_on(self, session: "SparkSession") -> bool:
        """Return whether no further run may start."""
        return self._is_on or (is_connect(session) and session.conf.get(self._name, "") == _ON)

    def stop(self, query: "StreamingQuery") -> None:
        """Prevent further runs, wait for the current micro-batch, and stop the query."""
        last, pause = _batch_id(query), threading.Event()
        self._is_on = True
        if is_connect(query):
            self._tell_server()
        # `query.stop()` kills the tasks of a running micro-batch, so its end is waited for. A batch that begins after
        # the switch was set does nothing.
        while query.isActive and query.status["isTriggerActive"] and _batch_id(query) <= last:
            pause.wait(_CHECK_SECONDS)
        query.stop()

    def _tell_server(self) -> None:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - loaded where there is a query

        SparkSession.active().conf.set(self._name, _ON)


def _batch_id(query: "StreamingQuery") -> int:
    progress: Any = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])
