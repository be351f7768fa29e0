import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.time.Instant;
import java.util.AbstractQueue;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.internals.StreamTask;

/** A driver of a topology, with a log of all records in the order in which the topology wrote them. */
final class Driven {
    private static final Class<?>[] PIPED = {String.class, long.class, byte[].class, byte[].class, Headers.class};

    private final Prepared prepared;
    private final List<Output> outputs = new ArrayList<>();
    private final Map<String, List<ConsumerRecord<byte[], byte[]>>> logs = new HashMap<>();
    private Instant now;
    private int step;
    private TopologyTestDriver driver;
    private long droppedBefore;

    /** A record, and the number of the step that it is from. */
    record Output(int step, ProducerRecord<byte[], byte[]> record) {
    }

    /** Time, and time of a processor in this thread: without the compiler and the garbage collector. In nanoseconds. */
    record Took(long elapsed, long processor) {
    }

    Driven(Prepared prepared, Instant now) {
        this.prepared = prepared;
        this.now = now;
    }

    /** Makes the driver, and returns what the work with it took. */
    Took open(Runnable work) {
        create();
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long begun = System.nanoTime();
        long begunProcessor = threads.getCurrentThreadCpuTime();
        work.run();
        return new Took(System.nanoTime() - begun, threads.getCurrentThreadCpuTime() - begunProcessor);
    }

    void close() {
        if (driver != null) {
            try {
                driver.close();
            } catch (RuntimeException failedBefore) {
                System.err.println("closing after a failure: " + failedBefore);
            }
        }
    }

    List<Output> outputs() {
        return outputs;
    }

    Map<String, StateStore> stores() {
        return driver.getAllStateStores();
    }

    /** How many records the topology has dropped, by the metric "dropped-records-total" of its tasks. */
    long dropped() {
        return droppedBefore + droppedNow();
    }

    private long droppedNow() {
        return driver.metrics().values().stream().filter(each -> each.metricName().name().equals("dropped-records-total"))
                .mapToLong(each -> ((Number) each.metricValue()).longValue()).sum();
    }

    void begin(int number) {
        step = number;
    }

    void advance(Duration time) {
        now = now.plus(time);
        driver.advanceWallClockTime(time);
    }

    /** Feeds a record past the checks of a test's input topic, which refuses negative times. */
    void pipe(String topic, byte[] key, byte[] value, long timestamp, Headers headers) {
        log(topic, timestamp, key, value, headers);
        call("pipeRecord", PIPED, topic, timestamp, key, value, headers);
    }

    /** Goes on with a new driver, whose stores are restored from the topics that are their changelogs. */
    void restart() {
        droppedBefore += droppedNow();
        driver.close();
        Map<TopicPartition, AtomicLong> offsets = offsets();
        create();
        Set<String> global = globalTopics();
        offsets.forEach((partition, offset) -> {
            if (!global.contains(partition.topic())) {
                offsets().put(partition, offset);
            }
        });
        Restoring.restore((StreamTask) field("task"), logs);
        droppedBefore -= droppedNow(); // rows that had expired in the changelogs
        global.forEach(topic -> logs.getOrDefault(topic, List.of()).forEach(record -> feed(record)));
    }

    /** The offset that each partition has come to. They are those of one topic before and after a restart. */
    @SuppressWarnings("unchecked")
    private Map<TopicPartition, AtomicLong> offsets() {
        return (Map<TopicPartition, AtomicLong>) field("offsetsByTopicOrPatternPartition");
    }

    private Set<String> globalTopics() {
        Set<String> topics = new HashSet<>();
        prepared.build().describe().globalStores().forEach(store -> topics.addAll(store.source().topicSet()));
        return topics;
    }

    private void feed(ConsumerRecord<byte[], byte[]> record) {
        call("pipeRecord", PIPED, record.topic(), record.timestamp(), record.key(), record.value(), record.headers());
    }

    private void log(String topic, long timestamp, byte[] key, byte[] value, Headers headers) {
        List<ConsumerRecord<byte[], byte[]>> log = logs.computeIfAbsent(topic, name -> new ArrayList<>());
        log.add(new ConsumerRecord<>(topic, 0, log.size(), timestamp, TimestampType.CREATE_TIME, 0, 0, key, value,
                headers, Optional.empty()));
    }

    private void create() {
        driver = new TopologyTestDriver(prepared.build(), prepared.properties(), now);
        try {
            Field field = TopologyTestDriver.class.getDeclaredField("outputRecordsByTopic");
            field.setAccessible(true);
            field.set(driver, new Log());
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private Object field(String name) {
        try {
            Field field = TopologyTestDriver.class.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(driver);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private void call(String name, Class<?>[] types, Object... arguments) {
        try {
            Method method = TopologyTestDriver.class.getDeclaredMethod(name, types);
            method.setAccessible(true);
            method.invoke(driver, arguments);
        } catch (InvocationTargetException error) {
            throw (RuntimeException) error.getCause();
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** What the driver keeps its outputs in, a queue for each topic, which here all end in one list. */
    private final class Log extends HashMap<String, Queue<ProducerRecord<byte[], byte[]>>> {
        @Override
        public Queue<ProducerRecord<byte[], byte[]>> computeIfAbsent(
                String topic, Function<? super String, ? extends Queue<ProducerRecord<byte[], byte[]>>> make) {
            return new AbstractQueue<>() {
                @Override
                public boolean offer(ProducerRecord<byte[], byte[]> record) {
                    long timestamp = record.timestamp() == null ? now.toEpochMilli() : record.timestamp();
                    log(record.topic(), timestamp, record.key(), record.value(), record.headers());
                    return outputs.add(new Output(step, record));
                }

                @Override
                public ProducerRecord<byte[], byte[]> poll() {
                    return null;
                }

                @Override
                public ProducerRecord<byte[], byte[]> peek() {
                    return null;
                }

                @Override
                public Iterator<ProducerRecord<byte[], byte[]>> iterator() {
                    return Collections.emptyIterator();
                }

                @Override
                public int size() {
                    return 0;
                }
            };
        }
    }
}
