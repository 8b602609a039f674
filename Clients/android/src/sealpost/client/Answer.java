package sealpost.client;

import androidx.annotation.Nullable;

/** An answer that has passed the checks: it is the server's own answer to this request. */
final class Answer {
    final Request request;
    final int status;
    /** The body as JSON; null if the body is empty. */
    final @Nullable Json json;

    final @Nullable String tag;
    /**
     * Whether the publisher, or the server's configuration, forbids storing the answer.
     *
     * <p>Always false for signed answers: the server marks each of them {@code no-store}, to keep
     * proxies from caching it.
     */
    final boolean isNoStore;

    /**
     * The id of the account that the answer is for; null if the answer names no account, or if the
     * signature does not cover it.
     */
    final @Nullable String account;
    final long retryAfterSeconds;
    /**
     * When the server sent the answer, by the server's clock: the time of the signature, or {@code
     * Date} if answers are not signed; null if missing.
     */
    final @Nullable Long serverTime;

    Answer(
            Request request,
            RawAnswer raw,
            @Nullable Json json,
            boolean isNoStore,
            @Nullable String account,
            long retryAfterSeconds,
            @Nullable Long serverTime) {
        this.request = request;
        this.status = raw.status;
        this.json = json;
        this.tag = raw.field("etag");
        this.isNoStore = isNoStore;
        this.account = account;
        this.retryAfterSeconds = retryAfterSeconds;
        this.serverTime = serverTime;
    }

    /** The answer if it is a success or 304; throws the server's refusal otherwise. */
    Answer success() throws PushClientException {
        if (status >= 200 && status <= 299 || status == 304) return this;
        Problem problem = Problem.read(json, status);
        if (problem == null) throw unexpected("a problem of status " + status);
        throw PushClientException.of(problem, retryAfterSeconds);
    }

    /**
     * The notification in the body. If {@code id} is not null, the notification must have this id.
     */
    NotificationItem item(@Nullable Long id) throws PushClientException {
        NotificationItem item = json == null ? null : NotificationItem.read(json);
        if (item == null) throw unexpected("a notification");
        if (id != null && item.id() != id) {
            throw interference(Interference.Kind.WRONG_ID, Long.toString(id), Long.toString(item.id()));
        }
        return item;
    }

    /**
     * The identifier of the session's account; null if the server has none.
     *
     * <p>Throws unless the session belongs to the user with this name.
     */
    @Nullable String account(String username) throws PushClientException {
        Json member = json == null ? null : json.get("Account");
        String id = member == null ? null : member.string();
        Json named = json == null ? null : json.get("Name");
        String name = named == null ? null : named.string();
        // A server of the previous version does not name the account of a new session.
        if (name == null && id == null && account == null && request.isSignIn) return null;
        if (name == null || id != null && !AnswerCheck.isIdentifier(id)) throw unexpected("the session of a user");
        if (!lowered(name).equals(lowered(username))) {
            throw interference(Interference.Kind.WRONG_ACCOUNT, "the own name", "another name");
        }
        if (account != null && !account.equals(id)) {
            throw interference(Interference.Kind.WRONG_ACCOUNT, account, id == null ? null : AnswerCheck.printable(id));
        }
        return id;
    }

    /** Lowercases ASCII letters only: the case of other letters distinguishes accounts. */
    static String lowered(String name) {
        StringBuilder lowered = new StringBuilder(name);
        for (int index = 0; index < name.length(); index++) {
            char next = name.charAt(index);
            if (next >= 'A' && next <= 'Z') lowered.setCharAt(index, (char) (next + 'a' - 'A'));
        }
        return lowered.toString();
    }

    /**
     * The error for a body whose JSON does not have the form of this call's answers: an
     * interference.
     */
    PushClientException unexpected(String expected) {
        String seen = json == null ? null : json.kind().name().toLowerCase(java.util.Locale.ROOT);
        return interference(Interference.Kind.UNEXPECTED_BODY, expected, seen);
    }

    PushClientException interference(Interference.Kind kind, String expected, @Nullable String seen) {
        return PushClientException.of(new Interference(kind, expected, seen, status, request.path));
    }
}
