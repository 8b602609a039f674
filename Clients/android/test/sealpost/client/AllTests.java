package sealpost.client;

/**
 * Runs all tests, or those of the named classes:
 * {@code java -Dsealpost.vectors=docs/evidence/vectors sealpost.client.AllTests}.
 */
public final class AllTests {
    private AllTests() {}

    public static void main(String[] arguments) throws Exception {
        JdkMethods.allowPatch();
        Class<?>[] classes = {VectorTests.class, OutboxVectorTests.class, ClientTests.class, NetworkTests.class, EndToEndTests.class};
        if (arguments.length > 0) {
            classes = new Class<?>[arguments.length];
            for (int index = 0; index < classes.length; index++) classes[index] = Class.forName("sealpost.client." + arguments[index]);
        }
        System.out.println(Check.run(classes) + " tests passed");
    }
}
