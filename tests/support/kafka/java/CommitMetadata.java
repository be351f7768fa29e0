import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.internals.ProcessorMetadata;
import org.apache.kafka.streams.processor.internals.TopicPartitionMetadata;

/**
 * Reads metadata of committed offsets, and writes it. A line "read text [name]…" is answered with the partition's time
 * and that of each processor, or "null"; a line "write time [name=time]…" with the text. Names are hexadecimal, and so
 * is the text to read.
 */
public final class CommitMetadata {
    private CommitMetadata() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            System.out.println(words[0].equals("read") ? read(words) : write(words));
        }
    }

    private static String read(String[] words) {
        TopicPartitionMetadata found = TopicPartitionMetadata.decode(text(words[1]));
        StringBuilder answer = new StringBuilder().append(found.partitionTime());
        for (int place = 2; place < words.length; place++) {
            answer.append(' ').append(found.processorMetadata().get(text(words[place])));
        }
        return answer.toString();
    }

    private static String write(String[] words) {
        Map<String, Long> times = new TreeMap<>();
        for (int place = 2; place < words.length; place++) {
            String[] pair = words[place].split("=");
            times.put(text(pair[0]), Long.parseLong(pair[1]));
        }
        return new TopicPartitionMetadata(Long.parseLong(words[1]), new ProcessorMetadata(times)).encode();
    }

    private static String text(String word) {
        return new String(HexFormat.of().parseHex(word.substring(1)), StandardCharsets.UTF_8);
    }
}
