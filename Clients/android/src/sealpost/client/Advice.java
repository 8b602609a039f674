package sealpost.client;

/**
 * Advice to a user about a call that failed; {@link #label} is the same in the clients for all
 * platforms.
 */
public enum Advice {
    /** The server is unreachable, or did not answer in time. */
    OFFLINE("offline", "There is no connection. What you see may be out of date."),
    /** A network's sign-in page answers in place of the server. */
    CAPTIVE_PORTAL("captivePortal", "This network wants you to sign in first. Open its page, then try again."),
    /** A proxy of the network demands credentials. */
    PROXY("proxy", "This network has a proxy that wants a password. Sign in to it, then try again."),
    /** Something between client and server has changed, replayed or invented an answer. */
    INTERFERENCE("interference", "Something on this network changes our answers. Try another network."),
    /**
     * No key that the app knows has signed the answer: the server's key has changed, or something
     * pretends to be the server.
     */
    UPDATE("update", "This app needs an update, or this network changes our answers. Try another network first."),
    /**
     * The clocks of device and server differ by more than the client accepts, or a certificate is
     * not valid at the device's time.
     */
    CLOCK("clock", "The clock of this device is wrong, or our certificate has expired. Check the clock."),
    /** The system or the app does not accept the server's certificate. */
    PIN("pin", "This network stands between you and our server. Sign in to it, or try another network."),
    /** The credentials are no longer valid. */
    SIGN_IN("signIn", "You are not signed in. Try to sign in again."),
    /** The server refuses requests for now, or a load balancer cannot reach the server. */
    WAIT("wait", "The server is busy. Try again later."),
    /** The server refuses this request. */
    REFUSED("refused", "The server does not allow this."),
    /** The device cannot store anything. */
    STORAGE("storage", "This device cannot store messages. Make some room, then try again."),
    /** Somebody has changed this device's end-to-end keys at the server. */
    KEY_REPLACED("keyReplaced", "Somebody has changed the keys of this device at our server. Tell our support."),
    /** The app has a fault: it calls the client in a wrong order. */
    APP("app", "This app has a fault. Tell our support.");

    private final String label;
    private final String text;

    Advice(String label, String text) {
        this.label = label;
        this.text = text;
    }

    public String label() {
        return label;
    }

    /** The advice in English; an app may use its own words and languages. */
    public String text() {
        return text;
    }

    static Advice of(Interference interference) {
        switch (interference.kind()) {
            case REDIRECT:
                return CAPTIVE_PORTAL;
            case MISSING_ECHO:
                return of(interference.status());
            case SIGNATURE:
            case WRONG_ACCOUNT:
                return UPDATE;
            case WRONG_CLOCK:
                return CLOCK;
            case UNTRUSTED_KEY:
                return PIN;
            default:
                return INTERFERENCE;
        }
    }

    /**
     * The advice for an answer without an echo, by its status. During an outage of the server its
     * load balancers answer.
     */
    private static Advice of(int status) {
        boolean isPortal = status >= 200 && status < 400 || status == 401 || status == 403 || status == 511;
        if (isPortal) return CAPTIVE_PORTAL;
        if (status == 407) return PROXY;
        return status >= 500 || status == 429 || status == 421 || status == 408 ? WAIT : INTERFERENCE;
    }
}
