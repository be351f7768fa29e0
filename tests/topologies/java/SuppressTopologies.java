import java.time.Duration;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TimeWindows;

/** Suppression by time, by windows that close, and by the size of the buffer. */
final class SuppressTopologies {
    private static final Duration LIMIT = Duration.ofMillis(60);

    private SuppressTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("suppress_tumbling", builder -> WindowTopologies.timed(WindowTopologies.grouped(builder)
                .windowedBy(TimeWindows.ofSizeAndGrace(WindowTopologies.SIZE, WindowTopologies.GRACE)).count()
                .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()))));
        all.dsl("suppress_hopping_named", builder -> WindowTopologies.timed(WindowTopologies.grouped(builder)
                .windowedBy(WindowTopologies.hopping()).count()
                .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()).withName("closed"))));
        all.dsl("suppress_session", builder -> WindowTopologies.sessionTexts(WindowTopologies.grouped(builder)
                .windowedBy(WindowTopologies.session())
                .aggregate(Functions::start, Functions::added, Functions::merged)
                .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()))));
        all.dsl("suppress_sliding", builder -> WindowTopologies.timedTexts(WindowTopologies.grouped(builder)
                .windowedBy(WindowTopologies.slidingWithGrace()).aggregate(Functions::start, Functions::added)
                .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()))));
        all.dsl("suppress_time_limit", builder -> limited(builder, BufferConfig.unbounded()));
        all.dsl("suppress_records", builder -> limited(builder, BufferConfig.maxRecords(2)));
        all.dsl("suppress_bytes", builder -> limited(builder, BufferConfig.maxBytes(250)));
        all.dsl("suppress_records_fail", builder -> WindowTopologies.timed(WindowTopologies.grouped(builder)
                .windowedBy(WindowTopologies.tumbling()).count().suppress(Suppressed.untilWindowCloses(
                        BufferConfig.maxRecords(3).shutDownWhenFull()))));
        all.dsl("suppress_table", builder -> Functions.table(builder, "table")
                .suppress(Suppressed.untilTimeLimit(LIMIT, BufferConfig.unbounded())).toStream().to("out"));
        all.dsl("suppress_unlogged", builder -> limited(builder, BufferConfig.unbounded().withLoggingDisabled()));
        all.dsl("suppress_then_group", builder -> table(builder)
                .suppress(Suppressed.untilTimeLimit(LIMIT, BufferConfig.unbounded()))
                .groupBy(Functions::byLetter).aggregate(Functions::start, Functions::added, Functions::removed)
                .toStream().to("out"));
        all.dsl("suppress_then_filter", builder -> table(builder)
                .suppress(Suppressed.untilTimeLimit(Duration.ZERO, BufferConfig.maxRecords(1)))
                .filter(Functions::hasA).toStream().to("out"));
    }

    private static KTable<String, String> table(StreamsBuilder builder) {
        return WindowTopologies.grouped(builder).reduce(Functions::concatenated);
    }

    private static void limited(StreamsBuilder builder, BufferConfig<?> buffer) {
        table(builder).suppress(Suppressed.untilTimeLimit(LIMIT, buffer)).toStream().to("out");
    }
}
