"""Each API asks for the rights that Kafka 4.4.0 asks for, and has each error in the same place."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping

import pytest

from kafka_groups.broker.authorization.rights import RIGHTS, Refusal, Right
from kafka_groups.protocol.apis import APIS, ApiKey
from tests.support.rights.asked_rights import replayed
from tests.support.rights.recorded_rights import Asked, RightsEntry, RightsStep, load
from tests.support.rights.rights_worlds import EmbeddedRights, embedded_rights

ENTRIES = load()


def seen_of(entry: RightsEntry) -> list[object]:
    """What can be compared: all steps in order, or the sets of the first and last one."""
    if entry.is_unordered:
        return [(set(step.asked), errors_of(step)) for step in (entry.steps[0], entry.steps[-1])]
    return [(step.canonical.asked, errors_of(step)) for step in entry.steps]


def errors_of(step: RightsStep) -> set[tuple[str, str]]:
    """The codes, and the texts about rights. Other texts are ours."""
    return {(place, text) for place, text in step.errors if not place.endswith("message") or "uthoriz" in text}


async def test_the_golden_file(monkeypatch: pytest.MonkeyPatch) -> None:
    differences: list[str] = []
    async with embedded_rights(monkeypatch) as world:
        for name, entry in ENTRIES.items():
            found = await replayed(name, entry, world)
            for expected, got in zip(seen_of(entry), seen_of(found), strict=True):
                if expected != got:
                    differences.append(f"{name}:\n  Kafka {expected}\n  here  {got}")
    assert not differences, "\n".join(differences)
