package sealpost.client;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;

/** SHA-256, and the digest of an answer's content (RFC 9530). */
final class Hashes {
    static final String CONTENT_DIGEST = "content-digest";

    private Hashes() {}

    static byte[] sha256(byte[] bytes) {
        return digest().digest(bytes);
    }

    static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException("every platform has SHA-256", missing);
        }
    }

    /** Whether the field has the body's SHA-256; false if it is unreadable or has two. */
    static boolean matches(List<String> lines, byte[] body) {
        try {
            return MessageDigest.isEqual(contentDigest(lines), sha256(body));
        } catch (SignatureFailure none) {
            return false;
        }
    }

    /** The SHA-256 in a field, which may have other digests, too. */
    static byte[] contentDigest(List<String> lines) throws SignatureFailure {
        FieldDictionary dictionary = StructuredField.dictionary(lines, CONTENT_DIGEST);
        FieldDictionary.Member member = dictionary.get("sha-256");
        if (member == null) throw new SignatureFailure(SignatureFailure.Reason.OTHER, "the digest has no sha-256");
        if (dictionary.hasRepeated("sha-256")) {
            throw new SignatureFailure(SignatureFailure.Reason.OTHER, "the digest has more than one sha-256");
        }
        byte[] hash = member.item == null ? null : member.item.value.bytes;
        if (hash == null || hash.length != 32) {
            throw new SignatureFailure(SignatureFailure.Reason.OTHER, "the digest's sha-256 is none");
        }
        return hash;
    }
}
