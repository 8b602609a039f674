package sealpost.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** How a client tells the server's own answers from others: by pinned keys, or by {@code MyToken} alone. The app chooses. */
public final class Signatures {
    /** Null where answers are told by {@code MyToken} alone. */
    final @Nullable Verifier verifier;

    final List<SignatureKey> keys;

    private Signatures(@Nullable Verifier verifier, List<SignatureKey> keys) {
        this.verifier = verifier;
        this.keys = keys;
    }

    /**
     * The keys of the server: each answer must be signed by one of them, also over method, path and query of its request.
     *
     * <p>Requests ask for the first; put a new key behind it before the server signs with it.
     *
     * @param verifier {@link PlatformVerifier#find} where that is not null, else that of a library
     * @throws IllegalArgumentException if there is no key, or if the verifier refuses a right signature or takes a wrong one
     */
    public static Signatures pinned(Verifier verifier, SignatureKey... keys) {
        if (!PlatformVerifier.works(verifier)) throw new IllegalArgumentException("the verifier does not verify Ed25519");
        if (keys.length == 0) {
            throw new IllegalArgumentException("there is no key to verify with: pin one, or choose Signatures.unsigned()");
        }
        return new Signatures(verifier, Collections.unmodifiableList(new ArrayList<>(Arrays.asList(keys))));
    }

    /**
     * Takes answers without a signature. {@code MyToken} shows accidents, such as caches and portals; whoever wants to forge an
     * answer can.
     */
    public static Signatures unsigned() {
        return new Signatures(null, Collections.<SignatureKey>emptyList());
    }
}
