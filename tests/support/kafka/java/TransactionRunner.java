import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactional producers. Each line is an order, which is answered with "ok" or the name of an exception. */
public final class TransactionRunner {
    private static final Map<String, KafkaProducer<String, String>> PRODUCERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
        PRODUCERS.values().forEach(producer -> producer.close(Duration.ZERO));
    }

    private static String answer(String[] words) {
        try {
            obey(words);
            return "ok";
        } catch (Exception error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            return cause.getClass().getSimpleName();
        }
    }

    private static void obey(String[] words) throws Exception {
        KafkaProducer<String, String> producer = PRODUCERS.get(words[1]);
        switch (words[0]) {
            case "open" -> open(words[1], words[2], words[3]);
            case "begin" -> producer.beginTransaction();
            case "send" -> {
                int partition = Integer.parseInt(words[3]);
                Future<RecordMetadata> sent = producer.send(new ProducerRecord<>(words[2], partition, "k", words[4]));
                producer.flush();
                sent.get();
            }
            case "offset" -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(words[3], 0), new OffsetAndMetadata(Long.parseLong(words[4]))),
                new ConsumerGroupMetadata(words[2]));
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private static void open(String name, String servers, String transactionalId) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("transactional.id", transactionalId);
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        PRODUCERS.put(name, producer);
        producer.initTransactions();
    }
}
