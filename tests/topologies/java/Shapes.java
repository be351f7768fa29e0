import java.util.Map;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.Topology;

/**
 * Topologies of one source and nodes that have only a name and parents, to see in which order they are described. A
 * shape is written as {@code NAME<PARENT,PARENT NAME<PARENT ...}; the source has no parents.
 */
final class Shapes {
    private Shapes() {
    }

    static Catalogue.Entry of(String shape) {
        return new Catalogue.Entry(Map.of(), null, () -> built(shape));
    }

    private static Topology built(String shape) {
        Topology topology = new Topology();
        for (String node : shape.split(" ")) {
            String[] parts = node.split("<");
            if (parts.length == 1) {
                topology.addSource(parts[0], new StringDeserializer(), new StringDeserializer(), "in");
            } else {
                topology.addProcessor(parts[0], Processors.Upper::new, parts[1].split(","));
            }
        }
        return topology;
    }
}
