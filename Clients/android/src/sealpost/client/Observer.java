package sealpost.client;

import androidx.annotation.Nullable;

/**
 * Observes a client's requests, for logs and counters.
 *
 * <p>An observer gets no payload, credential, handle or id. The client calls it on the thread of
 * the call, so it must neither block nor throw.
 */
public interface Observer {
    /**
     * The server has answered, possibly with a refusal.
     *
     * @param route the path with {@code {id}} in place of an id or a topic
     */
    void answered(String method, String route, int status, long millis);

    /**
     * A request has failed: there was no answer, or the answer was not the server's own.
     *
     * @param kind the check that the answer failed; null if there was no answer
     */
    void failed(
            String method, String route, PushClientException.Reason reason, @Nullable Interference.Kind kind, long millis);
}
