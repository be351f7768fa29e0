"""The effects of acknowledgements, validated as a whole before anything changes (KIP-932, KIP-1222)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from types import MappingProxyType

from attrs import evolve, frozen

from kafka_groups.broker.runs import OffsetRange, Run
from kafka_groups.broker.share_partitions.dead_letters import DeliveryEnds
from kafka_groups.broker.share_partitions.in_flight import InFlight, InFlightState
from kafka_groups.broker.share_partitions.record_state import RecordEvent, RecordState, next_state
from kafka_groups.errors import InvalidRecordStateError, InvalidRequestError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.types import AcknowledgeType

__all__ = ["Acknowledgement", "AcknowledgementPlan", "check_batches", "merged", "plan_acknowledgement", "released"]

_EVENTS = MappingProxyType({
    AcknowledgeType.GAP: RecordEvent.GAP,
    AcknowledgeType.ACCEPT: RecordEvent.ACCEPT,
    AcknowledgeType.RELEASE: RecordEvent.RELEASE,
    AcknowledgeType.REJECT: RecordEvent.REJECT,
    AcknowledgeType.RENEW: RecordEvent.RENEW,
})  # fmt: skip


_VALID_TYPES = tuple(
    frozenset((int(each),) for each in AcknowledgeType if each <= highest)
    for highest in (AcknowledgeType.REJECT, AcknowledgeType.RENEW)
)
"""The single types that a batch may have, in a request that may not renew locks and in one that may."""


@frozen
class Acknowledgement:
    """A member's acknowledgements of records of one share-partition.

    Attributes:
        member_id: The member.
        batches: Ranges of offsets in ascending order, each with one type or one type per offset.
        is_renew_ack: Whether the request may renew locks.
    """

    member_id: str
    batches: tuple[AcknowledgementBatch, ...]
    is_renew_ack: bool = False


@frozen
class AcknowledgementPlan:
    """The changes that a valid acknowledgement makes.

    Attributes:
        changes: New states of records that are no longer acquired.
        renewals: Records whose locks are extended by a full lock duration.
    """

    changes: tuple[StateBatch, ...]
    renewals: tuple[OffsetRange, ...]


def check_batches(acknowledgement: Acknowledgement, *, renew_enabled: bool) -> None:
    """Validate the parts of the batches that do not depend on state.

    Raises:
        InvalidRequestError: A range is reversed or out of order, has the wrong number of types or an unknown type, or
            renews although the request does not set IsRenewAck.
        InvalidRecordStateError: A range renews, but the group's `share.renew.acknowledge.enable` is false.
    """
    previous_last = -1
    valid_types = _VALID_TYPES[acknowledgement.is_renew_ack]
    for batch in acknowledgement.batches:
        # The checks of KafkaApis.validateAcknowledgementBatches. Kafka compares with the last offset itself, so two
        # batches may meet in one offset; whether that is valid depends on their types and is checked by
        # `plan_acknowledgement`.
        if batch.first_offset > batch.last_offset or batch.first_offset < previous_last:
            raise InvalidRequestError(
                f"Offsets {batch.first_offset}..{batch.last_offset} are reversed or out of order."
            )
        if batch.acknowledge_types not in valid_types:  # this is quick, and most have only one type
            _check_types(batch, is_renew_ack=acknowledgement.is_renew_ack)
        previous_last = batch.last_offset
    # After the other checks: a malformed request is refused as such even where renewing is off. Kafka asks the
    # configuration for each record from the start offset on (SharePartition.acknowledgePerOffsetBatchRecords), so below
    # it a RENEW succeeds there and is refused here.
    if not renew_enabled and any(AcknowledgeType.RENEW in batch.acknowledge_types for batch in acknowledgement.batches):
        raise InvalidRecordStateError("Renewing acquisition locks is not enabled for the group.")


def _check_types(batch: AcknowledgementBatch, *, is_renew_ack: bool) -> None:
    types, size = batch.acknowledge_types, batch.last_offset - batch.first_offset + 1
    # One type for the whole batch, or one for each offset (SharePartition.fetchAckTypeMapForBatch).
    if len(types) not in (1, size):
        raise InvalidRequestError(
            f"Got {len(types)} acknowledge types for {size} offsets: expected 1, or one for each offset."
        )
    # The type RENEW needs the flag IsRenewAck, which only version 2 of the requests has (KIP-1222).
    highest = AcknowledgeType.RENEW if is_renew_ack else AcknowledgeType.REJECT
    if not all(AcknowledgeType.GAP <= each <= highest for each in types):
        raise InvalidRequestError(
            f"Invalid acknowledge type: allowed values in this request are {AcknowledgeType.GAP:d} to {highest:d}."
        )


def plan_acknowledgement(
    in_flight: InFlight, acknowledgement: Acknowledgement, ends: DeliveryEnds, now_ms: int
) -> AcknowledgementPlan:
    """Validate a well-formed acknowledgement against the records and return its changes.

    Offsets below the start offset are ignored: their records are archived, which does not matter to a consumer that has
    just processed one of them.

    Raises:
        InvalidRequestError: An offset is beyond the records in flight.
        InvalidRecordStateError: A record is not acquired, or another member acquired it, its lock has expired, or no
            record at all is in flight.
    """
    changes: list[StateBatch] = []
    renewals: list[OffsetRange] = []
    changed_up_to = -1
    for batch in _once(acknowledgement.batches, in_flight.start_offset):
        _check_window(batch, in_flight)
        for part, event in _parts(batch, in_flight.start_offset):
            # Two batches may contain the same offset. That is valid after a renewal, but not after any other type.
            # Kafka applies the batches one after the other, so the second one finds the record in the state that the
            # first one gave it: still acquired after RENEW, and not acquired after anything else.
            if part.first <= changed_up_to:
                raise _not_acquired(part.first)
            for run in in_flight.between(part.first, part.last):
                held = _held(run, acknowledgement.member_id, now_ms)
                # There are two cases. A renewal changes only the lock and is not persisted (KIP-1222). Everything else
                # ends the delivery and is written before it takes effect.
                if event is RecordEvent.RENEW:
                    renewals.append(OffsetRange(run.first, run.last))
                else:
                    changes.append(_change(held, event, ends))
                    changed_up_to = run.last
    return AcknowledgementPlan(merged(changes), tuple(renewals))


def released(runs: Sequence[Run[InFlightState]], ends: DeliveryEnds) -> tuple[StateBatch, ...]:
    """Return the new state of acquired records that are released without an acknowledgement."""
    return merged([_change(run, RecordEvent.RELEASE, ends) for run in runs])


def merged(batches: list[StateBatch]) -> tuple[StateBatch, ...]:
    """Merge states into the smallest number of batches."""
    merged_batches = batches[:1]
    for batch in batches[1:]:
        last = merged_batches[-1]
        state = (batch.delivery_state, batch.delivery_count)
        if batch.first_offset == last.last_offset + 1 and state == (last.delivery_state, last.delivery_count):
            merged_batches[-1] = evolve(last, last_offset=batch.last_offset)
        else:
            merged_batches.append(batch)
    return tuple(merged_batches)


def _once(batches: tuple[AcknowledgementBatch, ...], start_offset: int) -> Iterator[AcknowledgementBatch]:
    """Leave out the batches below the start offset, and all but two of the same batches in a row.

    The second one matters: it is valid only if it renews a lock. After two, another one changes nothing.
    """
    before: AcknowledgementBatch | None = None
    repeated = False
    for batch in batches:
        # KIP-932, "Log retention": these records are archived already, and their acknowledgement is no error
        # (SharePartition.acknowledge).
        if batch.last_offset < start_offset:
            continue
        is_same = before is not None and batch.first_offset == before.last_offset and batch == before
        before = batch
        if not (is_same and repeated):
            yield batch
        repeated = is_same


def _check_window(batch: AcknowledgementBatch, in_flight: InFlight) -> None:
    # The checks of SharePartition.fetchSubMapForAcknowledgementBatch. If nothing at all is in flight, Kafka finds no
    # batch in its cache and answers INVALID_RECORD_STATE; offsets past the window are INVALID_REQUEST. A batch from
    # below the start offset to past the end fails with UNKNOWN_SERVER_ERROR in Kafka, for no reason that a client could
    # want.
    if batch.last_offset <= in_flight.end_offset:
        return
    if not in_flight.window_size:
        raise InvalidRecordStateError(f"Nothing is in flight, so offset {batch.last_offset} is not acquired.")
    which = "first" if batch.first_offset > in_flight.end_offset else "last"
    raise InvalidRequestError(f"Batch record not found. The {which} offset in request is past acquired records.")


def _parts(batch: AcknowledgementBatch, start_offset: int) -> Iterator[tuple[OffsetRange, RecordEvent]]:
    """Return the ranges of one type, from the start offset on."""
    first = max(batch.first_offset, start_offset)
    if first > batch.last_offset:
        return
    types = batch.acknowledge_types
    if len(types) == 1:
        yield OffsetRange(first, batch.last_offset), _EVENTS[AcknowledgeType(types[0])]
        return
    for each, same in groupby(types[first - batch.first_offset :]):
        last = first + len(list(same)) - 1
        yield OffsetRange(first, last), _EVENTS[AcknowledgeType(each)]
        first = last + 1


def _held(run: Run[InFlightState | None], member_id: str, now_ms: int) -> Run[InFlightState]:
    delivery = run.value
    # KIP-932, "Client programming interface": a record must still be acquired, and by this member. There are four cases
    # of INVALID_RECORD_STATE, as in SharePartition.acknowledgePerOffsetBatchRecords: the record is not acquired, its
    # state is being changed, another member owns it, or its lock has expired.
    if delivery is None or delivery.state is not RecordState.ACQUIRED:
        raise _not_acquired(run.first)
    if delivery.is_held:
        raise InvalidRecordStateError(f"An earlier acknowledgement of offset {run.first} is being written.")
    if delivery.owner != member_id:
        raise InvalidRecordStateError(f"Member is not the owner of offset {run.first}.")
    if delivery.lock_deadline_ms is not None and delivery.lock_deadline_ms <= now_ms:
        raise InvalidRecordStateError(f"The acquisition lock of offset {run.first} has expired.")
    return Run(run.first, run.last, delivery)


def _not_acquired(offset: int) -> InvalidRecordStateError:
    return InvalidRecordStateError(f"The offset cannot be acknowledged. The offset {offset} is not acquired.")


def _change(run: Run[InFlightState], event: RecordEvent, ends: DeliveryEnds) -> StateBatch:
    return StateBatch(
        first_offset=run.first,
        last_offset=run.last,
        delivery_state=next_state(run.value.state, ends.event(event, run.value.delivery_count)),
        delivery_count=run.value.delivery_count,
    )
