"""Checks the arguments of a member's constructor and methods."""

import random
from collections.abc import Mapping
from typing import Final

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.config.places import checked_name, checked_offset, checked_partition
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.types import OffsetAndMetadata, TopicPartition, random_uuid

__all__ = ["check_operation", "checked_commit", "described"]

_MOST_MEMBERS: Final = 100_000


def _check_number(number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _MOST_MEMBERS:
        raise ConfigurationError(f"number={number!r} is invalid. Use a whole number from 1 to {_MOST_MEMBERS}.")


def described(
    config: StreamsMemberConfig, topology: GroupTopology, process_id: str | None, number: int, rng: random.Random
) -> MemberDescription:
    """Return the description that a member sends to its group.

    Raises:
        ConfigurationError: The topology, the process id or the number is invalid.
    """
    _check_number(number)
    if process_id is not None:
        checked_name(process_id, "process_id")
    if not isinstance(topology, GroupTopology):
        raise ConfigurationError(f"topology={topology!r} is not a GroupTopology. Make one with a GroupTopologyBuilder.")
    base, server = config.group_instance_id, config.application_server
    # The coordinator waits as long for a member to give up tasks as the member may stay away between polls. Java sends
    # max.poll.interval.ms as its rebalance timeout, too.
    return MemberDescription(
        group_id=config.application_id,
        process_id=process_id or str(random_uuid(rng)),
        topology=topology,
        rebalance_timeout_ms=config.max_poll_interval_ms,
        # Each member of a process needs an instance id of its own. Kafka Streams appends the number of the thread in
        # this form (StreamsConfig.getMainConsumerConfigs), and not in that of KIP-345, "Kafka Streams Change".
        instance_id=None if base is None else f"{base}-{number}",
        rack_id=config.client_rack or None,
        user_endpoint=None if server is None else UserEndpoint(host=server[0], port=server[1]),
        client_tags=dict(config.client_tags),
    )


def checked_commit(offsets: object) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets to commit by partition.

    Raises:
        ConfigurationError: It is not a mapping from `TopicPartition` to offsets.
    """
    if not isinstance(offsets, Mapping):
        raise ConfigurationError(
            f"offsets={offsets!r}: give a dictionary of offsets, such as {{TopicPartition('orders', 0): 7}}"
        )
    return {checked_partition(key, "offsets"): checked_offset(key, offset) for key, offset in offsets.items()}


def check_operation(operation: object) -> None:
    """Check how a member leaves.

    Raises:
        ConfigurationError: It is not a `GroupMembershipOperation`.
    """
    if not isinstance(operation, GroupMembershipOperation):
        names = ", ".join(each.name for each in GroupMembershipOperation)
        raise ConfigurationError(f"operation={operation!r} is not a GroupMembershipOperation. Use one of {names}.")
