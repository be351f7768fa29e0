import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Leads Kafka's own Java clients once through everything that share groups say on the wire, for a recording.
 *
 * Arguments: bootstrap servers, topic, group. The group's locks last one second.
 */
public final class ShareGroupTour {
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final int RECORDS = 40;

    private final String servers;
    private final String topic;
    private final String group;

    private ShareGroupTour(String servers, String topic, String group) {
        this.servers = servers;
        this.topic = topic;
        this.group = group;
    }

    public static void main(String[] arguments) throws Exception {
        ShareGroupTour tour = new ShareGroupTour(arguments[0], arguments[1], arguments[2]);
        try (Admin admin = Admin.create(tour.properties("golden-admin"))) {
            tour.prepare(admin);
            tour.consume(admin);
            tour.ask(admin);
        }
    }

    private void prepare(Admin admin) throws Exception {
        admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all().get();
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(
            set("share.auto.offset.reset", "earliest"), set("share.record.lock.duration.ms", "1000")))).all().get();
        Properties properties = properties("golden-producer");
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
            for (int i = 0; i < RECORDS; i++) {
                producer.send(new ProducerRecord<>(topic, i % 2, "key-" + i, "value-" + i)).get();
            }
        }
    }

    private void consume(Admin admin) throws Exception {
        Properties properties = properties("golden-consumer");
        properties.put("group.id", group);
        properties.put("client.rack", "rack-a");
        properties.put("share.acknowledgement.mode", "explicit");
        properties.put("max.poll.records", "6");
        properties.put("fetch.max.wait.ms", "300");
        properties.put("key.deserializer", StringDeserializer.class.getName());
        properties.put("value.deserializer", StringDeserializer.class.getName());
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(properties)) {
            consumer.subscribe(List.of(topic));
            acknowledgeInTurn(consumer, "ACCEPT", "RELEASE", "REJECT");
            consumer.commitSync();
            acknowledgeInTurn(consumer, "ACCEPT", "RELEASE");   // rides on the fetch of the next poll
            acknowledgeInTurn(consumer, "RENEW");
            consumer.commitSync();                               // renewed records come back from the next poll
            acknowledgeInTurn(consumer, "RENEW");                // rides on a fetch that fetches nothing
            acknowledgeInTurn(consumer, "ACCEPT");
            describe(admin);
            letLocksExpire(consumer);
            consumer.commitSync();                               // an error for each partition
            letLocksExpire(consumer);
            acknowledgeInTurn(consumer, "RELEASE");              // the same, but answered with the fetch
        }
    }

    /** Polls until records come, and gives them the acknowledgement types one after the other. */
    private void acknowledgeInTurn(KafkaShareConsumer<String, String> consumer, String... types) {
        int i = 0;
        for (ConsumerRecord<String, String> record : records(consumer)) {
            String type = types[i++ % types.length];
            consumer.acknowledge(record, AcknowledgeType.valueOf(known(type) ? type : "ACCEPT"));
        }
    }

    private void letLocksExpire(KafkaShareConsumer<String, String> consumer) throws InterruptedException {
        Collection<ConsumerRecord<String, String>> records = records(consumer);
        Thread.sleep(2500);
        records.forEach(consumer::acknowledge);
    }

    private static Collection<ConsumerRecord<String, String>> records(KafkaShareConsumer<String, String> consumer) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        for (int i = 0; records.isEmpty() && i < 100; i++) {
            consumer.poll(SHORT).forEach(records::add);
        }
        return records;
    }

    private static boolean known(String type) {
        return Arrays.stream(AcknowledgeType.values()).anyMatch(each -> each.name().equals(type));
    }

    private void describe(Admin admin) throws Exception {
        System.out.println(admin.describeShareGroups(List.of(group)).all().get());
        System.out.println(admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).all().get());
    }

    private void ask(Admin admin) throws Exception {
        ListShareGroupOffsetsSpec some = new ListShareGroupOffsetsSpec()
            .topicPartitions(List.of(new TopicPartition(topic, 1), new TopicPartition("no-such-topic", 0)));
        System.out.println(admin.listShareGroupOffsets(Map.of(group, some)).all().get());
        failing(admin.describeShareGroups(List.of("no-such-group")).all());
        failing(admin.listShareGroupOffsets(Map.of("no-such-group", new ListShareGroupOffsetsSpec())).all());
        System.out.println(admin.listGroups().all().get());
        System.out.println(admin.describeCluster().nodes().get());
        admin.alterShareGroupOffsets(group, Map.of(new TopicPartition(topic, 0), 3L)).all().get();
        admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get();
    }

    private static void failing(KafkaFuture<?> future) throws InterruptedException {
        try {
            System.out.println(future.get());
        } catch (ExecutionException error) {
            System.out.println(error.getCause());
        }
    }

    private static AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
    }

    private Properties properties(String clientId) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("client.id", clientId);
        return properties;
    }
}
