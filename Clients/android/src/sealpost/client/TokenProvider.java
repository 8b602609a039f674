package sealpost.client;

/** Gives the token that a client signs in with, and a new one when the server no longer takes it. */
public interface TokenProvider {
    /**
     * The token to send; null if the user must sign in again.
     *
     * <p>Called on the thread of the call, before each request.
     *
     * @param refused the token that the server has just refused, so that another one is due; null otherwise
     */
    @Nullable
    String token(@Nullable String refused) throws Exception;
}
