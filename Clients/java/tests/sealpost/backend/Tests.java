package sealpost.backend;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Objects;

/** Runs the tests of the named classes: their public static methods without parameters. */
final class Tests {
    private Tests() {}

    interface Body {
        void run() throws Exception;
    }

    static void equal(Object found, Object expected) {
        equal(found, expected, "");
    }

    static void equal(Object found, Object expected, String what) {
        if (!Objects.equals(found, expected)) throw new AssertionError(what + ": expected " + expected + ", found " + found);
    }

    static void that(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static <T extends Throwable> T fails(Class<T> type, Body body) throws Exception {
        try {
            body.run();
        } catch (Throwable error) {
            if (type.isInstance(error)) return type.cast(error);
            throw new AssertionError("another error than " + type.getSimpleName(), error);
        }
        throw new AssertionError("nothing was thrown, and " + type.getSimpleName() + " was expected");
    }

    public static void main(String[] classes) throws Exception {
        int failed = 0;
        for (String name : classes) {
            for (Method method : Class.forName("sealpost.backend." + name).getDeclaredMethods()) {
                if ((method.getModifiers() & (Modifier.PUBLIC | Modifier.STATIC)) != (Modifier.PUBLIC | Modifier.STATIC)) continue;
                try {
                    method.invoke(null);
                    System.out.println("passed " + method.getName());
                } catch (InvocationTargetException error) {
                    failed++;
                    System.out.println("FAILED " + name + "." + method.getName());
                    error.getCause().printStackTrace(System.out);
                }
            }
        }
        System.exit(failed == 0 ? 0 : 1);
    }
}
