"""A plan for a streams group as a JSON document."""

from typing import Any

from kafka_groups.admin import PlannedLoad, PlannedMove, PlannedThread, RackTraffic, StreamsPlan, TaskCounts, TaskPlace

__all__ = ["plan_document"]

Document = dict[str, Any]


def plan_document(plan: StreamsPlan) -> Document:
    """Return a plan as values of JSON. Times are text of ISO 8601, and tasks are text such as `0_1`."""
    return {
        "group": plan.group_id,
        "state": plan.state,
        "assignor": plan.assignor,
        "group_assignor": plan.group_assignor,
        "error": plan.error,
        "moves": [_move(move) for move in plan.moves],
        "records": plan.records,
        "processes": [_load(load) for load in plan.processes],
        "rack_traffic": None if plan.traffic is None else _traffic(plan.traffic),
        "followups": {process_id: deadline.isoformat() for process_id, deadline in plan.followups.items()},
        "unassigned_tasks": [str(task) for task in plan.unassigned_tasks],
        "warnings": list(plan.warnings),
        "missing_topics": list(plan.missing_topics),
    }


def _move(move: PlannedMove) -> Document:
    return {
        "task": str(move.task),
        "role": move.role.value,
        "from": _place(move.source),
        "to": _place(move.target),
        "role_before": None if move.role_before is None else move.role_before.value,
        "records": move.records,
        "basis": move.basis.name.lower(),
    }


def _place(place: TaskPlace | None) -> Document | None:
    return None if place is None else {"member": place.member_id, "process": place.process_id}


def _load(load: PlannedLoad) -> Document:
    return {
        "process": load.process_id,
        "rack": load.rack,
        "client_tags": dict(load.client_tags),
        "before": _counts(load.before),
        "after": _counts(load.after),
        "threads": [_thread(thread) for thread in load.threads],
    }


def _thread(thread: PlannedThread) -> Document:
    return {"member": thread.member_id, "before": _counts(thread.before), "after": _counts(thread.after)}


def _counts(counts: TaskCounts | None) -> Document | None:
    return None if counts is None else {"active": counts.active, "standby": counts.standby}


def _traffic(traffic: RackTraffic) -> Document:
    return {"before": traffic.before, "after": traffic.after, "partitions": traffic.partitions}
