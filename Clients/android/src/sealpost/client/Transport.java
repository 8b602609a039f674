package sealpost.client;

import androidx.annotation.Nullable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.GeneralSecurityException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSocketFactory;

/**
 * Makes exchanges within a deadline, on {@link Threads}.
 *
 * <p>A connection has timeouts only for connecting and for each read. A name server that does not
 * answer, or a peer that sends a byte now and then, would block a caller for ever.
 */
final class Transport {
    /**
     * The connection ended before any of the answer arrived: the server may or may not have
     * carried out the request.
     */
    static final class Lost extends IOException {
        private static final long serialVersionUID = 1;

        Lost(IOException cause) {
            super(cause.getMessage(), cause);
        }
    }

    private final Options options;
    private final @Nullable SSLSocketFactory sockets;

    Transport(Options options) {
        this.options = options;
        try {
            sockets = PinnedTrust.sockets(options);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("the platform has no TLS", error);
        }
    }

    RawAnswer exchange(
            Request request, MyToken token, @Nullable String authorization, @Nullable String acceptSignature, Deadline deadline)
            throws PushClientException, Lost {
        int millis = deadline.remainingMillis();
        final Exchange exchange = new Exchange(options, sockets, request, token, authorization, acceptSignature, millis);
        try {
            return Threads.result(new FutureTask<>(exchange), deadline, new Threads.Cancellation() {
                @Override
                public void run() {
                    abandon(exchange);
                }
            });
        } catch (ExecutionException error) {
            throw failure(request, error.getCause());
        }
    }

    private static void abandon(final Exchange exchange) {
        // A disconnect may wait for a lock of the thread that makes the exchange.
        Thread thread = new Thread("sealpost-cancel") {
            @Override
            public void run() {
                exchange.cancel();
            }
        };
        thread.setDaemon(true);
        thread.start();
    }

    private PushClientException failure(Request request, @Nullable Throwable cause) throws Lost {
        if (!(cause instanceof IOException)) {
            return PushClientException.of(PushClientException.Reason.OFFLINE, "the request could not be sent: " + cause, cause);
        }
        IOException error = (IOException) cause;
        if (error instanceof SocketTimeoutException) return Deadline.passed();
        // The platforms report a 407 as a mistake in the protocol if they know of no proxy.
        if (error instanceof ProtocolException && String.valueOf(error.getMessage()).contains("407")) {
            return PushClientException.of(new Interference(
                    Interference.Kind.MISSING_ECHO, "the echo of MyToken", null, 407, request.path));
        }
        if (isOfClock(error)) {
            return PushClientException.of(new Interference(
                    Interference.Kind.WRONG_CLOCK, "a certificate of now", "an expired or future certificate", 0, request.path));
        }
        if (isOfCertificate(error)) {
            String expected = options.pins().isEmpty() ? "a trusted certificate" : "a trusted certificate with a pinned key";
            return PushClientException.of(new Interference(
                    Interference.Kind.UNTRUSTED_KEY, expected, "another certificate", 0, request.path));
        }
        boolean isUnsent = error instanceof ConnectException || error instanceof UnknownHostException
                || error instanceof NoRouteToHostException || error instanceof javax.net.ssl.SSLHandshakeException;
        if (!isUnsent) throw new Lost(error);
        return PushClientException.of(
                PushClientException.Reason.OFFLINE, "the server cannot be reached: " + error.getMessage(), error);
    }

    private static boolean isOfClock(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof CertificateExpiredException || cause instanceof CertificateNotYetValidException) return true;
        }
        return false;
    }

    private static boolean isOfCertificate(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof CertificateException || cause instanceof CertPathValidatorException
                    || cause instanceof SSLPeerUnverifiedException) {
                return true;
            }
        }
        // HttpsURLConnection compares the host's name itself, and throws this error if it differs.
        return error instanceof IOException && String.valueOf(error.getMessage()).startsWith("HTTPS hostname wrong");
    }
}
