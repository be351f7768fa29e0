import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;

/** Topologies that an optimization changes, and one whose state has only names that were given. */
final class RewrittenTopologies {
    private RewrittenTopologies() {
    }

    static void register(Catalogue all) {
        rewritten(all, "source_as_changelog", StreamsConfig.REUSE_KTABLE_SOURCE_TOPICS,
                RewrittenTopologies::joinedWithTable);
        rewritten(all, "merged_repartitions", StreamsConfig.MERGE_REPARTITION_TOPICS,
                RewrittenTopologies::severalRepartitions);
        rewritten(all, "single_store_self_join", StreamsConfig.SINGLE_STORE_SELF_JOIN, StreamJoinTopologies::selfJoin);
        rewritten(all, "all_rewrites", StreamsConfig.OPTIMIZE, RewrittenTopologies::everything);
        rewritten(all, "all_rewrites_named", StreamsConfig.OPTIMIZE, RewrittenTopologies::named);
        rewritten(all, "all_rewrites_table", StreamsConfig.OPTIMIZE, builder -> Functions.table(builder, "table")
                .filter(Functions::hasA).toStream().to("out"));
        all.dsl("no_rewrites", RewrittenTopologies::everything);
        all.dsl("explicit_names", Map.of(StreamsConfig.ENSURE_EXPLICIT_INTERNAL_RESOURCE_NAMING_CONFIG, "true"),
                RewrittenTopologies::named);
        all.dsl("explicit_names_missing", Map.of(StreamsConfig.ENSURE_EXPLICIT_INTERNAL_RESOURCE_NAMING_CONFIG, "true"),
                RewrittenTopologies::everything);
    }

    private static void rewritten(
            Catalogue all, String name, String optimization, Consumer<StreamsBuilder> build) {
        all.dsl(name, Map.of(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, optimization), build);
    }

    private static void joinedWithTable(StreamsBuilder builder) {
        Functions.texts(builder, "in").join(builder.table("table", Consumed.with(Functions.TEXT, Functions.TEXT),
                Materialized.as("kept")), Functions::joined).to("out");
    }

    private static void severalRepartitions(StreamsBuilder builder) {
        KStream<String, String> byLetter = Functions.texts(builder, "in").selectKey(Functions::letter);
        byLetter.groupByKey().count(Materialized.as("counts")).toStream().to("counted", Functions.longs());
        byLetter.mapValues(Functions::upper).groupByKey(Grouped.as("shouts")).reduce(Functions::concatenated)
                .toStream().to("reduced");
        byLetter.filter(Functions::hasA).join(Functions.texts(builder, "right"), Functions::joined,
                StreamJoinTopologies.graceful()).to("out");
    }

    private static void everything(StreamsBuilder builder) {
        severalRepartitions(builder);
        joinedWithTableOf(builder, "other");
        KStream<String, String> self = Functions.texts(builder, "self");
        self.join(self, Functions::joined, StreamJoinTopologies.strict()).to("selves");
    }

    private static void joinedWithTableOf(StreamsBuilder builder, String topic) {
        Functions.texts(builder, topic).leftJoin(Functions.table(builder, "table"), Functions::joined).to("joined");
    }

    private static void named(StreamsBuilder builder) {
        KStream<String, String> byLetter = builder.stream("in", Consumed.<String, String>as("reading")
                .withKeySerde(Functions.TEXT)).selectKey(Functions::letter, Named.as("by-letter"));
        byLetter.groupByKey(Grouped.as("letters")).count(Named.as("counting"), Materialized.as("counts"))
                .toStream(Named.as("counted")).to("counted",
                        Produced.with(Functions.TEXT, Functions.LONG).withName("counted-sink"));
        byLetter.leftJoin(builder.stream("right", Consumed.<String, String>as("reading-right")
                .withKeySerde(Functions.TEXT)), Functions::joined, StreamJoinTopologies.graceful(),
                StreamJoined.<String, String, String>as("pairs").withName("pairing"))
                .to("out", Produced.<String, String>as("out-sink").withKeySerde(Functions.TEXT));
    }
}
