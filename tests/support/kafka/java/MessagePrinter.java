import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Shows what Kafka reads in requests and responses, and what Kafka writes for the same messages.
 *
 * <p>Each line on standard input is "MESSAGE VERSION BYTES", with the name of a request or response and its body in
 * hexadecimal digits. For each there is one line on standard output: the bytes that Kafka writes for what it has read,
 * and its JSON.
 */
public final class MessagePrinter {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            short version = Short.parseShort(words[1]);
            ByteBuffer given = ByteBuffer.wrap(HexFormat.of().parseHex(words[2]));
            Class<?> type = Class.forName("org.apache.kafka.common.message." + words[0] + "Data");
            Message message = (Message) type.getConstructor(Readable.class, short.class)
                .newInstance(new ByteBufferAccessor(given), version);
            if (given.hasRemaining()) {
                throw new IllegalStateException(given.remaining() + " bytes after " + line);
            }
            out.println(written(message, version) + " " + printed(type, message, version));
        }
        out.flush();
    }

    private static String written(Message message, short version) {
        byte[] bytes = MessageUtil.toByteBufferAccessor(message, version).buffer().array();
        return HexFormat.of().formatHex(bytes);
    }

    private static Object printed(Class<?> type, Message message, short version) throws Exception {
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        return converter.getMethod("write", type, short.class).invoke(null, message, version);
    }

    private MessagePrinter() { }
}
