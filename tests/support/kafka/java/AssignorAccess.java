package org.apache.kafka.streams.processor.internals.assignment;

import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;

import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/** Reaches what only classes of this package may use. */
public final class AssignorAccess {
    private AssignorAccess() { }

    public static LegacyTaskAssignor sticky(boolean mustPreserveActive) {
        return new LegacyStickyTaskAssignor(mustPreserveActive);
    }

    public static void previousTasks(ClientState state, Set<TaskId> active, Set<TaskId> standby) {
        state.addPreviousActiveTasks(active);
        state.addPreviousStandbyTasks(standby);
    }

    public static boolean assignStandbys(Map<ProcessId, ClientState> clients, Set<TaskId> all, Set<TaskId> stateful,
                                         RackAwareTaskAssignor racks, AssignmentConfigs configs) {
        return StandbyTaskAssignorFactory.create(configs, racks).assign(clients, all, stateful, configs);
    }

    public static long activeCost(RackAwareTaskAssignor racks, SortedSet<TaskId> tasks,
                                  SortedMap<ProcessId, ClientState> clients, int traffic, int nonOverlap) {
        return racks.activeTasksCost(tasks, clients, traffic, nonOverlap);
    }

    public static long standbyCost(RackAwareTaskAssignor racks, SortedSet<TaskId> tasks,
                                   SortedMap<ProcessId, ClientState> clients, int traffic, int nonOverlap) {
        return racks.standByTasksCost(tasks, clients, traffic, nonOverlap);
    }
}
