"""Set where a share group begins, before its first member joins.

Until a group has a `share.auto.offset.reset` of its own, the brokers' default holds, `latest`, which skips what was
produced before the group first read a partition. A value that the group has is never changed: somebody chose it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from kafka_groups.admin.rules.group_configs import GroupConfigValues, alter_configs, describe_configs
from kafka_groups.admin.rules.topics import brokers_of_cluster
from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.client import AdminClient
from kafka_groups.client.calls.questions import Answer, Asking, Question, told
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.readers import offset_reset_duration_ms
from kafka_groups.errors import BrokerError, ConfigurationError, GroupAuthorizationFailedError
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from kafka_groups.share.workers.start_option import RESET, GroupStart

__all__ = ["check_group_start", "set_group_start"]

_LOG = logging.getLogger("kafka_groups.worker")

_TIMEOUT_MS: Final = 30_000
"""The time for answers of brokers, as for the other questions before a start."""
_SHOWN_WITHIN_MS: Final = 10_000
_LOOK_AGAIN_S: Final = 0.02
# A broker shows a new value a few milliseconds before its share-partition leaders use it. There is no way to ask them.
_USED_AFTER_S: Final = 0.25


async def set_group_start(start: GroupStart, config: ClientConfig, environment: Environment) -> None:
    """Set the start of a group whose own configuration does not have it, and wait until the brokers use it.

    Args:
        start: The start.
        config: The connection.
        environment: Network and clock.

    Raises:
        ConfigurationError: The group has another start, or you may not read or set it.
        KafkaGroupsError: No broker answers.
    """
    async with _opened(config, environment) as client:
        ask = client.within(_TIMEOUT_MS)
        if not await _has_start(ask, start):
            await _alter(ask, start, validate_only=False)
            _LOG.info("Set %s=%s for the share group %s (%s)", RESET, start.reset, start.group_id, start.declared)
            await _until_used(ask, start, client)


async def check_group_start(start: GroupStart, config: ClientConfig, environment: Environment) -> None:
    """Check that `set_group_start` would succeed. Changes nothing.

    Raises:
        ConfigurationError: The group has another start, or you may not read or set it.
        KafkaGroupsError: No broker answers.
    """
    async with _opened(config, environment) as client:
        ask = client.within(_TIMEOUT_MS)
        if not await _has_start(ask, start):
            await _alter(ask, start, validate_only=True)


@asynccontextmanager
async def _opened(config: ClientConfig, environment: Environment) -> AsyncIterator[AdminClient]:
    # Nobody else waits for these answers, so brokers that cannot be reached are warnings, as in `preflight`.
    assembly = Assembly(config, environment, BackgroundErrors())
    client = AdminClient(assembly, request_timeout_ms=config.request_timeout_ms, warning_level=logging.WARNING)
    try:
        yield client
    finally:
        await client.close()


# -------------------------------------------------------------------------------------------- the value


async def _has_start(ask: Asking, start: GroupStart) -> bool:
    """Return whether the group has the start already; False if its own configuration does not say."""
    try:
        configs = (await describe_configs(ask, [start.group_id]))[start.group_id]
    except BrokerError as error:
        remedy = f"It needs ALTER_CONFIGS on the group, too, unless the start is set with {start.command}"
        raise _refused(start, "read", remedy, error) from error
    return _is_equal(start, configs)


def _is_equal(start: GroupStart, configs: GroupConfigValues) -> bool:
    own = configs.get(RESET)
    # Releases differ in what they show for a value that was never set, but all say that it is not the group's own.
    if own is None or not own.is_set or own.value is None:
        return False
    if _meaning(own.value) == _meaning(start.reset):
        return True
    raise ConfigurationError(
        f"{start.declared}: the share group {start.group_id} has {RESET}={own.value}. Change one of them. To change the"
        f" group, which only matters for partitions that it has not read yet: {start.command}"
    )


def _meaning(reset: str) -> str | int:
    """Return a duration in milliseconds, as it has many forms, and any other value as it is."""
    duration_ms = offset_reset_duration_ms(reset)
    return reset if duration_ms is None else duration_ms


async def _alter(ask: Asking, start: GroupStart, *, validate_only: bool) -> None:
    altered = await alter_configs(ask, {start.group_id: {RESET: start.reset}}, validate_only=validate_only)
    try:
        altered.checked()
    except BrokerError as error:
        remedy = f"Or have the start set with {start.command}"
        raise _refused(start, "set", remedy, error) from error


def _refused(start: GroupStart, verb: str, remedy: str, error: BrokerError) -> ConfigurationError:
    what = f"{start.declared}: cannot {verb} {RESET} of the share group {start.group_id}: {error}"
    return ConfigurationError(sentences(what, remedy if isinstance(error, GroupAuthorizationFailedError) else ""))


# -------------------------------------------------------------------------------------------- until it is used


async def _until_used(ask: Asking, start: GroupStart, client: AdminClient) -> None:
    """Wait until all running brokers know the value: the leader of each partition reads its own copy of it."""
    nodes = await brokers_of_cluster(ask)
    within = client.within(_SHOWN_WITHIN_MS)
    while missing := await _not_shown_by(within, start, nodes):
        if any(missing.values()):  # the time is over
            await _has_start(ask, start)  # another worker may have set another value at the same time
            _LOG.warning(
                "The brokers %s have not shown %s of the share group %s yet. Its first records may be skipped on them.",
                ", ".join(map(str, missing)),
                RESET,
                start.group_id,
            )
            return
        await asyncio.sleep(_LOOK_AGAIN_S)
    await asyncio.sleep(_USED_AFTER_S)


async def _not_shown_by(ask: Asking, start: GroupStart, nodes: Sequence[int]) -> Mapping[int, Exception | None]:
    """Return the brokers that don't show the value; with an error, if they did not answer in time."""

    def build(_keys: Sequence[int], _version: int) -> DescribeConfigsRequest:
        resource = DescribeConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=start.group_id, configuration_keys=(RESET,)
        )
        return DescribeConfigsRequest(resources=(resource,))

    def read(keys: Sequence[int], response: DescribeConfigsResponse) -> Mapping[int, Answer[str | None]]:
        (result,) = response.results
        value = next((config.value for config in result.configs if config.name == RESET), None)
        return {key: told(result.error_code, result.error_message, value) for key in keys}

    purpose = "describe the configuration of the group on each broker"
    places = {node: node for node in nodes}
    shown = await ask(Question(purpose, ApiKey.DESCRIBE_CONFIGS, tuple(nodes), build, read, places=places))
    values: Mapping[int, Exception | None] = {n: None for n, value in shown.values.items() if value != start.reset}
    return {**values, **shown.errors}
