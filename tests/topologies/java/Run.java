import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Runs a script: a list of steps, each a list whose first element says what to do.
 *
 * <ul>
 *   <li>["pipe", topic, key, value, timestamp, headers]: feed a record; bytes are base64 or null, headers are pairs
 *   <li>["advance", milliseconds]: advance the wall clock
 *   <li>["stores"]: add what is in the stores to "snapshots"
 *   <li>["restart"]: go on with a new driver whose stores are restored from their changelogs
 * </ul>
 *
 * The answer's "outputs" are all records that the topology wrote, those of internal topics too, in order: a list of
 * step, topic, partition or null, key, value, timestamp or null, headers. "stores" is what they hold at the end,
 * "dropped" the number of records that were dropped, "elapsed_ns" the time that the steps took, "processor_ns" what they took of a processor. If a step fails, "failed" is its number with the exceptions, and the
 * steps after it are left out.
 */
final class Run {
    private static final Base64.Decoder BASE64 = Base64.getDecoder();

    private final Driven driven;

    Run(Prepared prepared, long nowMs) {
        driven = new Driven(prepared, Instant.ofEpochMilli(nowMs));
    }

    void write(JsonNode script, ObjectNode answer) throws IOException {
        List<Step> steps = new ArrayList<>();
        ArrayNode snapshots = answer.putArray("snapshots");
        script.forEach(each -> steps.add(step(each, snapshots)));
        try {
            Driven.Took took = driven.open(() -> carryOut(steps, answer));
            answer.put("elapsed_ns", took.elapsed()).put("processor_ns", took.processor());
            answer.put("dropped", driven.dropped());
            StoreContents.write(driven.stores(), answer.putObject("stores"));
        } finally {
            driven.close();
        }
        ArrayNode outputs = answer.putArray("outputs");
        for (Driven.Output each : driven.outputs()) {
            write(each, outputs.addArray());
        }
    }

    @FunctionalInterface
    private interface Step {
        void carryOut();
    }

    private void carryOut(List<Step> steps, ObjectNode answer) {
        for (int number = 0; number < steps.size(); number++) {
            driven.begin(number);
            try {
                steps.get(number).carryOut();
            } catch (RuntimeException error) {
                answer.putObject("failed").put("step", number).set("error", Failure.of(error));
                return;
            }
        }
    }

    private Step step(JsonNode step, ArrayNode snapshots) {
        return switch (step.get(0).asText()) {
            case "pipe" -> pipe(step);
            case "advance" -> {
                Duration time = Duration.ofMillis(step.get(1).asLong());
                yield () -> driven.advance(time);
            }
            case "stores" -> () -> StoreContents.write(driven.stores(), snapshots.addObject());
            case "restart" -> driven::restart;
            default -> throw new IllegalArgumentException("unknown step " + step);
        };
    }

    private Step pipe(JsonNode step) {
        String topic = step.get(1).asText();
        byte[] key = bytes(step.get(2));
        byte[] value = bytes(step.get(3));
        long timestamp = step.get(4).asLong();
        RecordHeaders headers = new RecordHeaders();
        step.path(5).forEach(each -> headers.add(each.get(0).asText(), bytes(each.get(1))));
        return () -> driven.pipe(topic, key, value, timestamp, headers);
    }

    private static byte[] bytes(JsonNode node) {
        return node.isNull() ? null : BASE64.decode(node.asText());
    }

    private static void write(Driven.Output output, ArrayNode to) {
        ProducerRecord<byte[], byte[]> record = output.record();
        to.add(output.step()).add(record.topic()).add(record.partition()).add(record.key()).add(record.value())
                .add(record.timestamp());
        ArrayNode headers = to.addArray();
        for (Header each : record.headers()) {
            headers.addArray().add(each.key()).add(each.value());
        }
    }
}
