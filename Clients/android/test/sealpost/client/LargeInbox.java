package sealpost.client;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;

/** Syncs an inbox in a process with a small heap, and limits the processor time of the calls. */
final class LargeInbox {
    private LargeInbox() {}

    public static void main(String[] arguments) throws Exception {
        Options options = Options.withoutTLS(
                arguments[0], Signatures.pinned(PlatformVerifier.find(), new VerificationKey(arguments[1])));
        JdkMethods.allowPatch();
        options.deadlineMillis(600_000);
        long start = cpu();
        PushClient client = client(options, arguments[2]);
        Check.that(client.sync().isFresh(), "fresh");
        long synced = cpu();
        client.markRead(client.cachedInbox().notifications().get(0).id(), true);
        PushClient later = client(options, arguments[2]);
        long opened = cpu();
        later.cachedInbox();
        long loaded = cpu();
        int unread = later.cachedInbox().unreadCount();
        long again = cpu();
        for (int count = 0; count < 20; count++) later.cachedInbox().unreadCount();
        long often = cpu();
        int payloads = 0;
        for (NotificationItem item : later.cachedInbox().notifications()) payloads += item.text() == null ? 0 : 1;
        System.out.printf(
                "%d notifications, %d unread, %d payloads; time of the processor: sync %d ms, first call %d ms, second %d ms, later ones %d µs%n",
                later.cachedInbox().notifications().size(), unread, payloads, (synced - start) / 1_000_000,
                (loaded - opened) / 1_000_000, (again - loaded) / 1_000_000, (often - again) / 20_000);
        // A third and a tenth of these limits were measured on two busy cores.
        Check.that(Math.max(synced - start, loaded - opened) <= 3_000_000_000L, "the first load takes at most 3 s");
        Check.that((often - again) / 20 <= 20_000_000, "each later call takes at most 20 ms");
    }

    /** The processor time of this thread, in ns, on which other processes have no effect. */
    private static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static PushClient client(Options options, String folder) {
        return new PushClient(options, Credentials.token("spt_first", "alice"), new Store(new File(folder), TestFolder.KEY));
    }

    static Process start(TestServer server, TestFolder folder) throws IOException {
        return new ProcessBuilder(
                        System.getProperty("java.home") + "/bin/java", "-Xmx64m", "-XX:+UseSerialGC",
                        "--add-opens", "java.base/java.net=ALL-UNNAMED",
                        "-cp", ManagementFactory.getRuntimeMXBean().getClassPath(),
                        LargeInbox.class.getName(), server.url(), server.pinned, folder.file.getPath())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }
}
