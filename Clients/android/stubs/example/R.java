package example;

/** The app's resource names, as its build generates them. */
public final class R {
    /** Texts. */
    public static final class string {
        public static final int results = 1;
        public static final int something_to_read = 2;
        public static final int loading = 3;
    }

    /** Pictures. */
    public static final class drawable {
        public static final int bell = 1;
    }
}
