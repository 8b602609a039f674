package sealpost.client;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;

/** How a client signs in. */
public final class Credentials {
    private final @Nullable String basic;
    private final boolean isAskedFirst;
    private final @Nullable TokenProvider provider;
    private final String account;

    private Credentials(@Nullable String basic, boolean isAskedFirst, @Nullable TokenProvider provider, String account) {
        this.basic = basic;
        this.isAskedFirst = isAskedFirst;
        this.provider = provider;
        this.account = account;
    }

    /** A name and a password with each request, unasked. */
    public static Credentials basic(String username, String password) {
        return new Credentials(header(username, password), false, null, "user:" + username);
    }

    /** A name and a password once the server has asked for them, in an answer that passes the checks. */
    public static Credentials challenged(String username, String password) {
        return new Credentials(header(username, password), true, null, "user:" + username);
    }

    /**
     * The token of a session, or one that an administrator made.
     *
     * @param account a name of the account that the token is of; it must stand for one user only, and keeps what is stored
     *     apart from that of others
     */
    public static Credentials token(TokenProvider provider, String account) {
        return new Credentials(null, false, provider, "user:" + account);
    }

    /** One token, which cannot be renewed. */
    public static Credentials token(final String token, String account) {
        return token(new FixedToken(token), account);
    }

    private static final class FixedToken implements TokenProvider {
        private final String token;

        FixedToken(String token) {
            this.token = token;
        }

        @Override
        public @Nullable String token(@Nullable String refused) {
            return refused == null ? token : null;
        }
    }

    private static String header(String username, String password) {
        return "Basic " + Base64.standard((username + ':' + password).getBytes(StandardCharsets.UTF_8));
    }

    String account() {
        return account;
    }

    boolean isAskedFirst() {
        return isAskedFirst;
    }

    /** The value of {@code Authorization}; null if there is none any more. */
    @Nullable String authorization(final @Nullable String refused, Deadline deadline) throws PushException {
        if (provider == null) return refused == null ? basic : null;
        if (provider instanceof FixedToken) return ask(provider, refused);
        return ProviderThreads.ask(new Callable<String>() {
            @Override
            public @Nullable String call() throws PushException {
                return ask(provider, refused);
            }
        }, deadline);
    }

    private static @Nullable String ask(TokenProvider provider, @Nullable String refused) throws PushException {
        try {
            String token = provider.token(refused == null ? null : refused.substring("Bearer ".length()));
            return token == null ? null : "Bearer " + token;
        } catch (PushException error) {
            throw error;
        } catch (java.io.IOException error) {
            throw PushException.of(PushException.Reason.OFFLINE, "the token provider cannot be reached", error);
        } catch (Exception error) {
            throw PushException.of(PushException.Reason.UNAUTHORIZED, "the token provider has none", error);
        }
    }
}
