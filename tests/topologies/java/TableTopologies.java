import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.ValueTransformerWithKey;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Tables and their operators, but for joins and aggregations. */
final class TableTopologies {
    private TableTopologies() {
    }

    static void register(Catalogue all) {
        all.dsl("table", builder -> table(builder).toStream().to("out"));
        all.dsl("table_materialized", builder -> builder.table("table", Materialized.as("kept")).toStream().to("out"));
        all.dsl("table_named", builder -> builder.table("table",
                Consumed.<String, String>as("reading").withKeySerde(Functions.TEXT), Materialized.as("kept"))
                .toStream(Named.as("streaming")).to("out"));
        all.dsl("table_filter", builder -> table(builder).filter(Functions::hasA).toStream().to("out"));
        all.dsl("table_filter_not", builder -> table(builder).filterNot(Functions::hasA).toStream().to("out"));
        all.dsl("table_filter_materialized", builder -> table(builder)
                .filter(Functions::hasA, Materialized.as("filtered")).toStream().to("out"));
        all.dsl("table_filter_of_kept", builder -> builder.table("table", Materialized.<String, String,
                KeyValueStore<Bytes, byte[]>>as("kept"))
                .filter(Functions::hasA).toStream().to("out"));
        all.dsl("table_filter_unnamed_store", builder -> table(builder)
                .filter(Functions::hasA, Materialized.with(Functions.TEXT, Functions.TEXT)).toStream().to("out"));
        all.dsl("table_map_values", builder -> table(builder).mapValues(Functions::upper).toStream().to("out"));
        all.dsl("table_map_values_with_key", builder -> table(builder)
                .mapValues((key, value) -> Functions.tagged(key, value), Materialized.as("mapped"))
                .toStream().to("out"));
        all.dsl("table_map_to_null", builder -> table(builder)
                .mapValues(value -> "bad".equals(value) ? null : Functions.upper(value)).toStream().to("out"));
        all.dsl("table_chain", builder -> table(builder).filter(Functions::hasA).mapValues(Functions::upper)
                .filterNot((key, value) -> value.length() > 5, Materialized.as("last")).toStream().to("out"));
        all.dsl("table_transform_values", builder -> table(builder)
                .transformValues(() -> new Numbered(null)).toStream().to("out"));
        all.dsl("table_transform_values_materialized", builder -> table(builder)
                .transformValues(() -> new Numbered(null), Materialized.as("numbered")).toStream().to("out"));
        all.dsl("table_transform_values_store", TableTopologies::transformWithStore);
        all.dsl("table_to_stream_key", builder -> table(builder)
                .toStream((key, value) -> Functions.letterOf(value)).to("out"));
        all.dsl("table_two_streams", TableTopologies::twoStreams);
        all.dsl("to_table", builder -> Functions.texts(builder, "in").toTable().toStream().to("out"));
        all.dsl("to_table_materialized", builder -> Functions.texts(builder, "in")
                .toTable(Named.as("tabling"), Materialized.as("kept")).toStream().to("out"));
        all.dsl("to_table_repartitioned", builder -> Functions.texts(builder, "in").selectKey(Functions::letter)
                .toTable(Materialized.as("kept")).filter(Functions::hasA).toStream().to("out"));
        all.dsl("to_table_filtered", builder -> Functions.texts(builder, "in").mapValues(Functions::upper)
                .toTable().filter((key, value) -> value.length() < 4).toStream().to("out"));
    }

    private static KTable<String, String> table(StreamsBuilder builder) {
        return Functions.table(builder, "table");
    }

    private static void transformWithStore(StreamsBuilder builder) {
        builder.addStateStore(Stores.keyValueStoreBuilder(
                Stores.inMemoryKeyValueStore("numbers"), Functions.TEXT, Functions.LONG));
        table(builder).transformValues(() -> new Numbered("numbers"), Named.as("numbering"), "numbers")
                .toStream().to("out");
    }

    private static void twoStreams(StreamsBuilder builder) {
        KTable<String, String> read = table(builder);
        read.toStream().to("out");
        read.filter(Functions::hasA).toStream().to("filtered");
        read.mapValues(Functions::upper).toStream().mapValues(Functions::upper).to("mapped");
    }

    /** Adds the key, and a number of its own for each key if it has a store. */
    private static final class Numbered implements ValueTransformerWithKey<String, String, String> {
        private final String storeName;
        private KeyValueStore<String, Long> store;

        Numbered(String storeName) {
            this.storeName = storeName;
        }

        @Override
        public void init(ProcessorContext context) {
            if (storeName != null) {
                store = context.getStateStore(storeName);
            }
        }

        @Override
        public String transform(String key, String value) {
            if (value == null) {
                return null;
            }
            if (store == null) {
                return Functions.tagged(key, value);
            }
            Long before = store.get(key);
            long number = before == null ? 1 : before + 1;
            store.put(key, number);
            return value + number;
        }

        @Override
        public void close() {
        }
    }
}
