import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;

/** Sources that read all topics whose names match a pattern. */
final class PatternTopologies {
    private static final StringDeserializer READ = new StringDeserializer();
    private static final StringSerializer WRITE = new StringSerializer();

    private PatternTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("pattern", builder -> left(builder).mapValues(Functions::upper).to("out"));
        all.dsl("pattern_twice", builder -> {
            left(builder).to("one");
            left(builder).filter(Functions::hasA).to("two");
        });
        all.dsl("pattern_of_one_topic", builder -> builder.stream(Pattern.compile("[i]n"), consumed()).to("out"));
        all.dsl("pattern_with_flag", builder -> {
            left(builder).to("one");
            builder.stream(Pattern.compile("(?i)RIGHT|THIRD"), consumed()).to("two");
        });
        all.dsl("pattern_named", builder -> builder.stream(Pattern.compile("in|left"), consumed().withName("mine"))
                .to("out"));
        all.dsl("pattern_counted", builder -> left(builder).groupByKey().count(Materialized.as("counts")).toStream()
                .to("out", Functions.longs()));
        all.dsl("pattern_repartitioned", builder -> left(builder).selectKey(Functions::letter).groupByKey().count()
                .toStream().to("out", Functions.longs()));
        all.dsl("pattern_rewritten", Map.of(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE),
                PatternTopologies::grouped);
        all.dsl("pattern_merged", builder -> left(builder).merge(Functions.texts(builder, "right")).groupByKey()
                .reduce(Functions::concatenated).toStream().to("out"));
        all.dsl("pattern_joined", builder -> left(builder).join(
                builder.stream(Pattern.compile("right|third"), consumed()), Functions::joined,
                StreamJoinTopologies.strict()).to("out"));
        all.dsl("pattern_with_table", builder -> left(builder).leftJoin(Functions.table(builder, "table"),
                Functions::joined).to("out"));
        all.dsl("pattern_to_table", builder -> left(builder).toTable(Materialized.as("rows")).toStream().to("out"));
        all.dsl("pattern_of_others", builder -> {
            Functions.texts(builder, "in").to("one");
            left(builder, "left|right").to("two");
        });
        byHand(all);
        refused(all);
    }

    private static void byHand(Catalogue all) {
        all.byHand("hand_made_pattern", () -> new Topology().addSource("source", READ, READ, Pattern.compile("in|left"))
                .addSource("named", READ, READ, "other").addSink("sink", "out", WRITE, WRITE, "source", "named"));
        all.byHand("hand_made_pattern_of_own", () -> new Topology().addSource("source", READ, READ, "in")
                .addSink("within", "left-2", WRITE, WRITE, "source")
                .addSource("pattern", READ, READ, Pattern.compile("left.*"))
                .addSink("sink", "out", WRITE, WRITE, "pattern"));
    }

    private static void refused(Catalogue all) {
        all.dsl("pattern_refused_after_name", builder -> {
            Functions.texts(builder, "in").to("one");
            left(builder, "in|left").to("two");
        });
        all.dsl("pattern_refused_before_name", builder -> {
            left(builder, "in|left").to("two");
            Functions.texts(builder, "in").to("one");
        });
        all.dsl("pattern_refused_table", builder -> {
            left(builder, "in|table").to("two");
            Functions.table(builder, "table").toStream().to("one");
        });
        all.dsl("pattern_refused_offset_resets", builder -> {
            left(builder).to("one");
            builder.stream(Pattern.compile("in|left"), consumed().withOffsetResetPolicy(AutoOffsetReset.latest()))
                    .to("two");
        });
        all.dsl("pattern_refused_repartition", builder -> {
            left(builder, ".*-repartition").to("two");
            Functions.texts(builder, "in").repartition(Repartitioned.as("again")).to("one");
        });
    }

    private static Consumed<String, String> consumed() {
        return Consumed.with(Functions.TEXT, Functions.TEXT);
    }

    private static KStream<String, String> left(StreamsBuilder builder) {
        return left(builder, "in|left");
    }

    private static KStream<String, String> left(StreamsBuilder builder, String pattern) {
        return builder.stream(Pattern.compile(pattern), consumed());
    }

    private static void grouped(StreamsBuilder builder) {
        KStream<String, String> first = left(builder).selectKey(Functions::letter);
        first.groupByKey().count().toStream().to("one", Functions.longs());
        first.groupByKey().reduce(Functions::concatenated).toStream().to("two");
    }
}
