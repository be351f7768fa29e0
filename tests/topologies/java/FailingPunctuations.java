import java.time.Duration;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/** Forwards records, and the last value at each punctuation, which then fails every second time. */
final class FailingPunctuations extends ContextualProcessor<String, String, String, String> {
    private String last;
    private int ticks;

    @Override
    public void init(ProcessorContext<String, String> context) {
        super.init(context);
        for (PunctuationType clock : new PunctuationType[] {PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME}) {
            context.schedule(Duration.ofMillis(70), clock, now -> tick(clock, now));
        }
    }

    @Override
    public void process(Record<String, String> record) {
        last = record.value();
        context().forward(record);
    }

    private void tick(PunctuationType clock, long now) {
        context().forward(new Record<>(clock.toString(), last, now));
        if (++ticks % 2 == 1) {
            throw new IllegalStateException("in a punctuation");
        }
    }
}
