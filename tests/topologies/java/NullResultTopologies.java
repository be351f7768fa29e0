import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** Reducers and aggregators whose results are null at times, which deletes the row or the window. */
final class NullResultTopologies {
    private NullResultTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("null_reduce", builder -> grouped(builder).reduce(NullResultTopologies::reduced).toStream().to("out"));
        all.dsl("null_reduce_of_table", builder -> Functions.table(builder, "table")
                .groupBy((key, value) -> KeyValue.pair(Functions.letterOf(value), value),
                        Grouped.with(Functions.TEXT, Functions.TEXT))
                .reduce(NullResultTopologies::reduced, Functions::withoutIt).toStream().to("out"));
        all.dsl("null_tumbling", builder -> WindowTopologies.timedTexts(grouped(builder)
                .windowedBy(WindowTopologies.tumbling()).reduce(NullResultTopologies::reduced,
                        Materialized.<String, String, WindowStore<Bytes, byte[]>>as("kept").withRetention(
                                WindowTopologies.LONG))));
        all.dsl("null_sliding", builder -> WindowTopologies.timedTexts(grouped(builder)
                .windowedBy(WindowTopologies.slidingWithGrace()).aggregate(Functions::start,
                        NullResultTopologies::added,
                        Materialized.<String, String, WindowStore<Bytes, byte[]>>as("kept").withRetention(
                                WindowTopologies.LONG))));
        all.dsl("null_session", builder -> WindowTopologies.sessionTexts(grouped(builder)
                .windowedBy(WindowTopologies.session()).aggregate(Functions::start, NullResultTopologies::added,
                        Functions::merged,
                        Materialized.<String, String, SessionStore<Bytes, byte[]>>as("kept").withRetention(
                                WindowTopologies.LONG))));
    }

    private static KGroupedStream<String, String> grouped(StreamsBuilder builder) {
        return Functions.texts(builder, "in").groupByKey();
    }

    private static String reduced(String aggregate, String value) {
        return value.startsWith("b") ? null : Functions.concatenated(aggregate, value);
    }

    private static String added(String key, String value, String aggregate) {
        return value == null || value.startsWith("b") ? null : Functions.added(key, value, aggregate);
    }
}
