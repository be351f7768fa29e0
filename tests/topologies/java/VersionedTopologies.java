import java.time.Duration;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.ValueTransformerWithKey;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;

/** Versioned stores, and tables that have one. */
final class VersionedTopologies {
    private static final Duration HISTORY = Duration.ofMillis(100);
    private static final Duration GRACE = Duration.ofMillis(60);
    private static final Duration SEGMENT = Duration.ofMillis(40);

    private VersionedTopologies() {
    }

    static void register(Catalogue all) {
        tables(all);
        streamJoins(all);
        graces(all);
        tableJoins(all);
        aggregates(all);
        all.dsl("versioned_process", VersionedTopologies::process);
        all.dsl("versioned_suppress", builder -> versioned(builder, "table")
                .suppress(Suppressed.untilTimeLimit(Duration.ofMillis(50), Suppressed.BufferConfig.unbounded()))
                .toStream().to("out"));
        all.dsl("versioned_filter_suppress", builder -> versioned(builder, "table").filter(Functions::hasA)
                .suppress(Suppressed.untilTimeLimit(Duration.ofMillis(50), Suppressed.BufferConfig.unbounded()))
                .toStream().to("out"));
        all.dsl("versioned_global", builder -> builder.globalTable("table",
                Materialized.<String, String>as(Stores.persistentVersionedKeyValueStore("kept", HISTORY, SEGMENT))));
    }

    private static void tables(Catalogue all) {
        all.dsl("versioned_table", builder -> versioned(builder, "table").toStream().to("out"));
        all.dsl("versioned_filter", builder -> versioned(builder, "table").filter(Functions::hasA)
                .toStream().to("out"));
        all.dsl("versioned_filter_not_to_table", builder -> versioned(builder, "table").filterNot(Functions::hasA)
                .toStream().toTable(Materialized.as("plain")).toStream().to("out"));
        all.dsl("versioned_filter_kept", builder -> versioned(builder, "table")
                .filter(Functions::hasA, Materialized.as("plain")).toStream().to("out"));
        all.dsl("versioned_filter_versioned", builder -> Functions.table(builder, "table")
                .filter(Functions::hasA, kept("filtered")).toStream().to("out"));
        all.dsl("versioned_map_values", builder -> versioned(builder, "table")
                .mapValues(Functions::upper, kept("mapped")).toStream().to("out"));
        all.dsl("versioned_to_table", builder -> Functions.texts(builder, "in").selectKey(Functions::letter)
                .toTable(kept("letters")).toStream().to("out"));
        all.dsl("versioned_from_source", java.util.Map.of("topology.optimization", "reuse.ktable.source.topics"),
                builder -> in(builder).join(versioned(builder, "table"), Functions::joined).to("out"));
    }

    private static void streamJoins(Catalogue all) {
        all.dsl("versioned_stream_join", builder -> in(builder)
                .join(versioned(builder, "table"), Functions::joined).to("out"));
        all.dsl("versioned_stream_left_join", builder -> in(builder)
                .leftJoin(versioned(builder, "table"), Functions::joinedWithKey).to("out"));
        all.dsl("versioned_stream_join_computed", builder -> in(builder).leftJoin(
                versioned(builder, "table").filter(Functions::hasA).mapValues(Functions::upper)
                        .transformValues(Tagging::new), Functions::joined).to("out"));
        all.dsl("versioned_stream_join_kept", builder -> in(builder).leftJoin(
                versioned(builder, "table").filter(Functions::hasA, Materialized.as("plain")), Functions::joined)
                .to("out"));
        all.dsl("versioned_stream_join_counted", builder -> in(builder).leftJoin(
                Functions.texts(builder, "other").groupByKey().aggregate(Functions::start, Functions::added,
                        kept("texts")), Functions::joined).to("out"));
    }

    private static void graces(Catalogue all) {
        all.dsl("versioned_grace_join", builder -> in(builder).join(versioned(builder, "table"),
                Functions::joined, Joined.<String, String, String>with(Functions.TEXT, Functions.TEXT, null)
                        .withGracePeriod(GRACE)).to("out"));
        all.dsl("versioned_grace_left_join", builder -> in(builder).filter((key, value) -> key != null)
                .leftJoin(versioned(builder, "table").mapValues(Functions::upper), Functions::joinedWithKey,
                        Joined.<String, String, String>as("waiting").withGracePeriod(GRACE)).to("out"));
        all.dsl("versioned_grace_repartitioned", builder -> in(builder).selectKey(Functions::letter)
                .join(versioned(builder, "table"), Functions::joined,
                        Joined.<String, String, String>with(Functions.TEXT, Functions.TEXT, null)
                                .withGracePeriod(GRACE))
                .groupByKey().reduce(Functions::concatenated).toStream().to("out"));
        all.dsl("versioned_grace_none", builder -> in(builder).join(versioned(builder, "table"),
                Functions::joined, Joined.<String, String, String>as("at-once").withGracePeriod(Duration.ZERO))
                .to("out"));
        all.dsl("versioned_grace_plain", builder -> in(builder).join(Functions.table(builder, "table"),
                Functions::joined, Joined.<String, String, String>as("waiting").withGracePeriod(GRACE)).to("out"));
        all.dsl("versioned_grace_long", builder -> in(builder).join(versioned(builder, "table"),
                Functions::joined, Joined.<String, String, String>as("waiting")
                        .withGracePeriod(HISTORY.plusMillis(1))).to("out"));
    }

    private static void tableJoins(Catalogue all) {
        all.dsl("versioned_join", builder -> versioned(builder, "table")
                .join(other(builder), Functions::joined).toStream().to("out"));
        all.dsl("versioned_join_right", builder -> Functions.table(builder, "table")
                .leftJoin(versioned(builder, "other-table"), Functions::joined).toStream().to("out"));
        all.dsl("versioned_outer_join", builder -> versioned(builder, "table").filter(Functions::hasA)
                .outerJoin(versioned(builder, "other-table"), Functions::joined, Named.as("joining"), kept("both"))
                .toStream().to("out"));
        all.dsl("versioned_join_then_group", builder -> versioned(builder, "table")
                .outerJoin(other(builder), Functions::joined, kept("both")).groupBy(Functions::byLetter)
                .aggregate(Functions::start, Functions::added, Functions::removed).toStream().to("out"));
        all.dsl("versioned_foreign_key_join", builder -> versioned(builder, "table")
                .join(other(builder), Functions::letterOf, Functions::joined).toStream().to("out"));
        all.dsl("versioned_foreign_key_left_join", builder -> versioned(builder, "table")
                .leftJoin(versioned(builder, "other-table"), Functions::letterOf, Functions::joined,
                        TableJoined.as("lookup"), kept("both")).toStream().to("out"));
    }

    private static void aggregates(Catalogue all) {
        all.dsl("versioned_group", builder -> versioned(builder, "table").groupBy(Functions::byLetter)
                .aggregate(Functions::start, Functions::added, Functions::removed).toStream().to("out"));
        all.dsl("versioned_group_versioned", builder -> versioned(builder, "table").mapValues(Functions::upper)
                .groupBy(Functions::byLetter, Grouped.as("letters"))
                .reduce(Functions::concatenated, Functions::withoutIt, kept("reduced")).toStream().to("out"));
        all.dsl("versioned_count", builder -> in(builder).groupByKey()
                .count(Materialized.<String, Long>as(
                        Stores.persistentVersionedKeyValueStore("counts", HISTORY, SEGMENT)))
                .filter((key, count) -> count != 2).toStream().to("out", Functions.longs()));
        all.dsl("versioned_aggregate_to_null", builder -> in(builder).groupByKey()
                .aggregate(Functions::start, (key, value, found) -> value.isEmpty() ? null
                        : Functions.added(key, value, found), kept("texts"))
                .groupBy(Functions::byLetter).count().toStream().to("out", Functions.longs()));
        all.dsl("versioned_reduce", builder -> in(builder).groupByKey()
                .reduce(Functions::concatenated, kept("reduced")).toStream().to("out"));
    }

    private static KStream<String, String> in(StreamsBuilder builder) {
        return Functions.texts(builder, "in");
    }

    private static KTable<String, String> other(StreamsBuilder builder) {
        return Functions.table(builder, "other-table");
    }

    static KTable<String, String> versioned(StreamsBuilder builder, String topic) {
        return builder.table(topic, kept(topic + "-versions"));
    }

    private static <S extends org.apache.kafka.streams.processor.StateStore> Materialized<String, String, S> kept(
            String name) {
        @SuppressWarnings("unchecked")
        Materialized<String, String, S> made = (Materialized<String, String, S>) (Materialized<String, String, ?>)
                Materialized.<String, String>as(Stores.persistentVersionedKeyValueStore(name, HISTORY, SEGMENT))
                        .withKeySerde(Functions.TEXT).withValueSerde(Functions.TEXT);
        return made;
    }

    private static void process(StreamsBuilder builder) {
        builder.addStateStore(Stores.versionedKeyValueStoreBuilder(
                Stores.persistentVersionedKeyValueStore("versions", HISTORY, SEGMENT), Functions.TEXT,
                Functions.TEXT));
        in(builder).filter((key, value) -> key != null).process(Versions::new, "versions").to("out");
    }

    /** Tells what a versioned store answers about each record, and then about many times. */
    private static final class Versions extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            VersionedKeyValueStore<String, String> store = context().getStateStore("versions");
            String told = "ab".equals(record.value())
                    ? "was " + told(store.delete(record.key(), record.timestamp()))
                    : "ends " + store.put(record.key(), record.value(), record.timestamp());
            StringBuilder all = new StringBuilder(told + ", now " + told(store.get(record.key())));
            for (long back = -20; back <= 140; back += 10) {
                if (record.timestamp() >= back) {
                    all.append(' ').append(told(store.get(record.key(), record.timestamp() - back)));
                }
            }
            context().forward(record.withValue(all.toString()));
        }

        private static String told(VersionedRecord<String> found) {
            return found == null ? "-" : found.value() + "@" + found.timestamp();
        }
    }

    /** Adds the key to values that are there. */
    private static final class Tagging implements ValueTransformerWithKey<String, String, String> {
        @Override
        public void init(ProcessorContext context) {
        }

        @Override
        public String transform(String key, String value) {
            return value == null ? null : Functions.tagged(key, value);
        }

        @Override
        public void close() {
        }
    }
}
