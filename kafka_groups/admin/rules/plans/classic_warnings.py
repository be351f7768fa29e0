"""Reasons why a classic group may decide otherwise than a plan says."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kafka_groups.admin.rules.plans.application_configs import ApplicationConfigs
from kafka_groups.admin.rules.plans.classic_situation import ClassicSituation
from kafka_groups.admin.rules.plans.rejoining import is_settled
from kafka_groups.admin.rules.streams_leader.leader_input import EPOCH
from kafka_groups.assignment import FallbackPriorTaskAssignor, LegacyStickyTaskAssignor, StickyTaskAssignor
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.client.events import listed
from kafka_groups.errors.texts import counted, named, sentences

__all__ = ["warnings_about_classic_group"]

_HASHED: Final = (StickyTaskAssignor, LegacyStickyTaskAssignor, FallbackPriorTaskAssignor)
"""Assignors that choose between equal places by the order of hash tables in Java."""


def warnings_about_classic_group(situation: ClassicSituation, configs: ApplicationConfigs) -> Iterator[str]:
    """Yield what makes a plan for a classic group uncertain.

    Args:
        situation: The group.
        configs: The configuration of its application, as it was given.
    """
    yield from _about_time(situation)
    yield from _about_topics(situation)
    yield from _about_copies(situation, configs)
    if configs.assignor is not None and configs.assignor.assignor in _HASHED:
        yield (
            f"A leader in Java may decide otherwise: between equal places, its {configs.assignor.name} chooses by the "
            "order of hash tables."
        )


def _about_time(situation: ClassicSituation) -> Iterator[str]:
    if is_settled(situation.group):
        return
    waiting = [each.assignment_info.next_rebalance_ms for each in situation.group.members]
    first_ms = min(each for each in waiting if each is not None)
    if not first_ms:
        yield (
            "The group is not settled: members wait for tasks that others give up, and join again at once. The plan "
            "compares with the tasks that members have now. Plan again in a moment."
        )
        return
    due = EPOCH + timedelta(milliseconds=min(first_ms, _MOST_MS))
    yield (
        f"The group is not settled: it looks again at {due.isoformat(timespec='seconds')} whether copies have caught "
        "up, and tasks move then. The plan takes copies to be where they were when their members joined."
    )


_MOST_MS: Final = 253_402_300_799_000
"""The last second of the year 9999, which is the last that a date can have."""


def _about_topics(situation: ClassicSituation) -> Iterator[str]:
    if situation.missing_topics:
        yield (
            f"Internal topics do not exist: {listed(situation.missing_topics)}. The leader creates them in the next "
            "round; a plan creates nothing."
        )
    held = {task for each in situation.group.members for task in each.inputs}
    nowhere = in_task_order(situation.tasks.keys() - held)
    if nowhere:
        yield f"Nobody runs these tasks now: {listed(nowhere)}."
    if situation.ends.failure is not None:
        yield sentences(
            "The ends of changelogs are not known, so numbers of records are not, either; a leader without them leaves "
            f"tasks where they are: {named(situation.ends.failure)}"
        )
    elif situation.starts.errors:
        error = next(iter(situation.starts.errors.values()))
        yield sentences(
            f"Some numbers of records are unknown, because offsets of changelogs are unknown: {named(error)}"
        )


def _about_copies(situation: ClassicSituation, configs: ApplicationConfigs) -> Iterator[str]:
    copies = Counter(task for each in situation.group.members for task in each.standby_tasks)
    most = max(copies.values(), default=0)
    if configs.has_standbys or not most or not is_settled(situation.group):
        return
    yield (
        f"The group has up to {counted(most, 'copy')} of a task, but the plan assumes num.standby.replicas=0, because "
        "brokers do not know the configuration of the application. Give the values that it has."
    )
