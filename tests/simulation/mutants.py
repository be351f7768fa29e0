"""Defects planted on purpose: each must be caught by the simulation, or the simulation proves nothing."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import attrs

from kafka_groups.broker.coordinators.result import Reply, Result
from kafka_groups.broker.coordinators.share_state import shard
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.broker.runs import Run
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime
from kafka_groups.broker.runtime.share_state.share_persister import SharePersister
from kafka_groups.broker.share_partitions import acknowledgement
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.record_state import RecordEvent, RecordState
from kafka_groups.client.metadata import Metadata
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord
from kafka_groups.protocol.coordinator_records.share_group_state import ShareUpdateValue
from kafka_groups.share.delivery import marks
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.fetching.fetch_size import FetchSize
from kafka_groups.share.delivery.fetching.renewal import Renewer
from kafka_groups.share.delivery.fetching.share_responses import ShareResponses
from kafka_groups.share.delivery.inbox import CompletedFetch, Inbox
from kafka_groups.share.intake import Intake
from kafka_groups.types import AcknowledgeType
from tests.support.planted_defects import Patch, by_name

# -------------------------------------------------------------------------------------------- the broker


def no_ownership_check(patch: Patch) -> None:
    """Anybody may acknowledge anything that is in flight."""
    patch.setattr(acknowledgement, "_held", lambda run, _member_id, _now_ms: Run(run.first, run.last, run.value))


def locks_never_expire(patch: Patch) -> None:
    """What is acquired stays acquired, until its session ends."""
    lock = SharePartition._lock

    def lock_for_ever(self: SharePartition, acquisition: Any, member_id: str, deadline_ms: int) -> None:
        lock(self, acquisition, member_id, deadline_ms + 10_000_000)

    patch.setattr(SharePartition, "_lock", lock_for_ever)


def locked_records_are_given_to_others(patch: Patch) -> None:
    """A fetch gets what another member still holds."""
    acquire = SharePartition.acquire

    def acquire_anything(
        self: SharePartition, member_id: str, batches: Any, wanted: Any, config: Any, now_ms: int
    ) -> Any:
        self.apply(self.expire(config, now_ms + 4_000))
        return acquire(self, member_id, batches, wanted, config, now_ms)

    patch.setattr(SharePartition, "acquire", acquire_anything)


def accepting_releases(patch: Patch) -> None:
    """ACCEPT makes the record available again."""
    events = {**acknowledgement._EVENTS, AcknowledgeType.ACCEPT: RecordEvent.RELEASE}
    patch.setattr(acknowledgement, "_EVENTS", MappingProxyType(events))


def delivery_count_stands_still(patch: Patch) -> None:
    """Every delivery counts as the first."""
    lock = SharePartition._lock

    def lock_as_first(self: SharePartition, acquisition: Any, member_id: str, deadline_ms: int) -> None:
        lock(self, attrs.evolve(acquisition, delivery_count=0), member_id, deadline_ms)

    patch.setattr(SharePartition, "_lock", lock_as_first)


def nothing_is_persisted(patch: Patch) -> None:
    """A new leader knows nothing of what was acknowledged."""
    patch.setattr(SharePersister, "write", lambda *arguments: arguments[-1](None))


def states_change_without_records(patch: Patch) -> None:
    """What was acknowledged is in memory alone."""
    append = InternalLog.append_records

    def append_snapshots(self: InternalLog[Any], records: Sequence[CoordinatorRecord], *rest: Any) -> int:
        kept = [record for record in records if not isinstance(record.value, ShareUpdateValue)]
        return append(self, kept, *rest) if kept else self.end_offset

    patch.setattr(InternalLog, "append_records", append_snapshots)


def replay_is_skipped_after_loading(patch: Patch) -> None:
    """The next coordinator begins without what the log tells."""
    load_some = CoordinatorRuntime._load_some

    def load_nothing(self: CoordinatorRuntime[Any]) -> None:
        for led in self._loading:
            led.shard.replay = lambda *_arguments: None
        load_some(self)
        for led in self._led.values():
            if led.is_active:
                vars(led.shard).pop("replay", None)

    patch.setattr(CoordinatorRuntime, "_load_some", load_nothing)


def answers_come_before_the_commit(patch: Patch) -> None:
    """A response does not wait until the log has committed the records."""
    commit = CoordinatorRuntime._commit

    def commit_after(self: CoordinatorRuntime[Any], led: Any, result: Result[Any, Any], done: Any) -> None:
        if result.parked is None:
            done(result.response)
            done = _ignore
        commit(self, led, result, done)

    patch.setattr(CoordinatorRuntime, "_commit", commit_after)


def effects_come_before_the_commit(patch: Patch) -> None:
    """Effects are performed before the log has committed the records that ask for them."""
    commit = CoordinatorRuntime._commit

    def commit_after(self: CoordinatorRuntime[Any], led: Any, result: Result[Any, Any], done: Any) -> None:
        at_once = [effect for effect in result.effects if not isinstance(effect, Reply)]
        replies = tuple(effect for effect in result.effects if isinstance(effect, Reply))
        commit(self, led, attrs.evolve(result, effects=replies), done)
        for effect in at_once:
            self._kind.perform(effect, led.address)

    patch.setattr(CoordinatorRuntime, "_commit", commit_after)


def old_leaders_are_not_fenced(patch: Patch) -> None:
    """A leader that was replaced goes on writing."""
    patch.setattr(shard, "_check_leader", lambda _state, _leader_epoch: None)


def pending_records_are_acquired_again(patch: Patch) -> None:
    """Records whose acknowledgement is being written are available."""
    hold = SharePartition.hold

    def give_away(self: SharePartition, batches: Any) -> Any:
        held = hold(self, batches)
        for run in held:
            free = attrs.evolve(run.value, state=RecordState.AVAILABLE, owner=None, lock_deadline_ms=None)
            self.in_flight.set(run.first, run.last, free)
        return held

    patch.setattr(SharePartition, "hold", give_away)


# -------------------------------------------------------------------------------------------- the client


def failures_are_not_told(patch: Patch) -> None:
    """A failed acknowledgement is forgotten."""
    settled = ShareResponses._settled

    def settle_success_only(self: ShareResponses, pending: Any, error: Exception | None) -> None:
        if error is None:
            settled(self, pending, None)

    patch.setattr(ShareResponses, "_settled", settle_success_only)


def failures_are_told_as_success(patch: Patch) -> None:
    """Whatever became of an acknowledgement, the application is told that all is well."""
    settled = ShareResponses._settled
    patch.setattr(ShareResponses, "_settled", lambda self, pending, _error: settled(self, pending, None))


def stale_deliveries_are_handed_out(patch: Patch) -> None:
    """What waited until its locks had ended is delivered all the same."""

    def take_any(self: Inbox, _now_ms: int) -> CompletedFetch | None:
        return self.ready.popleft() if self.ready else None

    patch.setattr(Inbox, "take", take_any)
    patch.setattr(Inbox, "withdraw", lambda _self, _fetched: False)
    patch.setattr(Renewer, "renew", lambda *_arguments: 1000)

    def take_anything(
        _self: Intake, item: DeliveredRecords, in_hand: list[DeliveredRecords], _now_ms: int
    ) -> tuple[DeliveredRecords, ...]:
        in_hand.append(item)
        return (item,) if len(item) else ()

    patch.setattr(Intake, "_take_in_hand", take_anything)


def moved_leaders_are_not_followed(patch: Patch) -> None:
    """Leaders stay for ever where they were first seen."""
    apply_leader = Metadata._apply_leader

    def apply_first(self: Metadata, partition: Any, leader: Any) -> bool:
        return False if partition in self._leaders else apply_leader(self, partition, leader)

    patch.setattr(Metadata, "_apply_leader", apply_first)


def released_records_are_accepted(patch: Patch) -> None:
    """RELEASE goes onto the wire as ACCEPT."""
    encode = marks.encode_batches

    def encode_as_accept(taken: bytes | bytearray, first_offset: int) -> Any:
        return encode(bytes(taken).replace(bytes([marks.RELEASE]), bytes([marks.ACCEPT])), first_offset)

    patch.setattr(marks, "encode_batches", encode_as_accept)


def acknowledgements_are_dropped(patch: Patch) -> None:
    """Every tenth acknowledgement of the application vanishes."""
    take, count = DeliveredRecords.take_acknowledged, iter(range(1, 1_000_000))

    def take_most(self: DeliveredRecords) -> bytes:
        taken = take(self)
        return taken if next(count) % 10 else bytes([marks.SENT]) * len(taken)

    patch.setattr(DeliveredRecords, "take_acknowledged", take_most)


def fetches_never_shrink(patch: Patch) -> None:
    """A fetch asks for as much as ever, whatever went wrong."""
    answered = FetchSize.answered

    def grow(self: FetchSize, asked: int, _brought: int, size_bytes: int, **_keywords: Any) -> None:
        answered(self, asked, asked, size_bytes, is_awaited=True, waiting=0)

    patch.setattr(FetchSize, "answered", grow)
    patch.setattr(FetchSize, "reset", lambda _self: None)


def _ignore(_outcome: object) -> None:
    """It was told before."""


MUTANTS = by_name(
    no_ownership_check,
    locks_never_expire,
    locked_records_are_given_to_others,
    accepting_releases,
    delivery_count_stands_still,
    nothing_is_persisted,
    states_change_without_records,
    replay_is_skipped_after_loading,
    answers_come_before_the_commit,
    effects_come_before_the_commit,
    old_leaders_are_not_fenced,
    pending_records_are_acquired_again,
    failures_are_not_told,
    failures_are_told_as_success,
    stale_deliveries_are_handed_out,
    moved_leaders_are_not_followed,
    released_records_are_accepted,
    acknowledgements_are_dropped,
    fetches_never_shrink,
)
