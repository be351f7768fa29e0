package org.apache.kafka.streams.processor.internals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils.RackAwareOptimizationParams;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor.ClientMetadata;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.AssignorAccess;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.DefaultApplicationState;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskInfo;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskTopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackUtils;

/**
 * Has Kafka's task assignors of classic groups answer questions about applications: a line of JSON each, and a line of
 * JSON for the answer. What the fields are is documented in kafka_application_assignor.py.
 */
public final class ApplicationAssignorDriver {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode asked;
    private final boolean sorts;
    private final AssignmentConfigs configs;
    private final Topics topics = new Topics();
    private final Map<TaskId, TaskInfo> tasks;
    private final Map<ProcessId, ClientMetadata> processes;
    private final Map<ProcessId, SortedMap<String, Set<TaskId>>> members = new HashMap<>();

    private ApplicationAssignorDriver(JsonNode asked) {
        this.asked = asked;
        sorts = asked.get("sorts").asBoolean();
        configs = configs(asked.get("configs"));
        tasks = newMap();
        processes = newMap();
        for (JsonNode task : asked.get("tasks")) {
            TaskInfo info = topics.task(task);
            tasks.put(info.id(), info);
        }
        for (JsonNode process : asked.get("processes")) addProcess(process);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answerTo(JSON.readTree(line)));
        }
    }

    private static ObjectNode answerTo(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            ApplicationAssignorDriver driver = new ApplicationAssignorDriver(asked);
            long start = System.nanoTime();
            driver.answer(answer);
            answer.put("ms", (System.nanoTime() - start) / 1e6);
        } catch (RuntimeException | AssertionError error) {
            answer.removeAll();
            answer.put("exception", error.toString());
            answer.put("at", Arrays.toString(Arrays.copyOf(error.getStackTrace(), 4)));
        }
        return answer;
    }

    private void answer(ObjectNode answer) {
        switch (asked.get("question").asText()) {
            case "high_availability" -> internal(new HighAvailabilityTaskAssignor(), answer);
            case "legacy_sticky" -> internal(AssignorAccess.sticky(asked.get("preserve").asBoolean()), answer);
            case "fallback_prior" -> internal(new FallbackPriorTaskAssignor(), answer);
            case "public_sticky" -> publicSticky(answer);
            case "standby" ->
                changed(answer, given -> TaskAssignmentUtils.defaultStandbyTaskAssignment(state(), given));
            case "rack_aware_active" ->
                changed(answer, given -> TaskAssignmentUtils.optimizeRackAwareActiveTasks(parameters(), given));
            case "rack_aware_standby" ->
                changed(answer, given -> TaskAssignmentUtils.optimizeRackAwareStandbyTasks(parameters(), given));
            case "identity" -> plans(TaskAssignmentUtils.identityAssignment(state()).values(), answer);
            case "validate" -> answer.put("error",
                TaskAssignmentUtils.validateTaskAssignment(state(), new TaskAssignment(given())).name());
            case "threads" -> threads(answer);
            case "internal_standby" -> internalStandby(answer);
            case "internal_rack_aware_active" -> internalRackAware(answer, true);
            case "internal_rack_aware_standby" -> internalRackAware(answer, false);
            case "states" -> states(answer);
            default -> throw new IllegalArgumentException("unknown question: " + asked);
        }
    }

    // Internal classes

    private void internal(LegacyTaskAssignor assignor, ObjectNode answer) {
        Map<ProcessId, ClientState> clients = clients();
        answer.put("followup", assignor.assign(clients, allTasks(), statefulTasks(), racks(), configs));
        clients(clients, answer);
    }

    private void internalStandby(ObjectNode answer) {
        Map<ProcessId, ClientState> clients = assignedClients();
        AssignorAccess.assignStandbys(clients, allTasks(), statefulTasks(), racks(), configs);
        clients(clients, answer);
    }

    private void internalRackAware(ObjectNode answer, boolean ofActive) {
        SortedMap<ProcessId, ClientState> clients = assignedClients();
        TreeSet<TaskId> chosen = new TreeSet<>(tasks(asked.get("chosen")));
        int traffic = asked.get("traffic").asInt();
        int nonOverlap = asked.get("nonOverlap").asInt();
        RackAwareTaskAssignor racks = racks();
        boolean isEnabled = racks.canEnableRackAwareAssignor();
        answer.put("enabled", isEnabled).put("before", 0).put("after", 0);
        if (isEnabled && ofActive) {
            answer.put("before", AssignorAccess.activeCost(racks, chosen, clients, traffic, nonOverlap));
            answer.put("after", racks.optimizeActiveTasks(chosen, clients, traffic, nonOverlap));
        } else if (isEnabled) {
            answer.put("before", AssignorAccess.standbyCost(racks, chosen, clients, traffic, nonOverlap));
            answer.put("after", racks.optimizeStandbyTasks(
                clients, traffic, nonOverlap, (source, destination, task, all) -> true));
        }
        clients(clients, answer);
    }

    private RackAwareTaskAssignor racks() {
        Map<TaskId, Set<TopicPartition>> sources = newMap();
        Map<TaskId, Set<TopicPartition>> changelogs = newMap();
        Map<Subtopology, Set<TaskId>> groups = newMap();
        tasks.forEach((id, info) -> {
            sources.put(id, partitions(info, true));
            if (statefulTasks().contains(id)) changelogs.put(id, partitions(info, false));
            groups.computeIfAbsent(new Subtopology(id.subtopology(), null), group -> newSet()).add(id);
        });
        return new RackAwareTaskAssignor(topics.cluster(), sources, changelogs, groups, racksOfMembers(),
            topics.manager(), configs, Time.SYSTEM);
    }

    private Map<ProcessId, Map<String, Optional<String>>> racksOfMembers() {
        Map<ProcessId, Map<String, Optional<String>>> racks = newMap();
        processes.forEach((id, metadata) -> {
            Map<String, Optional<String>> ofMembers = newMap();
            members.get(id).keySet().forEach(member -> ofMembers.put(member, metadata.rackId()));
            racks.put(id, ofMembers);
        });
        return racks;
    }

    private Map<ProcessId, ClientState> clients() {
        Map<ProcessId, ClientState> clients = newMap();
        processes.forEach((id, metadata) -> clients.put(id, metadata.state()));
        return clients;
    }

    private SortedMap<ProcessId, ClientState> assignedClients() {
        for (KafkaStreamsAssignment given : given()) {
            ClientState state = processes.get(given.processId()).state();
            if (asked.path("public").asBoolean()) state.setAssignedTasks(given);
            else given.tasks().values().forEach(task -> assign(state, task));
        }
        return new TreeMap<>(clients());
    }

    private static void assign(ClientState state, AssignedTask task) {
        if (task.type() == AssignedTask.Type.ACTIVE) state.assignActive(task.id());
        else state.assignStandby(task.id());
    }

    // Public classes

    private void publicSticky(ObjectNode answer) {
        TaskAssignment assigned = new StickyTaskAssignor(asked.get("preserve").asBoolean()).assign(state());
        plans(assigned.assignment(), answer);
    }

    private void changed(ObjectNode answer, Consumer<Map<ProcessId, KafkaStreamsAssignment>> change) {
        Map<ProcessId, KafkaStreamsAssignment> given = newMap();
        for (KafkaStreamsAssignment each : given()) given.put(each.processId(), each);
        change.accept(given);
        plans(given.values(), answer);
    }

    private RackAwareOptimizationParams parameters() {
        RackAwareOptimizationParams parameters = RackAwareOptimizationParams.of(state());
        JsonNode chosen = asked.get("chosen");
        if (chosen.isArray()) parameters = parameters.forTasks(new TreeSet<>(tasks(chosen)));
        if (chosen.asText().equals("stateful")) parameters = parameters.forStatefulTasks();
        if (chosen.asText().equals("stateless")) parameters = parameters.forStatelessTasks();
        if (asked.hasNonNull("traffic")) parameters = parameters.withTrafficCostOverride(asked.get("traffic").asInt());
        if (!asked.hasNonNull("nonOverlap")) return parameters;
        return parameters.withNonOverlapCostOverride(asked.get("nonOverlap").asInt());
    }

    private ApplicationState state() {
        ApplicationState state = new DefaultApplicationState(configs, tasks, processes);
        return sorts ? new SortedState(state) : state;
    }

    private record SortedState(ApplicationState state) implements ApplicationState {
        @Override public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
            return new TreeMap<>(state.kafkaStreamsStates(computeTaskLags));
        }
        @Override public AssignmentConfigs assignmentConfigs() { return state.assignmentConfigs(); }
        @Override public Map<TaskId, TaskInfo> allTasks() { return new TreeMap<>(state.allTasks()); }
    }

    // Threads

    private void threads(ObjectNode answer) {
        ObjectNode answered = answer.putObject("members");
        assignedClients().forEach((id, state) -> {
            TreeSet<String> consumers = new TreeSet<>(members.get(id).keySet());
            Map<String, Integer> counts = new HashMap<>();
            Map<String, List<TaskId>> stateful = StreamsPartitionAssignor.assignTasksToThreads(
                state.statefulActiveTasks(), true, consumers, state, counts);
            Map<String, List<TaskId>> standby = StreamsPartitionAssignor.assignTasksToThreads(
                state.standbyTasks(), true, consumers, state, counts);
            Map<String, List<TaskId>> stateless = StreamsPartitionAssignor.assignTasksToThreads(
                state.statelessActiveTasks(), false, consumers, state, counts);
            for (String consumer : consumers) {
                ArrayNode lists = answered.putArray(consumer);
                lists.add(words(stateful.getOrDefault(consumer, List.of())));
                lists.add(words(stateless.getOrDefault(consumer, List.of())));
                lists.add(words(standby.getOrDefault(consumer, List.of())));
            }
        });
    }

    // What a user's assignor sees

    private void states(ObjectNode answer) {
        ObjectNode answered = answer.putObject("states");
        state().kafkaStreamsStates(true).forEach((id, state) -> {
            ObjectNode each = answered.putObject(id.toString());
            each.put("threads", state.numProcessingThreads());
            each.set("active", words(state.previousActiveTasks()));
            each.set("standby", words(state.previousStandbyTasks()));
            each.put("rack", state.rackId().orElse(null));
            each.put("host", state.hostInfo().map(host -> host.host() + ":" + host.port()).orElse(null));
            each.set("tags", JSON.valueToTree(state.clientTags()));
            ObjectNode byLag = each.putObject("byLag");
            state.consumerClientIds().forEach(member -> byLag.set(member, words(state.prevTasksByLag(member))));
            ObjectNode lags = each.putObject("lags");
            state.statefulTasksToLagSums().forEach((task, lag) -> lags.put(task.toString(), lag));
        });
        ObjectNode racks = answer.putObject("racks");
        tasks.values().forEach(info -> info.topicPartitions().forEach(partition -> {
            TreeSet<String> known = partition.rackIds().map(TreeSet::new).orElse(null);
            racks.set(partition.topicPartition().toString(), JSON.valueToTree(known));
        }));
    }

    // Input

    private static AssignmentConfigs configs(JsonNode asked) {
        List<String> tags = new ArrayList<>();
        asked.get("tags").forEach(tag -> tags.add(tag.asText()));
        return new AssignmentConfigs(asked.get("lag").asLong(), asked.get("warmups").asInt(),
            asked.get("standbys").asInt(), asked.get("probingMs").asLong(), tags, optional(asked.get("traffic")),
            optional(asked.get("nonOverlap")), asked.get("strategy").asText());
    }

    private static OptionalInt optional(JsonNode number) {
        return number.isNull() ? OptionalInt.empty() : OptionalInt.of(number.asInt());
    }

    private void addProcess(JsonNode process) {
        ProcessId id = new ProcessId(UUID.fromString(process.get("id").asText()));
        Map<String, String> tags = new HashMap<>();
        process.get("tags").properties().forEach(tag -> tags.put(tag.getKey(), tag.getValue().asText()));
        ClientMetadata metadata = new ClientMetadata(id, text(process.get("host")), tags,
            Optional.ofNullable(text(process.get("rack"))));
        Map<TaskId, Long> lags = new HashMap<>();
        process.get("lags").properties().forEach(lag -> lags.put(TaskId.parse(lag.getKey()), lag.getValue().asLong()));
        members.put(id, new TreeMap<>());
        process.get("members").properties().forEach(member ->
            addMember(id, metadata, member.getKey(), tasks(member.getValue()), lags));
        AssignorAccess.previousTasks(metadata.state(), tasks(process.get("active")), tasks(process.get("standby")));
        metadata.state().computeTaskLags(id, lags);
        lags.forEach((task, lag) -> {
            if (metadata.state().lagFor(task) != lag) {
                throw new IllegalArgumentException("no leader computes lag " + lag + " of task " + task + " in " + id);
            }
        });
        processes.put(id, metadata);
    }

    private void addMember(ProcessId id, ClientMetadata metadata, String member, Set<TaskId> had,
                           Map<TaskId, Long> lags) {
        Map<TaskId, Long> sums = new HashMap<>();
        had.forEach(task -> sums.put(task, Math.min(lags.getOrDefault(task, 0L), 0L)));
        metadata.addConsumer(member, List.of());
        metadata.addPreviousTasksAndOffsetSums(member, sums);
        members.get(id).put(member, had);
    }

    private Collection<KafkaStreamsAssignment> given() {
        List<KafkaStreamsAssignment> given = new ArrayList<>();
        for (JsonNode each : asked.get("given")) {
            Set<AssignedTask> all = new LinkedHashSet<>();
            tasks(each.get("active")).forEach(task -> all.add(new AssignedTask(task, AssignedTask.Type.ACTIVE)));
            tasks(each.get("standby")).forEach(task -> all.add(new AssignedTask(task, AssignedTask.Type.STANDBY)));
            ProcessId id = new ProcessId(UUID.fromString(each.get("process").asText()));
            KafkaStreamsAssignment assignment = KafkaStreamsAssignment.of(id, all);
            given.add(each.get("followup").asBoolean() ? assignment.withFollowupRebalance(Instant.EPOCH) : assignment);
        }
        return given;
    }

    private Set<TaskId> allTasks() {
        Set<TaskId> all = newSet();
        all.addAll(tasks.keySet());
        return all;
    }

    private Set<TaskId> statefulTasks() {
        Set<TaskId> stateful = newSet();
        tasks.forEach((id, info) -> {
            if (info.topicPartitions().stream().anyMatch(TaskTopicPartition::isChangelog)) stateful.add(id);
        });
        return stateful;
    }

    private static Set<TopicPartition> partitions(TaskInfo info, boolean ofSources) {
        Set<TopicPartition> found = new HashSet<>();
        for (TaskTopicPartition each : info.topicPartitions()) {
            if (ofSources ? each.isSource() : each.isChangelog()) found.add(each.topicPartition());
        }
        return found;
    }

    private static Set<TaskId> tasks(JsonNode words) {
        Set<TaskId> tasks = new LinkedHashSet<>();
        words.forEach(word -> tasks.add(TaskId.parse(word.asText())));
        return tasks;
    }

    private static String text(JsonNode word) {
        return word.isNull() ? null : word.asText();
    }

    private <K, V> Map<K, V> newMap() {
        return sorts ? new TreeMap<>() : new HashMap<>();
    }

    private Set<TaskId> newSet() {
        return sorts ? new TreeSet<>() : new HashSet<>();
    }

    // Output

    private static void clients(Map<ProcessId, ClientState> clients, ObjectNode answer) {
        ObjectNode plans = answer.putObject("assignment");
        clients.forEach((id, state) -> plan(plans, id, state.activeTasks(), state.standbyTasks()));
    }

    private static void plans(Collection<KafkaStreamsAssignment> assignments, ObjectNode answer) {
        ObjectNode plans = answer.putObject("assignment");
        boolean followup = false;
        for (KafkaStreamsAssignment each : assignments) {
            followup |= each.followupRebalanceDeadline().isPresent();
            Map<Boolean, Set<TaskId>> tasks = Map.of(true, new TreeSet<>(), false, new TreeSet<>());
            each.tasks().forEach((id, task) -> tasks.get(task.type() == AssignedTask.Type.ACTIVE).add(id));
            plan(plans, each.processId(), tasks.get(true), tasks.get(false));
        }
        answer.put("followup", followup);
    }

    private static void plan(ObjectNode plans, ProcessId id, Collection<TaskId> active, Collection<TaskId> standby) {
        ArrayNode lists = plans.putArray(id.id().toString());
        lists.add(words(active));
        lists.add(words(standby));
    }

    private static ArrayNode words(Collection<TaskId> tasks) {
        ArrayNode words = JSON.createArrayNode();
        tasks.forEach(task -> words.add(task.toString()));
        return words;
    }

    /** The topics of an application. The cluster knows sources; changelogs have to be described, as in the leader. */
    private static final class Topics {
        private final Map<String, Node> nodes = new HashMap<>();
        private final Map<TopicPartition, PartitionInfo> known = new HashMap<>();
        private final Map<String, Map<Integer, TopicPartitionInfo>> described = new TreeMap<>();
        private final Set<DefaultTaskTopicPartition> all = Collections.newSetFromMap(new IdentityHashMap<>());
        private boolean isAnnotated;

        private TaskInfo task(JsonNode task) {
            Set<TaskTopicPartition> partitions = new LinkedHashSet<>();
            for (JsonNode each : task.get("partitions")) partitions.add(partition(each));
            Set<String> stores = new HashSet<>();
            task.get("stores").forEach(store -> stores.add(store.asText()));
            TaskId id = TaskId.parse(task.get("id").asText());
            return new DefaultTaskInfo(id, task.get("stateful").asBoolean(), stores, partitions);
        }

        private DefaultTaskTopicPartition partition(JsonNode asked) {
            TopicPartition id = new TopicPartition(asked.get("topic").asText(), asked.get("partition").asInt());
            boolean isSource = asked.get("source").asBoolean();
            List<Node> replicas = replicas(asked.get("racks"));
            Node[] array = replicas.toArray(Node[]::new);
            if (isSource) known.put(id, new PartitionInfo(id.topic(), id.partition(), array[0], array, array));
            described.computeIfAbsent(id.topic(), topic -> new TreeMap<>()).put(
                id.partition(), new TopicPartitionInfo(id.partition(), array[0], replicas, replicas));
            DefaultTaskTopicPartition partition =
                new DefaultTaskTopicPartition(id, isSource, asked.get("changelog").asBoolean(), this::annotate);
            all.add(partition);
            return partition;
        }

        private List<Node> replicas(JsonNode racks) {
            List<Node> replicas = new ArrayList<>();
            if (racks.isNull()) replicas.add(nodes.computeIfAbsent("", rack -> new Node(0, "broker", 9092)));
            racks.forEach(rack -> replicas.add(nodes.computeIfAbsent(
                rack.asText(), name -> new Node(nodes.size() + 1, "broker", 9092, name))));
            return replicas;
        }

        private void annotate() {
            if (!isAnnotated) RackUtils.annotateTopicPartitionsWithRackInfo(cluster(), manager(), all);
            isAnnotated = true;
        }

        private Cluster cluster() {
            return new Cluster("cluster", nodes.values(), known.values(), Set.of(), Set.of());
        }

        private InternalTopicManager manager() {
            StreamsConfig config =
                new StreamsConfig(Map.of("application.id", "app", "bootstrap.servers", "localhost:1"));
            return new InternalTopicManager(Time.SYSTEM, null, config) {
                @Override public Map<String, List<TopicPartitionInfo>> getTopicPartitionInfo(Set<String> names) {
                    Map<String, List<TopicPartitionInfo>> found = new HashMap<>();
                    for (String name : names) found.put(name, new ArrayList<>(described.get(name).values()));
                    found.values().forEach(Objects::requireNonNull);
                    return found;
                }
            };
        }
    }
}
