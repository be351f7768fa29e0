import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;

/** Prints the bounds of a broker's configs: one line with name and validator for each that has one. */
public class BrokerBounds {
    public static void main(String[] arguments) {
        new TreeMap<>(AbstractKafkaConfig.CONFIG_DEF.configKeys()).forEach((name, key) -> {
            if (key.validator instanceof ConfigDef.Range) {
                System.out.println(name + "\t" + key.validator);
            }
        });
    }
}
