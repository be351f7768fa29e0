import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;

/**
 * Runs Kafka's own share assignor on inputs that come as plain lines on standard input.
 *
 * <pre>
 *   topic NUMBER PARTITIONS
 *   member ID TOPICS OWNED       TOPICS is a list as 1,2 and OWNED one as 1:0,1:3; "-" stands for an empty list
 *   end                          computes, and prints one "member ID OWNED" per member and "end"
 * </pre>
 */
public final class SimpleAssignorDriver {
    private record Member(Set<Uuid> topics, Map<Uuid, Set<Integer>> owned) implements MemberSubscription, MemberAssignment {
        @Override public Optional<String> rackId() { return Optional.empty(); }
        @Override public Optional<String> instanceId() { return Optional.empty(); }
        @Override public Set<Uuid> subscribedTopicIds() { return topics; }
        @Override public Map<Uuid, Set<Integer>> partitions() { return owned; }
    }

    private record Group(Map<String, Member> members, Map<Uuid, Integer> topics) implements GroupSpec, SubscribedTopicDescriber {
        @Override public Collection<String> memberIds() { return members.keySet(); }
        @Override public MemberSubscription memberSubscription(String id) { return members.get(id); }
        @Override public MemberAssignment memberAssignment(String id) { return members.get(id); }
        @Override public boolean isPartitionAssignable(Uuid topic, int partition) { return true; }
        @Override public int numPartitions(Uuid topic) { return topics.getOrDefault(topic, -1); }
        @Override public Set<String> racksForPartition(Uuid topic, int partition) { return Set.of(); }

        @Override public boolean isPartitionAssigned(Uuid topic, int partition) {
            return members.values().stream().anyMatch(m -> m.owned.getOrDefault(topic, Set.of()).contains(partition));
        }

        @Override public SubscriptionType subscriptionType() {
            long kinds = members.values().stream().map(Member::topics).distinct().count();
            return kinds <= 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Group group = new Group(new LinkedHashMap<>(), new LinkedHashMap<>());
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "topic" -> group.topics.put(topic(words[1]), Integer.parseInt(words[2]));
                case "member" -> group.members.put(words[1], new Member(topics(words[2]), partitions(words[3])));
                case "end" -> {
                    print(group, out);
                    group = new Group(new LinkedHashMap<>(), new LinkedHashMap<>());
                }
                default -> throw new IllegalArgumentException("unknown line: " + line);
            }
        }
        out.flush();
    }

    private static void print(Group group, PrintStream out) {
        Map<String, MemberAssignment> result = new TreeMap<>(new SimpleAssignor().assign(group, group).members());
        result.forEach((id, assignment) -> out.println("member " + id + " " + text(assignment.partitions())));
        out.println("end");
    }

    private static String text(Map<Uuid, Set<Integer>> owned) {
        TreeSet<String> words = new TreeSet<>();
        owned.forEach((topic, numbers) -> numbers.forEach(n -> words.add(topic.getLeastSignificantBits() + ":" + n)));
        return words.isEmpty() ? "-" : String.join(",", words);
    }

    private static Uuid topic(String number) {
        return new Uuid(1L, Long.parseLong(number));
    }

    private static Set<Uuid> topics(String list) {
        Set<Uuid> topics = new HashSet<>();
        if (!list.equals("-")) {
            for (String number : list.split(",")) topics.add(topic(number));
        }
        return topics;
    }

    private static Map<Uuid, Set<Integer>> partitions(String list) {
        Map<Uuid, Set<Integer>> owned = new LinkedHashMap<>();
        if (!list.equals("-")) {
            for (String word : list.split(",")) {
                String[] pair = word.split(":");
                owned.computeIfAbsent(topic(pair[0]), t -> new HashSet<>()).add(Integer.parseInt(pair[1]));
            }
        }
        return owned;
    }
}
