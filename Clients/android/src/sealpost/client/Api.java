package sealpost.client;

import androidx.annotation.Nullable;
import java.util.Locale;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sends requests, each with credentials and a {@code MyToken} of its own, and returns answers that
 * have passed the checks.
 */
final class Api {
    private final Options options;
    private final Credentials credentials;
    private final OwnAccount own;
    private final AnswerCheck check;
    private final Transport transport;
    /**
     * Whether the server has accepted the password after a challenge. Later requests send the
     * password without a challenge (RFC 7617 section 2.2).
     */
    private volatile boolean isLetIn = false;

    private volatile @Nullable String last;

    private final ReentrantLock renewal = new ReentrantLock();
    /** The credential that the client has last replaced, and then its replacement. */
    private volatile @Nullable String replaced;
    private volatile @Nullable String replacement;

    /**
     * Whether this client has asked the server which account the user name and password belong to.
     */
    private volatile boolean isIdentified = false;

    /** The credential that the last accepted answer was for, with the account of that answer. */
    private volatile @Nullable String confirmed;

    Api(Options options, Credentials credentials, OwnAccount own) {
        this.options = options;
        this.credentials = credentials;
        this.own = own;
        this.check = options.check();
        this.transport = new Transport(options);
    }

    /** The server's answer if it is a success or 304; throws the server's refusal otherwise. */
    Answer call(Request request, Deadline deadline) throws PushClientException {
        if (!request.isSignIn) identify(deadline);
        return callAs(request, deadline);
    }

    /**
     * If the account's identifier is unknown, asks the server once which account the user name and
     * password belong to.
     *
     * <p>Otherwise a proxy could send the first answer, for an account of its own, and the client
     * would adopt that account.
     */
    private void identify(Deadline deadline) throws PushClientException {
        String username = credentials.username();
        if (username == null || isIdentified || own.id() != null) return;
        Answer answer = callAs(new Request("GET", Paths.CURRENT_SESSION), deadline);
        learn(answer, answer.account(username));
        // This client does not ask again, even if the server has no account identifiers.
        isIdentified = true;
    }

    private void learn(Answer answer, @Nullable String seen) throws PushClientException {
        if (seen == null || own.learn(seen)) return;
        throw answer.interference(Interference.Kind.WRONG_ACCOUNT, String.valueOf(own.id()), seen);
    }

    private Answer callAs(Request request, Deadline deadline) throws PushClientException {
        if (request.isAnonymous) return ask(request, null, deadline).success();
        String account = request.account == null ? own.id() : request.account;
        boolean isHeldBack = credentials.isAskedFirst() && !isLetIn;
        String authorization = credentials.authorization(null, deadline);
        if (authorization == null) throw PushClientException.signedOut();
        // The token may be that of another account, which has signed in with this client.
        own.require(account);
        // A request that must be sent only once does not carry out the challenge: another request
        // does.
        boolean isOther = isHeldBack && !request.isRepeatable;
        Request first = isOther ? new Request("GET", Paths.CURRENT_SESSION) : request;
        Answer answer = isHeldBack ? ask(first, null, deadline) : askAs(request, authorization, deadline);
        last = authorization;
        if (answer.status != 401) {
            answer.success();
            if (!isOther) return answer;
        }
        // The client sends the request only once more: it does not try a refused credential again.
        String next = isHeldBack ? authorization : renewed(authorization, deadline);
        own.require(account);
        if (next == null || !isHeldBack && next.equals(authorization)) return answer.success();
        Answer second = askAs(request, next, deadline);
        last = next;
        if (second.status != 401) isLetIn = true;
        // The next renewal asks the provider again, and does not reuse the refused replacement.
        else if (next.equals(replacement)) replaced = null;
        return second.success();
    }

    /**
     * Sends a request with a credential. Before a message with a token of the app, an answer must
     * have confirmed that this token belongs to the client's account; otherwise the client first
     * asks the server for the token's account. Returns the server's 401 to either request.
     */
    private Answer askAs(Request request, String authorization, Deadline deadline) throws PushClientException {
        boolean isConfirmed = confirmation(authorization, own.id()).equals(confirmed);
        if (request.hasMessage && credentials.isTokenOfApp() && !isConfirmed) {
            Answer answer = ask(new Request("GET", Paths.CURRENT_SESSION), authorization, deadline);
            if (answer.status == 401) return answer;
            answer.success();
        }
        return ask(request, authorization, deadline);
    }

    /** No credential has a line break. */
    private static String confirmation(String authorization, @Nullable String account) {
        return authorization + '\n' + account;
    }

    /**
     * The replacement of a refused credential. All calls with the same refused credential get the
     * same replacement.
     */
    private @Nullable String renewed(String refused, Deadline deadline) throws PushClientException {
        deadline.acquire(renewal);
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

    /**
     * Throws {@link PushClientException.Reason#SIGNED_OUT} if the client has no credential. A token
     * provider without a network does not sign the user out.
     */
    void requireCredential(Deadline deadline) throws PushClientException {
        try {
            if (credentials.authorization(null, deadline) == null) throw PushClientException.signedOut();
        } catch (PushClientException error) {
            if (error.reason() != PushClientException.Reason.OFFLINE) throw error;
        }
    }

    /**
     * Throws as {@link #requireCredential} does, but asks the app's token provider, which may be
     * slow, only as long as the account is unknown. No other account ever gets the tasks of a known
     * account.
     */
    void requireCredentialForTask() throws PushClientException {
        if (!credentials.isOfProvider() || own.id() == null) requireCredential(options.deadlineOnAnyThread());
    }

    /** Whether the client has a credential; true for a token provider, which may be slow to ask. */
    boolean mayHaveCredential() throws PushClientException {
        return credentials.isOfProvider() || credentials.authorization(null, options.deadlineOnAnyThread()) != null;
    }

    OwnAccount own() {
        return own;
    }

    /** The name of the user, if the client signs in with a password; null if it has a token. */
    @Nullable String username() {
        return credentials.username();
    }

    /** The name under which the client stores the account's state. */
    String account() {
        return credentials.account();
    }

    /** The credential of the last request with an answer; null before the first answer. */
    @Nullable String last() {
        return last;
    }

    /**
     * The credential with which a sign-out ends the session; null if there is none. An error of
     * the app's token provider does not prevent a sign-out.
     */
    @Nullable String lastAuthorization(Deadline deadline) {
        try {
            String current = credentials.authorization(null, deadline);
            return current == null ? last : current;
        } catch (PushClientException unavailable) {
            return last;
        }
    }

    /**
     * The token of this client's own session; null if unknown. A token provider may already have
     * the token of the account that has replaced this client's account.
     */
    @Nullable String ownToken(Deadline deadline) {
        return credentials.isOneToken() ? lastAuthorization(deadline) : lastToken();
    }

    /** The token of the last request with an answer; null for a password and before the first answer. */
    @Nullable String lastToken() {
        String last = this.last;
        return last != null && last.startsWith("Bearer ") ? last : null;
    }

    /** Records the token of a sign-in, which is this client's own from then on. */
    void begin(String token) {
        last = "Bearer " + token;
    }

    /** Sends a request, and sends it again if the connection was lost. */
    private Answer ask(Request request, @Nullable String authorization, Deadline deadline) throws PushClientException {
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
            throws PushClientException, Transport.Lost {
        Headers headers = options.headers();
        if (headers != null) request.add(headers);
        Observer observer = options.observer();
        if (observer == null) return exchange(request, authorization, deadline);
        long start = System.nanoTime();
        String route = Paths.route(request.path);
        try {
            Answer answer = exchange(request, authorization, deadline);
            observer.answered(request.method, route, answer.status, millisSince(start));
            return answer;
        } catch (PushClientException error) {
            Interference found = error.interference();
            observer.failed(request.method, route, error.reason(), found == null ? null : found.kind(), millisSince(start));
            throw error;
        } catch (Transport.Lost lost) {
            observer.failed(request.method, route, PushClientException.Reason.OFFLINE, null, millisSince(start));
            throw lost;
        }
    }

    private static long millisSince(long start) {
        return (System.nanoTime() - start) / 1_000_000;
    }

    private Answer exchange(Request request, @Nullable String authorization, Deadline deadline)
            throws PushClientException, Transport.Lost {
        MyToken token = MyToken.random();
        String account = own.id();
        RawAnswer raw = transport.exchange(request, token, authorization, options.acceptSignature(account, token.nonce()), deadline);
        Answer answer = check.answer(request, token, raw, account, options.now());
        // With a token, the first answer that names an account determines the client's account.
        // With a password, identify() has asked for the account.
        if (account == null && credentials.username() == null) learn(answer, answer.account);
        if (account != null && account.equals(answer.account)) own.store(account);
        // A refusal that names no account does not say whose the credential is. A success of a
        // server of the previous version counts, although it names no account.
        boolean isConfirmation = answer.account != null || answer.status < 400;
        if (authorization != null && isConfirmation) confirmed = confirmation(authorization, account == null ? answer.account : account);
        return answer;
    }

    private static PushClientException offline(Transport.Lost error) {
        String message = String.format(Locale.ROOT, "the connection was lost: %s", error.getMessage());
        return PushClientException.of(PushClientException.Reason.OFFLINE, message, error);
    }
}
