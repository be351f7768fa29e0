import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.UUID;
import java.util.function.Function;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.SessionWindowedDeserializer;
import org.apache.kafka.streams.kstream.SessionWindowedSerializer;
import org.apache.kafka.streams.kstream.TimeWindowedDeserializer;
import org.apache.kafka.streams.kstream.TimeWindowedSerializer;
import org.apache.kafka.streams.kstream.Windowed;

/**
 * Reads lines "serde bytes" from standard input, with the bytes as "x" and hexadecimal digits. Answers each with "value
 * bytes": what Java's deserialiser reads, and what its serialiser writes for that value; or with "error".
 */
public final class SerdeDriver {
    private SerdeDriver() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            System.out.println(answer(words[0], HexFormat.of().parseHex(words[1].substring(1))));
        }
    }

    private static String answer(String name, byte[] data) {
        try {
            String[] words = name.split(":");
            return switch (words[0]) {
                case "string" -> through(Serdes.String(), data, SerdeDriver::text);
                case "int32" -> through(Serdes.Integer(), data, Object::toString);
                case "int64" -> through(Serdes.Long(), data, Object::toString);
                case "float64" -> through(Serdes.Double(), data, SerdeDriver::bits);
                case "bool" -> through(Serdes.Boolean(), data, Object::toString);
                case "uuid" -> through(Serdes.UUID(), data, UUID::toString);
                case "bytes" -> through(Serdes.ByteArray(), data, SerdeDriver::hex);
                case "time" -> through(time(Long.parseLong(words[1])), data, SerdeDriver::windowed);
                case "session" -> through(session(), data, SerdeDriver::windowed);
                default -> throw new IllegalArgumentException("no serde " + name);
            };
        } catch (RuntimeException error) {
            return "error";
        }
    }

    private static <T> String through(Serde<T> serde, byte[] data, Function<T, String> shown) {
        T value = serde.deserializer().deserialize("t", data);
        return shown.apply(value) + " " + hex(serde.serializer().serialize("t", value));
    }

    private static Serde<Windowed<String>> time(long sizeMs) {
        return Serdes.serdeFrom(
                new TimeWindowedSerializer<>(Serdes.String().serializer()),
                new TimeWindowedDeserializer<>(Serdes.String().deserializer(), sizeMs));
    }

    private static Serde<Windowed<String>> session() {
        return Serdes.serdeFrom(
                new SessionWindowedSerializer<>(Serdes.String().serializer()),
                new SessionWindowedDeserializer<>(Serdes.String().deserializer()));
    }

    private static String windowed(Windowed<String> value) {
        return text(value.key()) + "@" + value.window().start() + "/" + value.window().end();
    }

    private static String bits(double value) {
        return HexFormat.of().toHexDigits(Double.doubleToRawLongBits(value));
    }

    private static String text(String value) {
        return hex(value.getBytes(StandardCharsets.UTF_8));
    }

    private static String hex(byte[] data) {
        return "x" + HexFormat.of().formatHex(data);
    }
}
