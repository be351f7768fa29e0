import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Has Kafka's coordinator compute target assignments of consumer groups that come as plain lines on standard input.
 *
 * <pre>
 *   topic NAME ID PARTITIONS
 *   member ID INSTANCE NAMES OWNED     NAMES is a list as a,b and OWNED one as ID:0.4,ID:3; "-" stands for nothing
 *   assign NAME                        prints one "member ID OWNED" per member, or one "error MESSAGE", and then "end"
 * </pre>
 *
 * Members are added to the group in the order of the lines. Owned partitions are those of a stored record, in its order,
 * and printed ones are in the order in which the coordinator would store them.
 */
public final class GroupAssignorDriver {
    private static final Map<String, ConsumerGroupPartitionAssignor> ASSIGNORS =
        Map.of("range", new RangeAssignor(), "uniform", new UniformAssignor());

    private record Topic(String name, Uuid id, int partitionCount) implements CoordinatorMetadataImage.TopicMetadata {
        @Override public List<String> partitionRacks(int partition) { return List.of(); }
    }

    private record Image(Map<String, TopicMetadata> byName, Map<Uuid, TopicMetadata> byId) implements CoordinatorMetadataImage {
        @Override public Set<Uuid> topicIds() { return byId.keySet(); }
        @Override public Set<String> topicNames() { return byName.keySet(); }
        @Override public Optional<TopicMetadata> topicMetadata(String name) { return Optional.ofNullable(byName.get(name)); }
        @Override public Optional<TopicMetadata> topicMetadata(Uuid id) { return Optional.ofNullable(byId.get(id)); }
        @Override public CoordinatorMetadataDelta emptyDelta() { throw new UnsupportedOperationException(); }
        @Override public long version() { return 1; }
        @Override public boolean isEmpty() { return byId.isEmpty(); }
    }

    private final LogContext log = new LogContext();
    private final ConsumerGroup group = new ConsumerGroup(log, new SnapshotRegistry(log), "group");
    private final Image image = new Image(new HashMap<>(), new HashMap<>());

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        GroupAssignorDriver driver = new GroupAssignorDriver();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "topic" -> driver.add(new Topic(words[1], Uuid.fromString(words[2]), Integer.parseInt(words[3])));
                case "member" -> driver.add(words[1], words[2], list(words[3]), list(words[4]));
                case "assign" -> {
                    driver.assign(ASSIGNORS.get(words[1]), out);
                    driver = new GroupAssignorDriver();
                }
                default -> throw new IllegalArgumentException("unknown line: " + line);
            }
        }
        out.flush();
    }

    private void add(Topic topic) {
        image.byName.put(topic.name, topic);
        image.byId.put(topic.id, topic);
    }

    private void add(String id, String instance, List<String> names, List<String> owned) {
        group.updateMember(new ConsumerGroupMember.Builder(id)
            .setInstanceId(instance.equals("-") ? null : instance)
            .setSubscribedTopicNames(names)
            .build());
        group.updateTargetAssignment(id, Assignment.fromRecord(record(owned)));
    }

    private void assign(ConsumerGroupPartitionAssignor assignor, PrintStream out) {
        try {
            Map<String, MemberAssignment> target = new ConsumerTargetAssignmentBuilder("group", 1, assignor)
                .withTime(Time.SYSTEM)
                .withMembers(group.members())
                .withSubscriptionType(group.subscriptionType())
                .withTargetAssignment(group.targetAssignment())
                .withInvertedTargetAssignment(group.invertedTargetAssignment())
                .withMetadataImage(image)
                .withResolvedRegularExpressions(group.resolvedRegularExpressions())
                .build()
                .targetAssignment();
            for (String id : group.members().keySet()) {
                out.println("member " + id + " " + (target.containsKey(id) ? text(target.get(id).partitions()) : "-"));
            }
        } catch (PartitionAssignorException e) {
            out.println("error " + e.getMessage());
        }
        out.println("end");
    }

    private static ConsumerGroupTargetAssignmentMemberValue record(List<String> owned) {
        ConsumerGroupTargetAssignmentMemberValue value = new ConsumerGroupTargetAssignmentMemberValue();
        for (String word : owned) {
            String[] pair = word.split(":");
            List<Integer> numbers = new ArrayList<>();
            for (String number : pair[1].split("\\.")) numbers.add(Integer.parseInt(number));
            value.topicPartitions().add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                .setTopicId(Uuid.fromString(pair[0]))
                .setPartitions(numbers));
        }
        return value;
    }

    private static String text(Map<Uuid, Set<Integer>> partitions) {
        StringJoiner topics = new StringJoiner(",");
        topics.setEmptyValue("-");
        partitions.forEach((topic, numbers) -> {
            StringJoiner joined = new StringJoiner(".");
            numbers.forEach(number -> joined.add(number.toString()));
            if (!numbers.isEmpty()) topics.add(topic + ":" + joined);
        });
        return topics.toString();
    }

    private static List<String> list(String words) {
        return words.equals("-") ? List.of() : List.of(words.split(","));
    }
}
