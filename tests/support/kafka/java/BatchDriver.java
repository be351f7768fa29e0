import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Writes and reads record batches as Java's producer does.
 *
 * <p>"write producerId epoch sequence isTransactional record ..." is answered with the batch in hexadecimal digits. "read
 * batch" is answered with "producerId epoch sequence isTransactional record ...". A record is "time,key,value" followed by
 * ",name=value" for each header. Bytes are "x" and hexadecimal digits, and null is "-".
 */
public final class BatchDriver {
    private BatchDriver() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            System.out.println(words[0].equals("write") ? written(words) : read(words[1]));
        }
    }

    private static String written(String[] words) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(
                ByteBuffer.allocate(1024), RecordBatch.CURRENT_MAGIC_VALUE, Compression.NONE, TimestampType.CREATE_TIME, 0L);
        builder.setProducerState(
                Long.parseLong(words[1]), Short.parseShort(words[2]), Integer.parseInt(words[3]),
                Boolean.parseBoolean(words[4]));
        for (int index = 5; index < words.length; index++) {
            append(builder, words[index].split(","));
        }
        ByteBuffer buffer = builder.build().buffer();
        byte[] data = new byte[buffer.remaining()];
        buffer.get(data);
        return HexFormat.of().formatHex(data);
    }

    private static void append(MemoryRecordsBuilder builder, String[] parts) {
        List<Header> headers = new ArrayList<>();
        for (int index = 3; index < parts.length; index++) {
            String[] pair = parts[index].split("=");
            headers.add(new RecordHeader(text(pair[0]), bytes(pair[1])));
        }
        builder.append(Long.parseLong(parts[0]), bytes(parts[1]), bytes(parts[2]), headers.toArray(new Header[0]));
    }

    private static String read(String word) {
        try {
            StringBuilder answer = new StringBuilder();
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(word)));
            for (MutableRecordBatch batch : records.batches()) {
                batch.ensureValid();
                answer.append(batch.producerId()).append(' ').append(batch.producerEpoch()).append(' ')
                        .append(batch.baseSequence()).append(' ').append(batch.isTransactional());
                for (Record record : batch) {
                    answer.append(' ').append(shown(record));
                }
            }
            return answer.toString();
        } catch (RuntimeException error) {
            return "error " + error.toString().replace(' ', '_');
        }
    }

    private static String shown(Record record) {
        StringBuilder text = new StringBuilder();
        text.append(record.timestamp()).append(',').append(hex(record.key())).append(',').append(hex(record.value()));
        for (Header header : record.headers()) {
            ByteBuffer value = header.value() == null ? null : ByteBuffer.wrap(header.value());
            ByteBuffer name = ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8));
            text.append(',').append(hex(name)).append('=').append(hex(value));
        }
        return text.toString();
    }

    private static String text(String word) {
        return new String(bytes(word), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String word) {
        return word.equals("-") ? null : HexFormat.of().parseHex(word.substring(1));
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null) {
            return "-";
        }
        byte[] data = new byte[buffer.remaining()];
        buffer.duplicate().get(data);
        return "x" + HexFormat.of().formatHex(data);
    }
}
