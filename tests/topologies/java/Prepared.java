import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;

/** A topology of the catalogue with its configuration. */
final class Prepared {
    // Drivers of several processes must not share their stores on disk.
    private static final String STATE_DIR = System.getProperty("java.io.tmpdir") + "/kafka-groups-topologies-"
            + ProcessHandle.current().pid();

    static {
        new File(STATE_DIR).deleteOnExit(); // drivers delete what is in it
    }

    private final Catalogue.Entry entry;
    private final Properties properties = new Properties();

    Prepared(Catalogue.Entry entry, JsonNode config) {
        this.entry = entry;
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        properties.put(StreamsConfig.STATE_DIR_CONFIG, STATE_DIR);
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
                BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
        properties.putAll(entry.config());
        config.fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().asText()));
    }

    Properties properties() {
        return properties;
    }

    StreamsConfig config() {
        return new StreamsConfig(properties);
    }

    /** A new topology each time, as a driver or a report uses one up. */
    Topology build() {
        if (entry.byHand() != null) {
            return entry.byHand().get();
        }
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(config()));
        entry.dsl().accept(builder);
        return builder.build(properties);
    }
}
