package sealpost.backend;

import static sealpost.backend.Tests.equal;
import static sealpost.backend.Tests.fails;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Messages with signatures of the test's own. */
final class WebhookTests {
    private static final long NOW = 1_800_000_000;
    private static final String PUSH = "{\"secureId\":\"7\",\"handle\":\"abcd\"}";
    private static final String OLD = "whsec_" + Base64.getEncoder().encodeToString("the old secret of this hook".getBytes());
    private static final String NEW = "whsec_" + Base64.getUrlEncoder().encodeToString("the new secret?>>??>> of this".getBytes());

    static String signature(String secret, String id, long time, String body) {
        try {
            byte[] key = secret.startsWith("whsec_")
                    ? Base64.getUrlDecoder().decode(secret.substring(6).replace('+', '-').replace('/', '_'))
                    : secret.getBytes(StandardCharsets.UTF_8);
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return "v1," + Base64.getEncoder().encodeToString(mac.doFinal((id + "." + time + "." + body).getBytes(StandardCharsets.UTF_8)));
        } catch (java.security.GeneralSecurityException error) {
            throw new AssertionError(error);
        }
    }

    private static Map<String, String> fields(String secret, long time, String body) {
        return Map.of(
                "webhook-id", "m", "webhook-timestamp", Long.toString(time), "webhook-signature", signature(secret, "m", time, body));
    }

    private static Message verify(String secrets, Map<String, String> fields, String body) throws InvalidMessage {
        return new Webhook(secrets).verify(fields::get, body.getBytes(StandardCharsets.UTF_8), NOW);
    }

    private static Message read(String body) throws InvalidMessage {
        return verify(OLD, fields(OLD, NOW, body), body);
    }

    public static void aSignedMessageIsRead() throws Exception {
        Message.Push push = (Message.Push) read(PUSH);
        equal(push.id + " " + push.secureId + " " + push.handle + " " + push.alert + " " + push.accountHint, "m 7 abcd null null");
        push = (Message.Push) read("{\"secureId\":\"7\",\"handle\":\"h\",\"alert\":{\"Badge\":3},\"accountHint\":\"x\"}");
        equal(push.alert + push.accountHint, "{\"Badge\":3}x");
        equal(((Message.Confirmation) read("{\"confirmation\":\"c0de\",\"handle\":\"h\"}")).code, "c0de");
        Event event = ((Message.Events) read("{\"type\":\"sealpost.events\",\"data\":{\"Events\":[{\"Number\":3,"
                        + "\"At\":\"2027-01-15T08:00:00Z\",\"Kind\":\"accepted\",\"Notification\":7,\"Device\":null,\"User\":\"bob\","
                        + "\"App\":\"a\",\"Platform\":\"p\",\"Reason\":null}]}}"))
                .events.get(0);
        equal(event.number + event.kind + event.notification + event.user, "3accepted7bob");
        equal(event.at, Instant.ofEpochSecond(NOW));
    }

    public static void eitherOfTwoSecretsVerifiesWhileOneIsChanged() throws Exception {
        for (String secret : List.of(OLD, NEW)) {
            for (String secrets : List.of(OLD + "\n" + NEW + "\n", " " + NEW + "\r\n\r\n" + OLD)) {
                equal(verify(secrets, fields(secret, NOW, PUSH), PUSH).id, "m");
            }
        }
        Map<String, String> both = new java.util.HashMap<>(fields(OLD, NOW, PUSH));
        both.put("webhook-signature", "v1a,x " + signature(NEW, "m", NOW, PUSH) + " " + both.get("webhook-signature"));
        for (String secret : List.of(OLD, NEW)) equal(verify(secret, both, PUSH).id, "m");
        String text = "a text as a secret of the hook";
        equal(verify(text, fields(text, NOW, PUSH), PUSH).id, "m");
        for (String wrong : List.of("", " \n", "short", "whsec_AAAA")) {
            fails(IllegalArgumentException.class, () -> new Webhook(wrong));
        }
        String key = OLD.substring(6);
        for (String wrong : List.of("!".repeat(40), "*" + key, key + "A", key.substring(0, 8) + " " + key.substring(8), key + "=A")) {
            String message = fails(IllegalArgumentException.class, () -> new Webhook(NEW + "\nwhsec_" + wrong)).getMessage();
            equal(message, "secrets: the text after whsec_ is not base64");
        }
        equal(fails(NullPointerException.class, () -> new Webhook(null)).getMessage(), "secrets");
        equal(verify("whsec_-_+/" + key + "===", fields("whsec_+/+/" + key, NOW, PUSH), PUSH).id, "m");
    }

    public static void secretsAndSignaturesAreReadAsTheServerReadsThem() throws Exception {
        Json vectors = Json.read(Files.readAllBytes(Path.of(System.getenv("SEALPOST_VECTORS"), "webhooks.json")));
        for (Json row : vectors.get("secrets").elements()) {
            String text = row.get("text").string();
            if (row.get("signature").kind() == Json.Kind.NULL) {
                String message = fails(IllegalArgumentException.class, () -> new Webhook(text)).getMessage();
                equal(message.startsWith("secrets: "), true, row.get("name").string());
            } else {
                for (String signature : row.get("signature").string().split(" ")) {
                    equal(isAccepted(vectors, text, signature), true, row.get("name").string());
                }
            }
        }
        for (Json row : vectors.get("signatures").elements()) {
            boolean isAccepted = isAccepted(vectors, vectors.get("secret").string(), row.get("field").string());
            equal(Json.of(isAccepted).toString(), row.get("isAccepted").toString(), row.get("name").string());
        }
    }

    private static boolean isAccepted(Json vectors, String secrets, String signature) {
        Map<String, String> fields = Map.of(
                "webhook-id", vectors.get("id").string(),
                "webhook-timestamp", vectors.get("timestamp").toString(),
                "webhook-signature", signature);
        try {
            verify(secrets, fields, vectors.get("body").string());
            return true;
        } catch (InvalidMessage error) {
            return false;
        }
    }

    public static void changedOldAndMalformedMessagesAreRefused() throws Exception {
        Map<String, String> good = fields(OLD, NOW, PUSH);
        refused(good, PUSH + " ");
        refused(fields(NEW, NOW, PUSH), PUSH);
        refused(Map.of(), PUSH);
        for (String name : good.keySet()) {
            Map<String, String> changed = new java.util.HashMap<>(good);
            changed.put(name, good.get(name) + "0");
            refused(changed, PUSH);
            changed.remove(name);
            refused(changed, PUSH);
        }
        for (long time : List.of(NOW - 300, NOW + 300)) verify(OLD, fields(OLD, time, PUSH), PUSH);
        for (long time : List.of(NOW - 301, NOW + 301, 1_000_000_000_000L)) refused(fields(OLD, time, PUSH), PUSH);
        for (String body : List.of("", "{", "{\"type\":\"sealpost.events\",\"data\":{\"Events\":[7]}}", "[".repeat(100_000))) {
            refused(fields(OLD, NOW, body), body);
        }
    }

    public static void aMessageOfAnUnknownKindIsValid() throws Exception {
        for (String body : List.of("{\"x\":1}", "{}", "[]", "7", "null", "{\"secureId\":7}", "{\"confirmation\":7}",
                "{\"type\":\"sealpost.events\"}", "{\"type\":\"sealpost.events\",\"data\":{\"Events\":7}}")) {
            Message.Other other = (Message.Other) read(body);
            equal(other.id + other.json, "m" + body);
        }
    }

    private static void refused(Map<String, String> fields, String body) throws Exception {
        fails(InvalidMessage.class, () -> verify(OLD, fields, body));
    }
}
