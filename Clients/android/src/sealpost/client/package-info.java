/**
 * A Sealpost client for Android: registers a device, fetches a push's notification, syncs, marks,
 * dismisses and sends.
 *
 * <p>Begin at {@link sealpost.client.PushClient}. Parameters and results are never null unless
 * marked {@code @Nullable}. Calls block, so make them off the main thread; each
 * ends within its deadline.
 */
@org.jspecify.annotations.NullMarked
package sealpost.client;
