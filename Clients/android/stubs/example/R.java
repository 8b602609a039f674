package example;

/** The app's resource names, as its build generates them. */
public final class R {
    /** Texts. */
    public static final class string {
        public static final int results = 1;
        public static final int something_to_read = 2;
        public static final int loading = 3;
        public static final int name = 4;
        public static final int password = 5;
        public static final int sign_in = 6;
        public static final int sign_out = 7;
        public static final int as_of = 8;
        public static final int never = 9;
        public static final int key_replaced = 10;
    }

    /** Pictures. */
    public static final class drawable {
        public static final int bell = 1;
    }
}
