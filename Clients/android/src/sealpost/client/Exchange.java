package sealpost.client;

import androidx.annotation.Nullable;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLSocketFactory;

/**
 * Sends one request and reads its answer. Follows no redirects, uses no caches, and ignores the
 * body of an answer that does not echo the token.
 */
final class Exchange implements Callable<RawAnswer> {
    private final Options options;
    private final @Nullable SSLSocketFactory sockets;
    private final Request request;
    private final MyToken token;
    private final @Nullable String authorization;
    private final @Nullable String acceptSignature;
    private final int timeoutMillis;
    private volatile @Nullable HttpURLConnection connection;
    private volatile boolean isCancelled = false;

    Exchange(
            Options options,
            @Nullable SSLSocketFactory sockets,
            Request request,
            MyToken token,
            @Nullable String authorization,
            @Nullable String acceptSignature,
            int timeoutMillis) {
        this.options = options;
        this.sockets = sockets;
        this.request = request;
        this.token = token;
        this.authorization = authorization;
        this.acceptSignature = acceptSignature;
        this.timeoutMillis = timeoutMillis;
    }

    /**
     * Ends the exchange from another thread. This function may block, so the caller's thread must
     * not run it.
     */
    void cancel() {
        isCancelled = true;
        HttpURLConnection connection = this.connection;
        if (connection != null) connection.disconnect();
    }

    @Override
    public RawAnswer call() throws IOException {
        // The platforms silently repeat a POST on another connection, unless its body is a stream.
        return call(!request.isRepeatable);
    }

    private RawAnswer call(boolean isStreamed) throws IOException {
        HttpURLConnection connection = open();
        this.connection = connection;
        if (isCancelled) throw new SocketTimeoutException("cancelled");
        byte[] body = request.body == null ? new byte[0] : request.body.bytes();
        if (isStreamed) connection.setFixedLengthStreamingMode(body.length);
        if (isStreamed || body.length > 0) {
            connection.setDoOutput(true);
            try (OutputStream out = connection.getOutputStream()) {
                out.write(body);
            }
        }
        int status = connection.getResponseCode();
        // The JDK hides the body of a 401 to a streamed request. So the request is sent again
        // without streaming: the refused request had no effect.
        if (isStreamed && status == 401 && connection.getErrorStream() == null && isEchoed(connection)) return call(false);
        if (status < 100 || status > 599) throw new IOException("the answer is not HTTP");
        if (status < 200) {
            connection.disconnect();
            // Of the interim answers the platform skips only 100; after any other, it hides the
            // final answer.
            throw new IOException("something answers with the interim status " + status + ", which the platform cannot skip");
        }
        RawAnswer answer = new RawAnswer(status);
        for (int index = 0; connection.getHeaderField(index) != null; index++) {
            String name = connection.getHeaderFieldKey(index);
            if (name != null) answer.add(name, connection.getHeaderField(index));
        }
        String length = answer.field("content-length");
        if (length != null && !length.matches("([0-9]+)(, *\\1)*")) {
            connection.disconnect();
            throw new IOException("the answer's Content-Length is not one number");
        }
        if (isEchoed(connection)) {
            readBody(connection, answer);
        } else {
            // The body is not read: a captive portal's page may be long.
            try {
                if (hidesCutHead(connection, answer)) refuseCutHead(connection, answer);
            } finally {
                connection.disconnect();
            }
        }
        return answer;
    }

    /** Refuses an answer that has ended inside its head, before the echo. Redirects need no body. */
    private void refuseCutHead(HttpURLConnection connection, RawAnswer answer) throws IOException {
        if (hasNoBody(answer) || answer.field("location") != null) return;
        InputStream in = answer.status >= 400 ? connection.getErrorStream() : connection.getInputStream();
        if (in != null && in.read() < 0) throw endedInHead();
    }

    private boolean isEchoed(HttpURLConnection connection) {
        return token.echo().equals(connection.getHeaderField(MyToken.FIELD));
    }

    private HttpURLConnection open() throws IOException {
        HttpURLConnection connection = options.connections().open(new URL(options.base() + request.target()));
        if (sockets != null && connection instanceof HttpsURLConnection) {
            ((HttpsURLConnection) connection).setSSLSocketFactory(sockets);
        }
        connection.setConnectTimeout(timeoutMillis);
        connection.setReadTimeout(timeoutMillis);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setAllowUserInteraction(false);
        connection.setRequestMethod(request.method);
        connection.setRequestProperty(MyToken.FIELD, token.toString());
        // The platform's default would reveal the device's model.
        connection.setRequestProperty("User-Agent", "Sealpost");
        connection.setRequestProperty("Accept", "application/json");
        // The digest covers the body as the server sent it, so proxies must not compress it.
        connection.setRequestProperty("Accept-Encoding", "identity");
        set(connection, "Accept-Signature", acceptSignature);
        set(connection, "Authorization", authorization);
        set(connection, "If-None-Match", request.tag);
        set(connection, "Idempotency-Key", request.idempotencyKey);
        if (request.body != null) connection.setRequestProperty("Content-Type", "application/json");
        for (Map.Entry<String, String> field : request.added.entrySet()) set(connection, field.getKey(), field.getValue());
        return connection;
    }

    private static void set(HttpURLConnection connection, String name, @Nullable String value) {
        if (value != null) connection.setRequestProperty(name, value);
    }

    private void readBody(HttpURLConnection connection, RawAnswer answer) throws IOException {
        if (hasNoBody(answer)) return;
        try (InputStream in = answer.status >= 400 ? connection.getErrorStream() : connection.getInputStream()) {
            if (in != null) read(in, answer);
            if (answer.end == RawAnswer.End.OVERSIZED) connection.disconnect();
            else decode(answer);
        } catch (SocketTimeoutException late) {
            // This device's timeout has ended the exchange, not the peer.
            throw late;
        } catch (IOException end) {
            if (isCancelled || isOfDevice(end)) throw end;
            answer.end = RawAnswer.End.CUT;
        }
        // The end may also be that of an empty body: the server writes Date late in its head.
        if (hidesCutHead(connection, answer) && answer.body.length == 0 && answer.field("date") == null) throw endedInHead();
    }

    private boolean hasNoBody(RawAnswer answer) {
        return answer.status == 204 || answer.status == 304 || request.method.equals("HEAD");
    }

    /**
     * Whether the platform would hide that this answer has ended inside its head. Only the JDK
     * does; Android's connections throw.
     */
    private static boolean hidesCutHead(HttpURLConnection connection, RawAnswer answer) {
        boolean isFramed = answer.field("content-length") != null || answer.field("transfer-encoding") != null;
        return !isFramed && connection.getClass().getName().startsWith("sun.net.");
    }

    /** An answer that has ended inside its head is no answer. */
    private static IOException endedInHead() {
        return new IOException("the answer ended inside its head");
    }

    private void read(InputStream in, RawAnswer answer) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        byte[] piece = new byte[16_384];
        int count;
        try {
            while ((count = in.read(piece)) >= 0) {
                int room = options.answerLimit() - body.size();
                body.write(piece, 0, Math.min(count, room));
                if (count > room) {
                    answer.end = RawAnswer.End.OVERSIZED;
                    return;
                }
            }
        } finally {
            answer.body = body.toByteArray();
        }
    }

    /**
     * Undoes the compression of a proxy that ignores {@code Accept-Encoding}.
     *
     * <p>A body that is not in the coding that its field names counts as cut, as on other platforms.
     */
    private void decode(RawAnswer answer) {
        byte[] body = answer.body;
        String coding = String.valueOf(answer.field("content-encoding")).toLowerCase(Locale.ROOT);
        try {
            InputStream in = new ByteArrayInputStream(body);
            if (coding.equals("gzip") || coding.equals("x-gzip")) read(new GZIPInputStream(in), answer);
            else if (coding.equals("deflate")) read(new InflaterInputStream(in), answer);
        } catch (IOException other) {
            answer.body = body;
            answer.end = RawAnswer.End.CUT;
        }
    }

    /**
     * Whether an answer was cut because the device has lost its network, as in a handover, and not
     * because of a proxy.
     */
    private static boolean isOfDevice(IOException error) {
        String message = String.valueOf(error.getMessage()).toLowerCase(Locale.ROOT);
        if (message.contains("connection abort") || message.contains("unreachable")) return true;
        return error instanceof SocketException && !message.contains("reset") && !message.contains("broken pipe");
    }
}
