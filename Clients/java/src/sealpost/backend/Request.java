package sealpost.backend;

import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/** A request, and the checks of its answer as docs/evidence/vectors/README.md lists them. */
final class Request {
    static final int GREATEST_TOKEN = 126_322_567;
    private static final SecureRandom RANDOM = new SecureRandom();

    final String method;
    final String path;
    /** The query with its question mark, or an empty text. */
    final String query;

    final int token;

    Request(String method, String path, String query) {
        this(method, path, query, RANDOM.nextInt(GREATEST_TOKEN + 1));
    }

    Request(String method, String path, String query, int token) {
        this.method = method;
        this.path = path;
        this.query = query;
        this.token = token;
    }

    /**
     * Returns the account of the answer, or the known account if the answer has none. Throws if
     * the answer is not the server's own.
     */
    @Nullable String check(Answer answer, @Nullable String account, @Nullable Verifier verifier, long now) {
        if (answer.status >= 300 && answer.status < 400) throw new Interference("redirect", answer);
        String echo = answer.field("mytoken");
        if (!echo.equals(Integer.toString(token * 17 + 3))) {
            throw new Interference(echo.isEmpty() ? "missingEcho" : "wrongEcho", answer);
        }
        String verdict = verifier == null ? null : verifier.verdict(this, answer, now);
        if (verdict != null) throw new Interference(verdict, answer);
        String found = answer.field("sealpost-account");
        if (found.isEmpty()) return account;
        if (found.equals("none")) {
            if (answer.status < 400 || isOfAnAccount(answer.status)) throw new Interference("wrongAccount", answer);
            return account;
        }
        if (account != null && !found.equals(account)) throw new Interference("wrongAccount", answer);
        return found;
    }

    /**
     * Whether the server sends refusals with this status only to callers with accepted
     * credentials.
     */
    private static boolean isOfAnAccount(int status) {
        return status == 403 || status == 404 || status == 409 || status == 410 || status == 412;
    }
}
