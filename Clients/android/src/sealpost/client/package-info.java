/**
 * A Sealpost client for Android: registers a device, fetches a push's notification, syncs, marks,
 * dismisses and sends.
 *
 * <p>Begin at {@link sealpost.client.PushClient}. Parameters and results are never null unless
 * marked {@code @Nullable}. Calls block, so do not make them on the main thread. Each call ends
 * within its deadline.
 */
@org.jspecify.annotations.NullMarked
package sealpost.client;
