"""Reads what the constructor and the methods of a member are given."""

import random
from typing import Final

from kafka_groups.config.streams import StreamsMemberConfig
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.messages.streams_group import UserEndpoint
from kafka_groups.streams.heartbeat import MemberDescription
from kafka_groups.streams.topology import Topology
from kafka_groups.types import OffsetAndMetadata, TopicPartition, member_id_of, random_uuid

__all__ = ["checked_offset", "described"]

_MOST_MEMBERS: Final = 100_000


def _check_number(number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _MOST_MEMBERS:
        raise ConfigurationError(f"number={number!r} is invalid. Use a whole number from 1 to {_MOST_MEMBERS}.")


def described(
    config: StreamsMemberConfig, topology: Topology, process_id: str | None, number: int, rng: random.Random
) -> MemberDescription:
    """Return what a member tells its group about itself.

    Raises:
        ConfigurationError: The topology, the process id or the number is invalid.
    """
    _check_number(number)
    if process_id == "":
        raise ConfigurationError(f"process_id={process_id!r} is invalid. Use text that is not empty, or None.")
    if not isinstance(topology, Topology):
        raise ConfigurationError(f"topology={topology!r} is not a Topology. Make one with a TopologyBuilder.")
    base, server = config.group_instance_id, config.application_server
    return MemberDescription(
        group_id=config.application_id,
        member_id=member_id_of(random_uuid(rng)),
        process_id=process_id or str(random_uuid(rng)),
        topology=topology,
        rebalance_timeout_ms=config.max_poll_interval_ms,
        instance_id=None if base is None else f"{base}-{number}",
        rack_id=config.client_rack or None,
        user_endpoint=None if server is None else UserEndpoint(host=server[0], port=server[1]),
        client_tags=dict(config.client_tags),
    )


def checked_offset(key: TopicPartition, offset: OffsetAndMetadata | int) -> OffsetAndMetadata:
    """Return an offset to commit.

    Raises:
        ConfigurationError: It is not a whole number of 0 or more.
    """
    found = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
    if not _is_offset(found.offset):
        raise ConfigurationError(f"The offset {found.offset!r} of {key} is invalid. Use a whole number of 0 or more.")
    return found


def _is_offset(offset: object) -> bool:
    return isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset < 2**63
