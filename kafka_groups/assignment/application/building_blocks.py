"""Parts of assignors to build others from: what `TaskAssignmentUtils` has in Kafka Streams (KIP-924)."""

from kafka_groups.assignment.application.algorithms.plans import ProcessPlan
from kafka_groups.assignment.application.algorithms.standby_tasks import add_standby_tasks
from kafka_groups.assignment.application.assignments import AssignedTask, AssignmentsByProcess, KafkaStreamsAssignment
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.tasks import in_java_order

__all__ = ["default_standby_task_assignment", "identity_assignment"]


def identity_assignment(application_state: ApplicationState) -> dict[ProcessId, KafkaStreamsAssignment]:
    """Return the assignment that leaves everything where it is, by process.

    As in Kafka Streams, it has tasks that do not exist any more, and lacks those that are new.
    """
    states = application_state.kafka_streams_states(compute_task_lags=False)
    return {
        process_id: KafkaStreamsAssignment.of(
            process_id,
            [
                *map(AssignedTask.active, state.previous_active_tasks),
                # A task in two roles would be refused by `KafkaStreamsAssignment.of`.
                *map(AssignedTask.standby, state.previous_standby_tasks - state.previous_active_tasks),
            ],
        )
        for process_id, state in states.items()
    }


def default_standby_task_assignment(application_state: ApplicationState, assignments: AssignmentsByProcess) -> None:
    """Add the copies of all tasks with changelogs: by client tags if they are configured, else by load.

    Tasks come in the order of a hash table of Java, as in Kafka Streams: the result is Java's for maps in order. But
    if there shall be no copies, there are none; Kafka Streams makes one of each task then, if tags are configured.

    Args:
        application_state: The application; its configuration says how many copies.
        assignments: One for each process, with all active tasks. They are changed.
    """
    states = application_state.kafka_streams_states(compute_task_lags=False)
    plans = {id_: ProcessPlan.of(states[id_], assignments[id_].tasks.values()) for id_ in sorted(assignments)}
    configs = application_state.assignment_configs
    stateful = [task for task, info in application_state.all_tasks.items() if info.is_stateful]
    add_standby_tasks(in_java_order(stateful), plans, configs.num_standby_replicas, configs.rack_aware_assignment_tags)
    for process_id, plan in plans.items():
        # Copies that an assignor has placed before are part of the plan, and stay.
        for task in plan.standby - assignments[process_id].tasks.keys():
            assignments[process_id].assign_task(AssignedTask.standby(task))
