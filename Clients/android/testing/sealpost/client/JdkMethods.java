package sealpost.client;

import java.lang.reflect.Field;
import java.net.HttpURLConnection;
import java.util.Arrays;

/** Lets HttpURLConnection of the JDK send PATCH, as that of Android can. */
final class JdkMethods {
    private JdkMethods() {}

    /** Calls that send PATCH fail if the JVM was started without the necessary option. */
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
