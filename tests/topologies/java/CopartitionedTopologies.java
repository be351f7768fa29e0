import java.time.Duration;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;

/** Joins whose copartition groups leave out sources, or overlap. */
final class CopartitionedTopologies {
    private CopartitionedTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("copartitioned_suppressed", builder -> in(builder)
                .join(suppressed(Functions.table(builder, "table")), Functions::joined).to("out"));
        all.dsl("copartitioned_suppressed_count", builder -> in(builder).join(Functions.texts(builder, "other")
                .selectKey(Functions::letter).groupByKey().count().suppress(Suppressed.untilTimeLimit(
                        Duration.ofMillis(50), BufferConfig.unbounded())), (text, count) -> text + "+" + count)
                .to("out"));
        all.dsl("copartitioned_suppressed_tables", builder -> suppressed(Functions.table(builder, "table"))
                .join(suppressed(Functions.table(builder, "other-table")), Functions::joined).toStream().to("out"));
        all.dsl("copartitioned_cogroup", builder -> Functions.texts(builder, "left").join(AggregateTopologies
                .cogrouped(builder).aggregate(Functions::start, Materialized.as("together")), Functions::joined)
                .to("out"));
        all.dsl("copartitioned_shared_topic", CopartitionedTopologies::sharedTopic);
        all.dsl("copartitioned_merged_source", builder -> {
            in(builder).to("copied");
            in(builder).join(Functions.table(builder, "table"), Functions::joined).to("out");
        });
        all.dsl("copartitioned_chain", CopartitionedTopologies::chain);
        all.dsl("copartitioned_repartitioned", builder -> in(builder).repartition(Repartitioned.as("first"))
                .join(Functions.table(builder, "table"), Functions::joined).to("out"));
    }

    private static KStream<String, String> in(StreamsBuilder builder) {
        return Functions.texts(builder, "in");
    }

    private static KTable<String, String> suppressed(KTable<String, String> table) {
        return table.suppress(Suppressed.untilTimeLimit(Duration.ofMillis(50), BufferConfig.unbounded()));
    }

    private static void sharedTopic(StreamsBuilder builder) {
        KStream<String, String> byLetter = in(builder).selectKey(Functions::letter);
        byLetter.join(Functions.table(builder, "table"), Functions::joined).to("one");
        byLetter.leftJoin(Functions.table(builder, "other-table"), Functions::joined).to("two");
        byLetter.join(Functions.texts(builder, "right"), Functions::joined, StreamJoinTopologies.strict()).to("three");
    }

    private static void chain(StreamsBuilder builder) {
        KStream<String, String> one = in(builder);
        KStream<String, String> other = Functions.texts(builder, "other");
        one.join(Functions.table(builder, "table"), Functions::joined).to("one");
        other.join(Functions.table(builder, "other-table"), Functions::joined).to("two");
        one.join(other, Functions::joined, StreamJoinTopologies.strict()).to("three");
    }
}
