package sealpost.client;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A process that signs out and prints the result. Arguments: the server, its key, the folder of the
 * store, and optionally after how many microseconds it dies.
 */
public final class SigningOut {
    private SigningOut() {}

    public static void main(String[] arguments) throws Exception {
        Options options = Options.withoutTLS(
                arguments[0], Signatures.pinned(PlatformVerifier.find(), new SignatureKey(arguments[1])));
        PushClient client = new PushClient(options, Credentials.kept("alice"), new Store(new File(arguments[2]), TestFolder.KEY));
        Check.equal(client.kept().items().size(), 1, "what is kept before");
        if (arguments.length > 3) dieAfter(Long.parseLong(arguments[3]));
        System.out.println(client.signOut());
    }

    private static void dieAfter(long micros) {
        long end = System.nanoTime() + micros * 1000;
        Thread death = new Thread(() -> {
            while (System.nanoTime() < end) Thread.onSpinWait();
            Runtime.getRuntime().halt(9);
        });
        death.setDaemon(true);
        death.start();
    }

    /** Starts a process, under a limit of the shell. */
    static Process start(String limit, ModelServer server, TestFolder folder, String... rest) throws IOException {
        List<String> command = new ArrayList<>(Arrays.asList(
                "sh", "-c", limit + " exec \"$@\"", "sh", System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData", "-cp", ManagementFactory.getRuntimeMXBean().getClassPath(),
                SigningOut.class.getName(), server.url(), server.pinned, folder.file.getPath()));
        command.addAll(Arrays.asList(rest));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /** The process's first line, at its end; null if it was killed before. */
    static String said(Process process) throws Exception {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            String line = lines.readLine();
            process.waitFor();
            return line;
        }
    }
}
