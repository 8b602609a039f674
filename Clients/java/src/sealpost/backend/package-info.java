/**
 * The client for backends of Sealpost: sends notifications, recalls them, reads outcomes, and
 * verifies webhooks.
 *
 * <p>Begin at {@link sealpost.backend.Client}. Parameters and results are never null unless marked
 * {@code @Nullable}. The guide is docs/backends.md.
 */
@org.jspecify.annotations.NullMarked
package sealpost.backend;
