"""Random groups of streams applications for whose leader racks and tags count, and assignors of all kinds."""

import random
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from attrs import evolve

from kafka_groups.assignment import AssignmentConfigs, RackAwareStrategy
from kafka_groups.types import TopicPartition
from tests.support.assignors.leader_cases import LeaderCase, LeaderLimits, ToldMember, random_group

__all__ = ["racked_group"]

_LIMITS: Final = LeaderLimits(tasks=40, processes=8)
"""Java takes seconds for more, with `min_traffic`."""
_MOST_PARTITIONS: Final = 25
_ZONES: Final = ("z1", "z2", "z3")


def racked_group(seed: int | str, assignor: str | None = None) -> LeaderCase:
    """Return the group of a seed.

    All brokers have racks, or none has. Leaders in Java with an assignor that is not public want to know the racks of
    all replicas; ours are content with one.

    Args:
        seed: The seed.
        assignor: The name of its assignor, or None for the default.
    """
    rng = random.Random(f"racked-{seed}")
    case = random_group(f"racked-{seed}", _LIMITS)
    racks = [f"r{number}" for number in range(rng.choice((1, 2, 2, 3)))]
    are_racked = rng.random() < 0.9
    brokers = {number: rng.choice(racks) if are_racked else None for number in range(1, rng.choice((1, 3, 3, 4)) + 1)}
    return evolve(
        case,
        racks=brokers,
        replicas=dict(_replicas(rng, case, list(brokers))),
        members=tuple(_in_racks(rng, case.members, racks, is_strict=assignor in ("sticky", "dealing"))),
        configs=_configs(rng, case.configs, has_costs=assignor == "sticky"),
        assignor=assignor,
    )


def _replicas(
    rng: random.Random, case: LeaderCase, brokers: list[int]
) -> Iterator[tuple[TopicPartition, tuple[int, ...]]]:
    factor = min(len(brokers), rng.choice((1, 1, 2)))
    changelogs = {topic.name for each in case.topology.subtopologies for topic in each.changelogs}
    for name in sorted(case.read_topics | changelogs):
        for number in range(case.counts.get(name, _MOST_PARTITIONS)):
            yield TopicPartition(name, number), tuple(rng.sample(brokers, factor))


def _in_racks(
    rng: random.Random, members: tuple[ToldMember, ...], racks: list[str], *, is_strict: bool
) -> Iterator[ToldMember]:
    """Give members racks and tags.

    A member in another rack than its process, or without one, is a mistake of somebody. For public assignors, Java
    takes the rack of one of the process's members then, and here it has none, so they get none of that (`is_strict`).
    To a leader, all members of later versions are one process.
    """
    processes = sorted({each.of_process for each in members}, key=str)
    rack_of: dict[UUID | None, str | None] = {process: rng.choice(racks) for process in processes}
    zone_of = {process: rng.choice(_ZONES) for process in processes}
    has_tags = rng.random() < 0.8
    if rng.random() < 0.1:
        rack_of[rng.choice(processes)] = None
    strange = rng.randrange(len(members)) if not is_strict and rng.random() < 0.25 else None
    for number, member in enumerate(members):
        rack = rng.choice((None, "elsewhere")) if number == strange else rack_of[member.of_process]
        tags = {"zone": zone_of[member.of_process], "room": rng.choice("ab")} if has_tags else {}
        static = f"static-{number}" if rng.random() < 0.2 else None
        yield evolve(member, rack=rack, tags=tags, instance_id=static)


def _configs(rng: random.Random, configs: AssignmentConfigs, *, has_costs: bool) -> AssignmentConfigs:
    """Return a configuration. Java's public sticky assignor leaves racks out unless both costs are configured."""
    traffic, non_overlap = (rng.choice((1, 5, 10) if has_costs else (None, None, 0, 1, 10)) for _ in range(2))
    strategies = (RackAwareStrategy.NONE, RackAwareStrategy.MIN_TRAFFIC, RackAwareStrategy.BALANCE_SUBTOPOLOGY)
    return evolve(
        configs,
        rack_aware_assignment_strategy=rng.choice(strategies),
        rack_aware_traffic_cost=traffic,
        rack_aware_non_overlap_cost=non_overlap,
        rack_aware_assignment_tags=rng.choice(((), ("zone",), ("zone", "room"))),
    )
