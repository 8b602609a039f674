package sealpost.backend;

import org.jspecify.annotations.Nullable;

/**
 * The outcome of one notification of {@link Client#sendMany}: either {@link #sent} or {@link
 * #problem}.
 */
public final class Outcome {
    public final @Nullable Sent sent;
    public final @Nullable Problem problem;

    Outcome(Json json) {
        Members outcome = new Members(json);
        int status = outcome.status();
        sent = status == 201 ? new Sent(json) : null;
        problem = status == 201 ? null : Problem.read(outcome.value("Problem"), status, null);
    }

    /**
     * The accepted notification. Throws the problem if the server has refused the notification.
     */
    public Sent get() {
        if (problem != null) throw problem;
        return sent;
    }

    @Override
    public String toString() {
        return String.valueOf(problem == null ? sent : problem);
    }
}
