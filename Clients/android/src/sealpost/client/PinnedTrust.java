package sealpost.client;

import androidx.annotation.Nullable;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Set;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * Trusts a certificate chain if the platform trusts it and the server's own certificate has a
 * pinned key. The decision comes before the client sends anything.
 */
final class PinnedTrust extends X509ExtendedTrustManager {
    private final X509TrustManager trusted;
    private final Set<String> pins;

    private PinnedTrust(X509TrustManager trusted, Set<String> pins) {
        this.trusted = trusted;
        this.pins = pins;
    }

    /** The socket factory; null if the platform alone decides. */
    static @Nullable SSLSocketFactory sockets(Options options) throws GeneralSecurityException {
        X509TrustManager manager = options.trustManager();
        KeyManager own = options.clientCertificate();
        if (manager == null && own == null && options.pins().isEmpty()) return null;
        if (manager == null) manager = platform();
        SSLContext context = SSLContext.getInstance("TLS");
        KeyManager[] keys = own == null ? null : new KeyManager[] {own};
        context.init(keys, new TrustManager[] {options.pins().isEmpty() ? manager : new PinnedTrust(manager, options.pins())}, null);
        return context.getSocketFactory();
    }

    private static X509TrustManager platform() throws GeneralSecurityException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init((KeyStore) null);
        for (TrustManager manager : factory.getTrustManagers()) {
            if (manager instanceof X509TrustManager) return (X509TrustManager) manager;
        }
        throw new GeneralSecurityException("the platform has no trust manager");
    }

    /**
     * Compares only the key of the first certificate: the peer has proved that it has the private
     * key.
     *
     * <p>The peer may send other certificates that are not part of the path to a trusted root.
     */
    private void comparePins(X509Certificate[] chain) throws CertificateException {
        String pin = Base64.standard(Hashes.sha256(chain[0].getPublicKey().getEncoded()));
        if (!pins.contains(pin)) throw new CertificateException("the certificate has no pinned key");
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        trusted.checkServerTrusted(chain, type);
        comparePins(chain);
    }

    /**
     * Passes on the socket: Android takes from it the host, and finds the configuration for that
     * host.
     */
    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        if (trusted instanceof X509ExtendedTrustManager) {
            ((X509ExtendedTrustManager) trusted).checkServerTrusted(chain, type, socket);
        } else {
            trusted.checkServerTrusted(chain, type);
        }
        comparePins(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        if (trusted instanceof X509ExtendedTrustManager) {
            ((X509ExtendedTrustManager) trusted).checkServerTrusted(chain, type, engine);
        } else {
            trusted.checkServerTrusted(chain, type);
        }
        comparePins(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        trusted.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        trusted.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        trusted.checkClientTrusted(chain, type);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return trusted.getAcceptedIssuers();
    }
}
