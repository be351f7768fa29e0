import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.internals.FetchMetricsRegistry;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.internals.SenderMetricsRegistry;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.MetricNameTemplate;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Prints the metrics of a producer and of a consumer's fetches: group, name and tags. No broker is needed. */
public class RecordsMetrics {
    private static final Set<String> GROUPS =
        Set.of("producer-metrics", "producer-topic-metrics", "consumer-fetch-manager-metrics");
    private static final Map<String, Object> SETTINGS = Map.of("bootstrap.servers", "localhost:1", "client.id", "cid");

    public static void main(String[] arguments) {
        TreeSet<String> lines = new TreeSet<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(SETTINGS, new ByteArraySerializer(), new ByteArraySerializer());
            KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(SETTINGS, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<MetricName> names = new ArrayList<>(producer.metrics().keySet());
            names.addAll(consumer.metrics().keySet());
            names.forEach(each -> add(lines, each.group(), each.name(), each.tags().keySet()));
        }
        // Those of topics and partitions exist once there are any.
        List<MetricNameTemplate> templates = new ArrayList<>(new SenderMetricsRegistry(new Metrics()).allTemplates());
        templates.addAll(new FetchMetricsRegistry(Set.of("client-id"), "consumer").getAllTemplates());
        templates.forEach(each -> add(lines, each.group(), each.name(), each.tags()));
        lines.forEach(System.out::println);
    }

    private static void add(Set<String> lines, String group, String name, Set<String> tags) {
        if (GROUPS.contains(group)) {
            TreeSet<String> all = new TreeSet<>(tags);
            all.add("client-id"); // the registry of producers adds it when it makes a metric
            lines.add(group + "\t" + name + "\t" + String.join(",", all));
        }
    }
}
