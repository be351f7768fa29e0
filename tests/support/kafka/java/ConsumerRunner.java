import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Runs consumers, each on a thread of its own, as the lines of standard input say:
 *
 * <pre>
 * open NAME TOPIC KEY=VALUE...
 * enforce NAME      the consumer asks for a rebalance
 * close NAME        the consumer commits and closes
 * state             prints a line: for each consumer NAME:PARTITIONS:ASSIGNMENTS:RECORDS:ERROR
 * </pre>
 */
public class ConsumerRunner {
    private static final Duration POLL = Duration.ofMillis(50);

    private static final Map<String, Runner> RUNNERS = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            obey(line.split(" "));
        }
        for (Runner runner : RUNNERS.values()) {
            runner.end();
        }
    }

    private static void obey(String[] words) throws Exception {
        switch (words[0]) {
            case "open" -> RUNNERS.put(words[1], new Runner(words));
            case "enforce" -> RUNNERS.get(words[1]).enforces = true;
            case "close" -> RUNNERS.remove(words[1]).end();
            default -> System.out.println(
                    RUNNERS.entrySet().stream().map(each -> each.getKey() + ":" + each.getValue().state())
                            .sorted().collect(Collectors.joining(" ")));
        }
    }

    /** One consumer. */
    private static final class Runner implements ConsumerRebalanceListener {
        private final String topic;
        private final Properties properties = new Properties();
        private final Thread thread = new Thread(this::run);
        private volatile boolean ends;
        private volatile boolean enforces;
        private volatile String owned = "";
        private volatile String error = "";
        private volatile int assignments;
        private volatile int records;

        Runner(String[] words) {
            topic = words[2];
            for (String pair : List.of(words).subList(3, words.length)) {
                properties.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
            }
            thread.start();
        }

        String state() {
            return owned + ":" + assignments + ":" + records + ":" + error;
        }

        void end() throws InterruptedException {
            ends = true;
            thread.join();
        }

        private void run() {
            try (var consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(topic), this);
                while (!ends) {
                    if (enforces) {
                        enforces = false;
                        consumer.enforceRebalance();
                    }
                    records += consumer.poll(POLL).count();
                    owned = numbers(consumer.assignment());
                }
                consumer.commitSync();
            } catch (Exception failure) {
                error = failure.getClass().getSimpleName();
            }
        }

        private static String numbers(Collection<TopicPartition> partitions) {
            return partitions.stream().map(TopicPartition::partition).sorted().map(String::valueOf)
                    .collect(Collectors.joining(","));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            assignments += 1;
        }
    }
}
