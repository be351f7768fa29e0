import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.share.SharePartitionKey;

/**
 * Says in which partition of an internal topic Kafka keeps the state of a key.
 *
 * <p>A line on standard input is "name NAME", with the UTF-16 code units of a group id or transactional id in
 * hexadecimal digits, or "share NAME MOST LEAST PARTITION", with a group id, the halves of a topic id and a partition.
 * For each there is one line on standard output: the key as code units, its hash code, and its partition among 50 and
 * among 7.
 */
public final class CoordinatorKeys {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            String key = text(words[1]);
            if (words[0].equals("share")) {
                Uuid topicId = new Uuid(Long.parseLong(words[2]), Long.parseLong(words[3]));
                key = SharePartitionKey.getInstance(key, topicId, Integer.parseInt(words[4])).asCoordinatorKey();
            }
            int code = key.hashCode();
            out.println(units(key) + " " + code + " " + Utils.abs(code) % 50 + " " + Utils.abs(code) % 7);
        }
        out.flush();
    }

    private static String text(String units) {
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < units.length(); i += 4) {
            text.append((char) Integer.parseInt(units.substring(i, i + 4), 16));
        }
        return text.toString();
    }

    private static String units(String text) {
        StringBuilder units = new StringBuilder("u");
        text.chars().forEach(unit -> units.append(String.format("%04x", unit)));
        return units.toString();
    }

    private CoordinatorKeys() { }
}
