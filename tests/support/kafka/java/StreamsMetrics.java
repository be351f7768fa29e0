import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/** Runs an application for some seconds, and prints its metrics: group, name, tags and recording level. */
public class StreamsMetrics {
    private static final Duration SIZE = Duration.ofSeconds(10);

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("state.dir", arguments[1]);
        settings.put("application.id", "app");
        settings.put("client.id", "cid");
        settings.put("group.protocol", "streams");
        settings.put("metrics.recording.level", "DEBUG");
        settings.put("commit.interval.ms", "200");
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.StringSerde.class.getName());
        try (KafkaStreams application = new KafkaStreams(topology().build(), settings)) {
            application.start();
            Thread.sleep(Long.parseLong(arguments[2]));
            print(application);
        }
    }

    private static StreamsBuilder topology() {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> posts = builder.stream("posts");
        KStream<String, String> words = posts.flatMapValues(post -> Arrays.asList(post.split(" ")));
        KeyValueBytesStoreSupplier counts = Stores.inMemoryKeyValueStore("counts");
        words.groupBy((author, word) -> word)
            .count(Materialized.<String, Long>as(counts).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream().mapValues(String::valueOf).to("totals");
        WindowBytesStoreSupplier windows = Stores.inMemoryWindowStore("windows", SIZE, SIZE, false);
        words.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(SIZE))
            .count(Materialized.<String, Long>as(windows).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()).withName("held"))
            .toStream().foreach((window, count) -> { });
        builder.globalTable("names", Materialized.as(Stores.inMemoryKeyValueStore("names-store")));
        return builder;
    }

    private static void print(KafkaStreams application) throws ReflectiveOperationException {
        Map<MetricName, String> levels = levels((Metrics) read(KafkaStreams.class, "metrics", application));
        TreeSet<String> lines = new TreeSet<>();
        for (MetricName name : application.metrics().keySet()) {
            if (name.group().startsWith("stream-")) {
                String tags = String.join(",", new TreeSet<>(name.tags().keySet()));
                lines.add(name.group() + "\t" + name.name() + "\t" + tags + "\t" + levels.get(name));
            }
        }
        lines.forEach(System.out::println);
    }

    private static Map<MetricName, String> levels(Metrics metrics) throws ReflectiveOperationException {
        Map<MetricName, String> levels = new HashMap<>();
        for (Object sensor : ((Map<?, ?>) read(Metrics.class, "sensors", metrics)).values()) {
            Object level = read(Sensor.class, "recordingLevel", sensor);
            for (Object name : ((Map<?, ?>) read(Sensor.class, "metrics", sensor)).keySet()) {
                levels.put((MetricName) name, level.toString());
            }
        }
        return levels;
    }

    private static Object read(Class<?> type, String name, Object object) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }
}
