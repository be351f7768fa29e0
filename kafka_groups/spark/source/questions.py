"""Questions about a group and its topics that a share consumer does not ask: lag and end offsets."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kafka_groups.admin.rules.returned_values import total_lag
from kafka_groups.admin.rules.share_offsets import describe_offsets
from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError, is_retriable
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.share.workers.group_queries import TIMEOUT_MS, impatient_client
from kafka_groups.spark.groups.group_remaining import group_positions
from kafka_groups.spark.rules.remaining import unread_starts
from kafka_groups.types import TopicPartition

__all__ = ["GroupQuestions"]

_LOG = logging.getLogger(__name__)
_LAG_AGE_MS = 2_000
_LAG_PATIENCE_S = 2.0
"""The longest time that a report waits for a pending answer, once for each question."""


class GroupQuestions:
    """Asks about one group and its topics, on a separate thread that starts with the first question.

    Args:
        config: The consumer's configuration, which names the brokers and the group.
        topics: The topics.
        environment: Another network or clock, for tests.

    Attributes:
        begins_at_start: Whether a group without state begins with the first record of a partition.
    """

    def __init__(self, config: ShareConsumerConfig, topics: Sequence[str], environment: Environment) -> None:
        self._group_id = config.group_id
        self._topics = tuple(topics)
        self._clock = environment.clock
        self._client = impatient_client(config, environment)
        self._thread = LoopThread(f"share-group-questions-{config.group_id}")
        self._lag: int | None = None
        self._lag_asked_ms: int | None = None
        self._asking: asyncio.Task[None] | None = None
        self._is_outdated = False
        self._is_late = False
        self.begins_at_start = False

    def ask_lag(self, *, is_changed: bool) -> None:
        """Ask for the lag in the background, while the next batch is filled; does not wait.

        Args:
            is_changed: Whether records were accepted since the last question. If not, a recent answer is good enough.
        """
        now_ms = self._clock.now_ms()
        if is_changed or self._lag_asked_ms is None or now_ms - self._lag_asked_ms >= _LAG_AGE_MS:
            self._lag_asked_ms = now_ms
            self._started().call_soon(self._begin_refresh)

    def lag(self) -> int | None:
        """Return how many records the group has not processed, as of the last question; waits two seconds at most.

        None if it is unknown: the brokers have not answered in time, they do not support the question (before Kafka
        4.2), there is no permission to describe the group, or a partition was not read yet.
        """
        if self._lag_asked_ms is None:
            return None
        return self._started().run(self._answered_lag())

    def end_offsets(self, timeout_ms: int = TIMEOUT_MS) -> Mapping[TopicPartition, int]:
        """Return the end offsets of the topics, without empty partitions; blocks for some seconds at most.

        Args:
            timeout_ms: Longest wait.

        Raises:
            KafkaGroupsError: A broker did not answer the question.
        """
        return self._started().run(self._end_offsets(timeout_ms))

    def unread(self, timeout_ms: int = TIMEOUT_MS) -> Mapping[TopicPartition, int]:
        """Return where the group begins at the earliest in partitions that no member has had yet.

        Ask before the group has a member of this run. Empty for a group that begins with the first record. Blocks for
        some seconds at most.

        Args:
            timeout_ms: Longest wait.

        Raises:
            KafkaGroupsError: A broker did not answer the question.
        """
        return self._started().run(self._unread(timeout_ms))

    def is_through(
        self,
        ends: Mapping[TopicPartition, int],
        unread: Mapping[TopicPartition, int] = MappingProxyType({}),
        *,
        timeout_ms: int = TIMEOUT_MS,
    ) -> bool | None:
        """Return whether the group has processed everything before these offsets. Blocks for a few seconds at most.

        Return None if the brokers do not support the query. A partition whose lag brokers do not tell may have records
        that another member holds, which has not finished any yet. So it counts only if the group begins behind them.

        Args:
            ends: The end offsets when the run began.
            unread: What `unread` returned then.
            timeout_ms: Longest wait.
        """
        try:
            lags, now = self._started().run(self._lags_and_ends(timeout_ms))
        except KafkaGroupsError as error:
            # An error that passes means "not yet", and the run asks again. A refusal means that nobody can tell.
            _LOG.info("cannot tell how far the group %s is: %s", self._group_id, error)
            return False if is_retriable(error) else None
        # Not the start offsets: they are written with the acknowledgements after those that moved them.
        since = {partition: now.get(partition, end) - end for partition, end in ends.items()}
        skipped = {partition: 0 for partition, start in unread.items() if start >= ends.get(partition, 0)}
        known = {**skipped, **{partition: lag for partition, lag in lags.items() if lag is not None}}
        return all(0 <= known.get(partition, -1) <= allowed for partition, allowed in since.items())

    def places(self) -> Sequence[tuple[TopicPartition, int]]:
        """Return where records are: the last of each partition, then the first that the group has not finished.

        Blocks for some seconds at most.

        Raises:
            KafkaGroupsError: A broker did not answer the question.
        """
        return self._started().run(self._places())

    def close(self) -> None:
        """Drop all connections and end the thread."""
        self._thread.stop(last=self._end() if self._thread.is_running else None)

    async def _end(self) -> None:
        if self._asking is not None:  # first, as it may be opening a connection that nobody would close
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        await self._client.close()

    def _started(self) -> LoopThread:
        if not self._thread.is_running:
            self._thread.start()
        return self._thread

    # -------------------------------------------------------------------------------------------- lag

    def _begin_refresh(self) -> None:
        self._is_outdated = True
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        """Ask until no record was accepted while the brokers answered."""
        while self._is_outdated:
            self._is_outdated = False
            try:
                self._lag = total_lag(await self._known_lags())
            except KafkaGroupsError as error:
                self._lag = None
                _LOG.info("the lag of the group %s is not known: %s", self._group_id, error)
        self._is_late = False

    async def _known_lags(self) -> Mapping[TopicPartition, int | None]:
        """Return the lags, with all records of partitions in which the group has not accepted anything yet."""
        lags = await self._lags(TIMEOUT_MS)
        # Partitions without state are known to be unread only if the group begins with the first record.
        if not self.begins_at_start or (lags and None not in lags.values()):
            return lags
        starts, ends = await self._bounds(TIMEOUT_MS)
        unread = {partition: end - starts[partition] for partition, end in ends.items()}
        return {**unread, **{partition: lag for partition, lag in lags.items() if lag is not None}}

    async def _answered_lag(self) -> int | None:
        # A question that was late once is not waited for again, so that slow brokers do not delay each report.
        if self._asking is not None and not self._is_late:
            await asyncio.wait([self._asking], timeout=_LAG_PATIENCE_S)
            self._is_late = not self._asking.done()
        return None if self._is_late else self._lag

    async def _lags_and_ends(
        self, timeout_ms: int
    ) -> tuple[Mapping[TopicPartition, int | None], Mapping[TopicPartition, int]]:
        return await self._lags(timeout_ms), await self._end_offsets(timeout_ms)

    async def _unread(self, timeout_ms: int) -> Mapping[TopicPartition, int]:
        ask, wall_ms = self._ask(timeout_ms), self._clock.wall_ms()
        return unread_starts(await group_positions(ask, self._group_id, self._topics, wall_ms, ends_first=True))

    async def _places(self) -> Sequence[tuple[TopicPartition, int]]:
        ends = await self._end_offsets(TIMEOUT_MS)
        offsets = (await describe_offsets(self._ask(TIMEOUT_MS), {self._group_id: None}))[self._group_id].values
        starts = {place: offset.start_offset for place, offset in offsets.items() if place in ends and offset.lag != 0}
        lasts = sorted((place, end - 1) for place, end in ends.items())
        firsts = sorted((place, start) for place, start in starts.items() if start is not None)
        return [*lasts, *firsts]

    async def _lags(self, timeout_ms: int) -> Mapping[TopicPartition, int | None]:
        """Return the lags of the partitions of these topics for which the group has state."""
        offsets = (await describe_offsets(self._ask(timeout_ms), {self._group_id: None}))[self._group_id]
        lags = {partition: offset.lag for partition, offset in offsets.values.items()}
        return {partition: lag for partition, lag in lags.items() if partition.topic in self._topics}

    async def _end_offsets(self, timeout_ms: int) -> dict[TopicPartition, int]:
        starts, ends = await self._bounds(timeout_ms)
        return {partition: end for partition, end in ends.items() if end > starts[partition]}

    async def _bounds(self, timeout_ms: int) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        """Return the start and end offsets of all partitions."""
        ask = self._ask(timeout_ms)
        topics = (await partitions_of_topics(ask, self._topics)).checked()
        partitions = [partition for some in topics.values.values() for partition in some]
        starts = (await offsets_at(ask, partitions, EARLIEST)).checked()
        ends = (await offsets_at(ask, partitions, LATEST)).checked()
        return starts.values, ends.values

    def _ask(self, timeout_ms: int) -> Asking:
        return self._client.within(timeout_ms)
