package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The proof that a client requires of each answer: a signature by a pinned key, or only the echo
 * of {@code MyToken}.
 */
public final class Signatures {
    /** Null if the app requires no signatures. */
    final @Nullable Verifier verifier;

    final List<VerificationKey> keys;

    private Signatures(@Nullable Verifier verifier, List<VerificationKey> keys) {
        this.verifier = verifier;
        this.keys = keys;
    }

    /**
     * Requires a signature by one of these server keys, which also covers the request's method,
     * path and query.
     *
     * <p>Requests ask for a signature with the first key. Append a new key to the list before the
     * server signs with that key.
     *
     * @param verifier {@link PlatformVerifier#find} if that is not null, otherwise a verifier that
     * calls a library
     * @throws IllegalArgumentException without a key, or if the verifier refuses a valid signature
     *     or accepts an invalid one
     */
    public static Signatures pinned(Verifier verifier, VerificationKey... keys) {
        if (!PlatformVerifier.works(verifier)) throw new IllegalArgumentException("the verifier does not verify Ed25519");
        if (keys.length == 0) {
            throw new IllegalArgumentException("there is no key to verify with: pin one, or choose Signatures.unsigned()");
        }
        return new Signatures(verifier, Collections.unmodifiableList(new ArrayList<>(Arrays.asList(keys))));
    }

    /**
     * Accepts answers without a signature.
     *
     * <p>{@code MyToken} detects accidents, such as caches and captive portals. Any attacker
     * between device and server can forge an answer.
     */
    public static Signatures unsigned() {
        return new Signatures(null, Collections.<VerificationKey>emptyList());
    }
}
