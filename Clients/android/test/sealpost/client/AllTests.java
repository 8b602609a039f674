package sealpost.client;

/** Runs all tests: {@code java -Dsealpost.vectors=docs/evidence/vectors sealpost.client.AllTests}. */
public final class AllTests {
    private AllTests() {}

    public static void main(String[] arguments) throws Exception {
        JdkMethods.allowPatch();
        int count = Check.run(VectorTests.class, OutboxVectorTests.class, ClientTests.class);
        System.out.println(count + " tests passed");
    }
}
