import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Kafka's authorizer, asked line by line. The fields of a line are separated by tabs; enums are numbers.
 *
 * begin SUPER_USERS ALLOW_IF_NONE: begins a set of ACLs.
 * acl TYPE NAME PATTERN PRINCIPAL HOST OPERATION PERMISSION: adds one.
 * one PRINCIPAL HOST OPERATION TYPE NAME: asks about a resource.
 * any PRINCIPAL HOST OPERATION TYPE: asks about any resource of a type.
 * filter TYPE NAME PATTERN PRINCIPAL HOST OPERATION PERMISSION: asks which ACLs match; "-" is null.
 * end: prints the answers since "begin" in one line: 1 or 0, or the numbers of the ACLs.
 */
public class AuthorizerDriver {
    private final Map<Uuid, StandardAcl> loaded = new LinkedHashMap<>();
    private final Map<AclBinding, Integer> numbers = new HashMap<>();
    private final StringBuilder answers = new StringBuilder();
    private StandardAuthorizer authorizer;
    private Map<String, String> config;

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        AuthorizerDriver driver = new AuthorizerDriver();
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            driver.take(line.split("\t", -1));
        }
    }

    private void take(String[] fields) throws Exception {
        switch (fields[0]) {
            case "begin" -> begin(fields[1], fields[2]);
            case "acl" -> add(fields);
            case "one" -> answer(one(fields) ? "1" : "0");
            case "any" -> answer(any(fields) ? "1" : "0");
            case "filter" -> answer(filter(fields));
            default -> {
                System.out.println(answers.toString().strip());
                System.out.flush();
            }
        }
    }

    private void begin(String superUsers, String allowIfNone) {
        loaded.clear();
        numbers.clear();
        answers.setLength(0);
        authorizer = null;
        config = Map.of("super.users", superUsers, "allow.everyone.if.no.acl.found", allowIfNone, "node.id", "1");
    }

    private void add(String[] fields) {
        StandardAcl acl = new StandardAcl(
            ResourceType.fromCode(Byte.parseByte(fields[1])), fields[2], PatternType.fromCode(Byte.parseByte(fields[3])),
            fields[4], fields[5], AclOperation.fromCode(Byte.parseByte(fields[6])),
            AclPermissionType.fromCode(Byte.parseByte(fields[7])));
        numbers.put(acl.toBinding(), numbers.size());
        loaded.put(Uuid.randomUuid(), acl);
    }

    private StandardAuthorizer authorizer() {
        if (authorizer == null) {
            authorizer = new StandardAuthorizer();
            authorizer.configure(config);
            authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
            authorizer.loadSnapshot(loaded);
            authorizer.completeInitialLoad();
        }
        return authorizer;
    }

    private boolean one(String[] fields) throws Exception {
        ResourcePattern resource = new ResourcePattern(type(fields[4]), fields[5], PatternType.LITERAL);
        Action action = new Action(operation(fields[3]), resource, 1, false, false);
        return authorizer().authorize(context(fields), List.of(action)).get(0) == AuthorizationResult.ALLOWED;
    }

    private boolean any(String[] fields) throws Exception {
        AuthorizationResult result =
            authorizer().authorizeByResourceType(context(fields), operation(fields[3]), type(fields[4]));
        return result == AuthorizationResult.ALLOWED;
    }

    private String filter(String[] fields) {
        AclBindingFilter filter = new AclBindingFilter(
            new ResourcePatternFilter(type(fields[1]), text(fields[2]), PatternType.fromCode(Byte.parseByte(fields[3]))),
            new AccessControlEntryFilter(
                text(fields[4]), text(fields[5]), operation(fields[6]),
                AclPermissionType.fromCode(Byte.parseByte(fields[7]))));
        TreeSet<Integer> found = new TreeSet<>();
        authorizer().acls(filter).forEach(binding -> found.add(numbers.get(binding)));
        return found.toString().replace(" ", "");
    }

    private void answer(String answer) {
        answers.append(answer).append(' ');
    }

    private static ResourceType type(String field) {
        return ResourceType.fromCode(Byte.parseByte(field));
    }

    private static AclOperation operation(String field) {
        return AclOperation.fromCode(Byte.parseByte(field));
    }

    private static String text(String field) {
        return field.equals("-") ? null : field;
    }

    private static AuthorizableRequestContext context(String[] fields) throws Exception {
        String[] principal = fields[1].split(":", 2);
        return new Asking(new KafkaPrincipal(principal[0], principal[1]), InetAddress.getByName(fields[2]));
    }

    private record Asking(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 0;
        }

        @Override
        public int requestVersion() {
            return 0;
        }

        @Override
        public String clientId() {
            return "";
        }

        @Override
        public int correlationId() {
            return 0;
        }
    }
}
