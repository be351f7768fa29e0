"""Every request about groups, sent to groups of every type, empty or with members, on every broker.

The tables are what Kafka 4.4.0 answers.
"""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.support.conditions import until
from tests.support.members.kinds_of_groups import KINDS, REQUESTS, Subject, listed
from tests.support.targets import Target, everywhere

Table = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Requests, and for each result the kinds of groups that have it."""

OTHERS = ()
"""All kinds that have no other result."""

_CHANGES = (
    "Join",
    "Leave",
    "OffsetCommit",
    "OffsetDelete",
    "Delete",
    "ConsumerGroupHeartbeat",
    "ShareGroupHeartbeat",
    "StreamsGroupHeartbeat",
    "Alter",
)
"""How the requests begin that change a group unless they are refused."""

ANSWERS: Table = MappingProxyType({
    "JoinGroup": {
        "NONE": OTHERS,
        "waits": ("classic",),
        "INCONSISTENT_GROUP_PROTOCOL": ("connect", "share, empty", "share", "streams"),
    },
    "SyncGroup": {
        "UNKNOWN_MEMBER_ID": OTHERS,
    },
    "Heartbeat": {
        "UNKNOWN_MEMBER_ID": OTHERS,
    },
    "LeaveGroup, instance": {
        "UNKNOWN_MEMBER_ID": OTHERS,
        "NONE": ("classic", "connect", "consumer"),
    },
    "LeaveGroup, member": {
        "UNKNOWN_MEMBER_ID": OTHERS,
    },
    "OffsetCommit, outside": {
        "NONE": ("missing", "offsets", "classic, empty", "consumer, empty", "streams, empty"),
        "UNKNOWN_MEMBER_ID": ("classic", "connect", "consumer", "streams"),
        "GROUP_ID_NOT_FOUND": ("share, empty", "share"),
    },
    "OffsetCommit, member": {
        "GROUP_ID_NOT_FOUND": ("missing", "share, empty", "share"),
        "UNKNOWN_MEMBER_ID": OTHERS,
    },
    "OffsetFetch, outside": {
        "NONE [-1]": OTHERS,
        "NONE [7]": ("offsets", "classic, empty"),
    },
    "OffsetFetch, member": {
        "NONE [-1]": OTHERS,
        "NONE [7]": ("offsets", "classic, empty"),
        "UNKNOWN_MEMBER_ID []": ("consumer, empty", "consumer", "streams, empty", "streams"),
    },
    "OffsetDelete": {
        "GROUP_ID_NOT_FOUND []": ("missing", "share, empty", "share"),
        "NONE ['NONE']": ("offsets", "classic, empty", "consumer, empty", "streams, empty"),
        "NONE ['GROUP_SUBSCRIBED_TO_TOPIC']": ("classic", "consumer", "streams"),
        "NON_EMPTY_GROUP []": ("connect",),
    },
    "DescribeGroups": {
        "GROUP_ID_NOT_FOUND Dead": OTHERS,
        "NONE Empty": ("offsets", "classic, empty"),
        "NONE Stable": ("classic", "connect"),
    },
    "DeleteGroups": {
        "GROUP_ID_NOT_FOUND": ("missing",),
        "NONE": ("offsets", "classic, empty", "consumer, empty", "share, empty", "streams, empty"),
        "NON_EMPTY_GROUP": ("classic", "connect", "consumer", "share", "streams"),
    },
    "ListGroups": {
        "": ("missing",),
        "classic, , empty": ("offsets",),
        "classic, consumer, empty": ("classic, empty",),
        "classic, consumer, with members": ("classic",),
        "classic, connect, with members": ("connect",),
        "consumer, consumer, empty": ("consumer, empty",),
        "consumer, consumer, with members": ("consumer",),
        "share, share, empty": ("share, empty",),
        "share, share, with members": ("share",),
        "streams, streams, empty": ("streams, empty",),
        "streams, streams, with members": ("streams",),
    },
    "ConsumerGroupHeartbeat, joins": {
        "NONE": OTHERS,
        "GROUP_ID_NOT_FOUND": ("connect", "share, empty", "share", "streams, empty", "streams"),
    },
    "ConsumerGroupHeartbeat": {
        "GROUP_ID_NOT_FOUND": OTHERS,
        "UNKNOWN_MEMBER_ID": ("consumer, empty", "consumer"),
    },
    "ConsumerGroupHeartbeat, leaves": {
        "GROUP_ID_NOT_FOUND": OTHERS,
        "UNKNOWN_MEMBER_ID": ("consumer, empty", "consumer"),
    },
    "ConsumerGroupDescribe": {
        "GROUP_ID_NOT_FOUND ": OTHERS,
        "NONE Empty": ("consumer, empty",),
        "NONE Stable": ("consumer",),
    },
    "StreamsGroupHeartbeat, joins": {
        "NONE": ("missing", "offsets", "classic, empty", "streams, empty", "streams"),
        "GROUP_ID_NOT_FOUND": OTHERS,
    },
    "StreamsGroupHeartbeat": {
        "GROUP_ID_NOT_FOUND": OTHERS,
        "UNKNOWN_MEMBER_ID": ("streams, empty", "streams"),
    },
    "StreamsGroupHeartbeat, leaves": {
        "GROUP_ID_NOT_FOUND": OTHERS,
        "UNKNOWN_MEMBER_ID": ("streams, empty", "streams"),
    },
    "StreamsGroupDescribe": {
        "GROUP_ID_NOT_FOUND ": OTHERS,
        "NONE empty": ("streams, empty",),
        "NONE with members": ("streams",),
    },
    "ShareGroupHeartbeat, joins": {
        "NONE": ("missing", "share, empty", "share"),
        "GROUP_ID_NOT_FOUND": OTHERS,
    },
    "ShareGroupHeartbeat": {
        "GROUP_ID_NOT_FOUND": OTHERS,
        "UNKNOWN_MEMBER_ID": ("share, empty", "share"),
    },
    "ShareGroupHeartbeat, leaves": {
        "GROUP_ID_NOT_FOUND": OTHERS,
        "UNKNOWN_MEMBER_ID": ("share, empty", "share"),
    },
    "ShareGroupDescribe": {
        "GROUP_ID_NOT_FOUND ": OTHERS,
        "NONE Empty": ("share, empty",),
        "NONE Stable": ("share",),
    },
    "DescribeShareGroupOffsets": {
        "NONE 0": OTHERS,
        "NONE 2": ("share, empty", "share"),
    },
    "AlterShareGroupOffsets": {
        "NONE ['NONE']": ("missing", "share, empty"),
        "GROUP_ID_NOT_FOUND []": OTHERS,
        "NON_EMPTY_GROUP []": ("share",),
    },
    "DeleteShareGroupOffsets": {
        "GROUP_ID_NOT_FOUND []": OTHERS,
        "NONE ['NONE']": ("share, empty",),
        "NON_EMPTY_GROUP []": ("share",),
    },
})  # fmt: skip

BECOMES: Table = MappingProxyType({
    "JoinGroup": {
        "classic, consumer, with members": (
            "missing", "offsets", "classic, empty", "consumer, empty", "streams, empty",
        ),
    },
    "LeaveGroup, instance": {
        "classic, consumer, empty": ("classic",),
        "classic, connect, empty": ("connect",),
        "consumer, consumer, empty": ("consumer",),
    },
    "OffsetCommit, outside": {
        "classic, , empty": ("missing",),
    },
    "DeleteGroups": {
        "": ("offsets", "classic, empty", "consumer, empty", "share, empty", "streams, empty"),
    },
    "ConsumerGroupHeartbeat, joins": {
        "consumer, consumer, with members": ("missing", "offsets", "classic, empty", "classic", "consumer, empty"),
    },
    "StreamsGroupHeartbeat, joins": {
        "streams, streams, with members": ("missing", "offsets", "classic, empty", "streams, empty"),
    },
    "ShareGroupHeartbeat, joins": {
        "share, share, with members": ("missing", "share, empty"),
    },
    "AlterShareGroupOffsets": {
        "share, share, empty": ("missing",),
    },
})  # fmt: skip
"""What ListGroups shows of the group afterwards, where that is something else than before."""


@everywhere
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS)
async def test_every_request_to_every_kind_of_group(target: Target, kind: str) -> None:
    unchanged = await Subject.of(target, kind)
    before = await listed(unchanged)
    for name, request in REQUESTS.items():
        expected = _entry(ANSWERS, name, kind)
        subject = await Subject.of(target, kind) if _changes(name, expected) else unchanged
        becomes = _entry(BECOMES, name, kind)
        assert await request(subject) == expected, name
        await _check_listed(subject, before if becomes is None else becomes)


async def _check_listed(subject: Subject, expected: str) -> None:
    # A real Kafka answers some requests before it has written what becomes of the group.
    await until(lambda: listed(subject), lambda shown: shown == expected)


def test_the_table_has_all_requests_and_all_kinds() -> None:
    assert list(ANSWERS) == list(REQUESTS)
    assert all(_entry(ANSWERS, name, kind) is not None for name in REQUESTS for kind in KINDS)
    named = [kind for table in (ANSWERS, BECOMES) for row in table.values() for kinds in row.values() for kind in kinds]
    assert set(named) == set(KINDS)


def _changes(name: str, answer: str | None) -> bool:
    return name.startswith(_CHANGES) and str(answer).startswith(("NONE", "waits"))


def _entry(table: Table, name: str, kind: str) -> str | None:
    row = table.get(name, {})
    others = (result for result, kinds in row.items() if kinds == OTHERS)
    return next((result for result, kinds in row.items() if kind in kinds), next(others, None))
