package sealpost.backend;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Repeats requests, each of which has the same effect once or several times, until the answer is final. */
final class Calls {
    /**
     * The delays between attempts are random below a limit, which doubles with each attempt up to
     * this maximum.
     */
    private static final Duration LAST_DELAY = Duration.ofSeconds(30);

    private final Transport transport;
    private final Supplier<String> authorization;
    private final @Nullable Verifier verifier;
    private final AtomicReference<@Nullable String> account;
    private final Duration timeout;
    private final Duration firstDelay;

    Calls(Client.Builder options, Supplier<String> authorization) {
        HttpClient http = options.http == null ? HttpClient.newHttpClient() : options.http;
        this.transport = new Transport(options.server, http, options.isInsecureAllowed);
        this.authorization = authorization;
        this.verifier = options.verifier;
        this.account = new AtomicReference<>(options.account);
        this.timeout = options.timeout;
        this.firstDelay = options.firstDelay;
    }

    /**
     * Sends a request and reads the server's answer with {@code result}. {@code end} is a time of
     * {@code System.nanoTime}.
     */
    <T> T call(
            String method,
            String path,
            String query,
            byte @Nullable [] body,
            @Nullable String key,
            long end,
            Function<@Nullable Json, T> result) {
        for (int number = 0; ; number++) {
            try {
                return attempt(new Request(method, path, query), body, key, end, result);
            } catch (SealpostException error) {
                // A `Retry-After` with a date can have more nanoseconds than a long.
                Duration delay = (error.retryAfter == null ? Duration.ZERO : error.retryAfter).plusNanos(backoff(number));
                boolean isBeyond = Duration.ofNanos(end - System.nanoTime()).compareTo(delay) <= 0;
                if (!error.isTransient || isBeyond) throw error.withKey(key);
                sleep(delay.toNanos(), error.withKey(key));
            }
        }
    }

    private long backoff(int number) {
        double delay = Math.min(firstDelay.toNanos() * Math.pow(2, number), LAST_DELAY.toNanos());
        return (long) (delay * ThreadLocalRandom.current().nextDouble(0.5, 1));
    }

    private static void sleep(long nanos, SealpostException error) {
        try {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
            throw error;
        }
    }

    /** The nanoseconds until {@code end}, a time of {@code System.nanoTime}. Throws if it has passed. */
    static long left(long end) {
        long left = end - System.nanoTime();
        if (left <= 0) throw new Unreachable("the deadline has passed", true, null);
        return left;
    }

    /** Sends a request once, and reads the server's answer with {@code result}. */
    <T> T attempt(
            Request request, byte @Nullable [] body, @Nullable String key, long end, Function<@Nullable Json, T> result) {
        left(end);
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("Authorization", authorization.get());
        // The app's function for tokens may have taken all the time, and an `HttpClient` could send
        // a request within the shortest timeout.
        long left = Math.min(left(end), timeout.toNanos());
        fields.put("MyToken", Integer.toString(request.token));
        fields.put("Prefer", "handling=strict");
        if (body != null) fields.put("Content-Type", "application/json");
        if (key != null) fields.put("Idempotency-Key", key);
        if (verifier != null) fields.put("Accept-Signature", verifier.acceptSignature());
        Answer answer = transport.exchange(request, fields, body, Duration.ofNanos(left));
        account.set(request.check(answer, account.get(), verifier, System.currentTimeMillis() / 1000));
        Json json = null;
        try {
            if (answer.body.length > 0) json = Json.read(answer.body);
        } catch (JsonException error) {
            throw new Interference("notJSON", answer);
        }
        try {
            if (answer.status >= 400) throw Problem.read(json, answer.status, answer.retryAfter());
            return result.apply(json);
        } catch (Malformed error) {
            throw new Interference("unexpectedBody", answer);
        }
    }
}
