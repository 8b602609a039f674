package sealpost.client;

import androidx.annotation.Nullable;

/**
 * Observes a client's requests, for logs and counters.
 *
 * <p>No payload, credential, handle or id passes through it. The client calls it on the thread of
 * the call, so it must neither block nor throw.
 */
public interface Observer {
    /**
     * The server has answered, also with a refusal.
     *
     * @param route the path with {@code {id}} in place of an id or a topic
     */
    void answered(String method, String route, int status, long millis);

    /**
     * A request has failed: no answer came, or not the server's.
     *
     * @param kind the check that the answer failed; null if none came
     */
    void failed(
            String method, String route, PushClientException.Reason reason, @Nullable Interference.Kind kind, long millis);
}
