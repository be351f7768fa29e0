import java.util.Set;
import java.util.TreeSet;

import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Prints the metrics of a Kafka broker as JMX has them: for each line "HOST:PORT PATTERN" of standard input all attributes
 * of the MBeans with such names, as "NAME ATTRIBUTE VALUE" with tabs in between, and then "end".
 */
public final class MetricLister {
    public static void main(String[] arguments) throws Exception {
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            JMXServiceURL url = new JMXServiceURL("service:jmx:rmi:///jndi/rmi://" + words[0] + "/jmxrmi");
            try (JMXConnector connector = JMXConnectorFactory.connect(url)) {
                print(connector.getMBeanServerConnection(), new ObjectName(words[1]));
            }
            System.out.println("end");
        }
    }

    private static void print(MBeanServerConnection server, ObjectName pattern) throws Exception {
        Set<ObjectName> names = new TreeSet<>(server.queryNames(pattern, null));
        for (ObjectName name : names) {
            for (MBeanAttributeInfo attribute : server.getMBeanInfo(name).getAttributes()) {
                Object value = server.getAttribute(name, attribute.getName());
                System.out.println(name + "\t" + attribute.getName() + "\t" + value);
            }
        }
    }
}
