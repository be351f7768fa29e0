import java.time.Duration;
import java.time.Instant;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/** Forwards the name of each punctuation. Some are scheduled by others, and some by records, from a time that is over. */
final class Chiming extends ContextualProcessor<String, String, String, String> {
    private int scheduled;

    /** Two ticks, then no more. */
    private final class Twice {
        private final String name;
        private Cancellable handle;
        private int ticks;

        Twice(String name) {
            this.name = name;
        }

        void tick(long now) {
            tell(name, now);
            if (++ticks == 2) {
                handle.cancel();
            }
        }
    }

    @Override
    public void init(ProcessorContext<String, String> context) {
        super.init(context);
        for (PunctuationType clock : new PunctuationType[] {PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME}) {
            for (int interval : new int[] {70, 20, 45, 20}) {
                context.schedule(Duration.ofMillis(interval), clock, now -> tick(clock, interval, now));
            }
        }
    }

    @Override
    public void process(Record<String, String> record) {
        if ("b".equals(record.key())) {
            for (PunctuationType clock : PunctuationType.values()) {
                Twice twice = new Twice("from5-" + clock);
                twice.handle = context().schedule(Instant.ofEpochMilli(5), Duration.ofMillis(30), clock, twice::tick);
            }
        }
    }

    private void tick(PunctuationType clock, int interval, long now) {
        tell(clock + "-" + interval, now);
        if (interval == 45 && scheduled < 4) {
            Twice twice = new Twice("inner" + scheduled++);
            twice.handle = context().schedule(Duration.ofMillis(60), PunctuationType.STREAM_TIME, twice::tick);
        }
    }

    private void tell(String name, long now) {
        context().forward(new Record<>(name, "" + now, now));
    }
}
