package org.apache.kafka.streams.processor.internals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Supplier;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.CreateTopicsResult.TopicMetadataAndConfig;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.ReferenceContainer;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Has the leader of Kafka Streams assign the tasks of groups without brokers: a line of JSON for each group, and a line
 * of JSON for the answer. What the fields are is documented in kafka_classic_leader.py.
 */
public final class ClassicLeaderDriver {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Map<Integer, Node> nodes = new TreeMap<>();
    private final JsonNode asked;
    private final Map<String, Integer> topics = new TreeMap<>();
    private final Map<String, Integer> created = new TreeMap<>();
    private final String prefix;

    private ClassicLeaderDriver(JsonNode asked) {
        this.asked = asked;
        prefix = asked.get("application").asText() + "-";
        asked.get("racks").properties().forEach(each -> nodes.put(Integer.valueOf(each.getKey()),
            new Node(Integer.parseInt(each.getKey()), "localhost", 9092, each.getValue().textValue())));
        asked.get("topics").properties().forEach(each -> topics.put(each.getKey(), each.getValue().asInt()));
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answerTo(JSON.readTree(line)));
        }
    }

    private static ObjectNode answerTo(JsonNode asked) throws ReflectiveOperationException {
        ObjectNode answer = JSON.createObjectNode();
        answer.put("future", idOfFutureMembers());
        DealingAssignor.mistake = asked.get("mistake").asText();
        DealingAssignor.nowMs = asked.get("nowMs").asLong();
        DealingAssignor.heardError = null;
        try {
            ClassicLeaderDriver driver = new ClassicLeaderDriver(asked);
            ObjectNode assignments = answer.putObject("assignments");
            driver.assign().forEach((member, assignment) ->
                assignments.put(member, base64(ConsumerProtocol.serializeAssignment(assignment))));
            ObjectNode created = answer.putObject("created");
            driver.created.forEach(created::put);
        } catch (RuntimeException | AssertionError error) {
            answer.put("exception", error.toString());
            answer.put("at", Arrays.toString(Arrays.copyOf(error.getStackTrace(), 6)));
        }
        if (DealingAssignor.heardError != null) answer.set("heard", heard());
        return answer;
    }

    private static ObjectNode heard() {
        ObjectNode told = JSON.createObjectNode().put("error", DealingAssignor.heardError.name());
        ObjectNode assignments = told.putObject("assignments");
        DealingAssignor.heardAssignment.groupAssignment().forEach((member, assignment) ->
            assignments.put(member, base64(ConsumerProtocol.serializeAssignment(assignment))));
        ObjectNode subscriptions = told.putObject("subscriptions");
        DealingAssignor.heardSubscription.groupSubscription().forEach((member, subscription) -> {
            ObjectNode each = subscriptions.putObject(member);
            // The leader has read them, and leaves the buffer at its end.
            subscription.userData().rewind();
            each.put("subscription", base64(ConsumerProtocol.serializeSubscription(subscription)));
            each.put("instance", subscription.groupInstanceId().orElse(null));
        });
        return told;
    }

    private static String idOfFutureMembers() throws ReflectiveOperationException {
        Field field = StreamsPartitionAssignor.class.getDeclaredField("FUTURE_ID");
        field.setAccessible(true);
        return ((ProcessId) field.get(null)).id().toString();
    }

    private Map<String, Assignment> assign() {
        Time time = new StoppedTime(asked.get("nowMs").asLong());
        StreamsConfig config = config();
        InternalTopologyBuilder builder = new ToldTopology(asked.get("subtopologies")).builder();
        TopologyMetadata topology = new TopologyMetadata(builder, config);
        topology.buildAndRewriteTopology();
        ProcessId own = new ProcessId(UUID.fromString(asked.get("process").asText()));
        ReferenceContainer container = new ReferenceContainer();
        container.time = time;
        container.adminClient = proxy(Admin.class, (proxy, method, given) -> administrate(method.getName(), given[0]));
        container.mainConsumer = consumer();
        container.taskManager = new TaskManager(
            time, null, own, "", null, null, null, topology, container.adminClient, null, null, null);
        container.streamsMetadataState = new StreamsMetadataState(topology, new HostInfo("unknown", -1), new LogContext());
        container.clientTags = Map.of();
        Map<String, Object> given = new HashMap<>(config.getMainConsumerConfigs("app", "client", 0));
        given.put(StreamsConfig.InternalConfig.REFERENCE_CONTAINER_PARTITION_ASSIGNOR, container);
        StreamsPartitionAssignor assignor = new StreamsPartitionAssignor();
        assignor.configure(given);
        return assignor.assign(cluster(), new GroupSubscription(subscriptions())).groupAssignment();
    }

    private StreamsConfig config() {
        JsonNode told = asked.get("configs");
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, asked.get("application").asText());
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
        properties.put(StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG, told.get("lag").asLong());
        properties.put(StreamsConfig.MAX_WARMUP_REPLICAS_CONFIG, told.get("warmups").asInt());
        properties.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, told.get("standbys").asInt());
        properties.put(StreamsConfig.PROBING_REBALANCE_INTERVAL_MS_CONFIG, told.get("probingMs").asLong());
        for (JsonNode tag : told.get("tags")) properties.put(StreamsConfig.CLIENT_TAG_PREFIX + tag.asText(), "x");
        properties.put(StreamsConfig.RACK_AWARE_ASSIGNMENT_TAGS_CONFIG, String.join(",", texts(told.get("tags"))));
        properties.put(StreamsConfig.RACK_AWARE_ASSIGNMENT_STRATEGY_CONFIG, told.get("strategy").asText());
        put(properties, StreamsConfig.RACK_AWARE_ASSIGNMENT_TRAFFIC_COST_CONFIG, told.get("traffic"));
        put(properties, StreamsConfig.RACK_AWARE_ASSIGNMENT_NON_OVERLAP_COST_CONFIG, told.get("nonOverlap"));
        switch (asked.get("assignor").asText()) {
            case "sticky" -> properties.put(StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG, StickyTaskAssignor.class.getName());
            case "legacy" -> properties.put(
                StreamsConfig.InternalConfig.INTERNAL_TASK_ASSIGNOR_CLASS, LegacyStickyTaskAssignor.class.getName());
            case "dealing" -> properties.put(StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG, DealingAssignor.class.getName());
            default -> { }
        }
        return new StreamsConfig(properties);
    }

    private static void put(Properties properties, String name, JsonNode cost) {
        if (!cost.isNull()) properties.put(name, cost.asInt());
    }

    private static List<String> texts(JsonNode array) {
        List<String> found = new ArrayList<>();
        for (JsonNode each : array) found.add(each.asText());
        return found;
    }

    private Map<String, Subscription> subscriptions() {
        Map<String, Subscription> found = new HashMap<>();
        asked.get("members").properties().forEach(each -> found.put(each.getKey(),
            ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(Base64.getDecoder().decode(each.getValue().asText())))));
        asked.get("instances").properties().forEach(each ->
            found.get(each.getKey()).setGroupInstanceId(Optional.of(each.getValue().asText())));
        return found;
    }

    private Cluster cluster() {
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.forEach((topic, count) -> {
            for (int number = 0; number < count; number++) {
                Node[] replicas = replicas(topic, number).toArray(Node[]::new);
                partitions.add(new PartitionInfo(topic, number, replicas[0], replicas, replicas));
            }
        });
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }

    private List<Node> replicas(String topic, int partition) {
        List<Node> found = new ArrayList<>();
        for (JsonNode id : asked.get("replicas").path(topic).path(partition)) found.add(nodes.get(id.asInt()));
        return found.isEmpty() ? List.of(nodes.values().iterator().next()) : found;
    }

    // ------------------------------------------------------------------------------------------------ brokers

    private Object administrate(String method, Object given) {
        return switch (method) {
            case "describeTopics" -> described((Collection<?>) given);
            case "createTopics" -> create((Collection<?>) given);
            case "listOffsets" -> ends(((Map<?, ?>) given).keySet());
            default -> throw new UnsupportedOperationException(method);
        };
    }

    private DescribeTopicsResult described(Collection<?> names) {
        Map<String, KafkaFuture<TopicDescription>> found = new HashMap<>();
        for (Object name : names) {
            Integer count = topics.get(name);
            found.put((String) name, count == null ? failed(new UnknownTopicOrPartitionException())
                : KafkaFuture.completedFuture(new TopicDescription((String) name, false, infos((String) name, count))));
        }
        return new DescribeTopicsResult(null, found) { };
    }

    private List<TopicPartitionInfo> infos(String topic, int count) {
        List<TopicPartitionInfo> infos = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            List<Node> replicas = replicas(topic, number);
            infos.add(new TopicPartitionInfo(number, replicas.get(0), replicas, replicas));
        }
        return infos;
    }

    private CreateTopicsResult create(Collection<?> wanted) {
        Map<String, KafkaFuture<TopicMetadataAndConfig>> done = new HashMap<>();
        for (Object each : wanted) {
            NewTopic topic = (NewTopic) each;
            topics.put(topic.name(), topic.numPartitions());
            created.put(topic.name(), topic.numPartitions());
            done.put(topic.name(), KafkaFuture.completedFuture(
                new TopicMetadataAndConfig(Uuid.randomUuid(), topic.numPartitions(), 1, new Config(List.of()))));
        }
        return new CreateTopicsResult(done) { };
    }

    private ListOffsetsResult ends(Set<?> partitions) {
        Map<TopicPartition, KafkaFuture<ListOffsetsResultInfo>> found = new HashMap<>();
        for (Object each : partitions) {
            TopicPartition partition = (TopicPartition) each;
            found.put(partition, asked.get("failsOffsets").asBoolean() ? failed(new TimeoutException())
                : KafkaFuture.completedFuture(new ListOffsetsResultInfo(
                    asked.get("ends").get(partition.topic()).get(partition.partition()).asLong(), -1, Optional.empty())));
        }
        return new ListOffsetsResult(found);
    }

    @SuppressWarnings("unchecked")
    private Consumer<byte[], byte[]> consumer() {
        return proxy(Consumer.class, (proxy, method, given) -> {
            if (!method.getName().equals("committed")) throw new UnsupportedOperationException(method.getName());
            Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
            for (Object each : (Set<?>) given[0]) found.put((TopicPartition) each, committed((TopicPartition) each));
            return found;
        });
    }

    private OffsetAndMetadata committed(TopicPartition partition) {
        JsonNode offset = asked.get("committed").path(partition.topic()).path(partition.partition());
        return offset.isNumber() ? new OffsetAndMetadata(offset.asLong()) : null;
    }

    // -------------------------------------------------------------------------------------------------- tools

    private static <T> KafkaFuture<T> failed(RuntimeException error) {
        KafkaFutureImpl<T> future = new KafkaFutureImpl<>();
        future.completeExceptionally(error);
        return future;
    }

    private static <T> T proxy(Class<T> kind, InvocationHandler handler) {
        return kind.cast(Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, handler));
    }

    private static String base64(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }

    /** A topology with the sub-topologies of a question. Kafka numbers them by the names of their sources. */
    private final class ToldTopology extends Topology {
        private final Set<String> internal = new HashSet<>();

        ToldTopology(JsonNode subtopologies) {
            for (JsonNode each : subtopologies) {
                for (JsonNode topic : each.get("repartition")) {
                    String name = undecorated(topic.get("name").asText());
                    internal.add(name);
                    internalTopologyBuilder.addInternalTopic(name, topic.get("partitions").isNull()
                        ? InternalTopicProperties.empty() : new InternalTopicProperties(topic.get("partitions").asInt()));
                }
            }
            int number = 0;
            for (JsonNode each : subtopologies) add(String.format("%03d", number++), each);
        }

        InternalTopologyBuilder builder() {
            return internalTopologyBuilder;
        }

        private void add(String id, JsonNode told) {
            Map<String, String> nodes = new TreeMap<>();
            for (JsonNode topic : told.get("sources")) addSource(id, topic.asText(), nodes);
            for (JsonNode topic : told.get("repartition")) addSource(id, undecorated(topic.get("name").asText()), nodes);
            String processor = "processor-" + id;
            addProcessor(processor, () -> new Idle(), nodes.values().toArray(String[]::new));
            for (JsonNode store : told.get("stores")) addStateStore(store(store.asText()), processor);
            for (JsonNode topic : told.get("sourceChangelogs")) {
                addStateStore(store("of-" + topic.asText()).withLoggingDisabled(), processor);
                internalTopologyBuilder.connectSourceStoreAndTopic("of-" + topic.asText(), topic.asText());
            }
            for (JsonNode topic : told.get("sinks")) {
                addSink("sink-" + id + topic.asText(), undecorated(topic.asText()), processor);
            }
            for (JsonNode group : told.get("copartition")) {
                List<String> sources = new ArrayList<>();
                for (JsonNode topic : group) sources.add(nodes.get(undecorated(topic.asText())));
                internalTopologyBuilder.copartitionSources(sources);
            }
        }

        private void addSource(String id, String topic, Map<String, String> nodes) {
            nodes.put(topic, "source-" + id + "-" + topic);
            addSource(nodes.get(topic), topic);
        }

        private String undecorated(String topic) {
            return topic.startsWith(prefix) ? topic.substring(prefix.length()) : topic;
        }

        private StoreBuilder<KeyValueStore<String, String>> store(String name) {
            return Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), Serdes.String(), Serdes.String());
        }
    }

    /** A processor that no record ever reaches. */
    private static final class Idle implements Processor<Object, Object, Object, Object> {
        @Override
        public void process(Record<Object, Object> record) { }
    }

    /** A clock that stands still. */
    private record StoppedTime(long milliseconds) implements Time {
        @Override
        public long nanoseconds() {
            return milliseconds * 1_000_000;
        }

        @Override
        public void sleep(long ms) { }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }
}
