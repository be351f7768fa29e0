"""What a release would answer if it lacked what is not built."""

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka_groups.broker.unsupported import Unsupported, UnsupportedKind
from tests.recording.profile_questions import GROUP_VALUES, Answers


def without(entries: Iterable[Unsupported], answers: Answers) -> Answers:
    """Return the answers without these entries."""
    changed = copy.deepcopy(answers)
    for entry in entries:
        _REMOVE[entry.kind](entry, changed)
    return changed


def _api(entry: Unsupported, answers: Answers) -> None:
    answers["versions"].pop(str(entry.key), None)


def _old_version(entry: Unsupported, answers: Answers) -> None:
    answers["versions"][str(entry.key)][0] = entry.supported


def _group_config(entry: Unsupported, answers: Answers) -> None:
    answers["configs of a group"].pop(entry.name, None)
    answers["values of a group"][entry.name] = {"INVALID_CONFIG": list(GROUP_VALUES)}


def _broker_config(entry: Unsupported, answers: Answers) -> None:
    answers["configs of a broker"].pop(entry.name, None)


def _resource(entry: Unsupported, answers: Answers) -> None:
    codes: dict[str, Any] = answers["resources"]
    codes.update({name: "INVALID_REQUEST" for name in codes if name.startswith(entry.name)})


_REMOVE: Mapping[UnsupportedKind, Callable[[Unsupported, Answers], None]] = {
    UnsupportedKind.API: _api,
    UnsupportedKind.API_VERSION: _old_version,
    UnsupportedKind.GROUP_CONFIG: _group_config,
    UnsupportedKind.BROKER_CONFIG: _broker_config,
    UnsupportedKind.RESOURCE: _resource,
}
