import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestDataJsonConverter;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyDescription;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder;
import org.apache.kafka.streams.processor.internals.StreamThread;
import org.apache.kafka.streams.processor.internals.TopologyMetadata;

/**
 * What a topology looks like: "description" is Kafka's text, "inputs" are topics that it reads from outside, and
 * "heartbeat" is the topology as a member sends it when it joins a streams group. Kafka Streams cannot send some
 * topologies: then "heartbeat" is null, and "heartbeat_error" says why.
 */
final class Report {
    private static final String HEARTBEATS =
            "org.apache.kafka.clients.consumer.internals.StreamsGroupHeartbeatRequestManager$HeartbeatState";

    /** The topics that exist, for patterns. */
    private static final List<String> MATCHED = List.of("in", "left", "left-2", "right", "third");

    private final Prepared prepared;

    Report(Prepared prepared) {
        this.prepared = prepared;
    }

    void write(ObjectNode answer) throws ReflectiveOperationException {
        TopologyDescription description = prepared.build().describe();
        answer.put("description", description.toString());
        ArrayNode inputs = answer.putArray("inputs");
        inputs(description).forEach(inputs::add);
        try {
            // Streams groups have no patterns. Java sends the topology without what reads them.
            answer.set("heartbeat", hasPattern(description) ? null
                    : heartbeat(prepared.config(), internal(prepared.build())));
        } catch (InvocationTargetException refused) {
            answer.putNull("heartbeat");
            answer.set("heartbeat_error", Failure.of(refused.getCause()));
        }
    }

    private static TreeSet<String> inputs(TopologyDescription description) {
        TreeSet<String> inputs = new TreeSet<>();
        description.subtopologies().forEach(part -> part.nodes().forEach(node -> addTopics(node, inputs)));
        description.globalStores().forEach(store -> inputs.addAll(store.source().topicSet()));
        return inputs;
    }

    private static void addTopics(TopologyDescription.Node node, TreeSet<String> inputs) {
        if (node instanceof TopologyDescription.Source source && source.topicPattern() != null) {
            MATCHED.stream().filter(topic -> source.topicPattern().matcher(topic).matches()).forEach(inputs::add);
        } else if (node instanceof TopologyDescription.Source source) {
            source.topicSet().stream().filter(topic -> !isInternal(topic)).forEach(inputs::add);
        }
    }

    private static boolean hasPattern(TopologyDescription description) {
        return description.subtopologies().stream().flatMap(part -> part.nodes().stream()).anyMatch(node ->
                node instanceof TopologyDescription.Source source && source.topicPattern() != null);
    }

    private static boolean isInternal(String topic) {
        return topic.endsWith("-repartition") || topic.endsWith("-topic");
    }

    private static InternalTopologyBuilder internal(Topology topology) throws ReflectiveOperationException {
        Field field = Topology.class.getDeclaredField("internalTopologyBuilder");
        field.setAccessible(true);
        return (InternalTopologyBuilder) field.get(topology);
    }

    /** What the constructor of a thread and the first heartbeat do, neither of which can be called without a broker. */
    @SuppressWarnings("unchecked")
    private static JsonNode heartbeat(
            StreamsConfig config, InternalTopologyBuilder topology) throws ReflectiveOperationException {
        new TopologyMetadata(topology, config).buildAndRewriteTopology();
        Method described = StreamThread.class.getDeclaredMethod(
                "initBrokerTopology", StreamsConfig.class, InternalTopologyBuilder.class);
        described.setAccessible(true);
        Method sent = Class.forName(HEARTBEATS).getDeclaredMethod("fromStreamsToHeartbeatRequest", Map.class);
        sent.setAccessible(true);
        List<StreamsGroupHeartbeatRequestData.Subtopology> parts =
                (List<StreamsGroupHeartbeatRequestData.Subtopology>) sent.invoke(
                        null, described.invoke(null, config, topology));
        StreamsGroupHeartbeatRequestData request = new StreamsGroupHeartbeatRequestData()
                .setTopology(new StreamsGroupHeartbeatRequestData.Topology().setSubtopologies(new ArrayList<>(parts)));
        return StreamsGroupHeartbeatRequestDataJsonConverter.write(request, (short) 0).get("topology");
    }
}
