import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** Kafka's names for distinguished names: a line with rules, a tab and a name is answered with a line. */
public class PrincipalDriver {
    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] fields = line.split("\t", -1);
            System.out.println(answer(fields[0].replace("\\t", "\t").replace("\\n", "\n"), fields[1]));
            System.out.flush();
        }
    }

    private static String answer(String rules, String name) {
        SslPrincipalMapper mapper;
        try {
            mapper = SslPrincipalMapper.fromRules(rules);
        } catch (RuntimeException error) {
            return "refused: " + error.getClass().getSimpleName() + " " + String.valueOf(error.getMessage()).split("\n")[0];
        }
        try {
            return "name: " + mapper.getName(name);
        } catch (Exception error) {
            return "unmapped: " + error.getClass().getSimpleName() + " " + error.getMessage();
        }
    }
}
