import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskInfo;

/**
 * Leaves each task with the first process that has run it, up to twice its threads, and gives the others to the process
 * with the fewest tasks per thread. What it sees and what it returns goes to the file `recording.assignor.file`.
 */
public class RecordingAssignor implements TaskAssignor {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Path file;

    @Override public void configure(Map<String, ?> configs) {
        file = Path.of((String) configs.get("recording.assignor.file"));
    }

    @Override public TaskAssignment assign(ApplicationState state) {
        Map<ProcessId, KafkaStreamsState> processes = new TreeMap<>(state.kafkaStreamsStates(true));
        Map<ProcessId, KafkaStreamsAssignment> given = new TreeMap<>();
        processes.keySet().forEach(id -> given.put(id, KafkaStreamsAssignment.of(id, java.util.Set.of())));
        List<TaskId> left = new ArrayList<>();
        for (TaskId task : new TreeMap<>(state.allTasks()).keySet()) {
            ProcessId owner = processes.values().stream()
                .filter(each -> each.previousActiveTasks().contains(task))
                .filter(each -> given.get(each.processId()).tasks().size() < 2 * each.numProcessingThreads())
                .map(KafkaStreamsState::processId).findFirst().orElse(null);
            if (owner == null) left.add(task);
            else given.get(owner).assignTask(new AssignedTask(task, AssignedTask.Type.ACTIVE));
        }
        for (TaskId task : left) {
            ProcessId least = processes.values().stream().min(Comparator.comparingDouble(
                each -> (double) given.get(each.processId()).tasks().size() / each.numProcessingThreads()))
                .orElseThrow().processId();
            given.get(least).assignTask(new AssignedTask(task, AssignedTask.Type.ACTIVE));
        }
        record(state, processes, given);
        return new TaskAssignment(given.values());
    }

    private void record(ApplicationState state, Map<ProcessId, KafkaStreamsState> processes,
                        Map<ProcessId, KafkaStreamsAssignment> given) {
        ObjectNode line = JSON.createObjectNode();
        ArrayNode tasks = line.putArray("tasks");
        for (TaskInfo each : new TreeMap<>(state.allTasks()).values()) task(tasks.addObject(), each);
        ArrayNode recorded = line.putArray("processes");
        for (KafkaStreamsState each : processes.values()) process(recorded.addObject(), each);
        ObjectNode result = line.putObject("given");
        given.forEach((id, each) -> words(result.putArray(id.id().toString()), new TreeMap<>(each.tasks()).keySet()));
        try {
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static void task(ObjectNode node, TaskInfo task) {
        node.put("id", task.id().toString()).put("stateful", task.isStateful());
        words(node.putArray("stores"), task.stateStoreNames());
        ArrayNode partitions = node.putArray("partitions");
        task.topicPartitions().forEach(each -> partitions.addObject()
            .put("topic", each.topicPartition().topic()).put("partition", each.topicPartition().partition())
            .put("source", each.isSource()).put("changelog", each.isChangelog()));
    }

    private static void process(ObjectNode node, KafkaStreamsState process) {
        node.put("id", process.processId().id().toString());
        words(node.putArray("clients"), process.consumerClientIds());
        words(node.putArray("active"), process.previousActiveTasks());
        words(node.putArray("standby"), process.previousStandbyTasks());
        ObjectNode lags = node.putObject("lags");
        process.statefulTasksToLagSums().forEach((task, lag) -> lags.put(task.toString(), lag));
    }

    private static void words(ArrayNode node, Iterable<?> values) {
        values.forEach(each -> node.add(each.toString()));
    }
}
