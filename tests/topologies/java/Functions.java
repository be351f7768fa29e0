import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.TopicNameExtractor;

/** What the topologies compute. Each function has a twin in Python; all but those that say so take nulls. */
final class Functions {
    static final Serde<String> TEXT = Serdes.String();
    static final Serde<Long> LONG = Serdes.Long();

    /** A list of texts without commas, joined by commas. */
    static final Serde<List<String>> LIST = Serdes.serdeFrom(
            (topic, list) -> list == null ? null : String.join(",", list).getBytes(),
            (topic, bytes) -> bytes == null ? null
                    : new ArrayList<>(bytes.length == 0 ? List.of() : Arrays.asList(new String(bytes).split(",", -1))));

    private static final int LONGEST = 40;

    private Functions() {
    }

    static KStream<String, String> texts(StreamsBuilder builder, String topic) {
        return builder.stream(topic, Consumed.with(TEXT, TEXT));
    }

    static KStream<String, Long> numbers(StreamsBuilder builder, String topic) {
        return builder.stream(topic, Consumed.with(TEXT, LONG));
    }

    static KTable<String, String> table(StreamsBuilder builder, String topic) {
        return builder.table(topic, Consumed.with(TEXT, TEXT));
    }

    static Produced<String, Long> longs() {
        return Produced.with(TEXT, LONG);
    }

    static boolean hasA(String key, String value) {
        return value != null && value.contains("a");
    }

    static boolean isShort(String key, String value) {
        return value != null && value.length() < 3;
    }

    static boolean isLarge(String key, Long value) {
        return value != null && value > 3;
    }

    static String upper(String value) {
        return value == null ? null : value.toUpperCase(Locale.ROOT);
    }

    static String tagged(String key, String value) {
        return key + ":" + value;
    }

    static List<String> words(String value) {
        return value == null ? List.of() : Arrays.stream(value.split(" ")).filter(word -> !word.isEmpty()).toList();
    }

    static KeyValue<String, String> swapped(String key, String value) {
        return KeyValue.pair(value, key);
    }

    static KeyValue<String, String> byLetter(String key, String value) {
        return KeyValue.pair(letter(key, value), value);
    }

    static KeyValue<String, String> byLength(String key, String value) {
        return KeyValue.pair("n" + length(value), value);
    }

    static KeyValue<String, Long> lengthByLetter(String key, String value) {
        return KeyValue.pair(letter(key, value), length(value));
    }

    /** The first letter of the value; null for null and the empty text. */
    static String letter(String key, String value) {
        return value == null || value.isEmpty() ? null : value.substring(0, 1);
    }

    static String letterOf(String value) {
        return letter(null, value);
    }

    static Long length(String value) {
        return value == null ? 0L : value.length();
    }

    static String joined(String left, String right) {
        return left + "+" + right;
    }

    static String joinedWithKey(String key, String left, String right) {
        return key + "=" + left + "+" + right;
    }

    static String start() {
        return "";
    }

    static Long zero() {
        return 0L;
    }

    static String added(String key, String value, String aggregate) {
        return last(aggregate + "," + value);
    }

    static String removed(String key, String value, String aggregate) {
        return last(aggregate + "-" + value);
    }

    static String concatenated(String aggregate, String value) {
        return last(aggregate + "," + value);
    }

    static String withoutIt(String aggregate, String value) {
        return last(aggregate + "-" + value);
    }

    static String merged(String key, String left, String right) {
        return last(left + "|" + right);
    }

    static Long summed(String key, Long value, Long aggregate) {
        return aggregate + value;
    }

    static Long subtracted(String key, Long value, Long aggregate) {
        return aggregate - value;
    }

    static Long lengthAdded(String key, String value, Long aggregate) {
        return aggregate + length(value);
    }

    static Long mergedSum(String key, Long left, Long right) {
        return left + right;
    }

    /** A topic for each first letter; its text is the name of the function's twin in Python. */
    static final class ByLetter implements TopicNameExtractor<String, String> {
        @Override
        public String extract(String key, String value, RecordContext context) {
            String letter = letterOf(value);
            return letter == null ? "out-none" : "out-" + letter;
        }

        @Override
        public String toString() {
            return "by_letter";
        }
    }

    private static String last(String text) {
        return text.length() <= LONGEST ? text : text.substring(text.length() - LONGEST);
    }
}
