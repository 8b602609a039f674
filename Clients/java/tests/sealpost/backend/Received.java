package sealpost.backend;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** Verifies requests that a real server has made, each in a file, and prints a line for each. */
final class Received {
    private Received() {}

    public static void main(String[] arguments) throws Exception {
        Webhook webhook = new Webhook(Files.readString(Path.of(arguments[0])));
        for (String name : Arrays.asList(arguments).subList(1, arguments.length)) {
            String request = Files.readString(Path.of(name), StandardCharsets.UTF_8);
            int end = request.indexOf("\r\n\r\n");
            Map<String, String> fields = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            for (String line : request.substring(0, end).split("\r\n")) {
                int colon = line.indexOf(": ");
                if (colon > 0) fields.put(line.substring(0, colon), line.substring(colon + 2));
            }
            Message message = webhook.verify(fields::get, request.substring(end + 4).getBytes(StandardCharsets.UTF_8));
            if (message instanceof Message.Confirmation) {
                System.out.println("confirmation " + ((Message.Confirmation) message).code);
            } else if (message instanceof Message.Push) {
                System.out.println("push " + ((Message.Push) message).secureId + " " + ((Message.Push) message).handle);
            } else {
                for (Event event : ((Message.Events) message).events) System.out.println(event.kind + " " + event.notification);
            }
        }
    }
}
