import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.TreeMap;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.VersionedBytesStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * Bytes of the innermost stores: {"kind": …, "entries": …}, with a list of key and value for each entry of a
 * key-value store, and of key, start, end and value for each of a window or session store. Buffers and versioned stores
 * are left out, and so are the headers that some stores keep in front of their values.
 */
final class StoreContents {
    private StoreContents() {
    }

    static void write(Map<String, StateStore> stores, ObjectNode answer) {
        new TreeMap<>(stores).forEach((name, store) -> write(innermost(store), WrappedStateStore.isHeadersAware(store)
                ? StoreContents::withoutHeaders : UnaryOperator.identity(), answer.putObject(name)));
        answer.properties().removeIf(each -> each.getValue().isEmpty());
    }

    private static byte[] withoutHeaders(byte[] value) {
        ByteBuffer buffer = ByteBuffer.wrap(value);
        int size = ByteUtils.readVarint(buffer);
        return Arrays.copyOfRange(value, buffer.position() + size, value.length);
    }

    private static StateStore innermost(StateStore store) {
        StateStore inner = store;
        while (inner instanceof WrappedStateStore<?, ?, ?> wrapped) {
            inner = wrapped.wrapped();
        }
        return inner;
    }

    @SuppressWarnings("unchecked")
    private static void write(StateStore store, UnaryOperator<byte[]> shown, ObjectNode answer) {
        if (store instanceof VersionedBytesStore) {
            return; // it can be asked about a key only
        }
        if (store instanceof KeyValueStore<?, ?> values) {
            ArrayNode entries = answer.put("kind", "key_value").putArray("entries");
            try (KeyValueIterator<Bytes, byte[]> all = ((KeyValueStore<Bytes, byte[]>) values).all()) {
                all.forEachRemaining(each -> entries.addArray().add(each.key.get()).add(shown.apply(each.value)));
            }
        } else if (store instanceof WindowStore<?, ?> windows) {
            windowed("window", shown, answer, ((WindowStore<Bytes, byte[]>) windows).all());
        } else if (store instanceof SessionStore<?, ?> sessions) {
            windowed("session", shown, answer,
                    ((SessionStore<Bytes, byte[]>) sessions).findSessions(0, Long.MAX_VALUE));
        }
    }

    private static void windowed(String kind, UnaryOperator<byte[]> shown, ObjectNode answer,
            KeyValueIterator<Windowed<Bytes>, byte[]> found) {
        ArrayNode entries = answer.put("kind", kind).putArray("entries");
        try (found) {
            while (found.hasNext()) {
                KeyValue<Windowed<Bytes>, byte[]> each = found.next();
                entries.addArray().add(each.key.key().get()).add(each.key.window().start())
                        .add(each.key.window().end()).add(shown.apply(each.value));
            }
        }
    }
}
