import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;
import org.apache.kafka.tools.consumer.ShareGroupMessageFormatter;
import org.apache.kafka.tools.consumer.TransactionLogMessageFormatter;
import org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter;

/**
 * Shows what Kafka reads in records of internal topics, and what Kafka writes for the same records.
 *
 * <p>Each line on standard input is "TOPIC KEY VALUE", with key and value in hexadecimal digits and "-" for no value.
 * For each there is one line on standard output: key and value as Kafka's coordinator writes them after it has read
 * them, and the JSON that the formatter of Kafka's console consumer prints. It has none for consumer groups: then the
 * JSON comes from the coordinator's own converters.
 */
public final class RecordPrinter {
    private static final CoordinatorRecordSerde GROUPS = new GroupCoordinatorRecordSerde();
    private static final CoordinatorRecordSerde STATE = new ShareCoordinatorRecordSerde();
    private static final CoordinatorRecordSerde TRANSACTIONS = new TransactionCoordinatorRecordSerde();
    private static final MessageFormatter STATE_FORMATTER = new ShareGroupStateMessageFormatter();
    private static final MessageFormatter TRANSACTION_FORMATTER = new TransactionLogMessageFormatter();
    private static final List<MessageFormatter> GROUP_FORMATTERS =
        List.of(new OffsetsMessageFormatter(), new GroupMetadataMessageFormatter(), new ShareGroupMessageFormatter());

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            byte[] key = bytes(words[1]);
            byte[] value = bytes(words[2]);
            out.println(written(serdeOf(words[0]), key, value) + " " + printed(formattersOf(words[0]), words[0], key, value));
        }
        out.flush();
    }

    private static CoordinatorRecordSerde serdeOf(String topic) {
        return switch (topic) {
            case "__share_group_state" -> STATE;
            case "__transaction_state" -> TRANSACTIONS;
            default -> GROUPS;
        };
    }

    private static List<MessageFormatter> formattersOf(String topic) {
        return switch (topic) {
            case "__share_group_state" -> List.of(STATE_FORMATTER);
            case "__transaction_state" -> List.of(TRANSACTION_FORMATTER);
            default -> GROUP_FORMATTERS;
        };
    }

    private static String written(CoordinatorRecordSerde serde, byte[] key, byte[] value) {
        CoordinatorRecord record = serde.deserialize(ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
        return text(serde.serializeKey(record)) + " " + text(serde.serializeValue(record));
    }

    /** What the formatters print: each prints the record types of its own and nothing for others. */
    private static String printed(List<MessageFormatter> formatters, String topic, byte[] key, byte[] value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        formatters.forEach(each -> each.writeTo(new ConsumerRecord<>(topic, 0, 0L, key, value), out));
        String found = bytes.toString(StandardCharsets.UTF_8).strip();
        return found.isEmpty() ? converted(key, value) : found;
    }

    private static String converted(byte[] key, byte[] value) {
        CoordinatorRecord record = GROUPS.deserialize(ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
        ObjectNode json = new ObjectNode(JsonNodeFactory.instance);
        json.putObject("key")
            .put("type", record.key().apiKey())
            .set("data", CoordinatorRecordJsonConverters.writeRecordKeyAsJson(record.key()));
        if (value == null) {
            json.putNull("value");
        } else {
            short version = record.value().version();
            json.putObject("value")
                .put("version", version)
                .set("data", CoordinatorRecordJsonConverters.writeRecordValueAsJson(record.value().message(), version));
        }
        return json.toString();
    }

    private static byte[] bytes(String digits) {
        return digits.equals("-") ? null : HexFormat.of().parseHex(digits);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "-" : HexFormat.of().formatHex(bytes);
    }
}
