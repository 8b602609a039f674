package sealpost.client;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.security.Permission;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A process that signs out and prints the result. Arguments: the server, its key, the folder of
 * the store, and optionally a number n: the process ends just before its change of a file with
 * this number, counted from 0.
 */
public final class SigningOut {
    private SigningOut() {}

    public static void main(String[] arguments) throws Exception {
        Options options = Options.withoutTLS(
                arguments[0], Signatures.pinned(PlatformVerifier.find(), new VerificationKey(arguments[1])));
        PushClient client = new PushClient(options, Credentials.stored("alice"), new Store(new File(arguments[2]), TestFolder.KEY));
        Check.equal(client.cachedInbox().notifications().size(), 1, "the inbox before");
        if (arguments.length > 3) dieBefore(Integer.parseInt(arguments[3]));
        System.out.println(client.signOut());
    }

    /**
     * The JVM calls its security manager, an obsolete part of the JDK, before each change of a
     * file.
     */
    @SuppressWarnings("removal")
    private static void dieBefore(int change) {
        AtomicInteger left = new AtomicInteger(change);
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkWrite(String file) {
                if (left.getAndDecrement() == 0) Runtime.getRuntime().halt(9);
            }

            @Override
            public void checkDelete(String file) {
                checkWrite(file);
            }

            @Override
            public void checkPermission(Permission permission) {}
        });
    }

    /** Starts a process, under a limit of the shell. */
    static Process start(String limit, TestServer server, TestFolder folder, String... rest) throws IOException {
        List<String> command = new ArrayList<>(Arrays.asList(
                "sh", "-c", limit + " exec \"$@\"", "sh", System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData", "-Djava.security.manager=allow",
                "-cp", ManagementFactory.getRuntimeMXBean().getClassPath(),
                SigningOut.class.getName(), server.url(), server.pinned, folder.file.getPath()));
        command.addAll(Arrays.asList(rest));
        // With a security manager the JDK prints a warning, which is discarded.
        boolean isKilled = rest.length > 0;
        return new ProcessBuilder(command)
                .redirectError(isKilled ? ProcessBuilder.Redirect.DISCARD : ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** Waits for the process and returns its first line; null if it was killed before. */
    static String said(Process process) throws Exception {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            String line = lines.readLine();
            process.waitFor();
            return line;
        }
    }
}
