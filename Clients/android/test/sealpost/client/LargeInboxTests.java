package sealpost.client;

import java.io.File;
import java.util.Collections;

/** A test of the largest inbox, which takes too long for {@link AllTests}. */
public final class LargeInboxTests {
    private LargeInboxTests() {}

    /** The inbox has 5,000 notifications of 4 KiB, and the process a heap of 64 MB. */
    public static void aLargeInboxNeedsLittleMemoryAndIsReadOnce() throws Exception {
        try (TestServer server = new TestServer();
                TestFolder folder = new TestFolder()) {
            String text = String.join("", Collections.nCopies(256, "0123456789abcdef"));
            for (int count = 0; count < 5000; count++) server.add(count + text);
            Process process = LargeInbox.start(server, folder);
            String said = SigningOut.said(process);
            System.out.println(said);
            Check.equal(process.waitFor(), 0, "the limits");
            Check.that(said != null && said.startsWith("5000 notifications, 4999 unread, 5000 payloads"), "it said " + said);
            PushClient client = server.client(folder.store());
            Check.equal(client.cachedInbox().unreadCount(), 4999, "the badge");
            // The next call must not read the files again.
            for (File account : folder.file.listFiles()) {
                for (File commit : account.listFiles()) {
                    for (File file : commit.getName().startsWith("c") ? commit.listFiles() : new File[0]) {
                        if (!file.getName().equals("index")) file.delete();
                    }
                }
            }
            Check.equal(client.cachedInbox().unreadCount(), 4999, "from memory");
            Check.equal(client.cachedInbox().notifications().size(), 5000, "and the list");
        }
    }
}
