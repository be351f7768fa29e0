import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.TreeSet;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment.TaskIds;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription.TaskOffset;
import org.apache.kafka.clients.admin.StreamsGroupSubtopologyDescription;
import org.apache.kafka.clients.admin.StreamsGroupSubtopologyDescription.TopicInfo;

/**
 * Describes streams groups with Kafka's own admin client.
 *
 * Argument: bootstrap servers. Each line of standard input names a group. A line of the output has its description and
 * its committed offsets as JSON.
 */
public final class StreamsGroupReading {
    private StreamsGroupReading() {
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0])); Scanner lines = new Scanner(System.in)) {
            while (lines.hasNextLine()) {
                String group = lines.nextLine();
                Map<String, Object> shown = group(admin.describeStreamsGroups(List.of(group)).all().get().get(group));
                shown.put("offsets", offsets(admin, group));
                System.out.println(json.writeValueAsString(shown));
            }
        }
    }

    private static Map<String, Long> offsets(Admin admin, String group) throws Exception {
        Map<String, Long> offsets = new TreeMap<>();
        admin.listStreamsGroupOffsets(Map.of(group, new ListStreamsGroupOffsetsSpec()))
            .partitionsToOffsetAndMetadata(group).get()
            .forEach((partition, offset) -> offsets.put(partition.toString(), offset.offset()));
        return offsets;
    }

    private static Map<String, Object> group(StreamsGroupDescription group) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("group_id", group.groupId());
        shown.put("state", group.groupState().toString());
        shown.put("epoch", group.groupEpoch());
        shown.put("assignment_epoch", group.targetAssignmentEpoch());
        shown.put("assignor", orNull(group.assignorName()));
        shown.put("topology_epoch", group.topologyEpoch());
        shown.put("subtopologies", group.subtopologies().stream().map(StreamsGroupReading::subtopology).toList());
        shown.put("members", group.members().stream().map(StreamsGroupReading::member).toList());
        return shown;
    }

    private static Map<String, Object> subtopology(StreamsGroupSubtopologyDescription subtopology) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("subtopology_id", subtopology.subtopologyId());
        shown.put("source_topics", subtopology.sourceTopics());
        shown.put("repartition_sinks", subtopology.repartitionSinkTopics());
        shown.put("repartition_sources", topics(subtopology.repartitionSourceTopics()));
        shown.put("changelogs", topics(subtopology.stateChangelogTopics()));
        return shown;
    }

    private static Map<String, Object> topics(Map<String, TopicInfo> infos) {
        Map<String, Object> shown = new TreeMap<>();
        infos.forEach((name, info) -> shown.put(name, List.of(info.partitions(), new TreeMap<>(info.topicConfigs()))));
        return shown;
    }

    private static Map<String, Object> member(StreamsGroupMemberDescription member) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("member_id", member.memberId());
        shown.put("epoch", member.memberEpoch());
        shown.put("process_id", member.processId());
        shown.put("instance_id", orNull(member.instanceId()));
        shown.put("rack", orNull(member.rackId()));
        shown.put("client_id", member.clientId());
        shown.put("client_host", member.clientHost());
        shown.put("user_endpoint", orNull(member.userEndpoint().map(it -> List.of(it.host(), it.port()))));
        shown.put("client_tags", new TreeMap<>(member.clientTags()));
        shown.put("topology_epoch", member.topologyEpoch());
        shown.put("assignment", tasks(member.assignment()));
        shown.put("target_assignment", tasks(member.targetAssignment()));
        shown.put("task_offsets", sums(member.taskOffsets()));
        shown.put("task_end_offsets", sums(member.taskEndOffsets()));
        shown.put("is_classic", member.isClassic());
        return shown;
    }

    private static List<Object> tasks(StreamsGroupMemberAssignment tasks) {
        return List.of(ids(tasks.activeTasks()), ids(tasks.standbyTasks()), ids(tasks.warmupTasks()));
    }

    private static Collection<String> ids(List<TaskIds> tasks) {
        Collection<String> shown = new TreeSet<>();
        tasks.forEach(each -> each.partitions().forEach(number -> shown.add(each.subtopologyId() + "_" + number)));
        return shown;
    }

    private static Map<String, Long> sums(List<TaskOffset> offsets) {
        Map<String, Long> shown = new TreeMap<>();
        offsets.forEach(each -> shown.put(each.subtopologyId() + "_" + each.partition(), each.offset()));
        return shown;
    }

    private static Object orNull(Optional<?> given) {
        return given.orElse(null);
    }
}
