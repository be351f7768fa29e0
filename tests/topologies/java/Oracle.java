import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Tells what Kafka Streams makes of the topologies in the catalogue. Each line of standard input is a question in
 * JSON, and each gets a line with the answer. A question has the key "ask":
 *
 * <ul>
 *   <li>"names": the names of the topologies that Python's driver treats in the same way
 *   <li>"describe" with "topology" and "config": what the topology looks like, see {@link Report}. It may be a shape,
 *       see {@link Shapes}
 *   <li>"run" with also "script" and "now_ms": what comes out of it, see {@link Run}
 * </ul>
 */
public final class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Catalogue catalogue = Catalogue.whole();
    private final Catalogue different = Catalogue.different();

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Oracle oracle = new Oracle();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(oracle.answer(JSON.readTree(line)));
        }
    }

    private ObjectNode answer(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            switch (question.get("ask").asText()) {
                case "names" -> catalogue.names().forEach(answer.putArray("names")::add);
                case "describe" -> new Report(prepared(question)).write(answer);
                case "run" -> new Run(prepared(question), question.path("now_ms").asLong())
                        .write(question.get("script"), answer);
                default -> throw new IllegalArgumentException("unknown question " + question);
            }
        } catch (Exception | LinkageError error) {
            answer.removeAll();
            answer.set("error", Failure.of(error));
        }
        return answer;
    }

    private Prepared prepared(JsonNode question) {
        String name = question.get("topology").asText();
        if (name.contains("<")) {
            return new Prepared(Shapes.of(name), question.path("config"));
        }
        Catalogue found = different.has(name) ? different : catalogue;
        return new Prepared(found.get(name), question.path("config"));
    }
}
