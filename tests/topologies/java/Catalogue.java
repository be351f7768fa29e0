import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;

/**
 * The topologies by name. Values of topics whose names start with "numbers" are longs, all other keys and values are
 * strings.
 */
final class Catalogue {
    private final Map<String, Entry> entries = new LinkedHashMap<>();

    /** A topology that is built either by the DSL or by hand, and the configuration that it always has. */
    record Entry(Map<String, Object> config, Consumer<StreamsBuilder> dsl, Supplier<Topology> byHand) {
    }

    static Catalogue whole() {
        Catalogue all = new Catalogue();
        StatelessTopologies.register(all);
        ProcessorTopologies.register(all);
        AggregateTopologies.register(all);
        WindowTopologies.register(all);
        SuppressTopologies.register(all);
        TableTopologies.register(all);
        StreamJoinTopologies.register(all);
        TableJoinTopologies.register(all);
        RewrittenTopologies.register(all);
        FailingTopologies.register(all);
        NullKeyTopologies.register(all);
        MergedSourceTopologies.register(all);
        NullResultTopologies.register(all);
        CopartitionedTopologies.register(all);
        VersionedTopologies.register(all);
        PatternTopologies.register(all);
        return all;
    }

    static Catalogue different() {
        Catalogue different = new Catalogue();
        DifferentTopologies.register(different);
        for (String name : whole().names()) {
            if (different.has(name)) {
                throw new IllegalArgumentException("two topologies " + name);
            }
        }
        return different;
    }

    void dsl(String name, Consumer<StreamsBuilder> build) {
        dsl(name, Map.of(), build);
    }

    void dsl(String name, Map<String, Object> config, Consumer<StreamsBuilder> build) {
        add(name, new Entry(config, build, null));
    }

    void byHand(String name, Supplier<Topology> build) {
        add(name, new Entry(Map.of(), null, build));
    }

    Entry get(String name) {
        Entry found = entries.get(name);
        if (found == null) {
            throw new IllegalArgumentException("unknown topology " + name);
        }
        return found;
    }

    boolean has(String name) {
        return entries.containsKey(name);
    }

    Iterable<String> names() {
        return entries.keySet();
    }

    private void add(String name, Entry entry) {
        if (entries.put(name, entry) != null) {
            throw new IllegalArgumentException("two topologies " + name);
        }
    }
}
