"""The stores that applications keep on disk as a JSON document."""

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_groups.cli.state.state_problems import StateProblem, state_problems
from kafka_groups.streams.engines.inspection import KeptApplication, KeptTask, OtherGeneration

__all__ = ["state_document"]

Json = dict[str, Any]


def state_document(found: Sequence[KeptApplication]) -> Json:
    """Return applications as values of JSON. What is unknown is null."""
    return {
        "items": [_application(each) for each in found],
        "errors": [_error(each) for each in state_problems(found)],
    }


def _application(application: KeptApplication) -> Json:
    return {
        "application": application.application_id,
        "folder": str(application.folder),
        "in_use": application.is_in_use,
        "tasks": [{"task": each.name, **_state(each)} for each in application.tasks if not each.is_global],
        "global_stores": [{"worker": int(each.name), **_state(each)} for each in application.tasks if each.is_global],
        "trash": {"folders": application.trash.folders, "bytes": application.trash.size},
    }


def _state(task: KeptTask) -> Json:
    return {
        "folder": str(task.folder),
        "generation": task.generation,
        "open": task.is_open,
        "closed_cleanly": task.is_clean,
        "health": task.health.name.lower(),
        "reason": task.reason,
        "file_bytes": task.file_bytes,
        "stores": list(_stores(task)),
        "positions": [
            {"topic": place.topic, "partition": place.partition, "offset": offset}
            for place, offset in sorted(task.positions.items())
        ],
        "other_generations": [_other(each) for each in task.others],
    }


def _stores(task: KeptTask) -> Iterator[Json]:
    for name, size in task.stores.items():
        yield {
            "store": name,
            "layout": task.layouts.get(name),
            "rows": None if size is None else size.rows,
            "bytes": None if size is None else size.pages_bytes,
        }


def _other(generation: OtherGeneration) -> Json:
    return {"generation": generation.number, "open": generation.is_open, "finished": generation.is_finished}


def _error(problem: StateProblem) -> Json:
    return {"resource": problem.resource, "code": None, "message": problem.message, "remedy": problem.remedy}
