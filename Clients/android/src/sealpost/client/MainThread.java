package sealpost.client;

import androidx.annotation.Nullable;

/** Refuses calls that block, on the thread that draws Android's screen. */
final class MainThread {
    /** The thread; null on other platforms. */
    static volatile @Nullable Thread thread = find();

    private MainThread() {}

    private static @Nullable Thread find() {
        try {
            Object looper = Class.forName("android.os.Looper").getMethod("getMainLooper").invoke(null);
            return (Thread) looper.getClass().getMethod("getThread").invoke(looper);
        } catch (ReflectiveOperationException | RuntimeException elsewhere) {
            return null;
        }
    }

    /** Throws on the main thread, where Android would end an app that waits for the network. */
    static void refuse() {
        if (Thread.currentThread() == thread) {
            throw new IllegalStateException(
                    "a call that waits for the network was made on the main thread; make it on another thread");
        }
    }
}
