package sealpost.client;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** The paths of the API's resources. */
final class Paths {
    static final String REGISTER = "/api/register";
    static final String NOTIFICATIONS = "/api/notifications";
    static final String READ = "/api/notifications/read";
    static final String SESSIONS = "/api/sessions";
    static final String ENROLMENT = "/api/enrolment";
    static final String PASSWORD = "/api/users/current/password";
    static final String CURRENT_SESSION = "/api/sessions/current";

    private static final Set<String> NAMES = new HashSet<>(Arrays.asList(
            "api", "register", "notifications", "read", "taken", "sessions", "current", "devices", "topics", "test", "key", "users",
            "password", "enrolment", "confirmation"));

    private Paths() {}

    static String notification(long id) {
        return NOTIFICATIONS + "/" + id;
    }

    static String taken(long id) {
        return notification(id) + "/taken";
    }

    static String topic(String registration, String topic) {
        return device(registration) + "/topics/" + Request.escaped(topic);
    }

    /**
     * Throws for a topic that the server refuses in a path. This refusal has no echo, because the
     * server refuses such a path before it reads the request's fields.
     */
    static void checkTopic(String topic) {
        if (!Json.whole(topic).matches("[^/\\\\%\\p{Cntrl}]+") || topic.matches("\\.\\.?")) {
            throw new IllegalArgumentException(
                    "the topic is empty or a dot segment, or has a slash, a backslash, a percent sign or a control character");
        }
    }

    static String key(String registration) {
        return device(registration) + "/key";
    }

    static String test(String registration) {
        return device(registration) + "/test";
    }

    private static String device(String registration) {
        return "/api/devices/" + registration;
    }

    /** A path for logs, with {@code {id}} in place of its variable parts. */
    static String route(String path) {
        StringBuilder route = new StringBuilder();
        for (String part : path.substring(1).split("/")) route.append('/').append(NAMES.contains(part) ? part : "{id}");
        return route.toString();
    }

    static String confirmation(String registration) {
        return registration(registration) + "/confirmation";
    }

    /** The path of a registration. The caller must have checked the id. */
    static String registration(String id) {
        return REGISTER + "/" + id;
    }
}
