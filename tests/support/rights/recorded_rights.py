"""What was asked of an authorizer, and which errors a client got: requests, each in steps with more rights."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kafka_groups.acls import AclOperation, AclResourceType

__all__ = ["GOLDEN", "Asked", "Right", "RightsEntry", "RightsStep", "load", "written"]

GOLDEN = Path(__file__).parents[2] / "golden" / "authorization-4.4.0.json"

Asked = tuple[AclOperation, AclResourceType, str, bool]
"""A question, and its answer."""
Right = tuple[AclOperation, AclResourceType, str]
ErrorFound = tuple[str, str]
"""The place of an error in the response, without positions, and the code or the text."""


@frozen
class RightsStep:
    """A request with some rights: what was asked, and the errors in the response."""

    granted: tuple[Right, ...]
    asked: tuple[Asked, ...]
    errors: tuple[ErrorFound, ...]

    @property
    def denied(self) -> Right | None:
        """The first right that was missing."""
        return next((question[:3] for question in self.asked if not question[3]), None)

    @property
    def canonical(self) -> "RightsStep":
        """The step with questions of one kind by name: Kafka asks for several names in the order of a hash table."""
        return evolve(self, asked=tuple(_canonical(self.asked)))


def _canonical(asked: Iterable[Asked]) -> Iterable[Asked]:
    run: list[Asked] = []
    for question in asked:
        if run and question[:2] != run[-1][:2]:
            yield from sorted(run)
            run = []
        run.append(question)
    yield from sorted(run)


@frozen
class RightsEntry:
    """A request and its steps.

    Attributes:
        api: Name of the API.
        version: Version of the request.
        fields: Its fields that do not have the default value.
        steps: The steps, each with the right that was missing before.
        is_unordered: Whether the order of questions differs between runs, so that only the sets of the first and the
            last step can be compared.
    """

    api: str
    version: int
    fields: Mapping[str, Any]
    steps: tuple[RightsStep, ...]
    is_unordered: bool = False


def load(path: Path = GOLDEN) -> dict[str, RightsEntry]:
    """Read a file of entries, by name and in the order in which they were sent."""
    return {name: _entry(each) for name, each in json.loads(path.read_text(encoding="utf-8")).items()}


def _entry(given: Mapping[str, Any]) -> RightsEntry:
    request = given["request"]
    steps = tuple(_step(each) for each in given["steps"])
    return RightsEntry(request["api"], request["version"], request["fields"], steps, given.get("unordered", False))


def _step(given: Mapping[str, Any]) -> RightsStep:
    return RightsStep(
        tuple((AclOperation[operation], type_named(kind), name) for operation, kind, name in given["granted"]),
        tuple((AclOperation[operation], type_named(kind), name, ok) for operation, kind, name, ok in given["asked"]),
        tuple((place, text) for place, text in given["errors"]),
    )


def type_named(name: str) -> AclResourceType:
    """Return the type that Kafka's log calls so, such as `TransactionalId`."""
    return next(each for each in AclResourceType if _name_of(each) == name)


def _name_of(resource_type: AclResourceType) -> str:
    return resource_type.name.title().replace("_", "")


def written(entries: Mapping[str, RightsEntry]) -> str:
    """Return the text of a file with these entries."""
    return "{\n" + ",\n".join(_written(name, entry) for name, entry in entries.items()) + "\n}\n"


def _written(name: str, entry: RightsEntry) -> str:
    request = json.dumps({"api": entry.api, "version": entry.version, "fields": entry.fields})
    unordered = '  "unordered": true,\n' if entry.is_unordered else ""
    steps = ",\n".join(_written_step(step) for step in entry.steps)
    return f' {json.dumps(name)}: {{\n  "request": {request},\n{unordered}  "steps": [\n{steps}\n  ]\n }}'


def _written_step(step: RightsStep) -> str:
    granted = [[operation.name, _name_of(kind), name] for operation, kind, name in step.granted]
    asked = [[operation.name, _name_of(kind), name, ok] for operation, kind, name, ok in step.asked]
    errors = [list(each) for each in step.errors]
    return (
        f'   {{"granted": {json.dumps(granted)},\n    "asked": {json.dumps(asked)},\n'
        f'    "errors": {json.dumps(errors)}}}'
    )
