package sealpost.client;

import androidx.annotation.Nullable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import sealpost.client.Interference.Kind;
import sealpost.client.ResponseVerifier.Coverage;

/**
 * Distinguishes the server's own answers from everything else.
 *
 * <p>The check uses no network: its caller passes the request and the answer. {@code
 * docs/evidence/vectors} defines the checks and their order.
 */
final class AnswerCheck {
    /** The statuses of refusals that the server sends only to callers that it knows. */
    private static final List<Integer> OF_SOMEBODY = Arrays.asList(403, 404, 409, 410, 412);

    private static final int MAXIMUM_IDENTIFIER = 128;

    /** Null if the app has chosen {@code MyToken} alone. */
    private final @Nullable ResponseVerifier verifier;

    AnswerCheck(@Nullable ResponseVerifier verifier) {
        this.verifier = verifier;
    }

    /**
     * Throws an interference unless the server sent this answer to this request of this account.
     *
     * @param account the identifier of the client's account; null if unknown. The client then also
     *     accepts a signature that does not cover the account, which servers of the previous
     *     version send.
     */
    Answer answer(Request request, MyToken token, RawAnswer raw, @Nullable String account, long now) throws PushClientException {
        isNoRedirect(request, raw);
        isEchoed(request, raw, token);
        isWhole(request, raw);
        Long time;
        String seen;
        if (verifier == null) {
            time = Times.fromHttp(raw.field("date"));
            seen = account(request, raw, account);
        } else {
            Coverage coverage = coverage(verifier, raw, account);
            time = isSigned(verifier, coverage, request, token, raw, now);
            seen = coverage == Coverage.ACCOUNT ? account(request, raw, account) : null;
        }
        if (raw.status == 304) isNotModified(request, raw);
        Json json = json(request, raw);
        return new Answer(request, raw, json, verifier == null && isNoStore(raw), seen, retryAfter(raw), time);
    }

    /** Throws for a redirect, even if it echoes the token. The client follows no redirects. */
    private static void isNoRedirect(Request request, RawAnswer raw) throws PushClientException {
        if (raw.status < 300 || raw.status > 399 || raw.status == 304) return;
        throw interference(request, raw, Kind.REDIRECT, "an answer", "a redirect");
    }

    private static void isEchoed(Request request, RawAnswer raw, MyToken token) throws PushClientException {
        String echo = raw.field("mytoken");
        if (echo == null || echo.isEmpty()) throw interference(request, raw, Kind.MISSING_ECHO, token.echo(), null);
        if (!echo.equals(token.echo())) throw interference(request, raw, Kind.WRONG_ECHO, token.echo(), printable(echo));
    }

    private static void isWhole(Request request, RawAnswer raw) throws PushClientException {
        long announced = raw.announcedLength(request);
        String count = raw.body.length + " bytes";
        if (raw.end == RawAnswer.End.OVERSIZED) {
            throw interference(request, raw, Kind.OVERSIZED, "an answer of the API", "more than " + count);
        }
        if (raw.end == RawAnswer.End.CUT || announced >= 0 && announced != raw.body.length) {
            String expected = announced < 0 ? "an end" : announced + " bytes";
            throw interference(request, raw, Kind.TRUNCATED, expected, count);
        }
    }

    /** The coverage that the signature of an answer must have. */
    private static Coverage coverage(ResponseVerifier verifier, RawAnswer raw, @Nullable String account) {
        return account == null && verifier.covers(Coverage.EXCHANGE, raw) ? Coverage.EXCHANGE : Coverage.ACCOUNT;
    }

    private static long isSigned(
            ResponseVerifier verifier, Coverage coverage, Request request, MyToken token, RawAnswer raw, long now)
            throws PushClientException {
        try {
            return verifier.verify(coverage, request, token, raw, now);
        } catch (SignatureFailure failure) {
            String seen = printable(String.valueOf(failure.getMessage()));
            switch (failure.reason) {
                case INSUFFICIENT_COVERAGE:
                    String expected = "a signature over method, path, query and account, too";
                    throw interference(request, raw, Kind.INSUFFICIENT_COVERAGE, expected, seen);
                case STALE:
                    throw interference(request, raw, Kind.WRONG_CLOCK, "clocks that agree", seen);
                default:
                    throw interference(request, raw, Kind.SIGNATURE, "a signature by a pinned key", seen);
            }
        }
    }

    /**
     * The account that the answer is for; null if the answer says {@code none} or has no such
     * field. Throws if the answer is for another account.
     */
    private static @Nullable String account(Request request, RawAnswer raw, @Nullable String own) throws PushClientException {
        String seen = raw.field("sealpost-account");
        if (seen == null) return null;
        if (seen.equals("none")) {
            // {@code none} is right if the request's credentials are missing or refused. All other
            // answers name an account.
            if (request.isAnonymous) return null;
            if (raw.status >= 400 && !OF_SOMEBODY.contains(raw.status)) return null;
        } else if (isIdentifier(seen)) {
            // A new session's body names its account.
            boolean isNewSession = request.isSignIn && raw.status == 201;
            if (own == null || own.equals(seen) || isNewSession) return seen;
        }
        throw interference(request, raw, Kind.WRONG_ACCOUNT, own == null ? "an account" : own, printable(seen));
    }

    /** Whether a text can be an account's identifier, which is opaque to clients. */
    static boolean isIdentifier(String text) {
        return !text.isEmpty() && text.length() <= MAXIMUM_IDENTIFIER;
    }

    /** Throws unless a 304 answers a conditional request and repeats its validator. */
    private static void isNotModified(Request request, RawAnswer raw) throws PushClientException {
        String seen = raw.field("etag");
        if (request.tag != null && seen != null && opaque(seen).equals(opaque(request.tag))) return;
        String expected = request.tag == null ? "an answer without a condition" : printable(request.tag);
        String found = request.tag == null ? "304" : seen == null ? null : printable(seen);
        throw interference(request, raw, Kind.UNEXPECTED_NOT_MODIFIED, expected, found);
    }

    private static @Nullable Json json(Request request, RawAnswer raw) throws PushClientException {
        if (raw.body.length == 0) return null;
        try {
            return Json.read(raw.body);
        } catch (JsonException error) {
            String type = raw.field("content-type");
            String seen = raw.body.length + " bytes of " + (type == null ? "no type" : printable(type));
            throw interference(request, raw, Kind.NOT_JSON, "JSON", seen);
        }
    }

    private static boolean isNoStore(RawAnswer raw) {
        String value = raw.field("cache-control");
        if (value == null) return false;
        List<String> directives = Arrays.asList(value.toLowerCase(Locale.ROOT).split("[ \t]*,[ \t]*"));
        return directives.contains("no-store");
    }

    /** The delay in seconds, the form that the server sends; a date counts as a missing field. */
    private static long retryAfter(RawAnswer raw) {
        String value = raw.field("retry-after");
        if (value == null || !value.matches("[0-9]{1,9}")) return -1;
        return Long.parseLong(value);
    }

    /**
     * A tag as the server sent it: proxies that compress bodies mark the tag as weak, or append
     * the coding's name.
     */
    private static String opaque(String tag) {
        String opaque = tag.startsWith("W/") ? tag.substring(2) : tag;
        return opaque.endsWith("-gzip\"") ? opaque.substring(0, opaque.length() - 6) + '"' : opaque;
    }

    /** A text for a log: short, without control characters. */
    static String printable(String text) {
        String start = text.length() > 80 ? text.substring(0, 80) : text;
        return start.replaceAll("[^ -~]", "?");
    }

    private static PushClientException interference(
            Request request, RawAnswer raw, Kind kind, String expected, @Nullable String seen) {
        return PushClientException.of(new Interference(kind, expected, seen, raw.status, request.path));
    }
}
