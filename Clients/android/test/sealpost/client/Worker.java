package sealpost.client;

import java.io.File;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/**
 * One of the processes of {@link TwoProcesses}: takes random steps with a client, and prints each
 * step, until it is killed. Arguments: the server, its key, the folder, the name of the process, a
 * seed.
 */
public final class Worker {
    private final PushClient client;
    private final String name;
    private final File shownFile;
    private final Random random;

    private Worker(String[] arguments) {
        Options options = Options.withoutTLS(arguments[0], Signatures.pinned(PlatformVerifier.find(), new VerificationKey(arguments[1])));
        File folder = new File(arguments[2]);
        client = new PushClient(options, Credentials.token("spt_first", "alice"), new Store(new File(folder, "store"), TestFolder.KEY));
        name = arguments[3];
        shownFile = new File(folder, "shown-" + name);
        random = new Random(Long.parseLong(arguments[4]));
    }

    public static void main(String[] arguments) throws Exception {
        JdkMethods.allowPatch();
        Worker worker = new Worker(arguments);
        System.out.println("ready");
        while (true) {
            try {
                worker.step();
            } catch (PushClientException error) {
                // The test makes the network fail, so errors of the network are expected. Errors
                // of the store are faults.
                if (error.reason() == PushClientException.Reason.STORAGE || error.reason() == PushClientException.Reason.SIGNED_OUT) throw error;
                if (error.reason() == PushClientException.Reason.INTERFERENCE) throw error;
            }
            System.out.println("step");
        }
    }

    private void step() throws Exception {
        List<NotificationItem> items = client.cachedInbox().notifications();
        Set<Long> ids = new HashSet<>();
        for (NotificationItem item : items) Check.that(ids.add(item.id()), "twice: " + item.id());
        long id = items.isEmpty() ? 1 : items.get(random.nextInt(items.size())).id();
        switch (random.nextInt(10)) {
            case 0:
                client.outbox().markRead(id, true);
                System.out.println("read " + id);
                break;
            case 1:
                // Dismissals are rare, so that the inbox has entries.
                if (random.nextInt(3) > 0) break;
                client.outbox().dismiss(id);
                System.out.println("dismissed " + id);
                break;
            case 2:
                System.out.println("sent " + client.outbox().send(Json.of("from " + name + " " + random.nextLong())));
                break;
            case 3:
                client.outbox().flush();
                break;
            case 4:
                client.notification(id);
                break;
            case 5:
                client.markRead(id, true);
                break;
            case 6:
            case 7:
                show();
                break;
            default:
                client.sync();
        }
    }

    /** Shows the changes: writes the ids to a file before it confirms them. */
    private void show() throws Exception {
        InboxChanges changes = client.changes(name);
        Set<Long> shown = changes.isEverything() ? new TreeSet<Long>() : shown(shownFile);
        shown.removeAll(changes.deleted());
        shown.addAll(changes.arrived());
        File made = new File(shownFile.getPath() + ".new");
        List<String> lines = new ArrayList<>();
        for (long id : shown) lines.add(Long.toString(id));
        try (FileOutputStream out = new FileOutputStream(made)) {
            out.write(String.join("\n", lines).getBytes(StandardCharsets.US_ASCII));
        }
        Check.that(made.renameTo(shownFile), "the list is renamed");
        client.confirm(changes);
    }

    /**
     * The ids of the notifications that are shown; empty before the first call of {@code show}.
     */
    static Set<Long> shown(File file) throws Exception {
        if (!file.exists()) return new TreeSet<>();
        String text = new String(Files.read(file), StandardCharsets.US_ASCII);
        Set<Long> shown = new TreeSet<>();
        for (String line : text.isEmpty() ? Collections.<String>emptyList() : java.util.Arrays.asList(text.split("\n"))) {
            shown.add(Long.parseLong(line));
        }
        return shown;
    }
}
