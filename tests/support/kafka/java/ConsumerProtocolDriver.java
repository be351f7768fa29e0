import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;

/**
 * Writes and reads Kafka's consumer protocol. Questions and answers are lines; S stands for a subscription and A for an
 * assignment. Texts and bytes are hexadecimal, and "-" is nothing.
 *
 * <pre>
 *   random KIND VERSION SEED     BYTES WORDS...
 *   read KIND BYTES              WORDS...
 *
 *   words of S   topics, user data, owned partitions, generation, rack
 *   words of A   user data, partitions
 * </pre>
 */
public final class ConsumerProtocolDriver {
    private static final String NONE = "-";
    private static final String[] NAMES = {"a", "b-1", "ü", "✈", "𝄞", "", "x".repeat(249)};

    private ConsumerProtocolDriver() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
    }

    private static String answer(String[] words) {
        boolean isSubscription = words[1].equals("S");
        if (words[0].equals("read")) {
            return read(isSubscription, ByteBuffer.wrap(HexFormat.of().parseHex(words[2])));
        }
        short version = Short.parseShort(words[2]);
        Random random = new Random(Long.parseLong(words[3]));
        ByteBuffer data = isSubscription
            ? ConsumerProtocol.serializeSubscription(subscription(random), version)
            : ConsumerProtocol.serializeAssignment(new Assignment(partitions(random), userData(random)), version);
        return hex(data.duplicate()) + " " + read(isSubscription, data);
    }

    private static Subscription subscription(Random random) {
        List<String> topics = new ArrayList<>();
        for (int count = random.nextInt(4); count > 0; count--) {
            topics.add(NAMES[random.nextInt(NAMES.length)]);
        }
        Optional<String> rack = random.nextBoolean() ? Optional.of("rack" + random.nextInt(3)) : Optional.empty();
        return new Subscription(topics, userData(random), partitions(random), random.nextInt(5) - 1, rack);
    }

    private static List<TopicPartition> partitions(Random random) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int count = random.nextInt(8); count > 0; count--) {
            partitions.add(new TopicPartition(NAMES[random.nextInt(NAMES.length)], random.nextInt(5)));
        }
        return partitions;
    }

    private static ByteBuffer userData(Random random) {
        byte[] bytes = new byte[random.nextInt(6)];
        random.nextBytes(bytes);
        return random.nextInt(3) == 0 ? null : ByteBuffer.wrap(bytes);
    }

    private static String read(boolean isSubscription, ByteBuffer data) {
        if (isSubscription) {
            Subscription found = ConsumerProtocol.deserializeSubscription(data);
            return String.join(
                " ", list(found.topics(), ConsumerProtocolDriver::word), bytes(found.userData()),
                list(found.ownedPartitions(), ConsumerProtocolDriver::place), "" + found.generationId().orElse(-1),
                found.rackId().map(ConsumerProtocolDriver::word).orElse(NONE));
        }
        Assignment found = ConsumerProtocol.deserializeAssignment(data);
        return bytes(found.userData()) + " " + list(found.partitions(), ConsumerProtocolDriver::place);
    }

    private static <T> String list(List<T> values, Function<T, String> shown) {
        return values.isEmpty() ? NONE : values.stream().map(shown).collect(Collectors.joining(","));
    }

    private static String place(TopicPartition place) {
        return word(place.topic()) + "@" + place.partition();
    }

    private static String bytes(ByteBuffer data) {
        return data == null ? NONE : "x" + hex(data.duplicate());
    }

    private static String word(String text) {
        return "x" + HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String hex(ByteBuffer data) {
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
