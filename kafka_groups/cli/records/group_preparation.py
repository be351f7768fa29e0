"""Before `share-consume` joins: whether the topics exist, and where the group begins."""

from collections.abc import Sequence
from functools import partial
from shlex import quote
from typing import Final

import click

from kafka_groups.acls import AclOperation
from kafka_groups.admin.rules.group_configs import GroupConfigValues, describe_configs
from kafka_groups.admin.rules.groups import type_of_group
from kafka_groups.admin.rules.share_groups import describe_groups
from kafka_groups.cli.records.existing_topics import existing_partitions
from kafka_groups.cli.records.named_topics import NamedTopic
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.principals import principal_of
from kafka_groups.client.rights import explained
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import ConfigurationError, GroupIdNotFoundError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.records.fetching.validating import not_readable
from kafka_groups.share.workers.group_start import set_group_start
from kafka_groups.share.workers.start_option import RESET, GroupStart

__all__ = ["prepare_group"]

_DEAD: Final = "Dead"
_SHARE: Final = "share"


async def prepare_group(
    config: ClientConfig, group_id: str, topics: Sequence[str], start: str | None, timeout_ms: int
) -> None:
    """Check that topics exist, and set the start of a group that does not exist and has none of its own.

    If the group has one, standard error says that the option has no effect.

    Args:
        config: How to reach the brokers.
        group_id: The group.
        topics: The topics.
        start: `earliest` or `latest`; None leaves it to the group.
        timeout_ms: The longest wait for answers.

    Raises:
        UnknownTopicOrPartitionError: A topic does not exist.
        GroupIdNotFoundError: There is a group of another type with this name.
        click.ClickException: The start cannot be read or set.
        KafkaGroupsError: The brokers cannot be used.
    """
    client = admin_client(config, Environment())
    try:
        ask = client.within(timeout_ms)
        principal = principal_of(config)
        denied = partial(not_readable, principal=principal)
        await existing_partitions(ask, [NamedTopic(topic) for topic in topics], denied)
        reason = None if start is None else await _reason_for_no_effect(ask, group_id, start, principal)
    finally:
        await client.close()
    if reason is not None:
        click.echo(reason, err=True)
    elif start is not None:
        await _set_start(config, GroupStart(group_id, start, f"--from {start}"))


async def _set_start(config: ClientConfig, start: GroupStart) -> None:
    try:
        await set_group_start(start, config, Environment())
    except ConfigurationError as error:  # a right is missing, or somebody has set another start just now
        raise click.ClickException(str(error)) from error


async def _reason_for_no_effect(ask: Asking, group_id: str, start: str, principal: str | None) -> str | None:
    """Return the text about a start that would change nothing; None if it can be set."""
    name = quote(group_id)
    if await _exists(ask, group_id, principal):
        return (
            f"--from {start} has no effect: the group {group_id} exists already. To move it, stop its members and run:"
            f" kafka-groups offsets reset {name} --to-{start} --all-topics --execute"
        )
    own = _own_start((await describe_configs(ask, [group_id])).values.get(group_id, {}))
    if own in (None, start):
        return None
    return (
        f"--from {start} has no effect: the group {group_id} has {RESET}={own}. To change it:"
        f" kafka-groups groups configs {name} --set {RESET}={start}"
    )


async def _exists(ask: Asking, group_id: str, principal: str | None) -> bool:
    described = await describe_groups(ask, [group_id])
    error = described.errors.get(group_id)
    if isinstance(error, GroupIdNotFoundError):
        kind = await type_of_group(ask, group_id)
        if kind not in (None, _SHARE):  # its configuration is not ours
            raise GroupIdNotFoundError(f"Group {group_id} is not a share group. It is a {kind} group.") from error
        return False
    if error is not None:
        raise explained(error, ApiKey.SHARE_GROUP_DESCRIBE, [group_id], principal, AclOperation.READ)
    return described[group_id].state != _DEAD


def _own_start(configs: GroupConfigValues) -> str | None:
    own = configs.get(RESET)
    return own.value if own is not None and own.is_set else None
