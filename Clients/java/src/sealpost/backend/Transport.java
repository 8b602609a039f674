package sealpost.backend;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Exchanges with one server over HTTP/1.1, each with a timeout. */
final class Transport {
    /** The maximum number of bytes of an answer. A list of 500 entries has far fewer. */
    static final int MAXIMUM_BODY = 16 << 20;

    private final HttpClient http;
    private final String server;

    Transport(String server, HttpClient http, boolean isInsecureAllowed) {
        URI uri = URI.create(server);
        boolean isHTTP = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
        if (!isHTTP || uri.getHost() == null || uri.getRawQuery() != null || uri.getRawFragment() != null || uri.getRawUserInfo() != null) {
            throw new IllegalArgumentException(server + " is not the address of a server, such as https://push.example.com");
        }
        boolean isLocal = uri.getHost().toLowerCase(Locale.ROOT).matches("localhost|\\[::1\\]|127(\\.[0-9]{1,3}){3}");
        if ("http".equals(uri.getScheme()) && !isLocal && !isInsecureAllowed) {
            throw new IllegalArgumentException(
                    "server: http sends the token in clear; use https, or set isInsecureAllowed in a network of your own");
        }
        if (http.followRedirects() != HttpClient.Redirect.NEVER) {
            throw new IllegalArgumentException("the HttpClient follows redirects: set Redirect.NEVER, its default");
        }
        this.http = http;
        this.server = server.endsWith("/") ? server.substring(0, server.length() - 1) : server;
    }

    /**
     * One request and its answer. Throws {@link Unreachable}, or {@link Interference} for a body
     * beyond the maximum.
     */
    Answer exchange(Request request, Map<String, String> fields, byte @Nullable [] body, Duration timeout) {
        HttpRequest.Builder builder = HttpRequest.newBuilder(URI.create(server + request.path + request.query))
                .version(HttpClient.Version.HTTP_1_1)
                .timeout(timeout)
                .method(
                        request.method,
                        body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body));
        fields.forEach(builder::setHeader);
        Body content = new Body();
        CompletableFuture<HttpResponse<byte[]>> waiting = http.sendAsync(builder.build(), about -> content);
        try {
            HttpResponse<byte[]> response = waiting.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            Answer answer = new Answer(response.statusCode(), response.headers(), response.body());
            if (content.isOversized) throw new Interference("oversized", answer);
            return answer;
        } catch (ExecutionException error) {
            throw unreachable(error.getCause());
        } catch (TimeoutException error) {
            throw unreachable(new IOException("timed out", error));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new Unreachable("the thread was interrupted", false, error);
        } finally {
            // The HttpClient of Java 11 continues to read after a cancellation, so the body's
            // subscription is cancelled, too.
            waiting.cancel(true);
            content.cancel();
        }
    }

    private Unreachable unreachable(Throwable error) {
        boolean isCertificate = false;
        for (Throwable cause = error; cause != null; cause = cause.getCause()) isCertificate |= cause instanceof CertificateException;
        String reason = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
        return new Unreachable(server + " has not answered: " + reason, !isCertificate, error);
    }

    /** Collects a body up to the maximum number of bytes. */
    private static final class Body implements HttpResponse.BodySubscriber<byte[]> {
        private final CompletableFuture<byte[]> bytes = new CompletableFuture<>();
        private final ByteArrayOutputStream content = new ByteArrayOutputStream();
        private volatile Flow.@Nullable Subscription subscription;
        volatile boolean isOversized;

        void cancel() {
            Flow.Subscription subscription = this.subscription;
            if (subscription != null && !bytes.isDone()) subscription.cancel();
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            this.subscription = subscription;
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(List<ByteBuffer> pieces) {
            for (ByteBuffer piece : pieces) {
                if (isOversized) return;
                if (piece.remaining() > MAXIMUM_BODY - content.size()) {
                    isOversized = true;
                    cancel();
                    bytes.complete(new byte[0]);
                    return;
                }
                byte[] chunk = new byte[piece.remaining()];
                piece.get(chunk);
                content.write(chunk, 0, chunk.length);
            }
        }

        @Override
        public void onError(Throwable error) {
            bytes.completeExceptionally(error);
        }

        @Override
        public void onComplete() {
            bytes.complete(content.toByteArray());
        }

        @Override
        public CompletionStage<byte[]> getBody() {
            return bytes;
        }
    }
}
