"""Makes a possible story of steps that come in any order: impossible ones are left out."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from kafka_groups.testing.assignors.membership import StoryGroup
from kafka_groups.testing.assignors.story import StoryCall, StoryStep

__all__ = ["possible_steps"]

_OF_GROUPS: Final = ("join", "leave", "restart", "resize", "fail_rack", "restore_rack")
_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType({
    "join": {"threads": None, "rack": None, "tags": None},
    "restart": {"keeps_state": True},
})  # fmt: skip


def possible_steps(steps: Iterable[StoryStep]) -> Iterator[StoryStep]:
    """Yield the steps that are possible after those before. One process always stays.

    A process that leaves twice makes a story that cannot be played. A search for the smallest story that fails, which
    leaves out steps before, would have to start again each time.
    """
    group = StoryGroup(seed=0)
    for step in steps:
        if _is_possible(step.method, step.argument, step.options.get("rack"), group):
            if step.method in _OF_GROUPS:
                _carry_out(step, group)
            yield step


def _is_possible(method: StoryCall, argument: Any, rack: str | None, group: StoryGroup) -> bool:
    present = {each.name: each.rack for each in group.present}
    if method == "join":
        return argument not in present and rack not in group.failed_racks
    if method == "leave":
        return argument in present and len(present) > 1
    if method in {"restart", "resize"}:
        return argument in present
    if method == "fail_rack":
        return argument not in group.failed_racks and set(present.values()) != {argument}
    return method != "restore_rack" or argument in group.failed_racks


def _carry_out(step: StoryStep, group: StoryGroup) -> None:
    defaults = _DEFAULTS.get(step.method, {})
    getattr(group, step.method)(step.argument, **{**defaults, **step.options})
