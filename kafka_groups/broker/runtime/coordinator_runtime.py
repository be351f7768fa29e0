"""Runs the shards of one kind of coordinator on one broker, over the partitions that the broker leads.

A shard is loading, active, or not here. Every operation has the same steps: the shard returns a result, the log takes
its records, the shard replays them, and when the log has committed them, the request is answered and the effects are
performed. All of that may have happened when `run` returns: with a log in memory, nothing waits.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.configs.effective import verifies_transactions
from kafka_groups.broker.coordinators.result import Effect, Reply, Result
from kafka_groups.broker.coordinators.shard import Shard
from kafka_groups.broker.deadlines import Deadlines
from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.log.internal_log import RecordCodec
from kafka_groups.broker.log.producers import Verification
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.placement import partition_of_key
from kafka_groups.broker.runtime.led_shard import Done, LedShard, ShardAddress, Unanswered
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.scheduling.full_collections import FULL_COLLECTIONS
from kafka_groups.errors import (
    BrokerError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
    UnknownServerError,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["CoordinatorRuntime", "ShardKind"]

S = TypeVar("S", bound=Shard[Any])
T = TypeVar("T")
R = TypeVar("R")

_NO_SEQUENCE = -1
_PARTS_AT_ONCE = 2
"""Parts of a loaded state that begin in one turn of the event loop. With two, a small state takes one turn."""


@frozen
class ShardKind(Generic[S]):
    """The differences between the shards of the coordinators.

    Attributes:
        topic: Name of the internal topic.
        codec: Encodes and decodes its records.
        new_shard: Makes an empty shard.
        perform: Performs an effect of a shard.
    """

    topic: str
    codec: RecordCodec[Any]
    new_shard: Callable[[], S]
    perform: Callable[[Effect, ShardAddress], None]


class CoordinatorRuntime(Generic[S]):
    """The shards of one coordinator on one broker.

    Args:
        broker: The broker.
        kind: The kind of the shards.

    Attributes:
        next_deadline_ms: Returns the time at which `expire` has something to do, or None.
    """

    def __init__(self, broker: BrokerParts, kind: ShardKind[S]) -> None:
        self._broker = broker
        self._kind = kind
        self._clock = broker.cluster.clock
        self._max_batch_bytes = broker.max_batch_bytes(kind.topic)
        self._partitions = 0
        self._led: dict[int, LedShard[S]] = {}
        self._loading: deque[LedShard[S]] = deque()
        self._deadlines: Deadlines[int] = Deadlines()
        self.next_deadline_ms = self._deadlines.earliest_ms  # asked after every request

    def __repr__(self) -> str:
        return f"<CoordinatorRuntime {self._broker.node_id} of {self._kind.topic}: leads {len(self._led)} partitions>"

    # ------------------------------------------------------------------------------------------- leading

    def follow(self, image: MetadataImage) -> None:
        """Lead the partitions that the broker leads by this image, each in its epoch, and no others."""
        topic, node_id = image.topic(self._kind.topic), self._broker.node_id
        leads = [] if topic is None else [each for each in topic.partitions if each.leader_id == node_id]
        self._partitions = 0 if topic is None else topic.num_partitions
        topic_id = None if topic is None else topic.topic_id
        wanted = {each.partition: (topic_id, each.leader_epoch) for each in leads}
        for led in tuple(self._led.values()):
            # A new epoch ends a shard even if the broker leads again: another coordinator may have written in between.
            # A new id is that of a topic that was deleted and made again.
            if wanted.get(led.address.index) != (led.partition.topic_id, led.address.epoch):
                self._resign(led)
        for index, (known_id, epoch) in wanted.items():
            if index not in self._led and known_id is not None:
                self._lead(known_id, ShardAddress(index, epoch))

    def topics_deleted(self) -> None:
        """Let the shards follow a change of the topics."""
        for led in self._active():
            now_ms, wall_ms = self._clock.now_ms(), self._clock.wall_ms()
            self._commit(led, led.shard.metadata_changed(now_ms, wall_ms), _ignore)
        for led in self._loading:
            led.beginning = None  # what has been looked at may be out of date

    def stop(self, *, answers: bool = True) -> None:
        """Lead nothing any more. Requests that wait are answered with NOT_COORDINATOR, unless the broker is dead."""
        for led in tuple(self._led.values()):
            if not answers:
                led.unanswered.clear()
                led.parked.clear()
            self._resign(led)
        FULL_COLLECTIONS.resume(self)

    # -------------------------------------------------------------------------------------------- running

    @property
    def num_partitions(self) -> int:
        """Number of partitions of the topic, or 0 if it does not exist."""
        return self._partitions

    def index_of(self, key: str) -> int:
        """Return the partition that keeps the state of a key, or -1 if the topic does not exist."""
        return partition_of_key(key, self._partitions) if self._partitions else -1

    def run(
        self,
        index: int,
        operation: Callable[[S], Result[T, Any]],
        done: Done[T],
        *,
        epoch: int | None = None,
        verification: Verification | None = None,
    ) -> None:
        """Run an operation on a shard.

        Args:
            index: The partition.
            operation: The operation. A `BrokerError` that it raises is the response.
            done: Takes the response. CoordinatorLoadInProgressError: the shard is loading. NotCoordinatorError: this
                broker does not lead the partition, or no longer when the response is due.
                CoordinatorNotAvailableError: the log refused the records. UnknownServerError: a record is larger than
                the largest batch, and nothing has changed.
            epoch: The leader epoch that the operation belongs to. In another one it is dropped with
                NotCoordinatorError.
            verification: What the transaction coordinator was asked, if the result has a producer. Without it, the
                producer's transaction must be open in the partition.
        """
        try:
            self.check(index)
            led = self._led[index]
            # The outcome of an effect belongs to the shard that has asked for it. A shard that was loaded since asks
            # again.
            if epoch not in (None, led.address.epoch):
                raise NotCoordinatorError
            result = operation(led.shard)
            # Kafka also verifies the transaction when records of a coordinator are appended
            # (UnifiedLog.analyzeAndValidateProducerState).
            if result.producer is not None:
                led.log.producers.check_transaction(result.producer, verification, enabled=self._verifies())
        except BrokerError as error:
            done(error)
            return
        self._commit(led, result, done)

    def begin_verification(self, index: int, producer: Producer, *, adds: bool) -> Verification | None:
        """Return what must be verified before records of a producer are written, or None if nothing.

        Raises:
            InvalidProducerEpochError: The epoch is older than one that has written before.
            BrokerError: See `check`.
        """
        self.check(index)
        producers = self._led[index].log.producers
        return producers.begin_verification(producer, _NO_SEQUENCE, self._clock.wall_ms(), adds=adds)

    def end_transaction(self, index: int, marker: EndMarker, done: Done[None]) -> None:
        """Write the marker that ends a producer's transaction, and let the shard apply its records, or forget them.

        Args:
            index: The partition.
            marker: The marker.
            done: Takes None when the marker is committed, or an error. The errors are those of `run`, and
                InvalidProducerEpochError and TransactionCoordinatorFencedError.
        """
        try:
            self.check(index)
            led = self._led[index]
            led.log.producers.check_marker(marker)
        except BrokerError as error:
            done(error)
            return
        try:
            led.append_end(marker)
        except BrokerError as error:
            self._refused(led, error, done)
        else:
            self._commit(led, Result(None), done)

    def check(self, index: int) -> None:
        """Raise an error if an operation on a shard would be refused.

        Raises:
            NotCoordinatorError: This broker does not lead the partition.
            CoordinatorLoadInProgressError: The shard is loading.
        """
        led = self._led.get(index)
        # The order of the two errors is Kafka's: NOT_COORDINATOR lets a client look for another broker, and
        # COORDINATOR_LOAD_IN_PROGRESS lets it ask this one again.
        if led is None:
            raise NotCoordinatorError
        if not led.is_active:
            raise CoordinatorLoadInProgressError

    def shards(self) -> list[S]:
        """Return the active shards.

        Raises:
            CoordinatorLoadInProgressError: A shard is loading.
        """
        # A list of groups that lacks those of one partition would be wrong without anybody noticing. Clients retry.
        if any(not led.is_active for led in self._led.values()):
            raise CoordinatorLoadInProgressError
        return [led.shard for led in self._led.values()]

    def active_shards(self) -> list[S]:
        """Return the shards that are active, without those that are loading."""
        return [led.shard for led in self._active()]

    @property
    def num_loading(self) -> int:
        """Number of partitions that are loading."""
        return len(self._led) - len(self._active())

    def active_shard(self, index: int) -> S | None:
        """Return an active shard, to look at, or None."""
        led = self._led.get(index)
        return led.shard if led is not None and led.is_active else None

    def log_committed(self, index: int) -> None:
        """Reply what has waited for a log that commits late."""
        led = self._led.get(index)
        if led is not None:
            self._answer_committed(led)

    # ----------------------------------------------------------------------------------------- deadlines

    def expire(self, now_ms: int) -> None:
        """Expire what is due in the shards."""
        for index in self._deadlines.due(now_ms):
            led = self._led[index]
            self._commit(led, led.shard.expire(now_ms, self._clock.wall_ms()), _ignore)

    # ------------------------------------------------------------------------------------------- loading

    def _lead(self, topic_id: UUID, address: ShardAddress) -> None:
        log = self._broker.cluster.logs.internal(topic_id, address.index, self._kind.codec)
        log.on_committed = partial(self.log_committed, address.index)
        partition = TopicIdPartition(topic_id, address.index)
        led = LedShard(partition, address, log, self._kind.new_shard(), self._clock, self._max_batch_bytes)
        self._led[address.index] = led
        if led.loaded_up_to >= log.end_offset:
            self._begin(led)  # nothing to load: the topic is new, or the partition was never used
        if not led.is_active:
            self._loading.append(led)
            if len(self._loading) == 1:
                self._broker.soon(self._load_some)

    def _load_some(self) -> None:
        """Continue to load one partition. Between two calls the broker does other work."""
        while self._loading and self._loading[0] is not self._led.get(self._loading[0].address.index):
            self._loading.popleft()  # it has moved away again
        if not self._loading:
            FULL_COLLECTIONS.resume(self)
            return
        FULL_COLLECTIONS.postpone(self)  # almost everything that is loaded stays
        led = self._loading[0]
        # Records may have been written while the shard loaded: those that it has to write itself to begin.
        if led.loaded_up_to < led.log.end_offset:
            self._load_slice(led)
        else:
            self._begin(led)
        if led.is_active:
            self._loading.popleft()
        if self._loading:
            self._broker.soon(self._load_some)
        else:
            FULL_COLLECTIONS.resume(self)

    def _load_slice(self, led: LedShard[S]) -> None:
        found, led.loaded_up_to = led.log.entries(max(led.loaded_up_to, led.log.log_start_offset))
        led.load(found)
        if led.loaded_up_to >= led.log.end_offset:
            self._begin(led)

    def _begin(self, led: LedShard[S]) -> None:
        """Let the shard begin with a part of its state, and activate it after the last."""
        if led.beginning is None:
            led.outstanding.clear()
            led.beginning = led.shard.loaded(self._clock.now_ms(), self._clock.wall_ms())
        for _ in range(_PARTS_AT_ONCE):
            part = next(led.beginning, None)
            if part is None:
                self._activate(led)
                return
            led.outstanding += part.effects
            try:
                led.append(part.records)
            except BrokerError:
                self._reload(led)
                return
            led.loaded_up_to = led.log.end_offset

    def _activate(self, led: LedShard[S]) -> None:
        led.is_active, led.beginning = True, None
        self._commit(led, Result(None, (), tuple(led.outstanding)), _ignore)

    def _resign(self, led: LedShard[S]) -> None:
        del self._led[led.address.index]
        self._deadlines.set(led.address.index, None)
        for done in led.forsake():
            done(NotCoordinatorError())

    # ---------------------------------------------------------------------------------------- committing

    def _verifies(self) -> bool:
        return verifies_transactions(self._broker.configs)

    def _active(self) -> list[LedShard[S]]:
        return [led for led in self._led.values() if led.is_active]

    def _commit(self, led: LedShard[S], result: Result[Any, Any], done: Done[Any]) -> None:
        try:
            led.append(result.records, result.producer)
        except BrokerError as error:
            self._refused(led, error, done)
            return
        self._deadlines.set(led.address.index, led.shard.next_deadline_ms())
        led.unanswered.append(Unanswered(led.log.end_offset, result, done))
        self._answer_committed(led)

    def _refused(self, led: LedShard[S], error: BrokerError, done: Done[Any]) -> None:
        if isinstance(error, UnknownServerError):  # a record is too large, and nothing was appended
            done(error)
        else:
            self._reload(led)
            done(CoordinatorNotAvailableError())

    def _reload(self, led: LedShard[S]) -> None:
        """Throw a shard away whose log refused records, and load it again. So nothing needs to be taken back."""
        self._resign(led)
        self._lead(led.partition.topic_id, led.address)

    def _answer_committed(self, led: LedShard[S]) -> None:
        committed_offset = led.log.committed_offset
        if committed_offset > led.readable_up_to:
            led.readable_up_to = committed_offset
            self._broker.grown(led.partition)
        while led.unanswered and led.unanswered[0].end_offset <= committed_offset:
            each = led.unanswered.popleft()
            # A request is answered only when its records are committed, so that no client acts by what a failover could
            # take back (CoordinatorRuntime in Kafka waits for the high watermark). One that is parked waits for a later
            # operation.
            if each.result.parked is None:
                each.done(each.result.response)
            else:
                led.parked[each.result.parked] = each.done
                self._broker.waits()
            self._perform(led, each.result.effects)

    def _perform(self, led: LedShard[S], effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                led.parked.pop(effect.token, _ignore)(effect.outcome)
            else:
                self._kind.perform(effect, led.address)


def _ignore(_outcome: object) -> None:
    """Ignore the outcome of a request that is no longer waiting."""
