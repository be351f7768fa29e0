import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/** Topologies that Python's driver treats differently, on purpose. They have no twins and no golden files. */
final class DifferentTopologies {
    private static final JoinWindows ONE_INSTANT = JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ZERO);

    private DifferentTopologies() {
    }

    static void register(Catalogue different) {
        different.dsl("join_at_one_instant", builder -> StreamJoinTopologies.left(builder)
                .join(StreamJoinTopologies.right(builder), Functions::joined, ONE_INSTANT).to("out"));
        optimized(different, "left_self_join", StreamsConfig.SINGLE_STORE_SELF_JOIN);
        optimized(different, "left_self_join_of_two_stores", StreamsConfig.NO_OPTIMIZATION);
        different.dsl("two_counts_below_a_filter",
                Map.of(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.MERGE_REPARTITION_TOPICS),
                DifferentTopologies::twoCountsBelowAFilter);
        different.dsl("two_counts_below_a_filter_plain", DifferentTopologies::twoCountsBelowAFilter);
        explicit(different, "foreign_key_join_without_a_name", null);
        explicit(different, "foreign_key_join_with_a_name", TableJoined.as("joining"));
        different.dsl("streams_with_two_serdes", builder -> {
            Functions.texts(builder, "in").to("one");
            Functions.numbers(builder, "in").to("two");
        });
        different.dsl("foreign_key_join_of_one_stream", DifferentTopologies::foreignKeyJoinOfOneStream);
        different.dsl("suppressed_behind_to_table", DifferentTopologies::suppressedBehindToTable);
        different.dsl("null_keys_of_a_join_with_grace", builder -> Functions.texts(builder, "in").leftJoin(
                VersionedTopologies.versioned(builder, "table"), Functions::joined,
                Joined.<String, String, String>with(Functions.TEXT, Functions.TEXT, null)
                        .withGracePeriod(Duration.ofMillis(60))).to("out"));
        patterns(different);
        different.dsl("stream_time_behind_repartition", builder -> {
            builder.addStateStore(ProcessorTopologies.texts("held"));
            Functions.texts(builder, "in").filter(Functions::hasA).repartition()
                    .process(() -> new Processors.Holding(true), "held").to("out");
        });
    }

    private static void patterns(Catalogue different) {
        different.dsl("pattern_below_global_table", builder -> {
            builder.globalTable("in", Consumed.with(Functions.TEXT, Functions.TEXT));
            matching(builder, Pattern.compile("in|left")).to("out");
        });
        different.byHand("pattern_of_two_nodes", () -> new Topology()
                .addSource("one", new StringDeserializer(), new StringDeserializer(), Pattern.compile("in|left"))
                .addSource("two", new StringDeserializer(), new StringDeserializer(), Pattern.compile("in|left")));
        different.dsl("pattern_with_flag_of_java", builder ->
                matching(builder, Pattern.compile("IN", Pattern.CASE_INSENSITIVE)).to("out"));
        different.dsl("patterns_in_common", builder -> {
            matching(builder, Pattern.compile("in|left")).to("one");
            matching(builder, Pattern.compile("left|right")).to("two");
        });
    }

    private static KStream<String, String> matching(StreamsBuilder builder, Pattern pattern) {
        return builder.stream(pattern, Consumed.with(Functions.TEXT, Functions.TEXT));
    }

    private static void optimized(Catalogue different, String name, String optimization) {
        different.dsl(name, Map.of(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, optimization), builder -> {
            KStream<String, String> read = StreamJoinTopologies.left(builder);
            read.leftJoin(read, Functions::joined, StreamJoinTopologies.strict()).to("out");
        });
    }

    private static void twoCountsBelowAFilter(StreamsBuilder builder) {
        KStream<String, String> filtered = Functions.texts(builder, "in").selectKey(Functions::letter)
                .filter(Functions::hasA);
        filtered.groupByKey().count().toStream().to("one", Functions.longs());
        filtered.groupByKey().count().toStream().to("two", Functions.longs());
    }

    private static void explicit(Catalogue different, String name, TableJoined<String, String> joined) {
        different.dsl(name, Map.of(StreamsConfig.ENSURE_EXPLICIT_INTERNAL_RESOURCE_NAMING_CONFIG, "true"), builder -> {
            KTable<String, String> left = named(builder, "table");
            KTable<String, String> right = named(builder, "other-table");
            if (joined == null) {
                left.join(right, Functions::letterOf, Functions::joined, Materialized.as("both")).toStream().to("out");
            } else {
                left.join(right, Functions::letterOf, Functions::joined, joined, Materialized.as("both")).toStream()
                        .to("out");
            }
        });
    }

    /** One record changes a left row, and puts or deletes the right row that it refers to. */
    private static void foreignKeyJoinOfOneStream(StreamsBuilder builder) {
        KStream<String, String> read = Functions.texts(builder, "in");
        KTable<String, String> right = read.mapValues(value -> value.contains("b") ? value : null)
                .toTable(Materialized.with(Functions.TEXT, Functions.TEXT));
        read.toTable().join(right, Functions::letterOf, Functions::joined).toStream().to("out");
    }

    private static KTable<String, String> named(StreamsBuilder builder, String topic) {
        return builder.table(topic, Consumed.with(Functions.TEXT, Functions.TEXT), Materialized.as(topic));
    }

    private static void suppressedBehindToTable(StreamsBuilder builder) {
        KTable<Windowed<String>, Long> counted = WindowTopologies.grouped(builder).windowedBy(
                TimeWindows.ofSizeAndGrace(WindowTopologies.SIZE, WindowTopologies.GRACE)).count();
        WindowTopologies.timed(counted.toStream().toTable(Materialized.with(
                WindowedSerdes.timeWindowedSerdeFrom(String.class, WindowTopologies.SIZE.toMillis()), Functions.LONG))
                .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded())));
    }
}
