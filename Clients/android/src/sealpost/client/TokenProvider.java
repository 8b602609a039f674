package sealpost.client;

import androidx.annotation.Nullable;

/**
 * Provides the token that a client signs in with, and a new one when the server no longer accepts
 * it.
 */
public interface TokenProvider {
    /**
     * The token to send; null if the user must sign in again.
     *
     * <p>The client calls this before each request, on a thread of its own, which it interrupts
     * when the call's deadline passes.
     *
     * @param refused the token that the server has just refused, so that another one is due; null
     *     otherwise. The client passes it for one call at a time, and once for all calls with that
     *     token.
     * @throws java.io.IOException if a new token is unavailable without a network, which is
     *     {@link PushClientException.Reason#OFFLINE}; other exceptions are
     *     {@link PushClientException.Reason#UNAUTHORIZED}
     */
    @Nullable
    String token(@Nullable String refused) throws Exception;
}
