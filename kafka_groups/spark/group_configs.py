"""What a share group's configuration says that decides whether records are lost, asked of a broker."""

import logging
from collections.abc import Mapping, Sequence

from attrs import frozen

from kafka_groups.config.share import ShareConsumerConfig
from kafka_groups.errors import BrokerError, NetworkError, OperationTimeoutError, error_for
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.network import Network
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from kafka_groups.share.parts import network_for

__all__ = ["DEFAULT_DELIVERY_LIMIT", "GroupSettings", "group_settings", "notes_on"]

DEFAULT_DELIVERY_LIMIT = 5
"""Kafka's `group.share.delivery.count.limit`, taken where the group's own is not to be had."""

_LOG = logging.getLogger(__name__)
_TIMEOUT_MS = 5_000
_GROUP = 32
_LIMIT = "share.delivery.count.limit"
_RESET = "share.auto.offset.reset"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"


@frozen
class GroupSettings:
    """What a group says of itself; None where it could not be read (no permission, or a broker before 4.3 or 4.4).

    Attributes:
        delivery_limit: After how many deliveries a record is given up.
        auto_offset_reset: Where the group starts on a partition that it has not read yet.
        dead_letter_topic: Where the brokers put what they give up; empty for nowhere.
    """

    delivery_limit: int | None = None
    auto_offset_reset: str | None = None
    dead_letter_topic: str | None = None


def group_settings(config: ShareConsumerConfig) -> GroupSettings:
    """Ask one of the bootstrap servers; blocks for at most some seconds for each.

    A group that may not be described, and brokers that cannot be reached, give no settings and no error: the consumer
    itself will say what is wrong.
    """
    thread = LoopThread(f"share-group-configs-{config.group_id}")
    thread.start()
    try:
        return thread.run(_ask_in_turn(config))
    finally:
        thread.stop()


async def _ask_in_turn(config: ShareConsumerConfig) -> GroupSettings:
    network = network_for(config)
    for address in config.bootstrap_servers:
        try:
            return _settings(await _describe(network, address, config.group_id))
        except (NetworkError, OperationTimeoutError, BrokerError) as error:
            _LOG.info("the configuration of the group %s is not known: %s", config.group_id, error)
    return GroupSettings()


async def _describe(network: Network, address: tuple[str, int], group_id: str) -> Mapping[str, str | None]:
    clock = SystemClock()
    deadline_ms = clock.now_ms() + _TIMEOUT_MS
    connection = await ClientConnection.open(network, *address, "kafka-groups-spark")
    try:
        versions = await negotiate(connection, deadline_ms)
        resource = DescribeConfigsResource(resource_type=_GROUP, resource_name=group_id, configuration_keys=None)
        request = DescribeConfigsRequest(resources=(resource,))
        version = versions.version_for(DescribeConfigsRequest)
        response: DescribeConfigsResponse = await connection.request(request, version, deadline_ms)
    finally:
        connection.close()
    (result,) = response.results
    if result.error_code:
        raise error_for(result.error_code, result.error_message)
    return {config.name: config.value for config in result.configs}


def _settings(configs: Mapping[str, str | None]) -> GroupSettings:
    limit = configs.get(_LIMIT)
    return GroupSettings(int(limit) if limit else None, configs.get(_RESET), configs.get(_DEAD_LETTERS))


def notes_on(settings: GroupSettings, group_id: str, dead_letter_topic: str | None) -> Sequence[str]:
    """What a user should know before records are missed; empty if all is well, or nothing is known.

    Args:
        settings: What the group says.
        group_id: The group.
        dead_letter_topic: The workers' own dead-letter topic.
    """
    notes = []
    if settings.auto_offset_reset == "latest":
        notes.append(
            f"the share group {group_id} starts at the latest offset ({_RESET}=latest): on a partition that it has not"
            f" read yet, what was produced before is skipped; set the group configuration {_RESET}=earliest"
        )
    if settings.dead_letter_topic == "" and dead_letter_topic is None:
        notes.append(
            f"the share group {group_id} has no dead-letter topic: a record that fails"
            f" {settings.delivery_limit or DEFAULT_DELIVERY_LIMIT} times is archived and gone; give"
            f" dead_letter_topic=…, or set the group configuration {_DEAD_LETTERS} (Kafka 4.4)"
        )
    return notes
