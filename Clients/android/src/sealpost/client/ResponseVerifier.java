package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import sealpost.client.FieldDictionary.Bare;
import sealpost.client.FieldDictionary.NotificationItem;
import sealpost.client.FieldDictionary.Member;
import sealpost.client.FieldDictionary.Parameters;
import sealpost.client.SignatureFailure.Reason;

/**
 * Verifies signed answers (RFC 9421) with pinned keys, over exactly the components that the client
 * asks for.
 */
final class ResponseVerifier {
    /** The components that a signature covers. */
    enum Coverage {
        /** Status and content of the answer; token, method, path and query of the request. */
        EXCHANGE(6),
        /**
         * The components of EXCHANGE, and the account of the answer. Servers of the previous
         * version cannot sign the account.
         */
        ACCOUNT(7);

        private static final List<String> ALL = Arrays.asList(
                "\"@status\"",
                "\"content-digest\"",
                "\"mytoken\";req",
                "\"@method\";req",
                "\"@path\";req",
                "\"@query\";req",
                "\"sealpost-account\"");

        private final int count;

        Coverage(int count) {
            this.count = count;
        }

        private List<String> components(int status) {
            List<String> components = new ArrayList<>(ALL.subList(0, count));
            if (status == 304) components.set(1, "\"etag\"");
            return components;
        }

        private String list(int status) {
            StringBuilder list = new StringBuilder("(");
            for (String component : components(status)) list.append(list.length() > 1 ? " " : "").append(component);
            return list.append(')').toString();
        }
    }

    private final Map<String, VerificationKey> keys = new HashMap<>();
    private final Verifier verifier;
    private final long toleranceMillis;

    ResponseVerifier(List<VerificationKey> keys, Verifier verifier, long toleranceMillis) {
        for (VerificationKey key : keys) this.keys.put(key.id(), key);
        this.verifier = verifier;
        this.toleranceMillis = toleranceMillis;
    }

    /**
     * The value of {@code Accept-Signature}, a list of signatures: the server makes the first of
     * them that it can.
     *
     * @param isLessEnough whether a signature that does not cover the account is enough
     */
    static String acceptSignature(String keyId, @Nullable String nonce, boolean isLessEnough) {
        String key = ";keyid=" + Bare.string(keyId).spelling;
        String field = "sig=" + Coverage.ACCOUNT.list(200) + key;
        if (nonce != null) field += ";nonce=" + Bare.string(nonce).spelling + ", sig1=" + Coverage.ACCOUNT.list(200) + key;
        return isLessEnough ? field + ", sig0=" + Coverage.EXCHANGE.list(200) + key : field;
    }

    /**
     * The time of the signature, in milliseconds; throws unless the signature is valid and
     * current.
     *
     * <p>A signature with the token's nonce is current, whatever the clocks say. The algorithm is
     * always that of the key, whatever the signature says. Signatures by other keys are ignored.
     */
    long verify(Coverage coverage, Request request, MyToken token, RawAnswer answer, long now) throws SignatureFailure {
        FieldDictionary inputs = inputs(answer);
        int index = indexOfKnown(inputs);
        Member input = inputs.members.get(index);
        byte[] signature = signature(answer, inputs.keys.get(index));
        checkCoverage(input, coverage, answer.status);
        Parameters parameters = input.parameters;
        if (parameters.hasRepeated()) throw failure("a parameter appears twice");
        Bare algorithm = parameters.get("alg");
        if (algorithm != null && !algorithm.isString("ed25519")) throw failure("the algorithm is not the key's");
        String base = base(coverage, request, token, answer, input);
        VerificationKey key = keys.get(keyId(input));
        if (key == null || !verifier.verify(key.bytes(), base.getBytes(StandardCharsets.US_ASCII), signature)) {
            throw failure("the signature is not over this answer to this request");
        }
        return time(parameters, token.nonce(), now);
    }

    /**
     * Whether the signature by a pinned key claims exactly that coverage. This function does not
     * verify the signature.
     */
    boolean covers(Coverage coverage, RawAnswer answer) {
        try {
            FieldDictionary inputs = inputs(answer);
            return covered(inputs.members.get(indexOfKnown(inputs))).equals(coverage.components(answer.status));
        } catch (SignatureFailure none) {
            return false;
        }
    }

    private static FieldDictionary inputs(RawAnswer answer) throws SignatureFailure {
        FieldDictionary inputs = StructuredField.dictionary(present(answer, "signature-input"), "Signature-Input");
        if (inputs.hasRepeated()) throw failure("a label appears twice");
        return inputs;
    }

    /** The index of the only signature by a pinned key. */
    private int indexOfKnown(FieldDictionary inputs) throws SignatureFailure {
        int found = -1;
        for (int index = 0; index < inputs.members.size(); index++) {
            Member member = inputs.members.get(index);
            if (member.list == null) throw failure("Signature-Input has no list under " + inputs.keys.get(index));
            if (!keys.containsKey(keyId(member))) continue;
            if (found >= 0) throw failure("two signatures are by keys we know");
            found = index;
        }
        if (found < 0) throw failure("no signature is by a key we know");
        return found;
    }

    private static @Nullable String keyId(Member input) {
        Bare id = input.parameters.get("keyid");
        return id == null ? null : id.string;
    }

    private static byte[] signature(RawAnswer answer, String label) throws SignatureFailure {
        FieldDictionary signatures = StructuredField.dictionary(answer.lines("signature"), "Signature");
        if (signatures.hasRepeated()) throw failure("a signature appears twice");
        Member member = signatures.get(label);
        if (member == null) throw failure("there is no Signature " + label);
        byte[] bytes = member.item == null ? null : member.item.value.bytes;
        if (bytes == null) throw failure("the Signature " + label + " is not of bytes");
        return bytes;
    }

    private static List<String> covered(Member input) {
        List<String> covered = new ArrayList<>();
        if (input.list != null) {
            for (NotificationItem item : input.list) covered.add(item.text());
        }
        return covered;
    }

    private static void checkCoverage(Member input, Coverage coverage, int status) throws SignatureFailure {
        List<String> covered = covered(input);
        List<String> demanded = coverage.components(status);
        if (covered.equals(demanded)) return;
        boolean isLess = new HashSet<>(covered).size() < demanded.size() && demanded.containsAll(covered);
        throw new SignatureFailure(
                isLess ? Reason.INSUFFICIENT_COVERAGE : Reason.OTHER,
                "the signature is over " + input.listText() + ", not " + coverage.list(status));
    }

    /** The signed text: a line for each component, and one for the parameters. */
    static String base(Coverage coverage, Request request, MyToken token, RawAnswer answer, Member input)
            throws SignatureFailure {
        List<String> values = new ArrayList<>(Arrays.asList(
                String.format(java.util.Locale.ROOT, "%03d", answer.status),
                validator(answer),
                token.toString(),
                request.method,
                request.path.isEmpty() ? "/" : request.path,
                '?' + request.query()));
        if (coverage == Coverage.ACCOUNT) values.add(StructuredField.value(present(answer, "sealpost-account")));
        StringBuilder base = new StringBuilder();
        List<String> components = coverage.components(answer.status);
        for (int index = 0; index < components.size(); index++) {
            String value = values.get(index);
            for (int at = 0; at < value.length(); at++) {
                char next = value.charAt(at);
                if (next > 0x7E || next < 0x20 && next != '\t') {
                    throw failure(components.get(index) + " is not of printable ASCII");
                }
            }
            base.append(components.get(index)).append(": ").append(value).append('\n');
        }
        return base + "\"@signature-params\": " + input.listText() + input.parameters.text();
    }

    /**
     * The digest, which must match the content, or the {@code ETag} of a 304, which must have no
     * content.
     */
    private static String validator(RawAnswer answer) throws SignatureFailure {
        if (answer.status == 304) {
            if (answer.body.length > 0) throw failure("a 304 has a content");
            return StructuredField.value(present(answer, "etag"));
        }
        List<String> lines = present(answer, ContentDigest.FIELD);
        byte[] hash = ContentDigest.sha256(lines);
        if (!Arrays.equals(hash, Hashes.sha256(answer.body))) throw failure("the content is not that of the digest");
        return StructuredField.value(lines);
    }

    private long time(Parameters parameters, @Nullable String nonce, long now) throws SignatureFailure {
        Bare created = parameters.get("created");
        if (created == null || created.kind != Bare.Kind.INTEGER) {
            throw failure("the signature does not say when it was made");
        }
        Bare seen = parameters.get("nonce");
        if (nonce != null && seen != null) {
            if (!seen.isString(nonce)) throw failure("the signature has the nonce of another request");
            return created.integer * 1000;
        }
        long age = now - created.integer * 1000;
        // The time is in whole seconds: the lost fraction of a second must not make a signature
        // too old.
        if (age < -toleranceMillis || age >= toleranceMillis + 1000) {
            throw new SignatureFailure(Reason.STALE, "the signature was made " + age / 1000 + " s ago");
        }
        Bare expires = parameters.get("expires");
        if (expires == null) return created.integer * 1000;
        if (expires.kind != Bare.Kind.INTEGER) throw failure("the signature's end is no time");
        if (now > expires.integer * 1000) throw new SignatureFailure(Reason.STALE, "the signature has expired");
        return created.integer * 1000;
    }

    private static List<String> present(RawAnswer answer, String name) throws SignatureFailure {
        List<String> lines = answer.lines(name);
        if (lines.isEmpty()) throw failure("there is no " + name);
        return lines;
    }

    private static SignatureFailure failure(String description) {
        return new SignatureFailure(Reason.OTHER, description);
    }
}
