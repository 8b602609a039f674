package sealpost.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A public Ed25519 key of the server, which the app pins. */
public final class VerificationKey {
    private final byte[] bytes;
    private final String id;

    /**
     * Reads the key from its 32 bytes in base64url, the {@code x} of {@code
     * /.well-known/sealpost-keys}.
     *
     * @throws IllegalArgumentException for anything else
     */
    public VerificationKey(String base64Url) {
        byte[] bytes = Base64.fromUrl(base64Url);
        if (bytes == null || bytes.length != 32) {
            throw new IllegalArgumentException("a signature key is 32 bytes in base64url without padding");
        }
        this.bytes = bytes;
        // The members are in the order of their names, without blanks (RFC 7638 section 3).
        String text = "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" + base64Url + "\"}";
        this.id = Base64.url(Hashes.sha256(text.getBytes(StandardCharsets.US_ASCII)));
    }

    /** The key's id: the thumbprint of RFC 7638. */
    public String id() {
        return id;
    }

    byte[] bytes() {
        return bytes.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VerificationKey && Arrays.equals(bytes, ((VerificationKey) other).bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
