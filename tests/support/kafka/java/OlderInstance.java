import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Runs one instance of an application on an old release of Kafka Streams, from 2.5 on. It obeys the lines that MixedInstance
 * obeys, and KIND is words or counts. Only what all these releases have is used.
 */
public class OlderInstance {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Serde<String> TEXT = Serdes.String();

    private static KafkaStreams streams;
    private static volatile String error = "";

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            obey(Arrays.asList(line.split(" ")));
        }
        streams.close(PATIENCE);
    }

    private static void obey(List<String> words) {
        switch (words.get(0)) {
            case "open" -> open(words);
            case "close" -> streams.close(PATIENCE);
            case "store" -> System.out.println(shown());
            default -> System.out.println(streams.state() + ":" + error);
        }
    }

    // The handler that later releases have instead is not there before 2.8.
    @SuppressWarnings("deprecation")
    private static void open(List<String> words) {
        Properties properties = new Properties();
        for (String pair : words.subList(4, words.size())) {
            properties.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        StreamsBuilder builder = new StreamsBuilder();
        KGroupedStream<String, String> grouped = builder.stream(words.get(2), Consumed.with(TEXT, TEXT))
                .flatMap((id, line) -> Arrays.stream(line.split(" ")).map(word -> KeyValue.pair(word, id))
                        .collect(Collectors.toList()))
                .groupByKey(Grouped.with("words", TEXT, TEXT));
        result(words.get(1), grouped).toStream().to(words.get(3), Produced.with(TEXT, TEXT));
        streams = new KafkaStreams(builder.build(properties), properties);
        streams.setUncaughtExceptionHandler((thread, thrown) -> error = thrown.toString().replaceAll("\\s+", "_"));
        streams.start();
    }

    private static KTable<String, String> result(String kind, KGroupedStream<String, String> grouped) {
        Materialized<String, String, KeyValueStore<Bytes, byte[]>> lines = Materialized
                .<String, String>as(Stores.inMemoryKeyValueStore("lines")).withKeySerde(TEXT).withValueSerde(TEXT);
        return switch (kind) {
            case "words" -> grouped.aggregate(() -> "", OlderInstance::with, lines);
            case "counts" -> grouped.aggregate(() -> "0", OlderInstance::more, lines);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static String with(String word, String id, String ids) {
        TreeSet<String> all = new TreeSet<>(Arrays.asList((ids + "," + id).split(",")));
        all.remove("");
        return String.join(",", all);
    }

    private static String more(String word, String id, String count) {
        return String.valueOf(Integer.parseInt(count) + 1);
    }

    private static String shown() {
        Map<String, String> found = new TreeMap<>();
        try {
            ReadOnlyKeyValueStore<String, String> store = streams.store(StoreQueryParameters.fromNameAndType(
                    "lines", QueryableStoreTypes.<String, String>keyValueStore()));
            store.all().forEachRemaining(each -> found.put(each.key, each.value));
        } catch (InvalidStateStoreException tasksMove) {
            return "";
        }
        return found.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue())
                .collect(Collectors.joining(" "));
    }
}
