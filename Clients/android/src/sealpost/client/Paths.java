package sealpost.client;

/** The paths of the API's resources. */
final class Paths {
    static final String REGISTER = "/api/register";
    static final String NOTIFICATIONS = "/api/notifications";
    static final String READ = "/api/notifications/read";
    static final String SESSIONS = "/api/sessions";
    static final String CURRENT_SESSION = "/api/sessions/current";

    private Paths() {}

    static String notification(long id) {
        return NOTIFICATIONS + "/" + id;
    }

    static String taken(long id) {
        return notification(id) + "/taken";
    }

    /** The caller has checked the id, which becomes a part of a path. */
    static String registration(String id) {
        return REGISTER + "/" + id;
    }
}
