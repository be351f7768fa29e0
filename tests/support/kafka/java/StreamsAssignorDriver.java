import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;

import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/**
 * Has Kafka's assignor of streams groups assign tasks to groups that come as plain lines on standard input.
 *
 * <pre>
 *   subtopology ID PARTITIONS STATEFUL          STATEFUL is true or false
 *   member ID PROCESS ACTIVE STANDBY OFFSETS    tasks are a list as 0:1.2,1:4 and offsets one as 0:1=70.2=0; "-" is nothing
 *   assign STANDBYS                             prints one line of "ID ACTIVE STANDBY" for all members, and starts afresh
 * </pre>
 */
public final class StreamsAssignorDriver {
    private record Subtopology(int partitions, boolean isStateful) { }

    private record Topology(Map<String, Subtopology> byId) implements TopologyDescriber {
        @Override public List<String> subtopologies() { return new ArrayList<>(byId.keySet()); }
        @Override public int maxNumInputPartitions(String id) { return byId.get(id).partitions; }
        @Override public boolean isStateful(String id) { return byId.get(id).isStateful; }
    }

    private final Topology topology = new Topology(new TreeMap<>());
    private final Map<String, MemberMetadataAndStateImpl> members = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        StreamsAssignorDriver driver = new StreamsAssignorDriver();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "subtopology" -> driver.topology.byId.put(
                    words[1], new Subtopology(Integer.parseInt(words[2]), Boolean.parseBoolean(words[3])));
                case "member" -> driver.members.put(words[1], new MemberMetadataAndStateImpl(
                    Optional.empty(), Optional.empty(), words[2], Map.of(),
                    tasks(words[3]), tasks(words[4]), Map.of(), offsets(words[5]), Map.of()));
                case "assign" -> {
                    out.println(driver.assigned(Integer.parseInt(words[1])));
                    driver = new StreamsAssignorDriver();
                }
                default -> throw new IllegalArgumentException("unknown line: " + line);
            }
        }
    }

    private String assigned(int standbys) {
        GroupSpecImpl group = new GroupSpecImpl(members, AssignmentConfigsImpl.DEFAULT.withNumStandbyReplicas(standbys));
        GroupAssignment assignment = new StickyTaskAssignor().assign(group, topology);
        StringJoiner line = new StringJoiner(" ");
        for (Map.Entry<String, MemberAssignment> entry : assignment.members().entrySet()) {
            line.add(entry.getKey()).add(text(entry.getValue().activeTasks())).add(text(entry.getValue().standbyTasks()));
        }
        return line.toString();
    }

    private static Map<String, Set<Integer>> tasks(String words) {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        for (String word : list(words, ",")) {
            String[] pair = word.split(":");
            Set<Integer> partitions = tasks.computeIfAbsent(pair[0], id -> new HashSet<>());
            for (String partition : list(pair[1], "\\.")) partitions.add(Integer.parseInt(partition));
        }
        return tasks;
    }

    private static Map<String, Map<Integer, Long>> offsets(String words) {
        Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        for (String word : list(words, ",")) {
            String[] pair = word.split(":");
            Map<Integer, Long> byPartition = offsets.computeIfAbsent(pair[0], id -> new HashMap<>());
            for (String offset : list(pair[1], "\\.")) {
                String[] parts = offset.split("=");
                byPartition.put(Integer.parseInt(parts[0]), Long.parseLong(parts[1]));
            }
        }
        return offsets;
    }

    private static List<String> list(String words, String separator) {
        return words.equals("-") ? List.of() : List.of(words.split(separator));
    }

    private static String text(Map<String, Set<Integer>> tasks) {
        StringJoiner subtopologies = new StringJoiner(",");
        subtopologies.setEmptyValue("-");
        tasks.forEach((id, partitions) -> {
            StringJoiner joined = new StringJoiner(".");
            partitions.forEach(partition -> joined.add(partition.toString()));
            if (!partitions.isEmpty()) subtopologies.add(id + ":" + joined);
        });
        return subtopologies.toString();
    }
}
