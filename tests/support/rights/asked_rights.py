"""Sends a request with more and more rights, and notes what is asked and which errors come back."""

from collections.abc import Sequence
from typing import Any, Protocol

from attrs import evolve

from kafka_groups.errors import KafkaGroupsError
from tests.support.rights.recorded_rights import Asked, ErrorFound, Right, RightsEntry, RightsStep
from tests.support.rights.rights_requests import errors_in, request_of
from tests.support.rights.rights_scene import RightsScene

__all__ = ["RightsWorld", "discovered", "replayed"]

_CLOSED: ErrorFound = ("connection", "closed")
_MOST_STEPS = 12


class RightsWorld(Protocol):
    """A cluster with an authorizer, and a user without rights."""

    @property
    def scene(self) -> RightsScene:
        """What was prepared."""
        ...

    async def grant(self, rights: Sequence[Right]) -> None:
        """Let the user have exactly these rights, and forget what was asked."""
        ...

    async def ask(self, request: object, version: int) -> Any:
        """Send a request as the user."""
        ...

    async def asked(self, expected: int) -> Sequence[Asked]:
        """Return what was asked since the last grant, each question once. Waits a while for the expected number."""
        ...


async def replayed(name: str, entry: RightsEntry, world: RightsWorld) -> RightsEntry:
    """Send a request as often as an entry has steps, with the rights of each step, and return what came."""
    await world.scene.before(name)
    steps = [await _step(entry, step.granted, world, len(step.asked)) for step in entry.steps]
    return evolve(entry, steps=tuple(steps))


async def discovered(name: str, entry: RightsEntry, world: RightsWorld) -> RightsEntry:
    """Send a request until nothing is denied. The right that was missing first is granted each time."""
    await world.scene.before(name)
    steps: list[RightsStep] = []
    granted: tuple[Right, ...] = ()
    while len(steps) < _MOST_STEPS:
        steps.append(await _step(entry, granted, world, 0))
        denied = steps[-1].denied
        if denied is None:
            break
        granted = (*granted, denied)
    return evolve(entry, steps=tuple(steps))


async def _step(entry: RightsEntry, granted: Sequence[Right], world: RightsWorld, expected: int) -> RightsStep:
    await world.grant(granted)
    request = request_of(entry.api, entry.fields, world.scene.placeholders)
    try:
        response = await world.ask(request, entry.version)
        errors = errors_in(response, world.scene.ids)
    except KafkaGroupsError:
        errors = (_CLOSED,)
    return RightsStep(tuple(granted), tuple(await world.asked(expected)), errors)
