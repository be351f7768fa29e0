import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * Runs applications, as the lines of standard input say:
 *
 * <pre>
 * open NAME INPUT OUTPUT KEY=VALUE...    counts the records of each key
 * words NAME INPUT OUTPUT KEY=VALUE...   counts the lines that contain each word; the keys of the input are ids of lines
 * close NAME
 * state             prints a line: for each application NAME:STATE:REBALANCES:TASKS:ERROR, the tasks by thread
 * copies            prints a line: for each application NAME:TASKS, its standby tasks
 * </pre>
 */
public class StreamsRunner {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final Map<String, KafkaStreams> RUNNING = new ConcurrentHashMap<>();
    private static final Map<String, String> ERRORS = new ConcurrentHashMap<>();
    private static final Map<String, AtomicInteger> REBALANCES = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            obey(line.split(" "));
        }
        RUNNING.values().forEach(each -> each.close(PATIENCE));
    }

    private static void obey(String[] words) {
        switch (words[0]) {
            case "open" -> open(words, counting(words[2], words[3]));
            case "words" -> open(words, countingWords(words[2], words[3]));
            case "close" -> RUNNING.remove(words[1]).close(PATIENCE);
            case "copies" -> System.out.println(
                    RUNNING.entrySet().stream().map(each -> copies(each.getKey(), each.getValue()))
                            .sorted().collect(Collectors.joining(" ")));
            default -> System.out.println(
                    RUNNING.entrySet().stream().map(each -> state(each.getKey(), each.getValue()))
                            .sorted().collect(Collectors.joining(" ")));
        }
    }

    private static StreamsBuilder counting(String input, String output) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
                .groupByKey()
                .count(Materialized.as(Stores.inMemoryKeyValueStore("counts")))
                .toStream()
                .mapValues(String::valueOf)
                .to(output, Produced.with(Serdes.String(), Serdes.String()));
        return builder;
    }

    /** The store has the ids of a word's lines, so that a line that is processed again is counted once. */
    private static StreamsBuilder countingWords(String input, String output) {
        Serde<String> text = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(text, text))
                .flatMap((id, line) -> Arrays.stream(line.split(" ")).map(word -> KeyValue.pair(word, id)).toList())
                .groupByKey(Grouped.with("words", text, text))
                .aggregate(() -> "", (word, id, ids) -> with(ids, id),
                        Materialized.<String, String>as(Stores.inMemoryKeyValueStore("lines"))
                                .withKeySerde(text).withValueSerde(text))
                .toStream()
                .mapValues(ids -> String.valueOf(ids.split(",").length))
                .to(output, Produced.with(text, text));
        return builder;
    }

    private static String with(String ids, String id) {
        TreeSet<String> all = new TreeSet<>(List.of(id));
        if (!ids.isEmpty()) {
            all.addAll(List.of(ids.split(",")));
        }
        return String.join(",", all);
    }

    private static void open(String[] words, StreamsBuilder builder) {
        Properties properties = new Properties();
        for (String pair : List.of(words).subList(4, words.length)) {
            properties.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        AtomicInteger rebalances = new AtomicInteger();
        ERRORS.remove(words[1]);
        REBALANCES.put(words[1], rebalances);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.REBALANCING) {
                rebalances.incrementAndGet();
            }
        });
        streams.setUncaughtExceptionHandler(error -> {
            ERRORS.put(words[1], error.toString().replaceAll("[ :]+", "_"));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        RUNNING.put(words[1], streams);
        streams.start();
    }

    private static String copies(String name, KafkaStreams streams) {
        return name + ":" + streams.metadataForLocalThreads().stream()
                .flatMap(thread -> thread.standbyTasks().stream()).map(task -> task.taskId().toString()).sorted()
                .collect(Collectors.joining(","));
    }

    private static String state(String name, KafkaStreams streams) {
        String tasks = streams.metadataForLocalThreads().stream()
                .map(thread -> thread.activeTasks().stream().map(task -> task.taskId().toString()).sorted()
                        .collect(Collectors.joining(",")))
                .sorted().collect(Collectors.joining(";"));
        return name + ":" + streams.state() + ":" + REBALANCES.get(name) + ":" + tasks + ":" + ERRORS.getOrDefault(name, "");
    }
}
