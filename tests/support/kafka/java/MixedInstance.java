import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
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
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlySessionStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Runs one instance of an application whose other instances may be in Python. The first line of standard input is
 *
 * <pre>
 * open KIND INPUT OUTPUT KEY=VALUE...
 * </pre>
 *
 * and KIND is one of words, windows, sessions, held, join, versions, counts, lines and merged. INPUT is a topic, topics with
 * a plus between them, or "pattern:" and a pattern of topics. Later lines are
 *
 * <pre>
 * state           prints STATE:ERROR
 * store WORD...   prints the contents of the store, KEY=VALUE; the words are asked for, as sessions are found by key.
 *                 It prints an empty line while tasks move.
 * close
 * </pre>
 */
public class MixedInstance {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration GRACE = Duration.ofDays(1);
    private static final Duration SIZE = Duration.ofMinutes(1);
    private static final Serde<String> TEXT = Serdes.String();
    private static final String PATTERN = "pattern:";

    private static String kind;
    private static KafkaStreams streams;
    private static volatile String error = "";

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            obey(List.of(line.split(" ")));
        }
        streams.close(PATIENCE);
    }

    private static void obey(List<String> words) {
        switch (words.get(0)) {
            case "open" -> open(words);
            case "close" -> streams.close(PATIENCE);
            case "store" -> System.out.println(shown(words.subList(1, words.size())));
            default -> System.out.println(streams.state() + ":" + error);
        }
    }

    private static void open(List<String> words) {
        Properties properties = new Properties();
        for (String pair : words.subList(4, words.size())) {
            properties.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        kind = words.get(1);
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(properties)));
        result(read(builder, words.get(2))).to(words.get(3), Produced.with(TEXT, TEXT));
        streams = new KafkaStreams(builder.build(properties), properties);
        streams.setUncaughtExceptionHandler(thrown -> {
            error = thrown.toString().replaceAll("\\s+", "_");
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
    }

    private static KStream<String, String> read(StreamsBuilder builder, String input) {
        return input.startsWith(PATTERN)
                ? builder.stream(Pattern.compile(input.substring(PATTERN.length())), Consumed.with(TEXT, TEXT))
                : Arrays.stream(input.split("\\+")).map(topic -> builder.stream(topic, Consumed.with(TEXT, TEXT)))
                        .reduce(KStream::merge).orElseThrow();
    }

    private static KStream<String, String> result(KStream<String, String> lines) {
        return switch (kind) {
            case "merged" -> lines;
            case "lines" -> lines.groupByKey(Grouped.with(TEXT, TEXT))
                    .aggregate(() -> "0", MixedInstance::more, Materialized.as("lines")).toStream();
            case "counts" -> grouped(lines).aggregate(() -> "0", MixedInstance::more, Materialized.as("lines")).toStream();
            case "words" -> grouped(lines).aggregate(() -> "", MixedInstance::with, Materialized.as("lines")).toStream();
            case "windows" -> named(grouped(lines).windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE))
                    .aggregate(() -> "", MixedInstance::with, Materialized.as("lines")).toStream());
            case "sessions" -> named(grouped(lines).windowedBy(SessionWindows.ofInactivityGapAndGrace(SIZE, GRACE))
                    .aggregate(() -> "", MixedInstance::with, (word, one, other) -> merged(one, other),
                            Materialized.as("lines")).toStream());
            case "held" -> held(splitted(lines));
            case "versions" -> versions(splitted(lines));
            default -> joined(lines);
        };
    }

    private static KStream<String, String> joined(KStream<String, String> lines) {
        KStream<String, String> even = splitted(lines.filter((id, line) -> isEven(id)));
        KStream<String, String> odd = splitted(lines.filterNot((id, line) -> isEven(id)));
        return even.join(odd, (one, other) -> one + "+" + other, JoinWindows.ofTimeDifferenceAndGrace(SIZE, GRACE),
                        StreamJoined.with(TEXT, TEXT, TEXT).withName("pairs").withStoreName("pairs"))
                .map((word, pair) -> KeyValue.pair(word + ":" + pair, pair));
    }

    /** Two joins that share a repartition topic, with a table whose copartitioning Kafka Streams forgets. */
    private static KStream<String, String> held(KStream<String, String> words) {
        KTable<String, String> held = words.groupByKey(Grouped.with("words", TEXT, TEXT))
                .aggregate(() -> "", MixedInstance::with, Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as(
                        "lines").withKeySerde(TEXT).withValueSerde(TEXT))
                .suppress(Suppressed.untilTimeLimit(Duration.ofMillis(1), Suppressed.BufferConfig.unbounded()));
        return words.join(held, (id, ids) -> id).merge(words.leftJoin(held, (id, ids) -> id))
                .map((word, id) -> KeyValue.pair(word + ":" + id, id));
    }

    /** The lines of each word, as versions of a table that are valid from their times on. */
    private static KStream<String, String> versions(KStream<String, String> words) {
        return words.toTable(Named.as("versions"), Materialized.<String, String>as(
                        Stores.persistentVersionedKeyValueStore("lines", GRACE)).withKeySerde(TEXT).withValueSerde(TEXT))
                .toStream().map((word, id) -> KeyValue.pair(word + ":" + id, id));
    }

    private static boolean isEven(String id) {
        return Integer.parseInt(id.substring(id.indexOf('-') + 1)) % 2 == 0;
    }

    private static KStream<String, String> splitted(KStream<String, String> lines) {
        return lines.flatMap((id, line) -> Arrays.stream(line.split(" ")).map(word -> KeyValue.pair(word, id)).toList());
    }

    private static KGroupedStream<String, String> grouped(KStream<String, String> lines) {
        return splitted(lines).groupByKey(Grouped.with("words", TEXT, TEXT));
    }

    private static KStream<String, String> named(KStream<Windowed<String>, String> windows) {
        return windows.selectKey((window, ids) -> name(window));
    }

    private static String name(Windowed<String> window) {
        return window.key() + "@" + window.window().start() + "-" + window.window().end();
    }

    private static String more(String word, String id, String count) {
        return "" + (Long.parseLong(count) + 1);
    }

    private static String with(String word, String id, String ids) {
        return merged(ids, id);
    }

    private static String merged(String one, String other) {
        TreeSet<String> all = new TreeSet<>(Arrays.asList((one + "," + other).split(",")));
        all.remove("");
        return String.join(",", all);
    }

    private static String shown(List<String> words) {
        try {
            return contents(words).entrySet().stream().map(each -> each.getKey() + "=" + each.getValue())
                    .collect(Collectors.joining(" "));
        } catch (InvalidStateStoreException tasksMove) {
            return "";
        }
    }

    private static Map<String, String> contents(List<String> words) {
        Map<String, String> found = new TreeMap<>();
        switch (kind) {
            case "words" -> streams.store(StoreQueryParameters.fromNameAndType("lines",
                    QueryableStoreTypes.<String, String>keyValueStore())).all()
                    .forEachRemaining(each -> found.put(each.key, each.value));
            case "windows" -> streams.store(StoreQueryParameters.fromNameAndType("lines",
                    QueryableStoreTypes.<String, String>windowStore())).all()
                    .forEachRemaining(each -> found.put(name(each.key), each.value));
            case "sessions" -> words.forEach(word -> sessions(word)
                    .forEachRemaining(each -> found.put(name(each.key), each.value)));
            default -> throw new IllegalArgumentException("no store to be asked for in " + kind);
        }
        return found;
    }

    private static KeyValueIterator<Windowed<String>, String> sessions(String word) {
        ReadOnlySessionStore<String, String> store = streams.store(
                StoreQueryParameters.fromNameAndType("lines", QueryableStoreTypes.<String, String>sessionStore()));
        return store.fetch(word);
    }
}
