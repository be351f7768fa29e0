import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestDataJsonConverter;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder;
import org.apache.kafka.streams.processor.internals.StreamThread;
import org.apache.kafka.streams.processor.internals.TopologyMetadata;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;

/**
 * Prints the topologies of applications of Kafka Streams as members send them when they join a streams group: a line for
 * each, with its name and a heartbeat in JSON. No broker is needed.
 */
public final class TopologyCapture {
    private static final String HEARTBEATS =
            "org.apache.kafka.clients.consumer.internals.StreamsGroupHeartbeatRequestManager$HeartbeatState";
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private TopologyCapture() {
    }

    public static void main(String[] arguments) throws Exception {
        for (Map.Entry<String, Consumer<StreamsBuilder>> each : applications().entrySet()) {
            System.out.println(each.getKey() + " " + captured(each.getKey(), each.getValue()));
        }
    }

    private static Map<String, Consumer<StreamsBuilder>> applications() {
        Map<String, Consumer<StreamsBuilder>> all = new LinkedHashMap<>();
        all.put("filter", builder -> in(builder, "in").filter((key, value) -> true).to("out"));
        all.put("repartition", builder -> in(builder, "in").selectKey((key, value) -> value)
                .repartition(Repartitioned.<String, String>as("by-value").withNumberOfPartitions(3)).to("out"));
        all.put("count", builder -> in(builder, "in")
                .groupBy((key, value) -> value, Grouped.as("values")).count(Materialized.as("counts")));
        all.put("windows", TopologyCapture::windows);
        all.put("table-table-join", builder -> table(builder, "left")
                .join(table(builder, "right"), (left, right) -> left, Materialized.as("both")).toStream().to("out"));
        all.put("stream-stream-join", builder -> in(builder, "left").leftJoin(in(builder, "right"),
                (left, right) -> left, JoinWindows.ofTimeDifferenceAndGrace(MINUTE, MINUTE), joined("pairs")));
        all.put("stream-table-join", builder -> in(builder, "clicks").selectKey((key, value) -> value)
                .join(table(builder, "users"), (click, user) -> user,
                        Joined.<String, String, String>as("clicks-by-user")).to("out"));
        all.put("global-table", builder -> in(builder, "orders").join(
                builder.globalTable("rates", Materialized.as("rates")), (key, value) -> value,
                (order, rate) -> order).to("out"));
        all.put("optimised", builder -> table(builder, "in").toStream().to("out"));
        all.put("foreign-key-join", builder -> table(builder, "orders")
                .join(table(builder, "customers"), order -> order, (order, customer) -> order,
                        Materialized.as("enriched")));
        all.put("two-copartition-groups", builder -> pair(builder, "payments", "orders")
                .merge(pair(builder, "visits", "clicks")).to("out"));
        all.put("nine-copartition-groups", TopologyCapture::nine);
        all.put("large-copartition-group", TopologyCapture::large);
        all.put("twelve", TopologyCapture::twelve);
        return all;
    }

    private static KStream<String, String> in(StreamsBuilder builder, String topic) {
        return builder.stream(topic, Consumed.with(Serdes.String(), Serdes.String()));
    }

    private static KTable<String, String> table(StreamsBuilder builder, String topic) {
        return builder.table(topic, Materialized.as(topic + "-store"));
    }

    private static StreamJoined<String, String, String> joined(String name) {
        Serde<String> text = Serdes.String();
        return StreamJoined.with(text, text, text).withName(name).withStoreName(name);
    }

    private static KStream<String, String> pair(StreamsBuilder builder, String left, String right) {
        return in(builder, left).join(in(builder, right), (one, other) -> one,
                JoinWindows.ofTimeDifferenceWithNoGrace(MINUTE), joined(left + right));
    }

    private static void windows(StreamsBuilder builder) {
        KStream<String, String> read = in(builder, "in");
        read.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(MINUTE)).count(Materialized.as("by-minute"));
        read.groupByKey().windowedBy(SessionWindows.ofInactivityGapWithNoGrace(MINUTE))
                .count(Materialized.as("by-session"));
    }

    private static void nine(StreamsBuilder builder) {
        KStream<String, String> all = pair(builder, "east-0", "west-0");
        for (int number = 1; number < 9; number++) {
            all = all.merge(pair(builder, "east-" + number, "west-" + number));
        }
        all.to("out");
    }

    private static void large(StreamsBuilder builder) {
        KTable<String, String> all = table(builder, "table-0");
        for (int number = 1; number < 14; number++) {
            all = all.join(table(builder, "table-" + number), (one, other) -> one);
        }
        all.toStream().to("out");
    }

    private static void twelve(StreamsBuilder builder) {
        for (int number = 0; number < 12; number++) {
            in(builder, "in-" + number).to("out");
        }
    }

    private static String captured(String name, Consumer<StreamsBuilder> application) throws Exception {
        Properties properties = new Properties();
        properties.put("application.id", "app");
        properties.put("bootstrap.servers", "none:1");
        properties.put("default.key.serde", Serdes.StringSerde.class);
        properties.put("default.value.serde", Serdes.StringSerde.class);
        if (name.equals("optimised")) {
            properties.put("topology.optimization", "all");
        }
        properties.put("dsl.store.suppliers.class", BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
        StreamsConfig config = new StreamsConfig(properties);
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(config));
        application.accept(builder);
        InternalTopologyBuilder topology = internal(builder.build(properties));
        new TopologyMetadata(topology, config).buildAndRewriteTopology();
        return json(config, topology);
    }

    private static InternalTopologyBuilder internal(Topology topology) throws Exception {
        Field field = Topology.class.getDeclaredField("internalTopologyBuilder");
        field.setAccessible(true);
        return (InternalTopologyBuilder) field.get(topology);
    }

    /** What the constructor of a thread and the first heartbeat do, neither of which can be called without a broker. */
    @SuppressWarnings("unchecked")
    private static String json(StreamsConfig config, InternalTopologyBuilder topology) throws Exception {
        Method described = StreamThread.class.getDeclaredMethod(
                "initBrokerTopology", StreamsConfig.class, InternalTopologyBuilder.class);
        described.setAccessible(true);
        Method sent = Class.forName(HEARTBEATS).getDeclaredMethod("fromStreamsToHeartbeatRequest", Map.class);
        sent.setAccessible(true);
        List<StreamsGroupHeartbeatRequestData.Subtopology> parts =
                (List<StreamsGroupHeartbeatRequestData.Subtopology>) sent.invoke(
                        null, described.invoke(null, config, topology));
        StreamsGroupHeartbeatRequestData heartbeat = new StreamsGroupHeartbeatRequestData()
                .setTopology(new StreamsGroupHeartbeatRequestData.Topology().setSubtopologies(new ArrayList<>(parts)));
        return StreamsGroupHeartbeatRequestDataJsonConverter.write(heartbeat, (short) 0).get("topology").toString();
    }
}
