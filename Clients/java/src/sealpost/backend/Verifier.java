package sealpost.backend;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Verifies signed answers (RFC 9421, Ed25519), in exactly the form that the server writes. */
final class Verifier {
    private static final long TOLERANCE = 300;
    private static final List<String> COMPONENTS = List.of(
            "\"@status\"",
            "\"content-digest\"",
            "\"mytoken\";req",
            "\"@method\";req",
            "\"@path\";req",
            "\"@query\";req",
            "\"sealpost-account\"");
    private static final String INPUT = "sig=(" + String.join(" ", COMPONENTS) + ")";
    /** The bytes in X.509 before the 32 bytes of an Ed25519 public key (RFC 8410 section 4). */
    private static final byte[] X509 = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

    /** The keys by their thumbprints. */
    private final Map<String, PublicKey> keys = new LinkedHashMap<>();

    Verifier(String... keys) {
        if (keys.length == 0) throw new IllegalArgumentException("there is no key to verify answers with");
        for (String key : keys) this.keys.put(thumbprint(key), publicKey(key));
    }

    private static PublicKey publicKey(String key) {
        if (!Objects.requireNonNull(key, "signingKeys").matches("[-A-Za-z0-9_]{43}")) {
            throw new IllegalArgumentException("signingKeys: a signing key is 32 bytes in base64url without padding");
        }
        byte[] raw = Base64.getUrlDecoder().decode(key);
        byte[] encoded = Arrays.copyOf(X509, X509.length + raw.length);
        System.arraycopy(raw, 0, encoded, X509.length, raw.length);
        try {
            return KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded));
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("signing keys need Java 15, or a security provider with Ed25519", error);
        } catch (GeneralSecurityException error) {
            throw new IllegalArgumentException("a signing key is not of Ed25519", error);
        }
    }

    /** The field {@code Accept-Signature} of a request. */
    String acceptSignature() {
        return INPUT + ";keyid=\"" + keys.keySet().iterator().next() + "\"";
    }

    /**
     * Null if a pinned key has signed exactly this answer to this request, otherwise the kind of
     * the interference.
     */
    @Nullable String verdict(Request request, Answer answer, long now) {
        String input = answer.field("signature-input");
        String digest = answer.field("content-digest");
        if (!digest.equals(contentDigest(answer.body))) return "signature";
        for (Map.Entry<String, PublicKey> key : keys.entrySet()) {
            long created = created(input, key.getKey());
            if (created < 0) continue;
            List<String> values = List.of(
                    Integer.toString(answer.status),
                    digest,
                    Integer.toString(request.token),
                    request.method,
                    request.path,
                    request.query.isEmpty() ? "?" : request.query,
                    answer.field("sealpost-account"));
            StringBuilder base = new StringBuilder();
            for (int index = 0; index < values.size(); index++) {
                base.append(COMPONENTS.get(index)).append(": ").append(values.get(index)).append('\n');
            }
            base.append("\"@signature-params\": ").append(input.substring("sig=".length()));
            if (!isSigned(base.toString(), answer.field("signature"), key.getValue())) return "signature";
            return Math.abs(now - created) > TOLERANCE ? "wrongClock" : null;
        }
        return "signature";
    }

    /**
     * The time of a signature by a key, from {@code Signature-Input}; -1 if the field has another
     * form.
     */
    private static long created(String input, String key) {
        String start = INPUT + ";created=";
        for (String end : List.of(";keyid=\"" + key + "\"", ";keyid=\"" + key + "\";alg=\"ed25519\"")) {
            if (input.length() < start.length() + end.length() || !input.startsWith(start) || !input.endsWith(end)) continue;
            return Answer.number(input.substring(start.length(), input.length() - end.length()), 15);
        }
        return -1;
    }

    private static boolean isSigned(String base, String field, PublicKey key) {
        if (!field.startsWith("sig=:") || !field.endsWith("==:") || field.length() != 94) return false;
        try {
            Signature signature = Signature.getInstance("Ed25519");
            signature.initVerify(key);
            signature.update(base.getBytes(StandardCharsets.UTF_8));
            return signature.verify(Base64.getDecoder().decode(field.substring(5, field.length() - 1)));
        } catch (GeneralSecurityException | IllegalArgumentException error) {
            return false;
        }
    }

    /** The identifier of a public key (RFC 7638). */
    static String thumbprint(String key) {
        byte[] text = ("{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" + key + "\"}").getBytes(StandardCharsets.UTF_8);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(Hashes.sha256(text));
    }

    /** The field {@code Content-Digest} of a body (RFC 9530). */
    static String contentDigest(byte[] body) {
        return "sha-256=:" + Base64.getEncoder().encodeToString(Hashes.sha256(body)) + ":";
    }
}
