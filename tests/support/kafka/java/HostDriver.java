import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.server.authorizer.internals.CidrUtils;

/** Checks blocks of addresses with Kafka's own class: a line for each, "ok" or the text of the error. */
public class HostDriver {
    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(answer(line));
            System.out.flush();
        }
    }

    private static String answer(String line) {
        String[] fields = line.split("\t", -1);
        if (fields.length > 1) {
            return String.valueOf(CidrUtils.isInRange(fields[1], fields[0]));
        }
        try {
            CidrUtils.validate(fields[0]);
            return "ok";
        } catch (IllegalArgumentException error) {
            return error.getMessage();
        }
    }
}
