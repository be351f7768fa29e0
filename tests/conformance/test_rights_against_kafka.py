"""Real Kafkas ask for the rights of the golden file, and so does 4.4.0 without any difference."""

from collections.abc import Iterator, Mapping

import pytest

from tests.support.rights.asked_rights import replayed
from tests.support.rights.recorded_rights import RightsEntry, RightsStep, load
from tests.support.rights.rights_worlds import kafka_rights

pytestmark = [pytest.mark.real_kafka, pytest.mark.long, pytest.mark.timeout(400)]

_BEFORE_4_4: Mapping[str, str] = {
    "AlterConfigs broker": "the error has a text",
    "IncrementalAlterConfigs broker": "the error has a text",
    "StreamsGroupTopologyDescriptionUpdate": "there is no such API",
    "UpdateFeatures": "there is no share.version 2",
}

DIFFERENCES: Mapping[str, Mapping[str, str]] = {
    "4.4.0": {},
    "4.3.1": _BEFORE_4_4,
    "4.2.1": _BEFORE_4_4,
}
"""The entries in which a release differs from the file, and why."""


def seen_of(entry: RightsEntry) -> Iterator[object]:
    """All steps as they are, or the sets of the first and last one."""
    if entry.is_unordered:
        yield from (set_of(step) for step in (entry.steps[0], entry.steps[-1]))
    else:
        yield from entry.steps


def set_of(step: RightsStep) -> object:
    """A step without the order of its questions."""
    return frozenset(step.asked), step.errors


@pytest.mark.parametrize("release", DIFFERENCES)
async def test_kafka_asks_for_the_rights_of_the_file(release: str) -> None:
    differing: dict[str, tuple[RightsEntry, RightsEntry]] = {}
    async with kafka_rights(release) as world:
        for name, entry in load().items():
            found = await replayed(name, entry, world)
            if list(seen_of(found)) != list(seen_of(entry)):
                differing[name] = entry, found
    assert differing.keys() == DIFFERENCES[release].keys(), differing
