package sealpost.client;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** Sends requests with credentials and a {@code MyToken} of their own, and returns checked answers. */
final class Api {
    private final Options options;
    private final Credentials credentials;
    private final OwnAccount own;
    private final AnswerCheck check;
    private final Transport transport;
    /** Whether the server has taken the password after a challenge; later requests have it unasked (RFC 7617 section 2.2). */
    private volatile boolean isLetIn = false;

    private volatile @Nullable String last;

    private final ReentrantLock renewal = new ReentrantLock();
    /** The credential that was renewed last, and what has come in its place. */
    private volatile @Nullable String replaced;
    private volatile @Nullable String replacement;

    /** Whether the server has confirmed the account of the name and the password. */
    private volatile boolean isIdentified = false;

    Api(Options options, Credentials credentials, OwnAccount own) {
        this.options = options;
        this.credentials = credentials;
        this.own = own;
        this.check = options.check();
        this.transport = new Transport(options);
    }

    /** The server's answer if it is a success or 304; its refusals are thrown. */
    Answer call(Request request, Deadline deadline) throws PushException {
        if (!request.isSignIn) identify(deadline);
        return callAs(request, deadline);
    }

    /**
     * Asks once for the account of the name and the password, if its identifier is not known.
     *
     * <p>Otherwise a proxy with an account of its own would decide by the first answer.
     */
    private void identify(Deadline deadline) throws PushException {
        String username = credentials.username();
        if (username == null || isIdentified || own.id() != null) return;
        Answer answer = callAs(new Request("GET", Paths.CURRENT_SESSION), deadline);
        learn(answer, answer.account(username));
        // If the server has no identifiers, the next client asks it again.
        isIdentified = true;
    }

    private void learn(Answer answer, @Nullable String seen) throws PushException {
        if (seen == null || own.learn(seen)) return;
        throw answer.interference(Interference.Kind.WRONG_ACCOUNT, String.valueOf(own.id()), seen);
    }

    private Answer callAs(Request request, Deadline deadline) throws PushException {
        boolean isHeldBack = credentials.isAskedFirst() && !isLetIn;
        String authorization = credentials.authorization(null, deadline);
        if (authorization == null) throw unauthorized();
        Answer answer = ask(request, isHeldBack ? null : authorization, deadline);
        last = authorization;
        if (answer.status != 401) return answer.success();
        // Once: a refused credential is not tried again.
        String next = isHeldBack ? authorization : renewed(authorization, deadline);
        if (next == null || !isHeldBack && next.equals(authorization)) return answer.success();
        Answer second = ask(request, next, deadline);
        last = next;
        if (second.status != 401) isLetIn = true;
        // The provider is asked again, and not for what came of it before.
        else if (next.equals(replacement)) replaced = null;
        return second.success();
    }

    /** Another credential in place of one that was refused: one for all calls that it was refused to. */
    private @Nullable String renewed(String refused, Deadline deadline) throws PushException {
        try {
            if (!renewal.tryLock(deadline.remainingMillis(), TimeUnit.MILLISECONDS)) throw Deadline.passed();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw PushException.of(PushException.Reason.DEADLINE, "the call was interrupted", interrupted);
        }
        try {
            if (refused.equals(replaced)) return replacement;
            String next = credentials.authorization(refused, deadline);
            if (next != null && !next.equals(refused)) {
                replaced = refused;
                replacement = next;
            }
            return next;
        } finally {
            renewal.unlock();
        }
    }

    OwnAccount own() {
        return own;
    }

    /** The name of a user who signs in with a password; null where there is a token. */
    @Nullable String username() {
        return credentials.username();
    }

    /** Whose credentials they are. */
    String account() {
        return credentials.account();
    }

    /** The credential of the last request that was answered; null before that. */
    @Nullable String last() {
        return last;
    }

    /** What the session is ended with; null if there is nothing. Not being able to tell must not keep anybody signed in. */
    @Nullable String lastAuthorization(Deadline deadline) {
        try {
            String current = credentials.authorization(null, deadline);
            return current == null ? last : current;
        } catch (PushException unavailable) {
            return last;
        }
    }

    /** One request, or two if the connection was lost under the first. */
    private Answer ask(Request request, @Nullable String authorization, Deadline deadline) throws PushException {
        try {
            return askOnce(request, authorization, deadline);
        } catch (Transport.Lost first) {
            if (!request.isRepeatable) throw offline(first);
        }
        try {
            return askOnce(request, authorization, deadline);
        } catch (Transport.Lost second) {
            throw offline(second);
        }
    }

    private Answer askOnce(Request request, @Nullable String authorization, Deadline deadline)
            throws PushException, Transport.Lost {
        MyToken token = MyToken.random();
        String account = own.id();
        RawAnswer raw = transport.exchange(request, token, authorization, options.acceptSignature(account), deadline);
        Answer answer = check.answer(request, token, raw, account, options.now());
        // With a token the first answer tells the account. With a password the name has told it.
        if (account == null && credentials.username() == null) learn(answer, answer.account);
        return answer;
    }

    private static PushException offline(Transport.Lost error) {
        String message = String.format(Locale.ROOT, "the connection was lost: %s", error.getMessage());
        return PushException.of(PushException.Reason.OFFLINE, message, error);
    }

    private static PushException unauthorized() {
        return PushException.of(PushException.Reason.UNAUTHORIZED, "there is no token", null);
    }
}
