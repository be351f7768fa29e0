"""Batches that brokers refuse: all their records fail with one error.

Brokers name the records that are wrong, and librdkafka does not pass the names on.
"""

from collections import defaultdict
from collections.abc import Sequence

from kafka_groups.errors import InvalidRecordError, InvalidTimestampError, KafkaGroupsError, MessageTooLargeError
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.records.interface import UnwrittenRecord

__all__ = ["refused_together"]

_OF_BATCHES = (InvalidRecordError, InvalidTimestampError, MessageTooLargeError)
"""The errors that librdkafka has for a batch, because of one of its records or of all of them."""


def refused_together(refused: Sequence[UnwrittenRecord]) -> list[UnwrittenRecord]:
    """Return refused records, with errors that say so if others were refused with them.

    Of those that are too large, the largest one comes first: it is the likeliest reason.
    """
    groups: defaultdict[tuple[str, int | None, type[KafkaGroupsError]], list[UnwrittenRecord]] = defaultdict(list)
    for each in refused:
        if isinstance(each.error, _OF_BATCHES):
            groups[each.topic, each.partition, type(each.error)].append(each)
    told = {id(each): _told(each, group) for group in groups.values() if len(group) > 1 for each in group}
    large = [each for each in refused if id(each) in told and isinstance(each.error, MessageTooLargeError)]
    first = max(large, key=_size, default=None)
    ordered = refused if first is None else [first, *(each for each in refused if each is not first)]
    return [told.get(id(each), each) for each in ordered]


def _told(record: UnwrittenRecord, group: Sequence[UnwrittenRecord]) -> UnwrittenRecord:
    place = record.topic if record.partition is None else f"{record.topic}-{record.partition}"
    together = f"It is one of {counted(len(group), 'record')} for {place} that were refused together"
    texts = [
        str(record.error),
        f"{together}: librdkafka gives up a whole batch, and does not say which record is wrong",
    ]
    if isinstance(record.error, MessageTooLargeError):
        largest = counted(max(map(_size, group)), "byte")
        texts.append(
            f"The largest of them has {largest}. If the topic takes records of that size, its limit is too low for the "
            "batch"
        )
    error = type(record.error)(sentences(*texts))
    error.__cause__ = record.error
    error.says_remedy = record.error.says_remedy
    return record._replace(error=error)


def _size(record: UnwrittenRecord) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
