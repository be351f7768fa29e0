import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;
import org.apache.kafka.streams.state.HostInfo;

/**
 * Writes and reads the user data of classic groups. Questions and answers are lines; S stands for a subscription and A
 * for an assignment. Texts are hexadecimal UTF-16, as Java's may have halves of pairs.
 *
 * <pre>
 *   random KIND VERSION SEED     BYTES WORDS...
 *   read KIND BYTES              BYTES WORDS..., with the bytes that Java writes for what it has read; or "error CLASS"
 *   golden KIND VERSION NAMED    BYTES of a fixed structure; if NAMED is "named", of one with a named topology
 *
 *   words of S   version, latest version, process id, endpoint, error, sums, tags
 *   words of A   version, common version, active tasks, standby tasks, hosts, hosts of standby tasks, error, next ms
 * </pre>
 */
public final class UserDataDriver {
    private static final int LATEST = 11;
    private static final String NONE = "-";
    private static final String[] ODD = {"", "ü", "✈", "𝄞", "\0", "\ud834", "a b", "x".repeat(300)};
    private static final long[] SUMS = {-2, -2, -3, 0, 1, 1L << 40, Long.MAX_VALUE};

    private UserDataDriver() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
    }

    private static String answer(String[] words) {
        boolean isSubscription = words[1].equals("S");
        switch (words[0]) {
            case "random" -> {
                int version = Integer.parseInt(words[2]);
                Random random = new Random(Long.parseLong(words[3]));
                return isSubscription ? shown(subscription(version, random)) : shown(assignment(version, random));
            }
            case "read" -> {
                ByteBuffer data = ByteBuffer.wrap(HexFormat.of().parseHex(words[2]));
                try {
                    return isSubscription ? shown(SubscriptionInfo.decode(data)) : shown(AssignmentInfo.decode(data));
                } catch (RuntimeException error) {
                    return "error " + error.getClass().getSimpleName();
                }
            }
            case "golden" -> {
                int version = Integer.parseInt(words[2]);
                boolean isNamed = words[3].equals("named");
                return hex(isSubscription ? golden(version, isNamed).encode() : goldenAssignment(version, isNamed).encode());
            }
            default -> throw new IllegalArgumentException("unknown question: " + words[0]);
        }
    }

    // ------------------------------------------------------------------------------------------------- structures

    private static SubscriptionInfo subscription(int version, Random random) {
        Map<TaskId, Long> sums = new HashMap<>();
        for (int count = random.nextInt(12); count > 0; count--) {
            sums.put(task(random), SUMS[random.nextInt(SUMS.length)]);
        }
        Map<String, String> tags = new HashMap<>();
        for (int count = random.nextInt(4); count > 0; count--) {
            tags.put(whole(text(random)), whole(text(random)));
        }
        ProcessId process = new ProcessId(new UUID(random.nextLong(), random.nextLong()));
        String endpoint = random.nextInt(3) == 0 ? null : whole(text(random)) + ":" + random.nextInt(65_536);
        int error = version < 9 ? 0 : random.nextInt(5);
        int latest = version + random.nextInt(LATEST + 1 - version);
        return new SubscriptionInfo(version, latest, process, endpoint, sums, (byte) random.nextInt(256), error, tags);
    }

    private static AssignmentInfo assignment(int version, Random random) {
        List<TaskId> active = new ArrayList<>();
        for (int count = random.nextInt(12); count > 0; count--) {
            active.add(task(random));
        }
        Map<TaskId, Set<TopicPartition>> standby = new HashMap<>();
        for (int count = random.nextInt(6); count > 0; count--) {
            standby.put(task(random), partitions(random));
        }
        AssignmentInfo info = new AssignmentInfo(
            version, LATEST, active, standby, hosts(random), hosts(random), random.nextInt(5));
        switch (random.nextInt(3)) {
            case 0 -> info.setNextRebalanceTime(0);
            case 1 -> info.setNextRebalanceTime(random.nextLong());
            default -> { }
        }
        return info;
    }

    private static Map<HostInfo, Set<TopicPartition>> hosts(Random random) {
        Map<HostInfo, Set<TopicPartition>> hosts = new HashMap<>();
        for (int count = random.nextInt(5); count > 0; count--) {
            hosts.put(new HostInfo(text(random), random.nextInt()), partitions(random));
        }
        return hosts;
    }

    private static Set<TopicPartition> partitions(Random random) {
        Set<TopicPartition> partitions = new HashSet<>();
        for (int count = random.nextInt(5); count > 0; count--) {
            partitions.add(new TopicPartition(text(random), random.nextInt(100)));
        }
        return partitions;
    }

    private static TaskId task(Random random) {
        return new TaskId(random.nextInt(20), random.nextInt(10) == 0 ? random.nextInt() : random.nextInt(50));
    }

    private static String text(Random random) {
        String plain = "t" + random.nextInt(30);
        return random.nextInt(4) == 0 ? plain + ODD[random.nextInt(ODD.length)] : plain;
    }

    /** A text without halves of pairs, which UTF-8 cannot have. */
    private static String whole(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
    }

    private static SubscriptionInfo golden(int version, boolean isNamed) {
        ProcessId process = new ProcessId(new UUID(1, 2));
        if (isNamed) {
            return new SubscriptionInfo(
                version, LATEST, process, null, Map.of(new TaskId(0, 1, "nt"), 9L), (byte) 0, 0, Map.of());
        }
        Map<TaskId, Long> sums = new LinkedHashMap<>();
        sums.put(new TaskId(0, 1), -2L);
        sums.put(new TaskId(0, 2), 7L);
        sums.put(new TaskId(1, 0), -3L);
        int latest = version < 3 ? version : LATEST;
        return new SubscriptionInfo(version, latest, process, "h:1", sums, (byte) 5, 4, Map.of("k", "v"));
    }

    private static AssignmentInfo goldenAssignment(int version, boolean isNamed) {
        if (isNamed) {
            return new AssignmentInfo(
                version, LATEST, List.of(new TaskId(0, 1, "nt")), Map.of(), Map.of(), Map.of(), 0);
        }
        HostInfo host = new HostInfo("h", 1);
        TaskId active = new TaskId(0, 1);
        AssignmentInfo info = new AssignmentInfo(
            version, version < 3 ? version : LATEST, List.of(active, active),
            Map.of(new TaskId(1, 0), Set.of(new TopicPartition("t", 0))),
            Map.of(host, Set.of(new TopicPartition("t", 1))), Map.of(host, Set.of(new TopicPartition("u", 0))), 3);
        info.setNextRebalanceTime(0);
        return info;
    }

    // ------------------------------------------------------------------------------------------------------ words

    private static String shown(SubscriptionInfo info) {
        String endpoint = info.userEndPoint() == null ? "" : info.userEndPoint();
        return String.join(
            " ", hex(info.encode()), "" + info.version(), "" + info.latestSupportedVersion(),
            info.processId().id().toString(), word(endpoint), "" + info.errorCode(),
            sorted(info.taskOffsetSums().entrySet().stream().map(each -> each.getKey() + "=" + each.getValue())),
            sorted(info.clientTags().entrySet().stream().map(each -> word(each.getKey()) + "=" + word(each.getValue()))));
    }

    private static String shown(AssignmentInfo info) {
        String active = info.activeTasks().stream().map(TaskId::toString).collect(Collectors.joining(","));
        return String.join(
            " ", hex(info.encode()), "" + info.version(), "" + info.commonlySupportedVersion(),
            active.isEmpty() ? NONE : active,
            sorted(info.standbyTasks().entrySet().stream().map(each -> each.getKey() + ":" + all(each.getValue()))),
            shownHosts(info.partitionsByHost()), shownHosts(info.standbyPartitionByHost()), "" + info.errCode(),
            "" + info.nextRebalanceMs());
    }

    private static String shownHosts(Map<HostInfo, Set<TopicPartition>> hosts) {
        return sorted(hosts.entrySet().stream().map(
            each -> word(each.getKey().host()) + "@" + each.getKey().port() + ":" + all(each.getValue())));
    }

    private static String all(Set<TopicPartition> partitions) {
        Set<String> shown = new TreeSet<>();
        partitions.forEach(each -> shown.add(word(each.topic()) + "@" + each.partition()));
        return String.join("+", shown);
    }

    private static String sorted(Stream<String> parts) {
        String joined = parts.sorted().collect(Collectors.joining(","));
        return joined.isEmpty() ? NONE : joined;
    }

    private static String word(String text) {
        StringBuilder units = new StringBuilder("x");
        text.chars().forEach(unit -> units.append(HexFormat.of().toHexDigits((char) unit)));
        return units.toString();
    }

    private static String hex(ByteBuffer data) {
        data.rewind();
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
