package sealpost.client;

import java.util.Map;

/**
 * Adds header fields to a client's requests, such as {@code traceparent}.
 *
 * <p>It gets no payload, credential, handle or id. The client calls it on the thread of the call,
 * before each request, so it must neither block nor throw.
 */
public interface Headers {
    /**
     * The fields to add, by their names. The client ignores its own fields, such as {@code
     * Authorization}. A field that is malformed, for example because of a line break, ends the
     * call with an {@link IllegalArgumentException}.
     *
     * @param route the path with {@code {id}} in place of an id or a topic
     */
    Map<String, String> fields(String method, String route);
}
