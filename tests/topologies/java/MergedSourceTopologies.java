import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;

/** Several streams of the same topics, and topics that cannot be read twice. */
final class MergedSourceTopologies {
    private MergedSourceTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("sources_merged", MergedSourceTopologies::twoUses);
        all.dsl("sources_merged_named", builder -> {
            builder.stream("in", consumed().withName("first")).to("one");
            builder.stream("in", consumed().withName("second")).filter(Functions::hasA).to("two");
        });
        all.dsl("sources_merged_of_two_topics", builder -> {
            builder.stream(List.of("in", "other"), consumed()).to("one");
            builder.stream(List.of("other", "in"), consumed()).filter(Functions::hasA).to("two");
        });
        all.dsl("sources_merged_into_one", builder -> in(builder).merge(in(builder)).to("out"));
        all.dsl("merge_with_itself", builder -> {
            KStream<String, String> read = in(builder);
            read.merge(read).to("out");
        });
        all.dsl("sources_merged_joined", MergedSourceTopologies::joined);
        all.dsl("sources_merged_self_join",
                Map.of(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.SINGLE_STORE_SELF_JOIN),
                MergedSourceTopologies::joined);
        all.dsl("sources_merged_rewritten", Map.of(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE),
                MergedSourceTopologies::grouped);
        all.dsl("sources_refused_overlapping", builder -> {
            in(builder).to("one");
            builder.stream(List.of("in", "other"), consumed()).to("two");
        });
        all.dsl("sources_refused_stream_and_table", builder -> {
            in(builder).to("one");
            Functions.table(builder, "in").toStream().to("two");
        });
        all.dsl("sources_refused_offset_resets", builder -> {
            in(builder).to("one");
            builder.stream("in", consumed().withOffsetResetPolicy(AutoOffsetReset.latest()))
                    .to("two");
        });
    }

    private static Consumed<String, String> consumed() {
        return Consumed.with(Functions.TEXT, Functions.TEXT);
    }

    private static KStream<String, String> in(StreamsBuilder builder) {
        return Functions.texts(builder, "in");
    }

    private static void twoUses(StreamsBuilder builder) {
        in(builder).mapValues(Functions::upper).to("one");
        in(builder).filter(Functions::hasA).to("two");
        in(builder).selectKey(Functions::letter).groupByKey().count().toStream().to("three", Functions.longs());
    }

    private static void joined(StreamsBuilder builder) {
        in(builder).join(in(builder), Functions::joined, StreamJoinTopologies.strict()).to("out");
    }

    private static void grouped(StreamsBuilder builder) {
        KStream<String, String> first = in(builder).selectKey(Functions::letter);
        first.groupByKey().count().toStream().to("one", Functions.longs());
        in(builder).selectKey(Functions::letter).leftJoin(Functions.table(builder, "table"), Functions::joined)
                .to("two");
        first.groupByKey().reduce(Functions::concatenated).toStream().to("three");
    }
}
