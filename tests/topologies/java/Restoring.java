import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.internals.AbstractTask;
import org.apache.kafka.streams.processor.internals.ProcessorStateManager;
import org.apache.kafka.streams.processor.internals.StreamTask;

/** Restores the stores of a new task from the topics that are their changelogs, as a thread that restores does it. */
final class Restoring {
    private Restoring() {
    }

    static void restore(StreamTask task, Map<String, List<ConsumerRecord<byte[], byte[]>>> logs) {
        try {
            Field field = AbstractTask.class.getDeclaredField("stateMgr");
            field.setAccessible(true);
            ProcessorStateManager manager = (ProcessorStateManager) field.get(task);
            for (Map.Entry<String, List<ConsumerRecord<byte[], byte[]>>> each : logs.entrySet()) {
                restore(manager, new TopicPartition(each.getKey(), 0), each.getValue());
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void restore(ProcessorStateManager manager, TopicPartition changelog,
            List<ConsumerRecord<byte[], byte[]>> records) throws ReflectiveOperationException {
        Method found = ProcessorStateManager.class.getDeclaredMethod("storeMetadata", TopicPartition.class);
        found.setAccessible(true);
        Object store = found.invoke(manager, changelog);
        if (store != null) {
            Method restore = ProcessorStateManager.class.getDeclaredMethod(
                    "restore", found.getReturnType(), List.class, OptionalLong.class);
            restore.setAccessible(true);
            // As a thread that restores does it: records without a key are left out.
            restore.invoke(manager, store, records.stream().filter(record -> record.key() != null).toList(),
                    OptionalLong.empty());
        }
    }
}
