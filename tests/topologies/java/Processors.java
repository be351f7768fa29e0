import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;

/** The processors of the topologies. Those that need a key drop records without one. */
final class Processors {
    private Processors() {
    }

    private abstract static class OfTexts extends ContextualProcessor<String, String, String, String> {
    }

    /** Forwards the first record of each key, and those that were deleted in between by a null. */
    static final class FirstOnly extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> seen = context().getStateStore("seen");
            if (record.key() == null) {
                return;
            }
            if (record.value() == null) {
                seen.delete(record.key());
            } else if (seen.putIfAbsent(record.key(), record.value()) == null) {
                context().forward(record);
            }
        }
    }

    /** Adds a header with the value before, moves the time and asks for a commit. */
    static final class Stamped extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            Headers headers = new RecordHeaders(record.headers());
            headers.add("was", record.value() == null ? null : record.value().getBytes());
            context().forward(record.withValue(Functions.upper(record.value())).withHeaders(headers)
                    .withTimestamp(record.timestamp() + 5));
            context().forward(record.withKey(Functions.letterOf(record.value())));
            context().commit();
        }
    }

    /** Tells where the record is from, and the times of the context. */
    static final class Placed extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            RecordMetadata from = context().recordMetadata().orElseThrow();
            context().forward(record.withValue(from.topic() + "/" + from.partition() + "/" + from.offset() + " "
                    + context().currentStreamTimeMs() + " " + context().currentSystemTimeMs() + " " + context().taskId()
                    + " " + context().applicationId()));
        }
    }

    /** Keeps values, and forwards them every 50 ms of the stream's time or every 100 ms of the wall clock's. */
    static final class Holding extends OfTexts {
        private final boolean byStreamTime;
        private KeyValueStore<String, String> held;

        Holding(boolean byStreamTime) {
            this.byStreamTime = byStreamTime;
        }

        @Override
        public void init(ProcessorContext<String, String> context) {
            super.init(context);
            held = context.getStateStore("held");
            if (byStreamTime) {
                context.schedule(Duration.ofMillis(50), PunctuationType.STREAM_TIME, this::release);
            } else {
                context.schedule(Duration.ofMillis(100), PunctuationType.WALL_CLOCK_TIME, this::release);
            }
        }

        @Override
        public void process(Record<String, String> record) {
            if (record.key() != null) {
                held.put(record.key(), record.value());
            }
        }

        private void release(long now) {
            List<KeyValue<String, String>> found = new ArrayList<>();
            try (KeyValueIterator<String, String> all = held.all()) {
                all.forEachRemaining(found::add);
            }
            for (KeyValue<String, String> each : found) {
                context().forward(new Record<>(each.key, each.value + "@" + now, now));
                held.delete(each.key);
            }
        }
    }

    /** Counts three ticks of each clock, then cancels them. */
    static final class Ticking extends OfTexts {
        private Cancellable byStream;
        private Cancellable byClock;
        private int streamTicks;
        private int clockTicks;

        @Override
        public void init(ProcessorContext<String, String> context) {
            super.init(context);
            byStream = context.schedule(Duration.ofMillis(40), PunctuationType.STREAM_TIME, this::onStream);
            byClock = context.schedule(Instant.ofEpochMilli(30), Duration.ofMillis(100),
                    PunctuationType.WALL_CLOCK_TIME, this::onClock);
        }

        @Override
        public void process(Record<String, String> record) {
            context().forward(record);
        }

        private void onStream(long now) {
            context().forward(new Record<>("stream", "" + now, now));
            if (++streamTicks == 3) {
                byStream.cancel();
            }
        }

        private void onClock(long now) {
            context().forward(new Record<>("clock", "" + now, now));
            if (++clockTicks == 3) {
                byClock.cancel();
            }
        }
    }

    /** Keeps values, and for each record lists the store in several ways. */
    static final class Listing extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> store = context().getStateStore("all");
            if (record.key() == null) {
                return;
            }
            store.put(record.key() + Functions.letterOf(record.value()), record.value());
            tell(record, "all", store.all());
            tell(record, "reverse", store.reverseAll());
            tell(record, "range", store.range("a", record.key() + "n"));
            tell(record, "reverse range", store.reverseRange(record.key(), null));
            tell(record, "prefix", store.prefixScan(record.key(), Functions.TEXT.serializer()));
        }

        private void tell(Record<String, String> record, String what, KeyValueIterator<String, String> found) {
            StringBuilder text = new StringBuilder(what);
            try (found) {
                found.forEachRemaining(each -> text.append(" ").append(each.key).append("=").append(each.value));
            }
            context().forward(record.withValue(text.toString()));
        }
    }

    /** Keeps values by the time of their record, and tells what there was in the 100 ms before and after. */
    static final class Recent extends OfTexts {
        private final String storeName;

        Recent(String storeName) {
            this.storeName = storeName;
        }

        @Override
        public void process(Record<String, String> record) {
            WindowStore<String, String> store = context().getStateStore(storeName);
            if (record.key() == null) {
                return;
            }
            store.put(record.key(), record.value(), record.timestamp());
            long from = Math.max(0, record.timestamp() - 100);
            StringBuilder text = new StringBuilder("own");
            try (WindowStoreIterator<String> found = store.fetch(record.key(), from, record.timestamp() + 100)) {
                found.forEachRemaining(each -> text.append(" ").append(each.key).append("=").append(each.value));
            }
            text.append(" backward");
            try (WindowStoreIterator<String> found =
                    store.backwardFetch(record.key(), from, record.timestamp() + 100)) {
                found.forEachRemaining(each -> text.append(" ").append(each.key));
            }
            text.append(" all");
            try (KeyValueIterator<Windowed<String>, String> found = store.fetchAll(from, record.timestamp())) {
                found.forEachRemaining(each -> append(text, each));
            }
            text.append(" keys");
            try (KeyValueIterator<Windowed<String>, String> found = store.fetch("a", "c", from, record.timestamp())) {
                found.forEachRemaining(each -> append(text, each));
            }
            context().forward(record.withValue(text.toString()));
        }

        private static void append(StringBuilder text, KeyValue<Windowed<String>, String> each) {
            text.append(" ").append(each.key.key()).append("@").append(each.key.window().start())
                    .append("-").append(each.key.window().end()).append("=").append(each.value);
        }
    }

    /** Unites sessions of a key that are less than 50 ms apart; a null removes them. */
    static final class Spanning extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            SessionStore<String, String> store = context().getStateStore("spans");
            if (record.key() == null) {
                return;
            }
            long start = record.timestamp();
            long end = record.timestamp();
            StringBuilder text = new StringBuilder();
            List<Windowed<String>> old = new ArrayList<>();
            try (KeyValueIterator<Windowed<String>, String> found =
                    store.findSessions(record.key(), start - 50, end + 50)) {
                while (found.hasNext()) {
                    KeyValue<Windowed<String>, String> each = found.next();
                    old.add(each.key);
                    start = Math.min(start, each.key.window().start());
                    end = Math.max(end, each.key.window().end());
                    text.append(each.value).append(",");
                }
            }
            old.forEach(store::remove);
            if (record.value() != null) {
                store.put(new Windowed<>(record.key(),
                        new SessionWindow(start, end)), record.value());
            }
            context().forward(record.withValue(start + "-" + end + " " + text));
        }
    }

    /** Forwards the record that was kept before it, with its time, unless the new one is older. */
    static final class Latest extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            TimestampedKeyValueStore<String, String> store = context().getStateStore("latest");
            if (record.key() == null) {
                return;
            }
            ValueAndTimestamp<String> before = store.get(record.key());
            if (before != null && before.timestamp() > record.timestamp()) {
                return;
            }
            store.put(record.key(), ValueAndTimestamp.make(record.value(), record.timestamp()));
            if (before != null) {
                context().forward(record.withValue(before.value()).withTimestamp(before.timestamp()));
            }
        }
    }

    /** Joins each value with the one before it of the same key. */
    static final class WithPrevious extends ContextualFixedKeyProcessor<String, String, String> {
        private KeyValueStore<String, String> previous;

        @Override
        public void init(FixedKeyProcessorContext<String, String> context) {
            super.init(context);
            previous = context.getStateStore("previous");
        }

        @Override
        public void process(FixedKeyRecord<String, String> record) {
            String before = record.key() == null ? null : previous.get(record.key());
            if (record.key() != null) {
                previous.put(record.key(), record.value());
            }
            context().forward(record.withValue(Functions.joined(before, record.value())));
        }
    }

    /** Tells where the record is from and the times of the context, and repeats the last record at each punctuation. */
    static final class Reminding extends ContextualFixedKeyProcessor<String, String, String> {
        private FixedKeyRecord<String, String> last;

        @Override
        public void init(FixedKeyProcessorContext<String, String> context) {
            super.init(context);
            context.schedule(Duration.ofMillis(60), PunctuationType.STREAM_TIME, this::remind);
            context.schedule(Duration.ofMillis(90), PunctuationType.WALL_CLOCK_TIME, this::remind);
        }

        @Override
        public void process(FixedKeyRecord<String, String> record) {
            last = record;
            RecordMetadata place = context().recordMetadata().orElseThrow();
            context().forward(record.withValue(place.topic() + "/" + place.offset() + " "
                    + context().currentStreamTimeMs() + " " + context().currentSystemTimeMs()));
        }

        private void remind(long now) {
            if (last != null) {
                context().forward(last.withValue(last.value() + "@" + now).withTimestamp(now));
            }
        }
    }

    /** Makes values upper case. */
    static final class Upper extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            context().forward(record.withValue(Functions.upper(record.value())));
        }
    }

    /** Forwards values of odd length to one child, of even length to another, and nulls to both. */
    static final class Choosing extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            if (record.value() == null) {
                context().forward(record);
            } else {
                context().forward(record, Functions.length(record.value()) % 2 == 1 ? "odd" : "even");
            }
        }
    }

    /** Joins values with those of the store, without a change to it. */
    static final class LookingUp extends OfTexts {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> seen = context().getStateStore("seen");
            String found = record.key() == null ? null : seen.get(record.key());
            context().forward(record.withValue(Functions.joined(record.value(), found)));
        }
    }

    /** Keeps values in the store of the topic that it reads. */
    static final class Keeping extends ContextualProcessor<String, String, Void, Void> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> seen = context().getStateStore("seen");
            if (record.key() != null) {
                seen.put(record.key(), record.value());
            }
        }
    }
}
