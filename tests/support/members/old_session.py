"""The old session of a static streams member in a group whose session timeout is known."""

import random

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Events
from kafka_groups.client.group_configs import GroupConfigsManager, GroupNumbers
from kafka_groups.client.metadata import Metadata
from kafka_groups.streams.member.coordinated.old_session import SESSION_TIMEOUT, OldSession


def configs_of(session_timeout_ms: int | None = None) -> GroupConfigsManager:
    """What the member knows of its group's configuration."""
    manager = GroupConfigsManager(
        GroupNumbers("app", (SESSION_TIMEOUT,), since="4.2"),
        metadata=Metadata(),
        events=Events(),
        backoff=BackoffTimer(100, 1_000, random.Random(0)),
        timeout_ms=30_000,
    )
    if session_timeout_ms is not None:
        manager.values = {SESSION_TIMEOUT: session_timeout_ms}
    return manager


def old_session(rng: random.Random, session_timeout_ms: int | None = None, longest_ms: int = 10_000) -> OldSession:
    """Waits from one second on."""
    return OldSession(BackoffTimer(1_000, longest_ms, rng), configs_of(session_timeout_ms))
