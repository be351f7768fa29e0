import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/** Aggregations of streams and of tables. */
final class AggregateTopologies {
    private AggregateTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("count", builder -> counts(grouped(builder).count()));
        all.dsl("count_named", builder -> counts(grouped(builder)
                .count(Named.as("counting"), Materialized.as("counts"))));
        all.dsl("count_uncached", builder -> counts(grouped(builder).count(
                Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts").withCachingDisabled())));
        all.dsl("count_unlogged", builder -> counts(grouped(builder).count(
                Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts").withLoggingDisabled())));
        all.dsl("count_logged_otherwise", builder -> counts(grouped(builder).count(
                Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts")
                        .withLoggingEnabled(Map.of("segment.bytes", "1000000", "cleanup.policy", "delete")))));
        all.dsl("count_by_word", builder -> counts(Functions.texts(builder, "in").flatMapValues(Functions::words)
                .groupBy((key, word) -> word).count(Materialized.as("counts"))));
        all.dsl("words_count", builder -> counts(Functions.texts(builder, "in").flatMapValues(Functions::words)
                .groupByKey().count()));
        all.dsl("two_aggregates", AggregateTopologies::two);
        all.dsl("count_by_letter", builder -> counts(Functions.texts(builder, "in")
                .groupBy(Functions::letter, Grouped.as("letters")).count()));
        all.dsl("count_after_map", builder -> counts(Functions.texts(builder, "in").map(Functions::swapped)
                .filter(Functions::hasA).groupByKey().count()));
        all.dsl("reduce", builder -> grouped(builder).reduce(Functions::concatenated).toStream().to("out"));
        all.dsl("reduce_named", builder -> grouped(builder)
                .reduce(Functions::concatenated, Named.as("reducing"), Materialized.as("last")).toStream().to("out"));
        all.dsl("aggregate", builder -> grouped(builder).aggregate(Functions::start, Functions::added)
                .toStream().to("out"));
        all.dsl("aggregate_numbers", builder -> counts(Functions.numbers(builder, "numbers")
                .groupByKey(Grouped.with(Functions.TEXT, Functions.LONG)).aggregate(
                        Functions::zero, Functions::summed, Materialized.with(Functions.TEXT, Functions.LONG))));
        all.dsl("aggregate_to_null", builder -> grouped(builder).aggregate(Functions::start,
                (key, value, old) -> "bad".equals(value) ? null : Functions.added(key, value, old))
                .toStream().to("out"));
        all.dsl("aggregate_changes_argument", builder -> list(grouped(builder).aggregate(ArrayList::new,
                AggregateTopologies::appended, Materialized.with(Functions.TEXT, Functions.LIST))));
        all.dsl("cogroup", AggregateTopologies::cogroup);
        all.dsl("cogroup_repartitioned", builder -> cogrouped(builder)
                .aggregate(Functions::start, Named.as("both"), Materialized.as("together")).toStream().to("out"));
        tables(all);
    }

    private static void tables(Catalogue all) {
        all.dsl("table_count", builder -> counts(Functions.table(builder, "table")
                .groupBy(Functions::byLetter).count()));
        all.dsl("table_reduce", builder -> Functions.table(builder, "table").groupBy(Functions::byLetter)
                .reduce(Functions::concatenated, Functions::withoutIt).toStream().to("out"));
        all.dsl("table_aggregate", builder -> Functions.table(builder, "table")
                .groupBy(Functions::byLetter, Grouped.as("letters"))
                .aggregate(Functions::start, Functions::added, Functions::removed, Materialized.as("by-letter"))
                .toStream().to("out"));
        all.dsl("table_aggregated_twice", AggregateTopologies::tableTwice);
        all.dsl("table_aggregate_numbers", builder -> counts(Functions.table(builder, "table")
                .groupBy(Functions::lengthByLetter, Grouped.with(Functions.TEXT, Functions.LONG)).aggregate(
                        Functions::zero, Functions::summed, Functions::subtracted,
                        Materialized.with(Functions.TEXT, Functions.LONG))));
        all.dsl("table_aggregate_changes_argument", builder -> list(Functions.table(builder, "table")
                .groupBy(Functions::byLetter).aggregate(ArrayList::new, AggregateTopologies::appended,
                        AggregateTopologies::taken, Materialized.with(Functions.TEXT, Functions.LIST))));
        all.dsl("table_count_of_counts", builder -> counts(grouped(builder).count()
                .groupBy((key, count) -> KeyValue.pair("n" + count, key),
                        Grouped.with(Functions.TEXT, Functions.TEXT)).count(Materialized.as("counts"))));
        all.dsl("aggregate_then_group", builder -> regrouped(grouped(builder)
                .aggregate(Functions::start, Functions::added)));
        all.dsl("reduce_then_group", builder -> regrouped(grouped(builder).reduce(Functions::concatenated)));
        all.dsl("words_then_group", builder -> regrouped(Functions.texts(builder, "in")
                .flatMapValues(Functions::words).groupByKey().reduce(Functions::concatenated)));
        all.dsl("cogroup_then_group", builder -> regrouped(grouped(builder).cogroup(Functions::added)
                .aggregate(Functions::start, Materialized.as("together"))));
        all.dsl("table_aggregate_then_group", builder -> regrouped(Functions.table(builder, "table")
                .groupBy(Functions::byLetter).aggregate(Functions::start, Functions::added, Functions::removed)));
        all.dsl("table_reduce_then_group", builder -> regrouped(Functions.table(builder, "table")
                .groupBy(Functions::byLetter).reduce(Functions::concatenated, Functions::withoutIt)));
        all.dsl("table_aggregate_of_filtered", builder -> Functions.table(builder, "table").filter(Functions::hasA)
                .mapValues(Functions::upper).groupBy(Functions::byLetter)
                .aggregate(Functions::start, Functions::added, Functions::removed).toStream().to("out"));
    }

    /** Groups rows by the lengths of their values, so that each change moves a row from one group to another. */
    static void regrouped(KTable<String, String> rows) {
        rows.groupBy(Functions::byLength).aggregate(Functions::start, Functions::added, Functions::removed)
                .toStream().to("out");
    }

    private static KGroupedStream<String, String> grouped(StreamsBuilder builder) {
        return Functions.texts(builder, "in").groupByKey();
    }

    private static void counts(KTable<String, Long> counted) {
        counted.toStream().to("out", Functions.longs());
    }

    private static void list(KTable<String, List<String>> listed) {
        listed.toStream().to("out", Produced.with(Functions.TEXT, Functions.LIST));
    }

    private static List<String> appended(String key, String value, List<String> list) {
        list.add(value);
        return list;
    }

    private static List<String> taken(String key, String value, List<String> list) {
        list.remove(value);
        return list;
    }

    /** Both read the topic that the grouping names. */
    private static void tableTwice(StreamsBuilder builder) {
        KGroupedTable<String, String> rows = Functions.table(builder, "table")
                .groupBy(Functions::byLetter, Grouped.as("letters"));
        counts(rows.count(Named.as("counting"), Materialized.as("counts")));
        rows.reduce(Functions::concatenated, Functions::withoutIt).toStream().to("reduced");
    }

    private static void two(StreamsBuilder builder) {
        KGroupedStream<String, String> words =
                Functions.texts(builder, "in").flatMapValues(Functions::words).groupByKey();
        KTable<String, Long> counted = words.count(Materialized.as("z-counts"));
        KTable<String, String> reduced = words.reduce(Functions::concatenated, Materialized.as("a-texts"));
        reduced.toStream().to("reduced");
        counts(counted);
        counted.join(reduced, (count, text) -> count + "+" + text, Materialized.as("both")).toStream().to("joined");
    }

    private static void cogroup(StreamsBuilder builder) {
        KGroupedStream<String, String> other = Functions.texts(builder, "other").groupByKey();
        grouped(builder).cogroup(Functions::added).cogroup(other, Functions::removed)
                .aggregate(Functions::start).toStream().to("out");
    }

    static CogroupedKStream<String, String> cogrouped(StreamsBuilder builder) {
        KGroupedStream<String, String> other = Functions.texts(builder, "other").groupBy(Functions::letter);
        return grouped(builder).cogroup(Functions::added).cogroup(other, Functions::removed);
    }
}
