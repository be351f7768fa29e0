import java.time.Duration;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.Stores;

/**
 * An application of the benchmarks: WORK SOURCE TARGET KEY=VALUE...
 *
 * <p>It prints how many seconds it took to be RUNNING, and works until its standard input ends. The store of counts is in
 * memory, and writes an output record for each input record.
 */
public final class BenchmarkApplication {
    private static final Duration WINDOW = Duration.ofSeconds(10);

    private BenchmarkApplication() {
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int place = 3; place < arguments.length; place++) {
            String[] pair = arguments[place].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        KafkaStreams streams = new KafkaStreams(built(arguments).build(), properties);
        CountDownLatch running = new CountDownLatch(1);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                running.countDown();
            }
        });
        long began = System.nanoTime();
        streams.start();
        running.await();
        System.out.println((System.nanoTime() - began) / 1e9);
        while (System.in.read() >= 0) {
            // nothing is told to it
        }
        streams.close(Duration.ofSeconds(30));
    }

    private static StreamsBuilder built(String[] arguments) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> source = builder.stream(arguments[1], Consumed.with(Serdes.String(), Serdes.String()));
        if (arguments[0].equals("map")) {
            source.mapValues(value -> value.toUpperCase(Locale.ROOT)).to(arguments[2]);
            return builder;
        }
        source.groupByKey()
                .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, WINDOW))
                .count(Materialized.<String, Long>as(
                                Stores.inMemoryWindowStore("counts", WINDOW.multipliedBy(2), WINDOW, false))
                        .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()).withCachingDisabled())
                .toStream()
                .to(arguments[2], Produced.with(
                        WindowedSerdes.timeWindowedSerdeFrom(String.class, WINDOW.toMillis()), Serdes.Long()));
        return builder;
    }
}
