package sealpost.client;

import java.lang.reflect.Field;
import java.net.HttpURLConnection;
import java.util.Arrays;

/** Adds to the JDK what Android has: HttpURLConnection with PATCH. */
final class JdkMethods {
    private JdkMethods() {}

    /** Without the option, calls that send PATCH fail. */
    static void allowPatchIfPossible() {
        try {
            allowPatch();
        } catch (ReflectiveOperationException | RuntimeException closed) {
            // Other calls work.
        }
    }

    /** Replaces TRACE by PATCH; needs {@code --add-opens java.base/java.net=ALL-UNNAMED}. */
    static void allowPatch() throws ReflectiveOperationException {
        Field field = HttpURLConnection.class.getDeclaredField("methods");
        field.setAccessible(true);
        String[] methods = (String[]) field.get(null);
        int index = Arrays.asList(methods).indexOf("TRACE");
        if (index >= 0) methods[index] = "PATCH";
    }
}
