import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;

/** Repartition topics that let null keys through, or drop them (KIP-962). */
final class NullKeyTopologies {
    private NullKeyTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("null_keys_to_left_join", builder -> repartitioned(builder)
                .leftJoin(rows(builder), Functions::joined).to("out"));
        all.dsl("null_keys_to_outer_join", builder -> repartitioned(builder).outerJoin(
                Functions.texts(builder, "right"), Functions::joined, StreamJoinTopologies.strict()).to("out"));
        all.dsl("null_keys_to_global_left_join", builder -> repartitioned(builder).peek((key, value) -> { })
                .leftJoin(builder.globalTable("global", Consumed.with(Functions.TEXT, Functions.TEXT)),
                        Functions::letter, Functions::joined).to("out"));
        all.dsl("null_keys_to_inner_join", builder -> repartitioned(builder)
                .join(rows(builder), Functions::joined).to("out"));
        all.dsl("null_keys_to_table_left_join", builder -> repartitioned(builder).toTable()
                .leftJoin(rows(builder), Functions::joined).toStream().to("out"));
        all.dsl("null_keys_to_another_branch", NullKeyTopologies::anotherBranch);
        all.dsl("null_keys_behind_two_topics", builder -> repartitioned(builder).filter(Functions::hasA)
                .repartition(Repartitioned.as("second")).leftJoin(rows(builder), Functions::joined).to("out"));
        all.dsl("null_keys_above_a_count", NullKeyTopologies::aboveCount);
        all.dsl("null_keys_of_the_table", builder -> Functions.texts(builder, "in").leftJoin(
                repartitioned(builder, "other").toTable(Materialized.as("kept")), Functions::joined).to("out"));
    }

    private static KStream<String, String> repartitioned(StreamsBuilder builder) {
        return repartitioned(builder, "in");
    }

    private static KStream<String, String> repartitioned(StreamsBuilder builder, String topic) {
        return Functions.texts(builder, topic).repartition(Repartitioned.as("first"));
    }

    private static KTable<String, String> rows(StreamsBuilder builder) {
        return Functions.table(builder, "table");
    }

    private static void anotherBranch(StreamsBuilder builder) {
        KStream<String, String> read = repartitioned(builder);
        read.to("copied");
        read.mapValues(Functions::upper).leftJoin(rows(builder), Functions::joined).to("out");
    }

    private static void aboveCount(StreamsBuilder builder) {
        KStream<String, String> renamed = Functions.texts(builder, "in").selectKey((key, value) -> key);
        renamed.groupByKey(Grouped.as("counted")).count(Materialized.as("counts")).toStream()
                .leftJoin(rows(builder), (count, row) -> count + "+" + row).to("out");
    }
}
