package sealpost.backend;

import static sealpost.backend.Tests.equal;
import static sealpost.backend.Tests.fails;
import static sealpost.backend.Tests.that;

import java.util.ArrayList;
import java.util.List;

/** The most devices of a payload. Making their keys takes many seconds, so only make e2e runs it. */
final class ThousandDevicesTests {
    public static void aThousandDevicesShareAPayloadAndOneMoreIsRefused() throws Exception {
        List<DeviceKey> keys = new ArrayList<>();
        for (int number = 0; number < 1000; number++) keys.add(EndToEndTests.device("A".repeat(22), number));
        Encryption encryption = new Encryption(SenderKey.generate(), new Pins(), changes -> {});
        for (int count = 0; count < 3; count++) {
            long start = System.nanoTime();
            String text = encryption.encrypt(Json.of("x"), EndToEndTests.recipients(keys), "default");
            System.out.println("a payload for 1,000 devices: " + (System.nanoTime() - start) / 1_000_000 + " ms");
            equal(text.split("\\.")[7].length(), 152_000);
        }
        keys.add(EndToEndTests.device("A".repeat(22), 1000));
        IllegalArgumentException error = fails(
                IllegalArgumentException.class, () -> encryption.encrypt(Json.of("x"), EndToEndTests.recipients(keys), "default"));
        that(error.getMessage().contains("1 to 1000 devices, not 1001"), error.getMessage());
    }
}
