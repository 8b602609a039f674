package sealpost.client;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Objects;
import java.util.concurrent.TimeoutException;

/** Runs tests: each public static method of a class that has no parameters. Expectations throw. */
final class Check {
    private Check() {}

    interface Body {
        void run() throws Exception;
    }

    static void equal(Object found, Object expected, String what) {
        if (!Objects.equals(found, expected)) throw new AssertionError(what + ": expected " + expected + ", found " + found);
    }

    static void that(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static PushClientException fails(Body body, PushClientException.Reason reason) throws Exception {
        try {
            body.run();
        } catch (PushClientException error) {
            equal(error.reason(), reason, "the reason of " + error.getMessage());
            return error;
        }
        throw new AssertionError("nothing was thrown, and " + reason + " was expected");
    }

    /** The failure of a first sync, which has no cached inbox to return. */
    static PushClientException firstSyncFails(PushClient client) {
        try {
            Fetched<Inbox> inbox = client.sync();
            throw new AssertionError("nothing was thrown, but " + inbox.failure());
        } catch (PushClientException error) {
            return error;
        }
    }

    /** The call has ended at its deadline. */
    static void isLate(PushClientException error) {
        equal(error.reason(), PushClientException.Reason.OFFLINE, "the reason of " + error.getMessage());
        that(error.getCause() instanceof TimeoutException, "the cause is " + error.getCause());
    }

    /** Runs the tests whose name contains {@code SEALPOST_ONLY}; prints those that fail, and returns their number. */
    static int run(Class<?>... classes) throws Exception {
        int count = 0;
        int failed = 0;
        for (Class<?> type : classes) {
            for (Method method : type.getDeclaredMethods()) {
                int modifiers = method.getModifiers();
                if (!method.getName().contains(System.getenv().getOrDefault("SEALPOST_ONLY", ""))) continue;
                if (!Modifier.isPublic(modifiers) || !Modifier.isStatic(modifiers) || method.getParameterCount() > 0) continue;
                count++;
                long start = System.nanoTime();
                try {
                    method.invoke(null);
                    long millis = (System.nanoTime() - start) / 1_000_000;
                    if (millis > 2000) System.out.println(method.getName() + " took " + millis + " ms");
                } catch (InvocationTargetException error) {
                    failed++;
                    System.out.println("FAILED " + type.getSimpleName() + "." + method.getName());
                    error.getCause().printStackTrace(System.out);
                }
            }
        }
        if (failed > 0) {
            System.out.println(failed + " of " + count + " tests failed");
            System.exit(1);
        }
        return count;
    }
}
