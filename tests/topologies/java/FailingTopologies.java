import java.util.Map;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;

/** Functions that raise an error for the value "bad", and records that cannot be read. */
final class FailingTopologies {
    private static final Map<String, Object> GO_ON = Map.of(
            StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueProcessingExceptionHandler.class);

    private FailingTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("fails", FailingTopologies::branches);
        all.dsl("fails_and_goes_on", GO_ON, FailingTopologies::branches);
        all.dsl("fails_among_words", GO_ON, builder -> Functions.texts(builder, "in")
                .flatMapValues(Functions::words).mapValues(FailingTopologies::checked).to("out"));
        all.dsl("fails_in_aggregator", GO_ON, builder -> Functions.texts(builder, "in").groupByKey().aggregate(
                Functions::start, (key, value, old) -> Functions.added(key, checked(value), old)).toStream().to("out"));
        all.dsl("fails_behind_aggregate", GO_ON, FailingTopologies::behindAggregate);
        all.dsl("fails_in_hopping_aggregator", GO_ON, builder -> WindowTopologies.timedTexts(
                WindowTopologies.grouped(builder).windowedBy(WindowTopologies.hopping()).aggregate(Functions::start,
                        (key, value, old) -> Functions.added(key, old.length() > 6 ? checked(value) : value, old))));
        all.dsl("fails_in_stream_join", GO_ON, builder -> StreamJoinTopologies.left(builder).outerJoin(
                StreamJoinTopologies.right(builder), (left, right) -> Functions.joined(checked(left), right),
                StreamJoinTopologies.graceful()).to("out"));
        all.dsl("fails_in_table_join", GO_ON, builder -> Functions.table(builder, "table").leftJoin(
                Functions.table(builder, "other-table"), (left, right) -> Functions.joined(left, checked(right)))
                .toStream().to("out"));
        all.dsl("fails_in_table", GO_ON, FailingTopologies::table);
        all.dsl("fails_behind_repartition", GO_ON, builder -> Functions.texts(builder, "in")
                .selectKey(Functions::letter).repartition().mapValues(FailingTopologies::checked).to("out"));
        all.dsl("fails_in_punctuation", GO_ON, builder -> Functions.texts(builder, "in")
                .process(FailingPunctuations::new).mapValues(FailingTopologies::checked).to("out"));
        all.dsl("unreadable_skipped", Map.of(StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG,
                LogAndContinueExceptionHandler.class), FailingTopologies::numbers);
        all.dsl("unreadable", FailingTopologies::numbers);
    }

    private static String checked(String value) {
        if ("bad".equals(value)) {
            throw new IllegalStateException("bad value");
        }
        return value;
    }

    private static void branches(StreamsBuilder builder) {
        KStream<String, String> read = Functions.texts(builder, "in");
        read.mapValues(Functions::upper).to("before");
        KStream<String, String> checked = read.mapValues(FailingTopologies::checked);
        checked.to("out");
        checked.mapValues(Functions::upper).to("out");
        read.mapValues(Functions::tagged).to("after");
    }

    private static void behindAggregate(StreamsBuilder builder) {
        KTable<String, String> reduced = Functions.texts(builder, "in").groupByKey().reduce((old, value) -> value);
        reduced.toStream().mapValues(FailingTopologies::checked).to("out");
        reduced.mapValues(Functions::upper).toStream().to("after");
    }

    private static void table(StreamsBuilder builder) {
        KTable<String, String> read = Functions.table(builder, "table");
        read.filter((key, value) -> checked(value) != null).toStream().to("out");
        read.groupBy((key, value) -> Functions.byLetter(key, checked(value)))
                .aggregate(Functions::start, Functions::added, Functions::removed).toStream().to("grouped");
    }

    private static void numbers(StreamsBuilder builder) {
        Functions.numbers(builder, "numbers").filter(Functions::isLarge).to("out", Functions.longs());
    }
}
