"""Stopping between micro-batches: the one that runs is finished, and no further one begins to poll."""

import random
import threading
from typing import TYPE_CHECKING, Any

from kafka_groups.types import random_uuid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["StopSwitch", "is_connect"]

_CHECK_SECONDS = 0.1
_STOP = "true"


def is_connect(spark_object: object) -> bool:
    """Whether a session or a query is one of Spark Connect: no SparkContext, and `foreachBatch` runs elsewhere."""
    return type(spark_object).__module__.startswith("pyspark.sql.connect")


class StopSwitch:
    """Whether a run may begin, and when the one under way has ended.

    With classic Spark `foreachBatch` runs on a thread of this process. With Spark Connect it runs in another process,
    which is told by way of the session's configuration and seen to have heard by the query's progress.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or f"spark.kafkaGroups.stop.{random_uuid(random.Random())}"
        self._changed = threading.Condition()
        self._running = 0
        self._is_on = False

    def __reduce__(self) -> tuple[type["StopSwitch"], tuple[str]]:
        return StopSwitch, (self._name,)

    def begins(self, session: "SparkSession") -> bool:
        """Whether a run may begin; if so, `ended` is to be called."""
        if is_connect(session) and session.conf.get(self._name, "") == _STOP:
            return False
        with self._changed:
            self._running += not self._is_on
            return not self._is_on

    def ended(self) -> None:
        """The run that began has ended."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def stop(self, query: "StreamingQuery") -> None:
        """Let no further run begin, wait for the one under way, and stop the query."""
        with self._changed:
            self._is_on = True
            if not is_connect(query):
                self._changed.wait_for(lambda: self._running == 0)
        if is_connect(query):
            self._tell_server(query)
        query.stop()

    def _tell_server(self, query: "StreamingQuery") -> None:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - loaded where there is a query

        SparkSession.active().conf.set(self._name, _STOP)
        self._wait_for_progress(query)

    @staticmethod
    def _wait_for_progress(query: "StreamingQuery") -> None:
        """A micro-batch that begins after the one under way has ended sees that it is to do nothing."""
        last, pause = _batch_id(query), threading.Event()
        while query.isActive and _batch_id(query) <= last:
            pause.wait(_CHECK_SECONDS)


def _batch_id(query: "StreamingQuery") -> int:
    progress: Any = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])
