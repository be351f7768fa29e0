import java.time.Duration;
import java.time.Instant;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.UnlimitedWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** Windowed aggregations. Windows of 100 ms, sessions with gaps of 50 ms. */
final class WindowTopologies {
    static final Duration SIZE = Duration.ofMillis(100);
    static final Duration GAP = Duration.ofMillis(50);
    static final Duration GRACE = Duration.ofMillis(70);
    static final Duration LONG = Duration.ofMinutes(1);
    private static final EmitStrategy ON_CLOSE = EmitStrategy.onWindowClose();

    private WindowTopologies() {
    }

    static void register(Catalogue all) {
        time(all);
        sliding(all);
        sessions(all);
        onClose(all);
        cogroups(all);
        words(all);
    }

    private static void time(Catalogue all) {
        all.dsl("tumbling_count", builder -> timed(grouped(builder).windowedBy(tumbling()).count()));
        all.dsl("tumbling_grace", builder -> timed(grouped(builder)
                .windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE)).count(Materialized.as("counts"))));
        all.dsl("tumbling_reduce", builder -> timedTexts(grouped(builder).windowedBy(tumbling())
                .reduce(Functions::concatenated)));
        all.dsl("tumbling_aggregate", builder -> timedTexts(grouped(builder).windowedBy(tumbling())
                .aggregate(Functions::start, Functions::added, Named.as("adding"))));
        all.dsl("tumbling_retention", builder -> timed(grouped(builder).windowedBy(tumbling())
                .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("counts")
                        .withRetention(Duration.ofMillis(1000)))));
        all.dsl("tumbling_by_letter", builder -> timed(Functions.texts(builder, "in").groupBy(Functions::letter)
                .windowedBy(tumbling()).count()));
        all.dsl("hopping_count", builder -> timed(grouped(builder).windowedBy(hopping()).count()));
        all.dsl("hopping_aggregate", builder -> timedTexts(grouped(builder).windowedBy(hopping())
                .aggregate(Functions::start, Functions::added, Materialized.as("texts"))));
        all.dsl("unlimited_count", builder -> timed(grouped(builder)
                .windowedBy(UnlimitedWindows.of().startOn(Instant.ofEpochMilli(50))).count()));
        all.dsl("windowed_chain", builder -> grouped(builder).windowedBy(hopping()).count().filter(
                (window, count) -> count > 1).mapValues(count -> "n" + count)
                .toStream((window, count) -> window.key() + "@" + window.window().start()).to("out"));
        all.dsl("windowed_table_grouped", builder -> grouped(builder).windowedBy(tumbling()).count()
                .groupBy((window, count) -> KeyValue.pair(window.key(), count),
                        Grouped.with(Functions.TEXT, Functions.LONG))
                .aggregate(Functions::zero, Functions::summed, Functions::subtracted,
                        Materialized.with(Functions.TEXT, Functions.LONG))
                .toStream().to("out", Functions.longs()));
    }

    private static void sliding(Catalogue all) {
        all.dsl("sliding_count", builder -> timed(grouped(builder)
                .windowedBy(SlidingWindows.ofTimeDifferenceWithNoGrace(SIZE)).count()));
        all.dsl("sliding_aggregate", builder -> timedTexts(grouped(builder).windowedBy(slidingWithGrace())
                .aggregate(Functions::start, Functions::added, Materialized.as("texts"))));
        all.dsl("sliding_reduce", builder -> timedTexts(grouped(builder).windowedBy(slidingWithGrace())
                .reduce(Functions::concatenated)));
    }

    private static void sessions(Catalogue all) {
        all.dsl("session_count", builder -> sessionCounts(grouped(builder)
                .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(GAP)).count()));
        all.dsl("session_aggregate", builder -> sessionTexts(grouped(builder).windowedBy(session())
                .aggregate(Functions::start, Functions::added, Functions::merged, Materialized.as("texts"))));
        all.dsl("session_reduce", builder -> sessionTexts(grouped(builder).windowedBy(session())
                .reduce(Functions::concatenated, Named.as("reducing"))));
        all.dsl("session_retention", builder -> sessionCounts(grouped(builder).windowedBy(session())
                .count(Materialized.<String, Long, SessionStore<Bytes, byte[]>>as("counts")
                        .withRetention(Duration.ofMillis(1000)))));
        all.dsl("session_kept", builder -> sessionTexts(grouped(builder).windowedBy(session())
                .aggregate(Functions::start, Functions::added, Functions::merged,
                        Materialized.<String, String, SessionStore<Bytes, byte[]>>as("texts").withRetention(LONG))));
        all.dsl("sliding_kept", builder -> timedTexts(grouped(builder).windowedBy(slidingWithGrace())
                .aggregate(Functions::start, Functions::added, kept("texts"))));
        all.dsl("sliding_then_group", builder -> grouped(builder).windowedBy(slidingWithGrace())
                .reduce(Functions::concatenated, kept("texts"))
                .groupBy((window, text) -> Functions.byLength(window.key(), text),
                        Grouped.with(Functions.TEXT, Functions.TEXT))
                .aggregate(Functions::start, Functions::added, Functions::removed).toStream().to("out"));
        all.dsl("session_table_grouped", builder -> grouped(builder).windowedBy(session()).count()
                .groupBy((window, count) -> KeyValue.pair(window.key(), count),
                        Grouped.with(Functions.TEXT, Functions.LONG))
                .aggregate(Functions::zero, Functions::summed, Functions::subtracted,
                        Materialized.with(Functions.TEXT, Functions.LONG))
                .toStream().to("out", Functions.longs()));
    }

    /** With time to spare in the stores, as a store in memory drops windows that end before they are emitted. */
    private static void onClose(Catalogue all) {
        all.dsl("tumbling_on_close", builder -> timed(grouped(builder)
                .windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE)).emitStrategy(ON_CLOSE)
                .count(WindowTopologies.<Long>kept("counts"))));
        all.dsl("tumbling_on_close_unkept", builder -> timed(grouped(builder)
                .windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE)).emitStrategy(ON_CLOSE).count()));
        all.dsl("hopping_on_close", builder -> timedTexts(grouped(builder).windowedBy(hopping())
                .emitStrategy(ON_CLOSE).aggregate(Functions::start, Functions::added, kept("texts"))));
        all.dsl("sliding_on_close", builder -> timedTexts(grouped(builder).windowedBy(slidingWithGrace())
                .emitStrategy(ON_CLOSE).aggregate(Functions::start, Functions::added, kept("texts"))));
        all.dsl("session_on_close", builder -> sessionTexts(grouped(builder).windowedBy(session())
                .emitStrategy(ON_CLOSE).aggregate(Functions::start, Functions::added, Functions::merged,
                        Materialized.<String, String, SessionStore<Bytes, byte[]>>as("texts").withRetention(LONG))));
    }

    private static <V> Materialized<String, V, WindowStore<Bytes, byte[]>> kept(String name) {
        return Materialized.<String, V, WindowStore<Bytes, byte[]>>as(name).withRetention(LONG);
    }

    private static void words(Catalogue all) {
        all.dsl("words_tumbling", builder -> timedTexts(words(builder).windowedBy(tumbling())
                .aggregate(Functions::start, Functions::added)));
        all.dsl("words_hopping", builder -> timed(words(builder).windowedBy(hopping()).count()));
        all.dsl("words_sliding", builder -> timedTexts(words(builder)
                .windowedBy(slidingWithGrace()).aggregate(Functions::start, Functions::added, kept("texts"))));
        all.dsl("words_session", builder -> sessionTexts(words(builder).windowedBy(session())
                .aggregate(Functions::start, Functions::added, Functions::merged)));
    }

    private static KGroupedStream<String, String> words(StreamsBuilder builder) {
        return Functions.texts(builder, "in").flatMapValues(Functions::words).groupByKey();
    }

    private static void cogroups(Catalogue all) {
        all.dsl("cogroup_tumbling", builder -> timedTexts(AggregateTopologies.cogrouped(builder)
                .windowedBy(tumbling()).aggregate(Functions::start)));
        all.dsl("cogroup_hopping", builder -> timedTexts(AggregateTopologies.cogrouped(builder)
                .windowedBy(hopping()).aggregate(Functions::start, kept("texts"))));
        all.dsl("cogroup_sliding", builder -> timedTexts(AggregateTopologies.cogrouped(builder)
                .windowedBy(slidingWithGrace()).aggregate(Functions::start, Materialized.as("texts"))));
        all.dsl("cogroup_session", builder -> sessionTexts(AggregateTopologies.cogrouped(builder)
                .windowedBy(session()).aggregate(Functions::start, Functions::merged, Named.as("both"))));
    }

    static TimeWindows tumbling() {
        return TimeWindows.ofSizeWithNoGrace(SIZE);
    }

    static TimeWindows hopping() {
        return TimeWindows.ofSizeAndGrace(SIZE, GRACE).advanceBy(Duration.ofMillis(30));
    }

    static SlidingWindows slidingWithGrace() {
        return SlidingWindows.ofTimeDifferenceAndGrace(SIZE, GRACE);
    }

    static SessionWindows session() {
        return SessionWindows.ofInactivityGapAndGrace(GAP, GRACE);
    }

    static KGroupedStream<String, String> grouped(StreamsBuilder builder) {
        return Functions.texts(builder, "in").groupByKey();
    }

    static void timed(KTable<Windowed<String>, Long> counted) {
        counted.toStream().to("out", Produced.with(
                WindowedSerdes.timeWindowedSerdeFrom(String.class, SIZE.toMillis()), Functions.LONG));
    }

    static void timedTexts(KTable<Windowed<String>, String> table) {
        table.toStream().to("out", Produced.with(
                WindowedSerdes.timeWindowedSerdeFrom(String.class, SIZE.toMillis()), Functions.TEXT));
    }

    static void sessionCounts(KTable<Windowed<String>, Long> counted) {
        counted.toStream().to("out", Produced.with(
                WindowedSerdes.sessionWindowedSerdeFrom(String.class), Functions.LONG));
    }

    static void sessionTexts(KTable<Windowed<String>, String> table) {
        table.toStream().to("out", Produced.with(
                WindowedSerdes.sessionWindowedSerdeFrom(String.class), Functions.TEXT));
    }
}
