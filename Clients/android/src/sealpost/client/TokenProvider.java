package sealpost.client;

/** Gives the token that a client signs in with, and a new one when the server no longer takes it. */
public interface TokenProvider {
    /**
     * The token to send; null if the user must sign in again.
     *
     * <p>Called before each request, on a thread of the client's own, which is interrupted when the time of the call is over.
     *
     * @param refused the token that the server has just refused, so that another one is due; null otherwise. A client asks so for
     *     one call at a time, and once for all to which it was refused.
     * @throws java.io.IOException if a new one cannot be had for want of a network, which is {@link
     *     PushException.Reason#OFFLINE}; anything else is {@link PushException.Reason#UNAUTHORIZED}
     */
    @Nullable
    String token(@Nullable String refused) throws Exception;
}
