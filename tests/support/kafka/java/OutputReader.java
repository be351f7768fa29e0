import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads a topic to its end, and prints each record: its partition, the one that Java's producer would choose for its key,
 * key, value and headers, all in hexadecimal digits and "-" for null.
 */
public final class OutputReader {
    private OutputReader() {
    }

    public static void main(String[] arguments) {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        Properties properties = new Properties();
        properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        List<TopicPartition> all =
            IntStream.range(0, partitions).mapToObj(number -> new TopicPartition(topic, number)).toList();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                consumer.poll(Duration.ofSeconds(1)).forEach(record -> System.out.println(shown(record, partitions)));
            }
        }
    }

    private static String shown(ConsumerRecord<byte[], byte[]> record, int partitions) {
        String chosen = record.key() == null ? "-" : "" + BuiltInPartitioner.partitionForKey(record.key(), partitions);
        String headers = StreamSupport.stream(record.headers().spliterator(), false)
            .map(header -> header.key() + "=" + hex(header.value()))
            .collect(Collectors.joining(","));
        return record.partition() + " " + chosen + " " + hex(record.key()) + " " + hex(record.value()) + " " + headers;
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "-" : "x" + HexFormat.of().formatHex(bytes);
    }
}
