package sealpost.client;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs two processes that share one folder, and kills them at random moments, while the server
 * loses answers and forgets cursors. The test checks that nothing is lost or duplicated, no date
 * is wrong, and cursor and inbox agree.
 *
 * <p>Arguments: the number of steps, and a seed.
 */
public final class TwoProcesses {
    private static final String[] NAMES = {"app", "worker"};

    private final TestServer server = new TestServer();
    private final TestFolder folder;
    private final Random random;
    private final AtomicInteger steps = new AtomicInteger();
    private final Set<String> sent = Collections.synchronizedSet(new HashSet<String>());
    private final Set<Long> read = Collections.synchronizedSet(new TreeSet<Long>());
    private final Set<Long> dismissed = Collections.synchronizedSet(new TreeSet<Long>());
    private int kills = 0;

    private TwoProcesses(TestFolder folder, long seed) throws Exception {
        this.folder = folder;
        this.random = new Random(seed);
    }

    public static void main(String[] arguments) throws Exception {
        JdkMethods.allowPatch();
        int wanted = Integer.parseInt(arguments[0]);
        try (TestFolder folder = new TestFolder()) {
            TwoProcesses test = new TwoProcesses(folder, Long.parseLong(arguments[1]));
            try (TestServer server = test.server) {
                server.pageSize = 7;
                test.run(wanted);
            }
        }
    }

    private void run(int wanted) throws Exception {
        for (int count = 0; count < 20; count++) server.add("first " + count);
        while (steps.get() < wanted) {
            server.loseOneIn = 8;
            server.forgetOneIn = 60;
            round();
            check();
        }
        end();
        System.out.println(steps + " steps of two processes, " + kills + " kills, " + sent.size() + " sent, " + read.size()
                + " read, " + dismissed.size() + " dismissed: nothing was lost or doubled");
    }

    /** Runs both processes while the server changes, and kills them. */
    private void round() throws Exception {
        List<Process> processes = new ArrayList<>();
        List<Thread> readers = new ArrayList<>();
        for (String name : NAMES) start(name, processes, readers);
        long end = System.nanoTime() + (400 + random.nextInt(1500)) * 1_000_000L;
        while (System.nanoTime() < end) {
            change(random.nextInt(8));
            Thread.sleep(random.nextInt(30));
            // Sometimes the test kills only one process, while the other runs.
            if (random.nextInt(150) == 0) {
                processes.get(0).destroyForcibly().waitFor();
                kills++;
                start(NAMES[0], processes, readers);
                processes.remove(0);
                Collections.reverse(processes);
            }
        }
        for (Process process : processes) {
            kills++;
            process.destroyForcibly();
        }
        for (Process process : processes) Check.that(process.waitFor(10, TimeUnit.SECONDS), "a killed process ends");
        for (Thread reader : readers) reader.join();
    }

    private void change(int what) {
        synchronized (server) {
            List<Long> ids = new ArrayList<>();
            for (Map.Entry<Long, TestServer.Entry> entry : server.entries.entrySet()) {
                if (!entry.getValue().isDeleted) ids.add(entry.getKey());
            }
            if (ids.size() < 30 || what < 4 && ids.size() < 45) {
                server.add("text " + random.nextLong());
                return;
            }
            long id = ids.get(random.nextInt(ids.size()));
            if (what < 7) server.put(id, null);
            else server.put(id, server.entries.get(id).json.replacing("Read", Json.of(true)));
        }
    }

    private void start(String name, List<Process> processes, List<Thread> readers) throws IOException {
        List<String> command = new ArrayList<>(Arrays.asList(
                System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
                "--add-opens", "java.base/java.net=ALL-UNNAMED", "-cp", ManagementFactory.getRuntimeMXBean().getClassPath(),
                Worker.class.getName(), server.url(), server.pinned, folder.file.getPath(), name,
                Long.toString(random.nextLong())));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        Process process = builder.start();
        processes.add(process);
        Thread reader = new Thread(() -> listen(process));
        reader.start();
        readers.add(reader);
    }

    private void listen(Process process) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            String line;
            while ((line = lines.readLine()) != null) {
                String[] words = line.split(" ");
                if (words[0].equals("step")) steps.incrementAndGet();
                if (words[0].equals("sent") && words.length == 2) sent.add('"' + words[1] + '"');
                if (words[0].equals("read") && words.length == 2) read.add(Long.parseLong(words[1]));
                if (words[0].equals("dismissed") && words.length == 2) dismissed.add(Long.parseLong(words[1]));
            }
        } catch (IOException killed) {
            // The process was killed, and its last line is lost.
        }
    }

    private PushClient client() {
        return server.client(new Store(new File(folder.file, "store"), TestFolder.KEY));
    }

    /** Checks the conditions that hold at any time, whenever the processes were killed. */
    private void check() throws Exception {
        Account.Snapshot state = client().account.read();
        if (state.index.cursor == null) return;
        synchronized (server) {
            // After the server has forgotten its cursors, it continues their numbers, so the
            // numbers can still be compared.
            long version = TestServer.version(state.index.cursor);
            for (Map.Entry<Long, TestServer.Entry> entry : server.entries.entrySet()) {
                TestServer.Entry known = entry.getValue();
                CachedItem cached = state.entry(entry.getKey());
                boolean isWholePage = known.version <= version;
                boolean isOfDate = known.changedAt < state.index.syncedAt;
                Check.that(!isOfDate || isWholePage, "a wrong date: " + entry.getKey() + " at " + state.index.cursor);
                if (isWholePage && known.isDeleted) Check.that(cached == null, "not deleted: " + entry.getKey());
                if (isWholePage && !known.isDeleted) Check.that(cached != null, "lost: " + entry.getKey() + " at " + state.index.cursor);
                if (isOfDate && cached != null) Check.equal(cached.item.json(), known.json, "as of the date");
            }
            for (long id : state.index.entries.keySet()) {
                Check.that(state.entry(id) != null, "an entry without a content: " + id);
                Check.that(server.entries.containsKey(id), "invented: " + id);
            }
        }
    }

    /** Checks that with a good network everything arrives exactly once. */
    private void end() throws Exception {
        server.loseOneIn = 0;
        server.forgetOneIn = 0;
        PushClient client = client();
        Check.that(client.sync().isFresh() && client.sync().isFresh(), "fresh in the end");
        Check.equal(client.outbox().count(), 0, "what waits");
        check();
        synchronized (server) {
            Set<String> texts = new HashSet<>();
            Map<Long, Json> live = new HashMap<>();
            for (Map.Entry<Long, TestServer.Entry> entry : server.entries.entrySet()) {
                TestServer.Entry known = entry.getValue();
                if (known.isDeleted) continue;
                live.put(entry.getKey(), known.json);
                Check.that(texts.add(known.json.get("Payload").string()), "sent twice: " + known.json);
            }
            Map<Long, Json> cached = new HashMap<>();
            for (NotificationItem item : client.cachedInbox().notifications()) cached.put(item.id(), item.json());
            Check.equal(cached, live, "the inbox");
            for (String key : sent) Check.that(server.sentByKey.containsKey(key), "never sent: " + key);
            for (long id : read) {
                TestServer.Entry entry = server.entries.get(id);
                Check.that(entry == null || entry.isDeleted || entry.json.isTrue("Read"), "not read: " + id);
            }
            for (long id : dismissed) {
                Check.that(!server.entries.containsKey(id) || server.entries.get(id).isDeleted, "not dismissed: " + id);
            }
            for (String name : NAMES) checkShown(client, name, cached.keySet());
        }
        check();
    }

    /** Checks that a consumer's shown ids plus its unconfirmed changes equal the inbox. */
    private void checkShown(PushClient client, String name, Set<Long> cached) throws Exception {
        InboxChanges changes = client.changes(name);
        Set<Long> shown = changes.isEverything() ? new TreeSet<Long>() : Worker.shown(new File(folder.file, "shown-" + name));
        shown.removeAll(changes.deleted());
        shown.addAll(changes.arrived());
        Check.equal(shown, new TreeSet<>(cached), "what " + name + " shows");
    }
}
