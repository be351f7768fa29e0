import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.utils.Utils;

/** Answers a line with bytes, as x and hexadecimal digits, with their hash. */
public final class KeyHashes {
    private KeyHashes() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(Utils.murmur2(HexFormat.of().parseHex(line.substring(1))));
        }
    }
}
