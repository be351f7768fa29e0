import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.common.utils.Exit;

/**
 * Runs command-line tools of Kafka one after the other, which saves the start of a JVM for each.
 *
 * <p>Every line of standard input is one run: the main class, the tool's standard input and its arguments, in Base64 and
 * separated by spaces. Every line of standard output is the result: the exit status, then what the tool wrote to its
 * standard output and error. What a tool leaves for the end of its process is run at its own end. A tool that takes longer than the first argument of this program, in milliseconds, has the
 * status {@value #STILL_RUNNING}.
 */
public final class ToolRunner {
    private static final int STILL_RUNNING = -1;
    private static final int THREW = -2;

    /** Ends a tool's thread where the tool ends its process. */
    private static final class Exited extends Error {
        private static final long serialVersionUID = 1L;

        Exited() {
            super("the tool has exited", null, false, false);
        }
    }

    private final AtomicReference<Integer> status = new AtomicReference<>();
    private final Queue<Runnable> hooks = new ConcurrentLinkedQueue<>();
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    public static void main(String[] arguments) throws Exception {
        long patienceMs = Long.parseLong(arguments[0]);
        PrintStream answers = System.out;
        InputStream requests = System.in;
        BufferedReader lines = new BufferedReader(new InputStreamReader(requests, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = Arrays.stream(line.split(" ", -1)).map(ToolRunner::decoded).toArray(String[]::new);
            answers.println(new ToolRunner().run(words, patienceMs));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);  // a tool that did not end may hold the process
    }

    private String run(String[] words, long patienceMs) throws InterruptedException, ReflectiveOperationException {
        Set<Thread> hooksBefore = new HashSet<>(hooksOfTheProcess());
        Exit.setExitProcedure((code, message) -> exit(code));
        Exit.setHaltProcedure((code, message) -> exit(code));
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        System.setIn(new ByteArrayInputStream(words[1].getBytes(StandardCharsets.UTF_8)));
        capture();
        finish(() -> call(words[0], Arrays.copyOfRange(words, 2, words.length)), patienceMs);
        capture();
        for (Thread hook : new HashSet<>(hooksOfTheProcess())) {
            if (!hooksBefore.contains(hook) && Runtime.getRuntime().removeShutdownHook(hook)) hooks.add(hook);
        }
        for (Runnable hook : hooks) finish(hook, patienceMs);
        return status.get() + " " + encoded(out) + " " + encoded(err);
    }

    @SuppressWarnings("unchecked")
    private static Set<Thread> hooksOfTheProcess() throws ReflectiveOperationException {
        Field field = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
        field.setAccessible(true);  // with --add-opens java.base/java.lang=ALL-UNNAMED
        return ((Map<Thread, Thread>) field.get(null)).keySet();
    }

    private void capture() {
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
    }

    private void finish(Runnable work, long patienceMs) throws InterruptedException {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        thread.join(patienceMs);
        if (thread.isAlive()) {
            for (StackTraceElement each : thread.getStackTrace()) System.err.println("    at " + each);
            status.set(STILL_RUNNING);
        }
    }

    private void call(String mainClass, String[] arguments) {
        try {
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) arguments);
            status.compareAndSet(null, 0);
        } catch (InvocationTargetException error) {
            if (!(error.getCause() instanceof Exited)) failed(error.getCause());
        } catch (ReflectiveOperationException error) {
            failed(error);
        }
    }

    private void failed(Throwable error) {
        error.printStackTrace(System.err);
        status.compareAndSet(null, THREW);
    }

    /** Some tools catch everything, tell of it and exit again: the first status counts, and nothing that follows it. */
    private void exit(int code) {
        if (status.compareAndSet(null, code)) {
            System.setOut(new PrintStream(OutputStream.nullOutputStream()));
            System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        }
        throw new Exited();
    }

    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }

    private static String encoded(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
