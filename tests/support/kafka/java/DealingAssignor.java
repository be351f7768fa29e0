package org.apache.kafka.streams.processor.internals;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;

/** An assignor that looks at everything it is told. dealing_assignor.py has the same in Python, and says what it does. */
public final class DealingAssignor implements TaskAssignor {
    static String mistake = "";
    static long nowMs;
    static GroupAssignment heardAssignment;
    static GroupSubscription heardSubscription;
    static AssignmentError heardError;

    @Override
    public TaskAssignment assign(ApplicationState state) {
        Map<ProcessId, KafkaStreamsState> states = new TreeMap<>(state.kafkaStreamsStates(true));
        List<ProcessId> ids = new ArrayList<>(states.keySet());
        Map<ProcessId, Set<AssignedTask>> dealt = new TreeMap<>();
        Map<ProcessId, Integer> counts = new HashMap<>();
        for (ProcessId id : ids) {
            dealt.put(id, new LinkedHashSet<>());
            counts.put(id, 0);
        }
        Map<TaskId, TaskInfo> tasks = new TreeMap<>(state.allTasks());
        for (TaskInfo task : tasks.values()) {
            List<ProcessId> order = new ArrayList<>(ids);
            order.sort(Comparator.comparing(id -> rank(states.get(id), task, counts.get(id), ids.indexOf(id))));
            int copies = task.isStateful() ? state.assignmentConfigs().numStandbyReplicas() : 0;
            for (int place = 0; place < Math.min(1 + copies, order.size()); place++) {
                AssignedTask.Type type = place == 0 ? AssignedTask.Type.ACTIVE : AssignedTask.Type.STANDBY;
                dealt.get(order.get(place)).add(new AssignedTask(task.id(), type));
                counts.merge(order.get(place), 1, Integer::sum);
            }
        }
        spoil(dealt, ids, tasks);
        List<KafkaStreamsAssignment> result = new ArrayList<>();
        dealt.forEach((id, each) -> result.add(later(KafkaStreamsAssignment.of(id, each), ids.indexOf(id))));
        return new TaskAssignment(result);
    }

    private static KafkaStreamsAssignment later(KafkaStreamsAssignment assignment, int index) {
        return index % 3 == 1
            ? assignment.withFollowupRebalance(Instant.ofEpochMilli(nowMs + 5_000L * (index + 1))) : assignment;
    }

    private static String rank(KafkaStreamsState state, TaskInfo task, int count, int index) {
        return String.format("%05d|%d|%d|%020d|%03d|%s|%05d",
            count / 3,
            state.previousActiveTasks().contains(task.id()) ? 0 : 1,
            state.previousStandbyTasks().contains(task.id()) ? 0 : 1,
            task.isStateful() ? Math.min(state.lagFor(task.id()), 1L << 40) + 3 : 0,
            crossed(state, task),
            state.clientTags().getOrDefault("zone", ""),
            index);
    }

    private static int crossed(KafkaStreamsState state, TaskInfo task) {
        int found = 0;
        for (TaskTopicPartition each : task.topicPartitions()) {
            Optional<Set<String>> racks = each.rackIds();
            if (racks.isEmpty() || state.rackId().isEmpty() || !racks.get().contains(state.rackId().get())) {
                found += each.isSource() ? 2 : 1;
            }
        }
        return found;
    }

    private static void spoil(Map<ProcessId, Set<AssignedTask>> dealt, List<ProcessId> ids, Map<TaskId, TaskInfo> tasks) {
        Set<AssignedTask> first = dealt.get(ids.get(0));
        Set<AssignedTask> last = dealt.get(ids.get(ids.size() - 1));
        switch (mistake) {
            case "unknown_task" -> first.add(new AssignedTask(new TaskId(99, 0), AssignedTask.Type.ACTIVE));
            case "unknown_process" -> dealt.put(new ProcessId(new UUID(7, 7)), new HashSet<>());
            case "missing_process" -> dealt.remove(ids.get(ids.size() - 1));
            case "twice" -> {
                TaskId task = tasks.keySet().iterator().next();
                for (Set<AssignedTask> each : List.of(first, last)) {
                    each.removeIf(it -> it.id().equals(task));
                    each.add(new AssignedTask(task, AssignedTask.Type.ACTIVE));
                }
            }
            case "standby" -> tasks.values().stream().filter(it -> !it.isStateful()).findFirst().ifPresent(it -> {
                if (last.stream().noneMatch(given -> given.id().equals(it.id()))) {
                    last.add(new AssignedTask(it.id(), AssignedTask.Type.STANDBY));
                }
            });
            default -> { }
        }
    }

    @Override
    public void onAssignmentComputed(GroupAssignment assignment, GroupSubscription subscription, AssignmentError error) {
        heardAssignment = assignment;
        heardSubscription = subscription;
        heardError = error;
    }
}
