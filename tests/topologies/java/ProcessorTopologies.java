import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** Processors in the DSL, and topologies made by hand. */
final class ProcessorTopologies {
    private static final Serializer<String> WRITE = Functions.TEXT.serializer();
    private static final Deserializer<String> READ = Functions.TEXT.deserializer();

    private ProcessorTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("process", builder -> withStore(builder, texts("seen"), Processors.FirstOnly::new, "seen"));
        all.dsl("process_headers", builder -> withoutStore(builder, Processors.Stamped::new));
        all.dsl("process_metadata", builder -> withoutStore(builder, Processors.Placed::new));
        all.dsl("process_stream_time", builder -> withStore(
                builder, texts("held"), () -> new Processors.Holding(true), "held"));
        all.dsl("process_wall_clock", builder -> withStore(
                builder, texts("held"), () -> new Processors.Holding(false), "held"));
        all.dsl("process_cancelled", builder -> withoutStore(builder, Processors.Ticking::new));
        all.dsl("process_chiming", builder -> withoutStore(builder, Chiming::new));
        all.dsl("process_iterators", builder -> withStore(builder, texts("all"), Processors.Listing::new, "all"));
        all.dsl("process_window_store", builder -> withStore(builder, windows("recent", false),
                () -> new Processors.Recent("recent"), "recent"));
        all.dsl("process_window_duplicates", builder -> withStore(builder, windows("recent", true),
                () -> new Processors.Recent("recent"), "recent"));
        all.dsl("process_session_store", builder -> withStore(
                builder, sessions("spans"), Processors.Spanning::new, "spans"));
        all.dsl("process_timestamped_store", builder -> withStore(
                builder, timestamped("latest"), Processors.Latest::new, "latest"));
        all.dsl("process_cached_store", builder -> withStore(
                builder, texts("seen").withCachingEnabled(), Processors.FirstOnly::new, "seen"));
        all.dsl("process_values", ProcessorTopologies::processValues);
        all.dsl("process_values_timers", builder -> Functions.texts(builder, "in")
                .processValues(Processors.Reminding::new, Named.as("remind")).groupByKey().count()
                .toStream().to("out", Functions.longs()));
        all.dsl("process_values_metadata", builder -> Functions.texts(builder, "in")
                .processValues(Processors.Reminding::new).to("out"));
        all.dsl("process_then_count", builder -> Functions.texts(builder, "in").process(Processors.Stamped::new)
                .groupByKey().count().toStream().to("out", Functions.longs()));
        all.dsl("shared_store", ProcessorTopologies::sharedStore);
        all.dsl("global_store", ProcessorTopologies::globalStore);
        byHand(all);
    }

    private static void byHand(Catalogue all) {
        all.byHand("hand_made", () -> new Topology().addSource("source", READ, READ, "in")
                .addProcessor("upper", Processors.Upper::new, "source").addSink("sink", "out", WRITE, WRITE, "upper"));
        all.byHand("hand_made_children", () -> new Topology().addSource("source", READ, READ, "in", "other")
                .addProcessor("choose", Processors.Choosing::new, "source")
                .addSink("odd", "odd", WRITE, WRITE, "choose").addSink("even", "even", WRITE, WRITE, "choose"));
        all.byHand("hand_made_parents", () -> new Topology().addSource("first", READ, READ, "in")
                .addSource("second", READ, READ, "other")
                .addProcessor("upper", Processors.Upper::new, "first", "second")
                .addSink("dynamic", new Functions.ByLetter(), WRITE, WRITE, "upper")
                .addSink("sink", "out", WRITE, WRITE, "upper", "first"));
        all.byHand("hand_made_store", () -> new Topology().addSource("source", READ, READ, "in")
                .addProcessor("first", Processors.FirstOnly::new, "source").addStateStore(texts("seen"), "first")
                .addSink("sink", "out", WRITE, WRITE, "first"));
        all.byHand("hand_made_shared_store", ProcessorTopologies::handMadeSharedStore);
        all.byHand("hand_made_read_only_store", () -> new Topology().addReadOnlyStateStore(
                texts("seen").withLoggingDisabled(), "looked-up", READ, READ, "table", "keeper",
                Processors.Keeping::new).addSource("source", READ, READ, "in")
                .addProcessor("lookup", Processors.LookingUp::new, "source")
                .connectProcessorAndStateStores("lookup", "seen").addSink("sink", "out", WRITE, WRITE, "lookup"));
        all.byHand("hand_made_two_parts", () -> new Topology().addSource("one", READ, READ, "in")
                .addSink("to-out", "out", WRITE, WRITE, "one").addSource("two", READ, READ, "other")
                .addSink("to-other", "other-out", WRITE, WRITE, "two"));
    }

    static StoreBuilder<KeyValueStore<String, String>> texts(String name) {
        return Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), Functions.TEXT, Functions.TEXT);
    }

    private static StoreBuilder<?> timestamped(String name) {
        return Stores.timestampedKeyValueStoreBuilder(
                Stores.inMemoryKeyValueStore(name), Functions.TEXT, Functions.TEXT);
    }

    private static StoreBuilder<?> windows(String name, boolean duplicates) {
        return Stores.windowStoreBuilder(Stores.inMemoryWindowStore(
                name, Duration.ofMillis(300), WindowTopologies.SIZE, duplicates), Functions.TEXT, Functions.TEXT);
    }

    private static StoreBuilder<?> sessions(String name) {
        return Stores.sessionStoreBuilder(
                Stores.inMemorySessionStore(name, Duration.ofMillis(300)), Functions.TEXT, Functions.TEXT);
    }

    private static void withStore(StreamsBuilder builder, StoreBuilder<? extends StateStore> store,
            ProcessorSupplier<String, String, String, String> processor, String name) {
        builder.addStateStore(store);
        Functions.texts(builder, "in").process(processor, name).to("out");
    }

    private static void withoutStore(
            StreamsBuilder builder, ProcessorSupplier<String, String, String, String> processor) {
        Functions.texts(builder, "in").process(processor).to("out");
    }

    private static void processValues(StreamsBuilder builder) {
        builder.addStateStore(texts("previous"));
        Functions.texts(builder, "in").processValues(Processors.WithPrevious::new, Named.as("pairing"), "previous")
                .groupByKey().count().toStream().to("out", Functions.longs());
        Functions.texts(builder, "other").processValues(Processors.WithPrevious::new, "previous").to("other-out");
    }

    private static void sharedStore(StreamsBuilder builder) {
        builder.addStateStore(texts("seen"));
        Functions.texts(builder, "in").process(Processors.FirstOnly::new, Named.as("first"), "seen").to("out");
        Functions.texts(builder, "other").process(Processors.LookingUp::new, "seen").to("found");
    }

    private static void globalStore(StreamsBuilder builder) {
        builder.addGlobalStore(texts("seen").withLoggingDisabled(), "global",
                Consumed.with(Functions.TEXT, Functions.TEXT), Processors.Keeping::new);
        Functions.texts(builder, "in").process(Processors.LookingUp::new).to("out");
    }

    private static Topology handMadeSharedStore() {
        return new Topology().addSource(Topology.AutoOffsetReset.LATEST, "first", READ, READ, "in")
                .addSource("second", READ, READ, "other").addStateStore(texts("seen"))
                .addProcessor("keep", Processors.FirstOnly::new, "first")
                .addProcessor("lookup", Processors.LookingUp::new, "second")
                .connectProcessorAndStateStores("keep", "seen").connectProcessorAndStateStores("lookup", "seen")
                .addSink("kept", "out", WRITE, WRITE, "keep")
                .addSink("found", "found", WRITE, WRITE,
                        (topic, key, value, count) -> Optional.of(Set.of(2)), "lookup");
    }
}
