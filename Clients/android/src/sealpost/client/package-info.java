/**
 * A device's side of Sealpost for Android: register, collect what a push names, sync, mark, dismiss, send.
 *
 * <p>Begin at {@link sealpost.client.PushClient}. All parameters and results are never null unless they are marked {@link
 * sealpost.client.Nullable}. Calls block, so make them off the main thread; each ends within its deadline.
 */
package sealpost.client;
