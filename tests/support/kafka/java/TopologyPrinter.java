import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeStreamsGroupsOptions;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupTopologyDescription;
import org.apache.kafka.clients.admin.StreamsGroupTopologyDescription.Node;

/**
 * Prints what Kafka's own admin client shows of the description of a streams group's topology: its status, then a line
 * for each node.
 *
 * Arguments: bootstrap servers, and the group.
 */
public final class TopologyPrinter {
    private TopologyPrinter() {
    }

    public static void main(String[] arguments) throws Exception {
        DescribeStreamsGroupsOptions options = new DescribeStreamsGroupsOptions().includeTopologyDescription(true);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            StreamsGroupDescription group = admin.describeStreamsGroups(List.of(arguments[1]), options)
                    .describedGroups().get(arguments[1]).get();
            System.out.println(group.topologyDescriptionStatus() + " " + group.assignorName().orElse("-"));
            group.topologyDescription().ifPresent(TopologyPrinter::print);
        }
    }

    private static void print(StreamsGroupTopologyDescription description) {
        for (StreamsGroupTopologyDescription.Subtopology part : description.subtopologies()) {
            for (Node node : part.nodes()) {
                print(part.id(), node);
            }
        }
        for (StreamsGroupTopologyDescription.GlobalStore store : description.globalStores()) {
            print("global", store.source());
            print("global", store.processor());
        }
    }

    private static void print(String part, Node node) {
        System.out.println(String.join(" ", part, node.name(), kind(node), "from", sorted(node.predecessors()),
                "to", sorted(node.successors())));
    }

    private static String kind(Node node) {
        if (node instanceof StreamsGroupTopologyDescription.Source source) {
            return "reads " + sorted(source.topics());
        }
        if (node instanceof StreamsGroupTopologyDescription.Processor processor) {
            return "stores " + sorted(processor.stores());
        }
        return "writes " + ((StreamsGroupTopologyDescription.Sink) node).topic().orElse("-");
    }

    private static String sorted(Collection<String> names) {
        return names.isEmpty() ? "-" : String.join(",", new TreeSet<>(names));
    }
}
