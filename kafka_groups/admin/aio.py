"""The asynchronous admin client."""

import asyncio
import warnings
import weakref
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, Self, Unpack

from kafka_groups.admin.aio_access import AsyncAccessCalls
from kafka_groups.admin.aio_configs import AsyncConfigCalls
from kafka_groups.admin.aio_groups import AsyncGroupCalls
from kafka_groups.admin.aio_streams import AsyncStreamsGroupCalls
from kafka_groups.admin.aio_topics import AsyncTopicCalls
from kafka_groups.admin.aio_transactions import AsyncTransactionCalls
from kafka_groups.admin.rules.arguments import (
    EVERYONE,
    check_reason,
    checked_changes,
    checked_names,
    checked_offsets,
    checked_place,
    checked_states,
    checked_wanted,
    split_topics,
)
from kafka_groups.admin.rules.group_configs import ConfigChanges, GroupConfigValues, alter_configs, describe_configs
from kafka_groups.admin.rules.member_removal import remove_everyone, remove_instances
from kafka_groups.admin.rules.returned_values import RemovedMember, ShareGroupDescription, ShareGroupList, ShareOffset
from kafka_groups.admin.rules.share_groups import check_may_change, delete_groups, describe_groups, list_groups
from kafka_groups.admin.rules.share_offsets import alter_offsets, delete_offsets, describe_offsets, reset_offsets
from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import AdminClient, admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results
from kafka_groups.config.clients.admin import AdminConfig, admin_config
from kafka_groups.config.clients.connection import config_of
from kafka_groups.config.clients.keywords import AdminKeywords
from kafka_groups.config.clients.timeouts import NONE_IS_API_TIMEOUT, checked_timeout
from kafka_groups.types import TopicPartition

__all__ = ["AsyncKafkaAdmin"]


class AsyncKafkaAdmin(
    AsyncStreamsGroupCalls,
    AsyncAccessCalls,
    AsyncGroupCalls,
    AsyncConfigCalls,
    AsyncTopicCalls,
    AsyncTransactionCalls,
):
    """An admin client, for asyncio.

    It lists, describes and deletes groups of any type, describes and changes offsets and configurations of share groups
    (KIP-932) and streams groups (KIP-1071), and removes members of classic and consumer groups (KIP-345). It creates,
    describes and deletes topics, adds partitions, deletes records, and changes configurations of topics and brokers. It
    lists and describes transactions and their producers, fences producers, and finds and aborts hanging transactions
    (KIP-664). It describes and changes ACLs, and users with SCRAM credentials.

    Each call finds the brokers that are responsible, and retries what may pass until its timeout. A failure of one
    group or partition does not affect the others: it is returned in `Results.errors`. A call about a single group
    raises the error of that group. If a response is lost, the request is sent again, so that a change may be made
    twice; the second time it may fail because the first succeeded.

    A client belongs to one event loop. Any number of tasks may use it at the same time. It connects with the first
    call. Use it in an `async with` statement, or call `close`.

    Args:
        config: A dictionary of configuration keys by Kafka's dotted names, or by confluent-kafka's where both mean the
            same.
        environment: Another network or clock, for tests.
        **keywords: Configuration keys by their Python names, such as `bootstrap_servers`. The configuration reference
            lists them all.

    Raises:
        ConfigurationError: A key is unknown, or a value is invalid.
    """

    # In the blocking class, for the paragraph "An admin client, for asyncio.":
    #   An admin client; its methods block.
    # In the blocking class, for the paragraph "A client belongs to one event loop.":
    #   Any number of threads may use a client at the same time. It connects with the first call, on a background
    #   thread. Use it in a `with` statement, or call `close`.

    def __init__(
        self,
        config: AdminConfig | Mapping[str, object] | None = None,
        /,
        *,
        environment: Environment | None = None,
        **keywords: Unpack[AdminKeywords],
    ) -> None:
        self._config = config_of(config, keywords, AdminConfig, admin_config)
        environment = environment or Environment()
        self._clock = environment.clock
        self._client = admin_client(self._config, environment)
        self._finalizer = weakref.finalize(self, _abandon, self._client)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._client!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.alive and self._client.is_running and not self._client.is_forked:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    # ---------------------------------------------------------------------------------- share groups

    async def list_share_groups(self, *, states: Iterable[str] = (), timeout: float | None = None) -> ShareGroupList:
        """List the share groups of the cluster.

        Asks every broker. A broker that does not answer is in `errors` of the list, and its groups are missing.

        Args:
            states: Only groups in these states: `Empty`, `Stable` or `Dead`. By default all.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The groups that you may see, sorted by id.

        Raises:
            OperationTimeoutError: No broker named the others in time.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await list_groups(self._within(timeout), checked_states(states))

    async def describe_share_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, ShareGroupDescription]:
        """Describe share groups: state, members, assignment and lag (KIP-932, KIP-1226).

        Args:
            group_ids: The groups.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            A description or an error for each group: `GroupIdNotFoundError` if it does not exist or is of another type,
            `GroupAuthorizationFailedError` if you may not describe it, `OperationTimeoutError` if its coordinator does
            not answer.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await describe_groups(self._within(timeout), checked_names(group_ids, "group_ids"))

    async def delete_share_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, None]:
        """Delete share groups and their positions. Groups of other types are not deleted.

        Args:
            group_ids: The groups. They must not have members.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each group: `NonEmptyGroupError` if it has members, `GroupIdNotFoundError` if it does
            not exist or is of another type, `GroupAuthorizationFailedError` if you may not delete or describe it.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await delete_groups(self._within(timeout), checked_names(group_ids, "group_ids"))

    # --------------------------------------------------------------------------------------- offsets

    async def describe_share_group_offsets(
        self,
        groups: Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
        *,
        timeout: float | None = None,
    ) -> Results[str, Results[TopicPartition, ShareOffset]]:
        """Describe how far share groups are: start offsets and lag (KIP-932, KIP-1226).

        Args:
            groups: The groups; or a dictionary of partitions by group, with None for all partitions of a group.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each group an error, or an offset or an error for each partition. Without partitions, these are the
            partitions for which the group has state and that you may see; none if the group does not exist.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await describe_offsets(self._within(timeout), checked_wanted(groups))

    async def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> Results[TopicPartition, None]:
        """Set the start offsets of a share group without members (KIP-932).

        The group continues at these offsets: it redelivers records that it has finished, or skips others. A group that
        does not exist is created.

        Args:
            group_id: The group.
            offsets: The offset of the next record to deliver, by partition.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each partition, such as `UnknownTopicOrPartitionError`.

        Raises:
            NonEmptyGroupError: The group has members.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        (group,) = checked_names([group_id], "group_id")
        return await alter_offsets(self._within(timeout), group, checked_offsets(offsets))

    async def reset_share_group_offsets(
        self,
        group_id: str,
        to: Literal["earliest", "latest"] | datetime,
        topics: Iterable[str | TopicPartition] | None = None,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Results[TopicPartition, int]:
        """Move a share group without members to the beginning or end of partitions, or to a time (KIP-932).

        Args:
            group_id: The group.
            to: `earliest`, `latest`, or a time with a time zone: the first record at or after it, or the end if there
                is none.
            topics: Topics, single partitions, or both. None stands for all partitions for which the group has state.
            dry_run: Return the new start offsets and change nothing.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The new start offset or an error for each partition.

        Raises:
            NonEmptyGroupError: The group has members.
            GroupIdNotFoundError: The group is of another type.
            UnknownTopicOrPartitionError: A topic does not exist.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        (group,) = checked_names([group_id], "group_id")
        timestamp, ask = checked_place(to), self._within(timeout)
        if dry_run:
            await check_may_change(ask, group)
        return await reset_offsets(ask, group, await _partitions(ask, group, topics), timestamp, dry_run=dry_run)

    async def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, None]:
        """Make a share group without members forget topics (KIP-932).

        If a member subscribes to such a topic again, the group starts where `share.auto.offset.reset` says.

        Args:
            group_id: The group.
            topics: Names of topics.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each topic.

        Raises:
            NonEmptyGroupError: The group has members.
            GroupIdNotFoundError: The group does not exist or is of another type.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        (group,) = checked_names([group_id], "group_id")
        return await delete_offsets(self._within(timeout), group, checked_names(topics, "topics"))

    # --------------------------------------------------------------------------------- configurations

    async def describe_group_configs(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, GroupConfigValues]:
        """Describe the configurations of groups of any type, defaults included.

        Args:
            group_ids: The groups. They need not exist.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each group a `GroupConfigValue` by Kafka's names, or an error such as `GroupAuthorizationFailedError`.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await describe_configs(self._within(timeout), checked_names(group_ids, "group_ids"))

    async def alter_group_configs(
        self, changes: Mapping[str, ConfigChanges], *, validate_only: bool = False, timeout: float | None = None
    ) -> Results[str, None]:
        """Change configurations of groups, such as `share.auto.offset.reset`; others keep their values (KIP-339).

        All changes of a group are made, or none. They reach the brokers within moments, not before this returns.

        Args:
            changes: For each group new values by Kafka's names; None resets a configuration to the broker's default.
            validate_only: Check the changes and make none.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each group, such as `InvalidConfigError` or `GroupAuthorizationFailedError`.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await alter_configs(self._within(timeout), checked_changes(changes), validate_only=validate_only)

    # --------------------------------------------------------------------------------------- members

    async def remove_members(
        self,
        group_id: str,
        instance_ids: Iterable[str] | Literal["everyone"],
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[str, RemovedMember]:
        """Remove members from a classic group or a consumer group, and let the group rebalance (KIP-345).

        A static member that is gone keeps its partitions until its session times out; this gives them to others at
        once. A client that is still running joins again, unless its instance id was fenced.

        Args:
            group_id: The group.
            instance_ids: The instance ids of static members; or `everyone` for all members, static or not, that the
                group has now.
            reason: Why, for the broker's log; up to 255 characters. It is sent from LeaveGroup v5 on (KIP-800).
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The removed member or an error for each instance id, and for each member id of other members:
            `UnknownMemberIdError` if the group has no such member.

        Raises:
            UnsupportedVersionError: The broker is older than Kafka 2.4: it has no LeaveGroup v3.
            GroupIdNotFoundError: With `everyone`, the group does not exist, or it is a share group.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        (group,) = checked_names([group_id], "group_id")
        check_reason(reason)
        ask = self._within(timeout)
        if isinstance(instance_ids, str) and instance_ids == EVERYONE:
            return await remove_everyone(ask, group, reason)
        return await remove_instances(ask, group, checked_names(instance_ids, "instance_ids"), reason)

    # ------------------------------------------------------------------------------------ the client

    async def close(self) -> None:
        """Close all connections.

        Calls that are under way raise `ClosedError`. A second call does nothing, and neither does a call in a process
        that was forked from the client's.
        """
        self._finalizer.detach()
        if not self._client.is_forked:
            await self._client.close()

    def _within(self, timeout_s: float | None) -> Asking:
        timeout_s = checked_timeout(timeout_s, NONE_IS_API_TIMEOUT)
        return self._client.within(
            self._config.default_api_timeout_ms if timeout_s is None else round(timeout_s * 1000)
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_ms() / 1000, UTC)


async def _partitions(
    ask: Asking, group_id: str, topics: Iterable[str | TopicPartition] | None
) -> list[TopicPartition]:
    if topics is None:
        return list((await describe_offsets(ask, {group_id: None}))[group_id])
    names, partitions = split_topics(topics)
    found = (await partitions_of_topics(ask, names)).checked() if names else Results()
    return [*partitions, *(each for some in found.values.values() for each in some)]


def _abandon(client: AdminClient) -> None:
    """The client was garbage-collected without having been closed: let go of its connections."""
    loop = client.loop
    if loop is not None and not loop.is_closed() and not client.is_forked:
        loop.call_soon_threadsafe(lambda: asyncio.ensure_future(client.close()))
