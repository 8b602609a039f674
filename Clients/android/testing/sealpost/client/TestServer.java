package sealpost.client;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import javax.crypto.spec.SecretKeySpec;

/**
 * A server in memory for tests on the JVM: it has one user, alice with the password "secret", and
 * signs its answers.
 *
 * <p>It has notifications, lists with cursors, read, dismiss, send once for each key, registrations,
 * devices and sessions. Calls that send PATCH, such as {@link PushClient#markRead(long, boolean)}, need
 * {@code --add-opens java.base/java.net=ALL-UNNAMED}, since the JDK knows no PATCH.
 */
public final class TestServer implements AutoCloseable {
    /** An action between a request and its answer. */
    interface Held {
        void run() throws Exception;
    }

    /** The state of a user's notification, and the number of its last change. */
    static final class Entry {
        Json json;
        long version;
        long changedAt;
        boolean isDeleted;
    }

    final TreeMap<Long, Entry> entries = new TreeMap<>();
    final Map<String, Long> sentByKey = new HashMap<>();
    final List<String> log = new ArrayList<>();
    /** The fields of the last request, with names in lower case. */
    final Map<String, String> lastFields = new HashMap<>();
    final Set<String> devices = Collections.synchronizedSet(new TreeSet<String>());
    /** The end-to-end keys of devices, by their ids. */
    final Map<String, String> deviceKeys = new HashMap<>();
    /** The body of the last registration. */
    String lastRegistration = "";
    final List<String> credentials = new ArrayList<>();
    final String pinned;
    volatile int pageSize = 500;
    volatile String authorization = "Bearer spt_first";
    /** The name and the password of its user, as a request sends them. */
    volatile String password = "Basic " + Base64.standard("alice:secret".getBytes(StandardCharsets.UTF_8));
    /** Whether the answers are forged by somebody who can calculate the echo. */
    volatile boolean isForged = false;
    /** The identifier of its user's account. */
    volatile String account = "AAAAAAAAAAAAAAAAAAAAAA";
    volatile String username = "alice";
    /** The accounts of its former users, by their credentials, while their sessions exist. */
    final Map<String, String> former = new ConcurrentHashMap<>();
    /** Whether the server has no identifiers of accounts, like the previous version. */
    volatile boolean isOfVersionBefore = false;
    /** How far the server's clock is ahead of the device's. */
    volatile long clockOffsetSeconds = 0;
    /** Whether the server signs no nonces, and which nonce it signs in place of the request's. */
    volatile boolean isNonceUnknown = false;

    volatile String otherNonce;
    /** Whether a proxy in front of this server demands the coverage of the previous version. */
    volatile boolean isAskedForLess = false;
    /**
     * The server of a proxy's account. While set, a proxy in front of this server sends all
     * requests with credentials of its own.
     */
    volatile TestServer ofProxy;
    volatile int exchanged = 0;
    /** The coding with which a proxy before this server compresses, or only labels, all bodies. */
    volatile String coding;
    volatile boolean isOnlyLabelled = false;
    /** Whether the end of a session also ends its token and its devices. */
    volatile boolean endsSessions = false;
    volatile int loseOneIn = 0;
    volatile int forgetOneIn = 0;
    /** Runs between the next request and its answer. */
    volatile Held held;
    /** A cursor that replaces the server's own. */
    volatile String cursor;
    /** The problem type for a payload that is too large. */
    volatile String tooLarge = "payload-too-large";
    volatile String ttl = "2099-01-01T00:00:00Z";

    private final HttpServer server;
    private final ExecutorService threads = Executors.newFixedThreadPool(4);
    private final Random random = new Random(7);
    private final PrivateKey key;
    private final VerificationKey publicKey;
    private long version = 0;
    private long nextId = 1000;
    private int epoch = 0;
    /** The number of ids for devices without a handle. */
    private int issued = 0;

    static {
        // Head and body are two packets. Without this option the second would wait for the
        // acknowledgement of the first.
        System.setProperty("sun.net.httpserver.nodelay", "true");
    }

    /** Starts a server at a free port of this machine. */
    public TestServer() throws Exception {
        JdkMethods.allowPatchIfPossible();
        KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        byte[] encoded = pair.getPublic().getEncoded();
        pinned = Base64.url(Arrays.copyOfRange(encoded, encoded.length - 32, encoded.length));
        publicKey = new VerificationKey(pinned);
        key = KeyFactory.getInstance("Ed25519").generatePrivate(new PKCS8EncodedKeySpec(pair.getPrivate().getEncoded()));
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Options for clients of this server, with its key pinned. */
    public Options options() {
        return Options.withoutTLS(url(), Signatures.pinned(PlatformVerifier.find(), new VerificationKey(pinned)));
    }

    /** A client that signs in with the stored token. */
    public PushClient signedIn(Store store) {
        return new PushClient(options(), Credentials.stored("alice"), store);
    }

    /** A client with a token, which needs no sign-in. */
    public PushClient client(Store store) {
        return new PushClient(options(), Credentials.token("spt_first", "alice"), store);
    }

    /**
     * Gives the server another user, whose password is {@code secret}, too. The former user's
     * session exists until it is ended.
     */
    void isUser(String name, String id) {
        if (!id.equals(account)) {
            former.put(authorization, account);
            authorization = "Bearer spt_" + name;
        }
        username = name;
        account = id;
        password = "Basic " + Base64.standard((name + ":secret").getBytes(StandardCharsets.UTF_8));
    }

    /** Posts a notification, and returns its id. */
    public synchronized long add(String payload) {
        long id = nextId += 1 + random.nextInt(1000);
        put(id, Json.object()
                .with("Id", Json.of(id))
                .with("Payload", Json.of(payload))
                .with("Read", Json.of(false))
                .with("CreatedAt", Json.of("2027-01-15T08:00:00Z"))
                .with("ExpiresAt", Json.of(ttl)));
        return id;
    }

    /**
     * Adds a read-once payload: readable for a minute at the real server, and in one answer here.
     */
    public synchronized long addReadOnce(String payload) {
        long id = add(payload);
        put(id, entries.get(id).json.with("ReadOnce", Json.of(true)));
        return id;
    }

    /** Recalls a notification. */
    public synchronized void recall(long id) {
        put(id, null);
    }

    /** The ids of registered devices. */
    public Set<String> devices() {
        return new TreeSet<>(devices);
    }

    /** Lets answers be forged, as by a proxy without the server's key. */
    public void forge(boolean isForged) {
        this.isForged = isForged;
    }

    /** A store in a folder, with a fixed key. */
    public static Store store(File folder) {
        return new Store(folder, new SecretKeySpec(new byte[32], "AES"));
    }

    synchronized void put(long id, Json json) {
        Entry entry = entries.computeIfAbsent(id, none -> new Entry());
        entry.json = json;
        entry.isDeleted = json == null;
        entry.version = ++version;
        entry.changedAt = System.currentTimeMillis();
    }

    synchronized void forgetCursors() {
        epoch++;
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }

    private void handle(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        int status;
        Json answer;
        Map<String, String> fields = new HashMap<>();
        TestServer asked = ofProxy == null ? this : ofProxy;
        if (asked != this) exchanged++;
        String shown = String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"));
        String owner = asked.former.getOrDefault(shown, asked.account);
        synchronized (asked) {
            log.add(exchange.getRequestMethod() + " " + exchange.getRequestURI().getRawPath());
            lastFields.clear();
            exchange.getRequestHeaders().forEach((name, values) -> lastFields.put(name.toLowerCase(Locale.ROOT), values.get(0)));
            try {
                Object[] result = asked.answer(exchange, body.length == 0 ? null : Json.read(body), fields, asked == this);
                status = (Integer) result[0];
                answer = (Json) result[1];
            } catch (JsonException error) {
                throw new IOException(error);
            }
            // This closes the connection.
            if (loseOneIn > 0 && random.nextInt(loseOneIn) == 0) throw new IOException("the answer is lost");
        }
        Held held = this.held;
        this.held = null;
        try {
            if (held != null) held.run();
        } catch (Exception error) {
            throw new IOException(error);
        }
        if (!isOfVersionBefore) {
            boolean isOfNobody = status == 401 || exchange.getRequestURI().getRawPath().equals("/api/enrolment");
            fields.put("Sealpost-Account", isOfNobody ? "none" : owner);
        }
        send(exchange, status, answer == null ? new byte[0] : answer.bytes(), fields);
    }

    private void send(HttpExchange exchange, int status, byte[] body, Map<String, String> fields) throws IOException {
        String token = exchange.getRequestHeaders().getFirst("MyToken");
        fields.put("MyToken", new MyToken(Integer.parseInt(token)).echo());
        String validator = status == 304 ? "\"etag\"" : "\"content-digest\"";
        if (status != 304) fields.put("Content-Digest", "sha-256=:" + Base64.standard(Hashes.sha256(body)) + ":");
        String query = exchange.getRequestURI().getRawQuery();
        String demand = isAskedForLess ? "" : String.valueOf(exchange.getRequestHeaders().getFirst("Accept-Signature"));
        String account = fields.get("Sealpost-Account");
        boolean isAccountCovered = account != null && demand.contains("\"sealpost-account\"");
        String input = "(\"@status\" " + validator + " \"mytoken\";req \"@method\";req \"@path\";req \"@query\";req"
                + (isAccountCovered ? " \"sealpost-account\"" : "") + ");created="
                + (System.currentTimeMillis() / 1000 + clockOffsetSeconds) + ";keyid=\"" + publicKey.id() + "\"";
        // The texts of a demand have no escapes: nonces are of base64url.
        int nonce = isOfVersionBefore || isNonceUnknown ? -1 : demand.indexOf(";nonce=\"");
        if (nonce >= 0 && otherNonce != null) input += ";nonce=\"" + otherNonce + '"';
        else if (nonce >= 0) input += demand.substring(nonce, demand.indexOf('"', nonce + 8) + 1);
        String base = "\"@status\": " + status + "\n" + validator + ": "
                + (status == 304 ? fields.get("ETag") : fields.get("Content-Digest")) + "\n\"mytoken\";req: " + token
                + "\n\"@method\";req: " + exchange.getRequestMethod() + "\n\"@path\";req: "
                + exchange.getRequestURI().getRawPath() + "\n\"@query\";req: ?" + (query == null ? "" : query)
                + (isAccountCovered ? "\n\"sealpost-account\": " + account : "")
                + "\n\"@signature-params\": " + input;
        fields.put("Signature-Input", "sig=" + input);
        // The previous version can make only the second of two signatures.
        boolean isPossible = isAccountCovered || demand.contains("sig0=") || !demand.contains("\"sealpost-account\"");
        if (!isForged && isPossible) fields.put("Signature", "sig=:" + Base64.standard(sign(base)) + ":");
        fields.forEach((name, value) -> exchange.getResponseHeaders().set(name, value));
        byte[] sent = coding == null || isOnlyLabelled ? body : compressed(body);
        if (coding != null) exchange.getResponseHeaders().set("Content-Encoding", coding);
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : sent.length);
        if (body.length > 0) exchange.getResponseBody().write(sent);
        exchange.close();
    }

    private byte[] compressed(byte[] body) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream out = coding.equals("gzip") ? new GZIPOutputStream(bytes) : new DeflaterOutputStream(bytes)) {
            out.write(body);
        }
        return bytes.toByteArray();
    }

    private byte[] sign(String base) throws IOException {
        try {
            Signature signature = Signature.getInstance("Ed25519");
            signature.initSign(key);
            signature.update(base.getBytes(StandardCharsets.US_ASCII));
            return signature.sign();
        } catch (java.security.GeneralSecurityException error) {
            throw new IOException(error);
        }
    }

    private static Object[] problem(int status, String code) {
        return new Object[] {
            status,
            Json.object()
                    .with("type", Json.of("urn:sealpost:problem:" + code))
                    .with("title", Json.of(code))
                    .with("status", Json.of(status))
        };
    }

    private Json session() {
        Json session = Json.object().with("Name", Json.of(username));
        return isOfVersionBefore ? session : session.with("Account", Json.of(account));
    }

    private Object[] answer(HttpExchange exchange, Json body, Map<String, String> fields, boolean isByOwnClient) {
        String path = exchange.getRequestURI().getRawPath();
        String method = exchange.getRequestMethod();
        String shown = exchange.getRequestHeaders().getFirst("Authorization");
        credentials.add(String.valueOf(shown));
        if (path.equals("/api/sessions") && (password.equals(shown) || !isByOwnClient)) {
            return new Object[] {
                201,
                (isOfVersionBefore ? Json.object() : session())
                        .with("Token", Json.of(authorization.substring("Bearer ".length())))
                        .with("ExpiresAt", Json.of("2099-01-01T00:00:00Z"))
            };
        }
        if (path.equals("/api/enrolment")) {
            if (!body.get("Code").string().equals("A2B3")) return problem(403, "wrong-code");
            return new Object[] {
                201,
                session()
                        .with("Token", Json.of(authorization.substring("Bearer ".length())))
                        .with("ExpiresAt", Json.of("2099-01-01T00:00:00Z"))
            };
        }
        if (isByOwnClient && !authorization.equals(shown) && !password.equals(shown) && !former.containsKey(String.valueOf(shown))) {
            return problem(401, "invalid-token");
        }
        if (path.equals("/api/users/current/password")) {
            if (!body.get("Current").string().equals("secret")) return problem(403, "wrong-password");
            authorization = "Bearer spt_second";
            devices.clear();
            return new Object[] {204, null};
        }
        if (path.startsWith("/api/devices/") && path.endsWith("/test")) {
            return new Object[] {200, Json.object().with("Device", Json.of("device-1")).with("State", Json.of("accepted"))};
        }
        if (path.startsWith("/api/devices/") && path.endsWith("/key")) deviceKeys.put(path.split("/")[3], body.get("Key").string());
        if (path.startsWith("/api/devices/")) return new Object[] {204, null};
        if (path.equals("/api/register") && method.equals("GET")) {
            List<Json> list = new ArrayList<>();
            for (String device : devices) {
                String key = deviceKeys.get(device);
                list.add(Json.object()
                        .with("Id", Json.of(device))
                        .with("Platform", Json.of("fcm"))
                        .with("Key", key == null ? Json.NULL : Json.of(key)));
            }
            return new Object[] {200, Json.array(list)};
        }
        if (path.equals("/api/register") && method.equals("POST")) {
            String query = exchange.getRequestURI().getRawQuery();
            if ("handle=".equals(query)) return problem(400, "invalid-parameter");
            // The server gives a handle its id again.
            return new Object[] {200, Json.of("device-" + (query == null ? ++issued : 1))};
        }
        if (method.equals("PUT")) devices.add(path.substring("/api/register/".length()));
        if (path.startsWith("/api/register/") && method.equals("DELETE")) devices.remove(path.substring("/api/register/".length()));
        if (path.startsWith("/api/register/") && body != null) {
            lastRegistration = new String(body.bytes(), StandardCharsets.UTF_8);
        }
        if (path.startsWith("/api/register/")) return new Object[] {200, Json.object()};
        if (path.equals("/api/sessions/current") && method.equals("GET")) return new Object[] {200, session()};
        if (path.equals("/api/sessions/current")) {
            boolean isFormer = former.remove(String.valueOf(shown)) != null;
            if (!isFormer && endsSessions) authorization = "Bearer spt_second";
            if (isFormer || endsSessions) devices.clear();
            return new Object[] {204, null};
        }
        // Its first fetch has erased the payload.
        if (path.endsWith("/taken")) return new Object[] {204, null};
        if (path.equals("/api/notifications/read")) {
            List<Json> read = new ArrayList<>();
            for (Json id : body.get("Ids").elements()) {
                Entry entry = entries.get(id.integer());
                if (entry == null || entry.isDeleted) continue;
                if (!entry.json.isTrue("Read")) put(id.integer(), entry.json.replacing("Read", Json.of(true)));
                read.add(id);
            }
            return new Object[] {200, Json.object().with("Read", Json.array(read))};
        }
        if (path.equals("/api/notifications") && method.equals("POST")) {
            if (body.string() == null) return problem(413, tooLarge);
            if (body.string().equals("too soon")) return problem(503, "busy");
            String key = exchange.getRequestHeaders().getFirst("Idempotency-Key");
            Long id = sentByKey.get(key);
            if (id == null) {
                id = add(body.string());
                sentByKey.put(key, id);
            }
            return new Object[] {200, Json.object().with("Id", Json.of(id)).with("Read", Json.of(false))};
        }
        if (path.equals("/api/notifications")) return list(exchange, fields);
        Entry entry = entries.get(Long.parseLong(path.substring("/api/notifications/".length())));
        if (entry == null || entry.isDeleted) return problem(404, "not-found");
        long id = entry.json.get("Id").integer();
        if (method.equals("DELETE")) {
            put(id, null);
            return new Object[] {204, null};
        }
        if (method.equals("PATCH")) put(id, entry.json.replacing("Read", body.get("Read")));
        String tag = "\"i" + id + "-" + entry.version + "\"";
        fields.put("ETag", tag);
        if (entry.json.isTrue("ReadOnce") && method.equals("GET")) {
            Json item = entry.json;
            put(id, null);
            return new Object[] {200, item};
        }
        boolean isSame = tag.equals(exchange.getRequestHeaders().getFirst("If-None-Match"));
        return isSame && method.equals("GET") ? new Object[] {304, null} : new Object[] {200, entry.json};
    }

    private Object[] list(HttpExchange exchange, Map<String, String> fields) {
        String query = exchange.getRequestURI().getRawQuery();
        if (query.startsWith("ids=")) {
            Entry entry = entries.get(Long.parseLong(query.substring(4)));
            List<Json> found = new ArrayList<>();
            if (entry != null && !entry.isDeleted) found.add(listed(entry.json));
            return new Object[] {
                200,
                Json.object()
                        .with("Notifications", Json.array(found))
                        .with("Deleted", Json.array(Collections.<Json>emptyList()))
                        .with("More", Json.of(false))
            };
        }
        int start = query.indexOf("since=");
        long since = 0;
        if (start >= 0) {
            String cursor = query.substring(start + 6);
            if (!cursor.startsWith("e" + epoch + "v")) return problem(400, "invalid-cursor");
            if (forgetOneIn > 0 && random.nextInt(forgetOneIn) == 0) {
                epoch++;
                return problem(400, "invalid-cursor");
            }
            since = version(cursor);
        }
        TreeMap<Long, Map.Entry<Long, Entry>> changed = new TreeMap<>();
        for (Map.Entry<Long, Entry> entry : entries.entrySet()) {
            boolean isMeant = start >= 0 || !entry.getValue().isDeleted;
            if (entry.getValue().version > since && isMeant) changed.put(entry.getValue().version, entry);
        }
        List<Json> items = new ArrayList<>();
        List<Json> deleted = new ArrayList<>();
        long end = version;
        boolean hasMore = false;
        for (Map.Entry<Long, Map.Entry<Long, Entry>> next : changed.entrySet()) {
            if (items.size() + deleted.size() == pageSize) {
                hasMore = true;
                break;
            }
            end = next.getKey();
            if (next.getValue().getValue().isDeleted) deleted.add(Json.of(next.getValue().getKey()));
            else items.add(listed(next.getValue().getValue().json));
        }
        if (!hasMore) end = version;
        String cursor = this.cursor == null ? String.format(Locale.ROOT, "e%dv%d", epoch, end) : this.cursor;
        if (start >= 0 && changed.isEmpty() && end == since) {
            fields.put("ETag", '"' + cursor + '"');
            if (fields.get("ETag").equals(exchange.getRequestHeaders().getFirst("If-None-Match"))) return new Object[] {304, null};
        }
        return new Object[] {
            200,
            Json.object()
                    .with("Notifications", Json.array(items))
                    .with("Deleted", Json.array(deleted))
                    .with("Cursor", Json.of(cursor))
                    .with("More", Json.of(hasMore))
        };
    }

    private static Json listed(Json item) {
        return item.isTrue("ReadOnce") ? item.without("Payload") : item;
    }

    static long version(String cursor) {
        return Long.parseLong(cursor.substring(cursor.indexOf('v') + 1));
    }
}
