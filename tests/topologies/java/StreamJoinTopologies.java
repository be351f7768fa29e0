import java.time.Duration;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.StreamJoined;

/** Joins of streams with streams. */
final class StreamJoinTopologies {
    private static final Duration DIFFERENCE = Duration.ofMillis(50);
    private static final Duration GRACE = Duration.ofMillis(40);

    private StreamJoinTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("stream_join", builder -> left(builder).join(right(builder), Functions::joined, strict()).to("out"));
        all.dsl("stream_join_with_key", builder -> left(builder)
                .join(right(builder), Functions::joinedWithKey, graceful()).to("out"));
        all.dsl("stream_left_join", builder -> left(builder)
                .leftJoin(right(builder), Functions::joined, strict()).to("out"));
        all.dsl("stream_left_join_grace", builder -> left(builder)
                .leftJoin(right(builder), Functions::joined, graceful()).to("out"));
        all.dsl("stream_outer_join", builder -> left(builder)
                .outerJoin(right(builder), Functions::joined, strict()).to("out"));
        all.dsl("stream_outer_join_grace", builder -> left(builder)
                .outerJoin(right(builder), Functions::joined, graceful()).to("out"));
        all.dsl("stream_join_after", builder -> left(builder)
                .join(right(builder), Functions::joined, strict().before(Duration.ZERO)).to("out"));
        all.dsl("stream_outer_join_before", builder -> left(builder)
                .outerJoin(right(builder), Functions::joined, graceful().after(Duration.ofMillis(-10))).to("out"));
        all.dsl("stream_left_join_after", builder -> left(builder)
                .leftJoin(right(builder), Functions::joined, strict().before(Duration.ofMillis(10))).to("out"));
        all.dsl("stream_join_named", builder -> left(builder).outerJoin(right(builder), Functions::joined, graceful(),
                StreamJoined.<String, String, String>as("pair-stores").withName("pair")).to("out"));
        all.dsl("stream_join_repartitioned", builder -> left(builder).selectKey(Functions::letter)
                .leftJoin(right(builder).map(Functions::byLetter), Functions::joined, graceful()).to("out"));
        all.dsl("stream_join_repartitioned_named", builder -> left(builder).selectKey(Functions::letter)
                .join(right(builder).map(Functions::byLetter), Functions::joined, graceful(),
                        StreamJoined.<String, String, String>as("pair-stores").withName("pair")).to("out"));
        all.dsl("stream_self_join", StreamJoinTopologies::selfJoin);
        all.dsl("stream_join_three", builder -> left(builder).join(right(builder), Functions::joined, graceful())
                .leftJoin(Functions.texts(builder, "third"), Functions::joined, graceful()).to("out"));
        all.dsl("equal_times_joined", builder -> {
            KStream<String, String> read = Functions.texts(builder, "in");
            words(read, "first").join(words(read.mapValues(Functions::upper), "second"), Functions::joined, strict())
                    .to("out");
        });
        all.dsl("equal_times_merged", StreamJoinTopologies::equalTimesMerged);
        all.dsl("stream_join_numbers", builder -> left(builder).outerJoin(Functions.numbers(builder, "numbers"),
                (text, number) -> text + "+" + number, graceful(),
                StreamJoined.with(Functions.TEXT, Functions.TEXT, Functions.LONG)).to("out"));
        all.dsl("stream_join_unlogged", builder -> left(builder).leftJoin(right(builder), Functions::joined, graceful(),
                StreamJoined.with(Functions.TEXT, Functions.TEXT, Functions.TEXT).withLoggingDisabled()).to("out"));
    }

    /** Words that go through a topic of their own, so that many records of one time wait in one task. */
    private static KStream<String, String> words(KStream<String, String> read, String topic) {
        return read.flatMapValues(Functions::words).repartition(Repartitioned.as(topic));
    }

    private static void equalTimesMerged(StreamsBuilder builder) {
        KStream<String, String> read = Functions.texts(builder, "in");
        KStream<String, String> later = read.process(Processors.Stamped::new).repartition(Repartitioned.as("later"));
        words(read, "first").merge(words(read.mapValues(Functions::upper), "second")).merge(later)
                .merge(words(read, "third")).to("out");
    }

    static KStream<String, String> left(StreamsBuilder builder) {
        return Functions.texts(builder, "left");
    }

    static KStream<String, String> right(StreamsBuilder builder) {
        return Functions.texts(builder, "right");
    }

    static JoinWindows strict() {
        return JoinWindows.ofTimeDifferenceWithNoGrace(DIFFERENCE);
    }

    static JoinWindows graceful() {
        return JoinWindows.ofTimeDifferenceAndGrace(DIFFERENCE, GRACE);
    }

    static void selfJoin(StreamsBuilder builder) {
        KStream<String, String> read = left(builder);
        read.join(read, Functions::joined, graceful()).to("out");
    }
}
