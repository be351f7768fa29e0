import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Runs instances of applications that only read a topic, and notes when their tasks run, as the lines of standard input say:
 *
 * <pre>
 * open NAME INPUT KEY=VALUE...   starts an instance
 * close NAME                     has an instance leave its group; does not wait for it
 * tasks                          prints a line: for each instance NAME=BEGAN=CLOSED=CHANGED=ERROR=TASK@SINCE,...
 * </pre>
 *
 * Times are nanoseconds of the machine's monotonic clock, which other processes read, too.
 */
public class RebalanceRunner {
    private static final Map<String, Instance> INSTANCES = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            obey(line.split(" "));
        }
        INSTANCES.values().parallelStream().forEach(Instance::close);
    }

    private static void obey(String[] words) {
        switch (words[0]) {
            case "open" -> INSTANCES.put(words[1], new Instance(words[2], List.of(words).subList(3, words.length)));
            case "close" -> new Thread(INSTANCES.get(words[1])::close).start();
            default -> System.out.println(
                    INSTANCES.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue().shown())
                            .collect(Collectors.joining(" ")));
        }
    }

    /** An instance, and what it is known to do. */
    private static class Instance {
        private final Map<String, Long> runningSince = new ConcurrentHashMap<>();
        private final KafkaStreams streams;
        private final long began;
        private volatile long closed;
        private volatile long changed;
        private volatile String error = "";

        Instance(String input, List<String> pairs) {
            Properties properties = new Properties();
            for (String pair : pairs) {
                properties.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
            }
            streams = new KafkaStreams(reading(input), properties);
            streams.setUncaughtExceptionHandler(thrown -> {
                error = thrown.toString().replaceAll("[ =]+", "_");
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            began = System.nanoTime();
            streams.start();
        }

        private Topology reading(String input) {
            StreamsBuilder builder = new StreamsBuilder();
            builder.stream(input, Consumed.with(Serdes.String(), Serdes.String())).process(() -> new Task(this));
            return builder.build();
        }

        void close() {
            if (closed == 0) {
                closed = System.nanoTime();
                streams.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP)
                        .withTimeout(Duration.ofSeconds(30)));
            }
        }

        void runs(String task) {
            changed = System.nanoTime();
            runningSince.put(task, changed);
        }

        void gaveUp(String task) {
            changed = System.nanoTime();
            runningSince.remove(task);
        }

        String shown() {
            String tasks = runningSince.entrySet().stream().map(each -> each.getKey() + "@" + each.getValue())
                    .collect(Collectors.joining(","));
            return began + "=" + closed + "=" + changed + "=" + error + "=" + tasks;
        }
    }

    /** Made when its task runs, and closed when the task is given up. */
    private static class Task implements Processor<String, String, Void, Void> {
        private final Instance instance;
        private String id;

        Task(Instance instance) {
            this.instance = instance;
        }

        @Override
        public void init(ProcessorContext<Void, Void> context) {
            id = context.taskId().toString();
            instance.runs(id);
        }

        @Override
        public void process(Record<String, String> record) {
        }

        @Override
        public void close() {
            instance.gaveUp(id);
        }
    }
}
