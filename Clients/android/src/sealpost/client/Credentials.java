package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** How a client signs in. */
public final class Credentials {
    private static final String BASIC = "Basic ";
    private static final String BEARER = "Bearer ";

    private final @Nullable String basic;
    private final boolean isAskedFirst;
    private final @Nullable TokenProvider provider;
    private final String account;
    private final @Nullable String username;
    private final @Nullable String accountId;

    private Credentials(
            @Nullable String basic,
            boolean isAskedFirst,
            @Nullable TokenProvider provider,
            String account,
            @Nullable String username,
            @Nullable String accountId) {
        this.basic = basic;
        this.isAskedFirst = isAskedFirst;
        this.provider = provider;
        this.account = account;
        this.username = username;
        this.accountId = accountId;
    }

    /**
     * A user name and a password, which the client sends with each request, without waiting for a
     * challenge.
     *
     * @throws IllegalArgumentException if one of them is empty, or has a control character or half
     *     of a surrogate pair, or if the name has a colon (RFC 7617)
     */
    public static Credentials basic(String username, String password) {
        check(username, password);
        return new Credentials(header(username, password), false, null, "user:" + username, username, null);
    }

    /**
     * A user name and a password, which the client sends only after the server has asked for them
     * in an answer that passes the checks.
     *
     * @throws IllegalArgumentException as {@link #basic} does
     */
    public static Credentials challenged(String username, String password) {
        check(username, password);
        return typed(username, password);
    }

    /** As {@link #challenged}, but the server refuses what the user has typed wrongly. */
    static Credentials typed(String username, String password) {
        Objects.requireNonNull(username, "username");
        Objects.requireNonNull(password, "password");
        return new Credentials(header(username, password), true, null, "user:" + username, username, null);
    }

    /**
     * The token of a session, or a token that an administrator made.
     *
     * <p>The client accepts answers for one account only. After a sign-in with the same name and
     * store, it knows the account's identifier. Otherwise pass the identifier to {@link
     * #accountId(String)}. Without an identifier the client takes it from the first answer.
     *
     * @param account a name for the token's account, which must belong to one user only; the
     * client stores the account's state under this name
     * @throws IllegalArgumentException if the name is empty, or has half of a surrogate pair
     */
    public static Credentials token(TokenProvider provider, String account) {
        return new Credentials(null, false, provider, stateName(account), null, null);
    }

    /**
     * The token that {@link PushClient#signIn(String, String)} stores with the account.
     *
     * <p>Signing out removes the token together with the account's other state, in one step.
     *
     * @param account as with {@link #token(TokenProvider, String)}
     * @throws IllegalArgumentException if the name is empty, or has half of a surrogate pair
     */
    public static Credentials stored(String account) {
        return new Credentials(null, false, null, stateName(account), null, null);
    }

    /**
     * A copy of these credentials with the account's identifier, from {@link Session#account};
     * null if unknown.
     */
    public Credentials accountId(@Nullable String id) {
        return new Credentials(basic, isAskedFirst, provider, account, username, id);
    }

    /**
     * A single token, which cannot be renewed.
     *
     * @throws IllegalArgumentException if the name is empty, or if the token has other characters
     *     than those of a bearer token (RFC 6750)
     */
    public static Credentials token(final String token, String account) {
        return token(new FixedToken(checked(token)), account);
    }

    /** The credentials in a stored value of {@code Authorization}. */
    static Credentials shown(String authorization) {
        if (authorization.startsWith(BEARER)) {
            TokenProvider token = new FixedToken(authorization.substring(BEARER.length()));
            return new Credentials(null, false, token, "", null, null);
        }
        return new Credentials(authorization, false, null, "", name(authorization), null);
    }

    /** The user name in a header that {@link #header} has made; null for other texts. */
    private static @Nullable String name(String header) {
        byte[] bytes = header.startsWith(BASIC) ? Base64.fromStandard(header.substring(BASIC.length())) : null;
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8).split(":", 2)[0];
    }

    /** A provider that returns at once, so that the client needs no separate thread for it. */
    private abstract static class LocalToken implements TokenProvider {}

    private static final class FixedToken extends LocalToken {
        private final String token;

        FixedToken(String token) {
            this.token = token;
        }

        @Override
        public @Nullable String token(@Nullable String refused) {
            return refused == null ? token : null;
        }
    }

    /** A copy of these credentials that reads its token from the stored account. */
    Credentials of(final Account stored) {
        if (basic != null || provider != null) return this;
        return new Credentials(null, false, new LocalToken() {
            @Override
            public @Nullable String token(@Nullable String refused) throws PushClientException {
                String token = stored.read().index.token;
                // If the stored token is not the refused one, a later sign-in has replaced it.
                return token == null || token.equals(refused) ? null : token;
            }
        }, account, null, accountId);
    }

    private static String stateName(String account) {
        if (account.isEmpty()) throw new IllegalArgumentException("the name of an account is empty");
        return "user:" + Json.whole(account);
    }

    private static void check(String username, String password) {
        Json.whole(username);
        Json.whole(password);
        if (!username.matches("[^:\\p{Cntrl}]+")) {
            throw new IllegalArgumentException("the user name is empty, or has a colon or a control character");
        }
        if (!password.matches("\\P{Cntrl}+")) {
            throw new IllegalArgumentException("the password is empty, or has a control character");
        }
    }

    /** Returns a token that can be sent; a line break would begin another header field. */
    private static String checked(String token) {
        if (!isToken(token)) throw new IllegalArgumentException("the token has other characters than a bearer token");
        return token;
    }

    /** Whether a text is a bearer token of RFC 6750 section 2.1. */
    static boolean isToken(String text) {
        return text.matches("[A-Za-z0-9._~+/-]+=*");
    }

    private static String header(String username, String password) {
        return BASIC + Base64.standard((username + ':' + password).getBytes(StandardCharsets.UTF_8));
    }

    String account() {
        return account;
    }

    /** The user name that belongs to a password; null for a token. */
    @Nullable String username() {
        return username;
    }

    /** The identifier that the app has set; null if none. */
    @Nullable String accountId() {
        return accountId;
    }

    boolean isAskedFirst() {
        return isAskedFirst;
    }

    /** Whether the token comes from the app's own provider. */
    boolean isOfProvider() {
        return provider != null && !(provider instanceof LocalToken);
    }

    /** Whether the app itself gives the token, so that it may be the token of another account. */
    boolean isTokenOfApp() {
        return isOfProvider() || isOneToken();
    }

    /** Whether these credentials are one token. */
    boolean isOneToken() {
        return provider instanceof FixedToken;
    }

    /** The value of {@code Authorization}; null if the client has no valid credential left. */
    @Nullable String authorization(final @Nullable String refused, Deadline deadline) throws PushClientException {
        if (provider == null) return refused == null ? basic : null;
        if (!isOfProvider()) return ask(provider, refused);
        final FutureTask<String> task = new FutureTask<>(new Callable<String>() {
            @Override
            public @Nullable String call() throws PushClientException {
                return ask(provider, refused);
            }
        });
        try {
            return Threads.result(task, deadline, new Threads.Cancellation() {
                @Override
                public void run() {
                    task.cancel(true);
                }
            });
        } catch (ExecutionException error) {
            if (error.getCause() instanceof PushClientException) throw (PushClientException) error.getCause();
            throw PushClientException.of(PushClientException.Reason.UNAUTHORIZED, "the token provider failed", error.getCause());
        }
    }

    private static @Nullable String ask(TokenProvider provider, @Nullable String refused) throws PushClientException {
        try {
            String token = provider.token(refused == null ? null : refused.substring(BEARER.length()));
            return token == null ? null : BEARER + checked(token);
        } catch (PushClientException error) {
            throw error;
        } catch (java.io.IOException error) {
            throw PushClientException.of(PushClientException.Reason.OFFLINE, "the token provider cannot be reached", error);
        } catch (Exception error) {
            throw PushClientException.of(PushClientException.Reason.UNAUTHORIZED, "the token provider has none", error);
        }
    }
}
