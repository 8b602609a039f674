// Sends texts to a user, each text once, and prints the paths of the notifications, with the
// library in Clients/java.
//
//   scripts/make-maven backend repository
//   SEALPOST_TOKEN=spt_… java -cp repository/sealpost/sealpost-backend/*/*[0-9].jar \
//       examples/Publish.java https://push.example.com alice "Your test result is in."
//
// The token is a publisher's, with the scope `send`: sealpost token create NAME --scope send

import java.util.Arrays;
import sealpost.backend.Client;
import sealpost.backend.Notification;
import sealpost.backend.SealpostException;

class Publish {
    public static void main(String[] arguments) {
        if (arguments.length < 3) {
            System.err.println("usage: Publish.java SERVER USER TEXT...");
            System.exit(64);
        }
        Client client = new Client(arguments[0], System.getenv("SEALPOST_TOKEN"));
        String alice = Notification.user(arguments[1]);
        try {
            for (String text : Arrays.asList(arguments).subList(2, arguments.length)) {
                System.out.println("/api/notifications/" + client.send(Notification.of(text).to(alice)).id);
            }
        } catch (SealpostException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }
}
