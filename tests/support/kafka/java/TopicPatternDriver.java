import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;

/**
 * Evaluates regular expressions with RE2/J, the library of Kafka's group coordinator.
 *
 * The arguments are names. Standard input has one pattern a line. For each one a line comes out: "matches" and the names
 * that it matches as a whole, or "error" and the description.
 */
public final class TopicPatternDriver {
    public static void main(String[] names) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                Pattern pattern = Pattern.compile(line);
                List<String> words = new ArrayList<>(List.of("matches"));
                for (String name : names) if (pattern.matcher(name).matches()) words.add(name);
                out.println(String.join(" ", words));
            } catch (PatternSyntaxException e) {
                out.println("error " + e.getDescription());
            }
        }
        out.flush();
    }
}
