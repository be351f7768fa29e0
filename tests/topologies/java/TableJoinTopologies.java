import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.apache.kafka.streams.state.KeyValueStore;

/** Joins with tables. */
final class TableJoinTopologies {
    private TableJoinTopologies() {
    }

    static void register(Catalogue all) {
        streams(all);
        globals(all);
        tables(all);
        foreignKeys(all);
    }

    private static void streams(Catalogue all) {
        all.dsl("stream_table_join", builder -> in(builder).join(table(builder), Functions::joined).to("out"));
        all.dsl("stream_table_join_with_key", builder -> in(builder)
                .join(table(builder), Functions::joinedWithKey).to("out"));
        all.dsl("stream_table_left_join", builder -> in(builder).leftJoin(table(builder), Functions::joined).to("out"));
        all.dsl("stream_table_join_repartitioned", builder -> in(builder).selectKey(Functions::letter)
                .join(table(builder), Functions::joined).to("out"));
        all.dsl("stream_table_left_join_named", builder -> in(builder).selectKey(Functions::letter)
                .leftJoin(table(builder), Functions::joined, Joined.as("by-letter")).to("out"));
        all.dsl("stream_table_join_filtered", builder -> in(builder)
                .join(table(builder).filter(Functions::hasA).mapValues(Functions::upper), Functions::joined).to("out"));
        all.dsl("stream_table_join_counted", builder -> in(builder).join(Functions.texts(builder, "other").groupByKey()
                .count(), (text, count) -> text + "+" + count).to("out"));
        all.dsl("stream_table_join_twice", builder -> in(builder).join(table(builder), Functions::joined)
                .leftJoin(Functions.table(builder, "third"), Functions::joined).to("out"));
    }

    private static void globals(Catalogue all) {
        all.dsl("global_join", builder -> in(builder)
                .join(global(builder), Functions::letter, Functions::joined).to("out"));
        all.dsl("global_left_join", builder -> in(builder)
                .leftJoin(global(builder), Functions::letter, Functions::joined).to("out"));
        all.dsl("global_join_by_key", builder -> in(builder)
                .join(global(builder), (key, value) -> key, Functions::joinedWithKey, Named.as("looking-up"))
                .to("out"));
        all.dsl("global_join_kept", builder -> in(builder)
                .leftJoin(builder.globalTable("global", Materialized.as("kept")), Functions::letter, Functions::joined)
                .to("out"));
    }

    private static void tables(Catalogue all) {
        all.dsl("table_join", builder -> table(builder).join(other(builder), Functions::joined).toStream().to("out"));
        all.dsl("table_left_join", builder -> table(builder)
                .leftJoin(other(builder), Functions::joined).toStream().to("out"));
        all.dsl("table_outer_join", builder -> table(builder)
                .outerJoin(other(builder), Functions::joined).toStream().to("out"));
        all.dsl("table_join_materialized", builder -> table(builder)
                .join(other(builder), Functions::joined, Named.as("joining"), Materialized.as("both"))
                .toStream().to("out"));
        all.dsl("table_left_join_materialized", builder -> table(builder)
                .leftJoin(other(builder), Functions::joined, Materialized.as("both")).toStream().to("out"));
        all.dsl("table_outer_join_materialized", builder -> table(builder)
                .outerJoin(other(builder), Functions::joined, Materialized.as("both")).toStream().to("out"));
        all.dsl("table_self_join", TableJoinTopologies::selfJoin);
        all.dsl("table_join_three", builder -> table(builder).join(other(builder), Functions::joined)
                .outerJoin(Functions.table(builder, "third"), Functions::joined).toStream().to("out"));
        all.dsl("table_join_filtered", builder -> table(builder).filter(Functions::hasA)
                .leftJoin(other(builder).mapValues(Functions::upper), Functions::joined)
                .filter((key, value) -> value.length() > 3).toStream().to("out"));
        all.dsl("table_join_then_group", builder -> table(builder).outerJoin(other(builder), Functions::joined)
                .groupBy(Functions::byLetter).aggregate(Functions::start, Functions::added, Functions::removed)
                .toStream().to("out"));
        all.dsl("table_join_counted", builder -> in(builder).groupByKey().count().join(
                Functions.texts(builder, "other").groupByKey().reduce(Functions::concatenated),
                (count, text) -> count + "+" + text).toStream().to("out"));
    }

    private static void foreignKeys(Catalogue all) {
        all.dsl("foreign_key_join", builder -> table(builder)
                .join(other(builder), Functions::letterOf, Functions::joined).toStream().to("out"));
        all.dsl("foreign_key_left_join", builder -> table(builder)
                .leftJoin(other(builder), Functions::letterOf, Functions::joined).toStream().to("out"));
        all.dsl("foreign_key_join_materialized", builder -> table(builder)
                .join(other(builder), Functions::letterOf, Functions::joined, Materialized.as("both"))
                .toStream().to("out"));
        all.dsl("foreign_key_left_join_named", builder -> builder.table("table", Materialized.<String, String,
                KeyValueStore<Bytes, byte[]>>as("kept"))
                .leftJoin(other(builder), (key, value) -> Functions.letter(key, value), Functions::joined,
                        TableJoined.as("lookup"), Materialized.as("both")).toStream().to("out"));
        all.dsl("foreign_key_join_then_group", builder -> table(builder)
                .leftJoin(other(builder), Functions::letterOf, Functions::joined).groupBy(Functions::byLetter)
                .aggregate(Functions::start, Functions::added, Functions::removed).toStream().to("out"));
        all.dsl("foreign_key_join_partitioned", builder -> table(builder)
                .join(other(builder), Functions::letterOf, Functions::joined, TableJoined.with(byKey(), byKey()))
                .toStream().to("out"));
        all.dsl("foreign_key_left_join_partitioned", builder -> table(builder)
                .leftJoin(other(builder), (key, value) -> Functions.letter(key, value), Functions::joined,
                        TableJoined.<String, String>with(null, byKey()).withName("lookup")).toStream().to("out"));
        all.dsl("foreign_key_join_of_counts", builder -> table(builder).join(
                in(builder).groupByKey().count(), Functions::letterOf, (text, count) -> text + "+" + count)
                .toStream().to("out"));
    }

    private static StreamPartitioner<String, Void> byKey() {
        return new StreamPartitioner<>() {
            @Override
            public Optional<Set<Integer>> partitions(String topic, String key, Void value, int count) {
                if (value != null || key == null) {
                    return Optional.empty();
                }
                return Optional.of(Set.of(key.length() % count));
            }
        };
    }

    private static KStream<String, String> in(StreamsBuilder builder) {
        return Functions.texts(builder, "in");
    }

    private static KTable<String, String> table(StreamsBuilder builder) {
        return Functions.table(builder, "table");
    }

    private static KTable<String, String> other(StreamsBuilder builder) {
        return Functions.table(builder, "other-table");
    }

    private static GlobalKTable<String, String> global(StreamsBuilder builder) {
        return builder.globalTable("global", Consumed.with(Functions.TEXT, Functions.TEXT));
    }

    private static void selfJoin(StreamsBuilder builder) {
        KTable<String, String> read = table(builder);
        read.join(read, Functions::joined).toStream().to("out");
    }
}
