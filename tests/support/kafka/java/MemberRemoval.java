import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupResult;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/**
 * Removes members of groups with Kafka's own admin client, and prints what became of each.
 *
 * Argument: bootstrap servers. Each line of standard input names a group and its members: instance ids separated by
 * commas, or * for all. A line of the output has the error of the call, and those of the members.
 */
public final class MemberRemoval {
    private MemberRemoval() {
    }

    public static void main(String[] arguments) {
        Map<String, Object> config = Map.of("bootstrap.servers", arguments[0]);
        try (Admin admin = Admin.create(config); Scanner lines = new Scanner(System.in)) {
            while (lines.hasNextLine()) {
                String[] words = lines.nextLine().split(" ");
                System.out.println(removed(admin, words[0], words[1]));
            }
        }
    }

    private static String removed(Admin admin, String group, String members) {
        boolean everyone = members.equals("*");
        List<MemberToRemove> wanted = new ArrayList<>();
        for (String instance : everyone ? new String[0] : members.split(",")) {
            wanted.add(new MemberToRemove(instance));
        }
        RemoveMembersFromConsumerGroupOptions options =
            everyone ? new RemoveMembersFromConsumerGroupOptions() : new RemoveMembersFromConsumerGroupOptions(wanted);
        options.reason("a test");
        RemoveMembersFromConsumerGroupResult result = admin.removeMembersFromConsumerGroup(group, options);
        StringBuilder line = new StringBuilder(error(result.all()));
        for (MemberToRemove member : wanted) {
            line.append(' ').append(error(result.memberResult(member)));
        }
        return line.toString();
    }

    private static String error(KafkaFuture<Void> future) {
        try {
            future.get();
            return Errors.NONE.name();
        } catch (ExecutionException error) {
            Throwable cause = error.getCause();
            while (!(cause instanceof ApiException) && cause.getCause() != null) {
                cause = cause.getCause();
            }
            boolean known = cause instanceof ApiException;
            return known ? Errors.forException(cause).name() : cause.getClass().getSimpleName();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
