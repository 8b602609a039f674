package sealpost.client;

import java.security.MessageDigest;
import java.util.List;

/** The digest of an answer's content (RFC 9530). */
final class ContentDigest {
    static final String FIELD = "content-digest";

    private ContentDigest() {}

    /**
     * Whether the field has the body's SHA-256; false if the field is unreadable or has two of
     * them.
     */
    static boolean matches(List<String> lines, byte[] body) {
        try {
            return MessageDigest.isEqual(sha256(lines), Hashes.sha256(body));
        } catch (SignatureFailure none) {
            return false;
        }
    }

    /** The SHA-256 in a field, which may have other digests, too. */
    static byte[] sha256(List<String> lines) throws SignatureFailure {
        FieldDictionary dictionary = StructuredField.dictionary(lines, FIELD);
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
