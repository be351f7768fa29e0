import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Printed;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.FailOnInvalidTimestamp;
import org.apache.kafka.streams.processor.LogAndSkipOnInvalidTimestamp;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.apache.kafka.streams.processor.TimestampExtractor;
import org.apache.kafka.streams.processor.UsePartitionTimeOnInvalidTimestamp;
import org.apache.kafka.streams.processor.WallclockTimestampExtractor;

/** Streams: operators that keep no state, sources and sinks. */
final class StatelessTopologies {
    private StatelessTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("filter", builder -> in(builder).filter(Functions::hasA).to("out"));
        all.dsl("filter_not", builder -> in(builder).filterNot(Functions::hasA).to("out"));
        all.dsl("map", builder -> in(builder).map(Functions::swapped).to("out"));
        all.dsl("flat_map", builder -> in(builder)
                .flatMap((key, value) -> Functions.words(value).stream().map(word -> KeyValue.pair(word, key)).toList())
                .to("out"));
        all.dsl("map_values", builder -> in(builder).mapValues(Functions::upper).to("out"));
        all.dsl("map_values_with_key", builder -> in(builder).mapValues(Functions::tagged).to("out"));
        all.dsl("flat_map_values", builder -> in(builder).flatMapValues(Functions::words).to("out"));
        all.dsl("flat_map_values_with_key", builder -> in(builder)
                .flatMapValues((key, value) -> List.of(String.valueOf(key), String.valueOf(value))).to("out"));
        all.dsl("select_key", builder -> in(builder).selectKey(Functions::letter).to("out"));
        all.dsl("map_to_numbers", builder -> in(builder).mapValues(Functions::length).to("out", Functions.longs()));
        all.dsl("peek_foreach", StatelessTopologies::peek);
        all.dsl("print", builder -> in(builder).print(Printed.toFile("/dev/null")));
        all.dsl("merge", builder -> in(builder).merge(Functions.texts(builder, "other")).to("out"));
        all.dsl("merge_mapped", StatelessTopologies::mergeMapped);
        all.dsl("split", StatelessTopologies::split);
        all.dsl("split_named", StatelessTopologies::splitNamed);
        all.dsl("split_functions", StatelessTopologies::splitFunctions);
        all.dsl("siblings", StatelessTopologies::siblings);
        all.dsl("several_topics", builder -> builder
                .stream(List.of("in", "other"), Consumed.with(Functions.TEXT, Functions.TEXT)).to("out"));
        all.dsl("repartition", builder -> in(builder).repartition().to("out"));
        all.dsl("repartition_named", builder -> in(builder).selectKey(Functions::letter)
                .repartition(Repartitioned.<String, String>as("by-letter").withNumberOfPartitions(3)).to("out"));
        all.dsl("repartition_partitioner", builder -> in(builder)
                .repartition(Repartitioned.<String, String>as("first").withStreamPartitioner(byLength())).to("out"));
        all.dsl("to_dynamic", builder -> in(builder).to(new Functions.ByLetter()));
        all.dsl("to_partitioner", builder -> in(builder)
                .to("out", Produced.with(Functions.TEXT, Functions.TEXT, byLength())));
        all.dsl("to_named", builder -> in(builder).mapValues(Functions::upper, Named.as("shout"))
                .to("out", Produced.<String, String>as("sink").withKeySerde(Functions.TEXT)));
        all.dsl("chain", builder -> in(builder).filter(Functions::hasA).mapValues(Functions::upper)
                .selectKey(Functions::letter).flatMapValues(Functions::words).to("out"));
        extractors(all);
    }

    private static void extractors(Catalogue all) {
        Map<String, TimestampExtractor> ready = Map.of(
                "fail", new FailOnInvalidTimestamp(), "skip", new LogAndSkipOnInvalidTimestamp(),
                "partition_time", new UsePartitionTimeOnInvalidTimestamp(),
                "wall_clock", new WallclockTimestampExtractor(), "own", StatelessTopologies::timeOf);
        for (String name : List.of("fail", "skip", "partition_time", "wall_clock", "own")) {
            all.dsl("timestamps_" + name, builder -> builder.stream("in",
                    Consumed.with(Functions.TEXT, Functions.TEXT).withTimestampExtractor(ready.get(name))).to("out"));
        }
    }

    /** A hundred milliseconds for each letter; the partition's time for the empty text, none for null. */
    private static long timeOf(ConsumerRecord<Object, Object> record, long partitionTime) {
        String value = (String) record.value();
        if (value == null) {
            return -1;
        }
        return value.isEmpty() ? partitionTime : 100L * value.length();
    }

    private static KStream<String, String> in(StreamsBuilder builder) {
        return Functions.texts(builder, "in");
    }

    private static void peek(StreamsBuilder builder) {
        KStream<String, String> peeked = in(builder).peek((key, value) -> { });
        peeked.to("out");
        peeked.foreach((key, value) -> { });
    }

    private static void mergeMapped(StreamsBuilder builder) {
        KStream<String, String> read = in(builder);
        read.filter(Functions::hasA).merge(read.mapValues(Functions::upper), Named.as("both"))
                .merge(read.selectKey(Functions::letter)).to("out");
    }

    private static void split(StreamsBuilder builder) {
        Map<String, KStream<String, String>> branches = in(builder).split()
                .branch(Functions::hasA).branch(Functions::isShort).noDefaultBranch();
        branches.forEach((name, branch) -> branch.to("out-" + name));
    }

    private static void splitNamed(StreamsBuilder builder) {
        Map<String, KStream<String, String>> branches = in(builder).split(Named.as("part-"))
                .branch(Functions::hasA, Branched.as("a")).branch(Functions::isShort)
                .defaultBranch(Branched.as("rest"));
        List.of("part-a", "part-2", "part-rest").forEach(name -> branches.get(name).to("out-" + name));
    }

    private static void splitFunctions(StreamsBuilder builder) {
        in(builder).split().branch(Functions::hasA, Branched.withFunction(branch -> branch.mapValues(Functions::upper)))
                .defaultBranch(Branched.withConsumer(branch -> branch.to("out-rest")))
                .forEach((name, branch) -> branch.to("out"));
    }

    private static void siblings(StreamsBuilder builder) {
        KStream<String, String> read = in(builder);
        read.mapValues(Functions::upper).to("out");
        read.mapValues(Functions::tagged).to("out");
        read.flatMapValues(Functions::words).to("out");
    }

    /** Partitions: none of null, all for the empty text, one or two by the length otherwise. */
    private static StreamPartitioner<String, String> byLength() {
        return new StreamPartitioner<>() {
            @Override
            public Optional<Set<Integer>> partitions(String topic, String key, String value, int count) {
                if (value == null) {
                    return Optional.of(Set.of());
                }
                return value.isEmpty() ? Optional.empty() : Optional.of(Set.of(value.length() % count));
            }
        };
    }
}
