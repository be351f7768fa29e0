"""How Kafka's tool resets applications of Kafka Streams, in streams groups and in classic ones, on any broker."""

import asyncio
from collections.abc import Callable

from attrs import evolve

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest
from tests.support.kafka.tool_scenes import Scene, Stage, at_coordinator, count, leave, produce
from tests.support.requests.raw_client import RawClient

__all__ = ["APPLICATION_RESET"]

_SESSION_MS = 60_000
_RESET = "kafka-streams-application-reset --application-id"


def hang(group_id: str) -> Callable[[Stage], None]:
    """Join a classic group, and go without leaving it: the group has a member until the session ends."""
    request = JoinGroupRequest(
        group_id=group_id, session_timeout_ms=_SESSION_MS, rebalance_timeout_ms=_SESSION_MS, protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )  # fmt: skip

    async def work(client: RawClient) -> None:
        named = evolve(request, member_id=(await client.ask(request)).member_id)
        joined = await client.ask(named)
        sync = SyncGroupRequest(
            group_id=group_id, generation_id=joined.generation_id, member_id=named.member_id,
            protocol_type="consumer", protocol_name="range",
        )  # fmt: skip
        assert (await client.ask(sync)).error_code is ErrorCode.NONE

    return lambda stage: asyncio.run(at_coordinator(stage.server, group_id, work))


APPLICATION_RESET: Scene = (
    "kafka-topics --create --topic pages --partitions 2",
    produce("pages", 8),
    count("pages", "paging", 8),
    f"{_RESET} paging --input-topics pages",
    f"{_RESET} paging --input-topics pages --force",
    leave,
    f"{_RESET} paging --input-topics pages --dry-run",
    f"{_RESET} paging --input-topics pages --to-offset 2 --dry-run",
    f"{_RESET} paging --input-topics pages --shift-by 1 --internal-topics paging-words-repartition --dry-run",
    f"{_RESET} paging --input-topics pages --internal-topics other --dry-run",
    f"{_RESET} paging --input-topics missing --dry-run",
    "kafka-topics --list --topic paging-.*",
    f"{_RESET} paging --input-topics pages --to-offset 2",
    "kafka-streams-groups --describe --group paging --state",
    "kafka-streams-groups --reset-offsets --group paging --input-topic pages --to-current --dry-run",
    "kafka-topics --list --topic paging-.*",
    hang("left-over"),
    "kafka-consumer-groups --describe --group left-over --state",
    f"{_RESET} left-over --input-topics pages",
    f"{_RESET} left-over --input-topics pages --force",
    "kafka-consumer-groups --describe --group left-over",
    "kafka-consumer-groups --describe --group left-over --state",
)
"""A member that is still there stops the tool. With `--force` it removes those of classic groups, and no others."""
