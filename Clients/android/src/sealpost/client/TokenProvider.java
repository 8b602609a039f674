package sealpost.client;

import androidx.annotation.Nullable;

/**
 * Provides the token of a client, and a new token when the server no longer accepts the old one.
 */
public interface TokenProvider {
    /**
     * The token to send; null if the user must sign in. The call then throws {@link
     * PushClientException.Reason#SIGNED_OUT}, or, after a refused token, {@link
     * PushClientException.Reason#UNAUTHORIZED}.
     *
     * <p>The client calls this before each request, on a separate thread. The client interrupts
     * that thread when the call's deadline passes. Before the account's first answer, the client
     * also calls this for each new task of the {@link Outbox}.
     *
     * @param refused the token that the server has just refused: return another one. Null if no
     * token was refused. The client passes a refused token in one call at a time, and only once,
     * even if several calls used that token.
     * @throws java.io.IOException if a new token is unavailable without a network, which is
     *     {@link PushClientException.Reason#OFFLINE}; other exceptions are
     *     {@link PushClientException.Reason#UNAUTHORIZED}
     */
    @Nullable
    String token(@Nullable String refused) throws Exception;
}
