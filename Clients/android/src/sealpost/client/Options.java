package sealpost.client;

import androidx.annotation.Nullable;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.util.HashSet;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import javax.net.ssl.KeyManager;
import javax.net.ssl.X509TrustManager;
import sealpost.client.ResponseVerifier.Coverage;

/** The server, the proof that its answers must have, and optional settings. */
public final class Options {
    /** The clock, which tests replace. */
    interface Clock {
        long millis();
    }

    static final String DEFAULT_APP = "default";

    private final String base;
    private final Signatures signatures;
    private long toleranceMillis = 300_000;
    private long deadlineMillis = 30_000;
    private int answerLimit = 4 << 20;
    private @Nullable String app;
    private @Nullable DeviceKey deviceKey;
    private boolean isDeviceShared;
    private final Set<String> pins = new HashSet<>();
    private @Nullable X509TrustManager trustManager;
    private @Nullable KeyManager clientCertificate;
    private @Nullable Observer observer;
    private @Nullable Headers headers;
    private Connections connections = new Connections() {
        @Override
        public HttpURLConnection open(URL url) throws IOException {
            return (HttpURLConnection) url.openConnection();
        }
    };
    private Clock clock = new Clock() {
        @Override
        public long millis() {
            return System.currentTimeMillis();
        }
    };

    /**
     * @param server the server's URL, which may have a path, for example if one proxy forwards to
     * several servers
     * @param signatures {@link Signatures#pinned}, or {@link Signatures#unsigned} if the app needs
     *     no proof
     * @throws IllegalArgumentException if the URL is unreadable, has no host or has a user, a
     *     query or a fragment; also for an {@code http} URL of another host than this device, and
     *     for any {@code http} URL with pinned keys
     */
    public Options(String server, Signatures signatures) {
        this(url(server), signatures);
        if (!isInClear()) return;
        if (isSigned()) throw inClear("where keys are pinned");
        if (!isLoopback(url(server).getHost())) throw inClear("to another host than 127.0.0.1, ::1 or localhost");
    }

    private Options(URL url, Signatures signatures) {
        this.signatures = Objects.requireNonNull(signatures, "signatures");
        String path = url.getPath();
        while (path.endsWith("/")) path = path.substring(0, path.length() - 1);
        base = url.getProtocol() + "://" + url.getHost() + (url.getPort() < 0 ? "" : ":" + url.getPort()) + path;
    }

    /** Allows {@code http} with pinned keys, too: this library's tests use servers without TLS. */
    static Options withoutTLS(String server, Signatures signatures) {
        return new Options(url(server), signatures);
    }

    private static URL url(String server) {
        Objects.requireNonNull(server, "server");
        try {
            URL url = new URL(server);
            String scheme = url.getProtocol();
            if (!scheme.equals("https") && !scheme.equals("http") || url.getHost().isEmpty()) {
                throw new IllegalArgumentException("the server's URL is not one of HTTP with a host");
            }
            // URL accepts each of these; requests would fail, or lose the part.
            URI uri = new URI(server);
            if (url.getPort() == 0 || url.getPort() > 65_535) throw new IllegalArgumentException("the server's URL has an impossible port");
            if (url.getUserInfo() != null) throw new IllegalArgumentException("the server's URL has a user: use Credentials");
            if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
                throw new IllegalArgumentException("the server's URL has a query or a fragment");
            }
            return url;
        } catch (MalformedURLException | URISyntaxException error) {
            throw new IllegalArgumentException("the server's URL cannot be read", error);
        }
    }

    private boolean isInClear() {
        return base.startsWith("http:");
    }

    private static IllegalArgumentException inClear(String where) {
        return new IllegalArgumentException("http sends passwords and tokens in clear, and is not used " + where + ": use https");
    }

    /**
     * Whether requests stay on this device: 127.0.0.0/8, ::1 and localhost, in their usual
     * spelling.
     */
    private static boolean isLoopback(String host) {
        if (host.toLowerCase(Locale.ROOT).equals("localhost") || host.equals("[::1]") || host.equals("::1")) return true;
        String[] parts = host.split("\\.", -1);
        if (parts.length != 4 || !parts[0].equals("127")) return false;
        for (String part : parts) {
            int number = 0;
            for (int index = 0; index < part.length() && number < 256; index++) {
                char digit = part.charAt(index);
                if (digit < '0' || digit > '9') return false;
                number = number * 10 + digit - '0';
            }
            // A leading zero is refused, because some resolvers read such a number as octal.
            if (number > 255 || !part.equals(Integer.toString(number))) return false;
        }
        return true;
    }

    /**
     * The largest accepted difference between the clocks of server and device; 300 seconds by
     * default. It applies only to servers of earlier versions. Newer servers sign the request's
     * nonce, so the clocks do not matter.
     *
     * @throws IllegalArgumentException if the difference is negative
     */
    public Options signatureToleranceSeconds(int seconds) {
        if (seconds < 0) throw new IllegalArgumentException("the tolerance is negative");
        toleranceMillis = seconds * 1000L;
        return this;
    }

    /**
     * The time limit of one call with all of its requests; 30 seconds by default.
     *
     * @throws IllegalArgumentException if the limit is not positive
     */
    public Options deadlineMillis(long millis) {
        if (millis <= 0) throw new IllegalArgumentException("the deadline is not positive");
        deadlineMillis = millis;
        return this;
    }

    /**
     * The maximum number of bytes of an answer's body, 4 MiB by default. No answer is longer if
     * the server has its default limits.
     *
     * @throws IllegalArgumentException if the limit is not positive
     */
    public Options answerLimit(int bytes) {
        if (bytes <= 0) throw new IllegalArgumentException("the limit of an answer is not positive");
        answerLimit = bytes;
        return this;
    }

    /**
     * The name of this client's app, if the server sends for several apps. Without a name the
     * server chooses the account's only app. A client with {@link #deviceKey} then uses the app
     * {@code default}.
     *
     * @throws IllegalArgumentException unless the name has 1 to 64 characters of {@code a-z 0-9 - _}
     */
    public Options app(String name) {
        if (!name.matches("[a-z0-9_-]{1,64}")) throw new IllegalArgumentException("the app's name is not 1 to 64 characters of a-z 0-9 - _");
        app = name;
        return this;
    }

    /**
     * The public keys of this device, {@link DeviceKeys#key}, if the device opens end-to-end
     * payloads. The calls that register the device then also give the keys to the server. Requests
     * for notifications also ask for the content keys that senders have encrypted for this device.
     */
    public Options deviceKey(DeviceKey key) {
        deviceKey = key;
        return this;
    }

    /**
     * Lets several accounts share this device. Each account registers the same handle, and no
     * registration replaces another account's. Each push has a hint that identifies its account,
     * for {@link PushClient#isRecipient}.
     */
    public Options deviceShared(boolean isShared) {
        isDeviceShared = isShared;
        return this;
    }

    /**
     * Accepts only server certificates that have one of these keys, and that the platform trusts.
     *
     * <p>To pin the keys of a certificate authority, use {@code <pin-set>} of Android's Network
     * Security Configuration.
     *
     * @param sha256 the SHA-256 of a SubjectPublicKeyInfo in base64, as in RFC 7469
     * @throws IllegalArgumentException if a pin is unreadable, or for an {@code http} URL, which
     *     has no certificate
     */
    public Options pins(String... sha256) {
        if (isInClear()) throw inClear("where certificates are pinned");
        for (String pin : sha256) {
            byte[] hash = Base64.fromStandard(pin);
            if (hash == null || hash.length != 32) throw new IllegalArgumentException("a pin is 32 bytes in base64");
            pins.add(pin);
        }
        return this;
    }

    /**
     * Sets the manager that verifies certificates in place of the platform, for example for a
     * private certificate authority.
     */
    public Options trustManager(X509TrustManager manager) {
        trustManager = manager;
        return this;
    }

    /**
     * Sets the manager of the certificate that the client presents to a server or proxy that asks
     * for one. For a certificate of {@code KeyChain}, pass an {@code X509KeyManager}.
     */
    public Options clientCertificate(KeyManager manager) {
        clientCertificate = manager;
        return this;
    }

    /** Sets the function that opens connections. */
    public Options connections(Connections connections) {
        this.connections = connections;
        return this;
    }

    /** Sets an observer of all requests, for logs and counters. */
    public Options observer(Observer observer) {
        this.observer = observer;
        return this;
    }

    /** Sets the function that adds header fields to each request. */
    public Options headers(Headers headers) {
        this.headers = headers;
        return this;
    }

    @Nullable Observer observer() {
        return observer;
    }

    @Nullable Headers headers() {
        return headers;
    }

    Options clock(Clock clock) {
        this.clock = clock;
        return this;
    }

    String base() {
        return base;
    }

    boolean isSigned() {
        return signatures.verifier != null;
    }

    /**
     * The value of {@code Accept-Signature}; null if answers are unsigned.
     *
     * <p>It also allows a signature without the nonce, which servers of earlier versions do not
     * know. As long as the client does not know its account, it also allows a signature that does
     * not cover the account.
     */
    @Nullable String acceptSignature(@Nullable String account, @Nullable String nonce) {
        if (!isSigned()) return null;
        String key = signatures.keys.get(0).id();
        return ResponseVerifier.acceptSignature(key, nonce, account == null);
    }

    AnswerCheck check() {
        Verifier verifier = signatures.verifier;
        return new AnswerCheck(verifier == null ? null : new ResponseVerifier(signatures.keys, verifier, toleranceMillis));
    }

    /** The deadline of a call that begins now; throws on the main thread. */
    Deadline deadline() {
        MainThread.refuse();
        return deadlineOnAnyThread();
    }

    Deadline deadlineOnAnyThread() {
        return new Deadline(deadlineMillis);
    }

    int answerLimit() {
        return answerLimit;
    }

    /** The app to which the stored state belongs; null if the client names no app. */
    @Nullable String ownApp() {
        return app;
    }

    /**
     * The app that each request names; null leaves the choice to the server. End-to-end payloads
     * are bound to an app, so a client that opens them always names its app.
     */
    @Nullable String app() {
        return app == null && deviceKey != null ? DEFAULT_APP : app;
    }

    @Nullable DeviceKey deviceKey() {
        return deviceKey;
    }

    /**
     * Adds to a request the parameter that asks for the content keys that senders have encrypted
     * for this device.
     */
    Request withKey(Request request) {
        return deviceKey == null ? request : request.parameter("key", deviceKey.id());
    }

    boolean isDeviceShared() {
        return isDeviceShared;
    }

    Set<String> pins() {
        return pins;
    }

    @Nullable X509TrustManager trustManager() {
        return trustManager;
    }

    @Nullable KeyManager clientCertificate() {
        return clientCertificate;
    }

    Connections connections() {
        return connections;
    }

    long now() {
        return clock.millis();
    }
}
