import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;

/** An exception and its causes as JSON: a list of class names with messages. */
final class Failure {
    private Failure() {
    }

    static ArrayNode of(Throwable error) {
        ArrayNode chain = JsonNodeFactory.instance.arrayNode();
        for (Throwable each = error; each != null; each = each.getCause()) {
            chain.add(each.getClass().getName() + ": " + each.getMessage());
        }
        return chain;
    }
}
