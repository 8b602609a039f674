package sealpost.backend;

import static sealpost.backend.Tests.equal;
import static sealpost.backend.Tests.fails;
import static sealpost.backend.Tests.that;

import java.lang.reflect.Field;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The vectors of docs/evidence/vectors, with which every client is tested. */
final class VectorTests {
    /** The checks of the content belong to each call; the library sends no conditions. */
    private static final Set<String> OF_CALLS = Set.of("notJSON", "unexpectedBody", "unexpectedNotModified", "wrongID");

    private static Json read(String name) throws Exception {
        return Json.read(Files.readAllBytes(Path.of(System.getenv("SEALPOST_VECTORS"), name + ".json")));
    }

    private static String text(Json object, String name) {
        return object.get(name).string();
    }

    private static Request request(Json vector) {
        Json sent = vector.get("request");
        String query = text(sent, "query") == null ? "" : "?" + text(sent, "query");
        return new Request(text(sent, "method"), text(sent, "path"), query, Integer.parseInt(text(sent, "token")));
    }

    private static Answer answer(Json vector) {
        Json got = vector.get("answer");
        Map<String, List<String>> fields = new LinkedHashMap<>();
        for (Json pair : got.get("fields").elements()) {
            String name = pair.elements().get(0).string().toLowerCase();
            fields.computeIfAbsent(name, none -> new ArrayList<>()).add(pair.elements().get(1).string());
        }
        return new Answer(status(got), HttpHeaders.of(fields, (name, value) -> true), body(got, "body"));
    }

    private static int status(Json got) {
        return got.get("status").integer().intValue();
    }

    private static byte[] body(Json object, String name) {
        Json base64 = object.get(name + "Base64");
        if (base64 != null) return Base64.getDecoder().decode(base64.string());
        return text(object, name).getBytes(StandardCharsets.UTF_8);
    }

    private static String verdict(Json vector, Verifier verifier) {
        try {
            request(vector).check(answer(vector), text(vector, "account"), verifier, vector.get("deviceTime").integer());
            return "accepted";
        } catch (Interference error) {
            return error.kind;
        }
    }

    private static Verifier pinned() throws Exception {
        return new Verifier(text(read("keys").get("pinned"), "publicKey"));
    }

    public static void echoesAreThoseOfTheVectors() throws Exception {
        Json echo = read("echo");
        equal(echo.get("greatest").integer(), (long) Request.GREATEST_TOKEN);
        for (Json one : echo.get("echoes").elements()) {
            HttpHeaders fields = HttpHeaders.of(Map.of("MyToken", List.of(text(one, "echo"))), (name, value) -> true);
            Request request = new Request("GET", "/", "", Integer.parseInt(text(one, "token")));
            request.check(new Answer(200, fields, new byte[0]), null, null, 0);
        }
    }

    public static void interferenceIsRecognizedWithAndWithoutSignatures() throws Exception {
        int count = 0;
        for (Json one : read("interference").get("cases").elements()) {
            // Transport reports an answer that is cut; CallTests cut one everywhere.
            if (text(one, "call").equals("conditional") || text(one.get("answer"), "end").equals("cut")) continue;
            String unsigned = text(one.get("verdict"), "unsigned");
            // No request here has a condition, so a 304 is a redirect like the others.
            if (unsigned.equals("unexpectedNotModified")) unsigned = "redirect";
            equal(verdict(one, null), OF_CALLS.contains(unsigned) ? "accepted" : unsigned, text(one, "name"));
            count++;
            if (text(one, "name").contains("the version before") || one.get("request").get("nonce") != null) continue;
            String signed = text(one.get("verdict"), "signed");
            // The reasons of a wrong signature are one verdict here.
            if (signed.equals("insufficientCoverage")) signed = "signature";
            if (status(one.get("answer")) == 304) signed = "redirect";
            equal(verdict(one, pinned()), OF_CALLS.contains(signed) ? "accepted" : signed, text(one, "name"));
        }
        that(count > 20, count + " cases");
    }

    public static void theCodesAreThoseOfTheDocumentation() throws Exception {
        Map<String, Object> codes = new TreeMap<>();
        for (Field field : ProblemCode.class.getFields()) codes.put(field.getName(), field.get(null));
        Map<String, Object> documented = new TreeMap<>();
        String page = Files.readString(Path.of(System.getenv("SEALPOST_VECTORS"), "../../errors.md"));
        Pattern.compile("(?m)^## `([a-z-]+)`").matcher(page).results().map(found -> found.group(1))
                .forEach(code -> documented.put(code.toUpperCase(Locale.ROOT).replace('-', '_'), code));
        equal(codes, documented);
    }

    public static void retryAfterIsReadAsInTheVectors() throws Exception {
        for (Json one : read("interference").get("retryAfter").elements()) {
            HttpHeaders fields = HttpHeaders.of(Map.of("Retry-After", List.of(text(one, "field"))), (name, value) -> true);
            java.time.Duration found = new Answer(503, fields, new byte[0]).retryAfter();
            equal(found == null ? null : found.getSeconds(), one.get("seconds").integer(), text(one, "field"));
        }
    }

    public static void retryAfterMayBeADate() {
        java.time.ZonedDateTime later = java.time.ZonedDateTime.now(java.time.ZoneOffset.UTC).plusHours(1);
        String date = java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME.format(later);
        for (String field : List.of(date, later.minusHours(2).format(java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME), "soon GMT", " GMT")) {
            HttpHeaders fields = HttpHeaders.of(Map.of("Retry-After", List.of(field)), (name, value) -> true);
            java.time.Duration found = new Answer(503, fields, new byte[0]).retryAfter();
            equal(found == null ? null : Math.round(found.getSeconds() / 60.0), field.equals(date) ? 60L : null, field);
        }
    }

    public static void keysAndDigestsAreThoseOfTheVectors() throws Exception {
        Json keys = read("keys");
        equal(Verifier.thumbprint(text(keys.get("pinned"), "publicKey")), text(keys.get("pinned"), "keyid"));
        equal(pinned().acceptSignature(), text(keys, "acceptSignature"));
        for (Json one : read("digests").get("contents").elements()) {
            byte[] content = one.get("zeros") == null ? body(one, "body") : new byte[one.get("zeros").integer().intValue()];
            equal(Verifier.contentDigest(content), text(one, "field"));
        }
    }

    /** Changes each seventh byte of an answer, and of the next answer the bytes beside these. */
    public static void signedAnswersVerifyAndNoChangedByteDoes() throws Exception {
        Json signed = read("signatures");
        int first = 0;
        long now = signed.get("now").integer();
        Verifier verifier = pinned();
        for (Json vector : signed.get("vectors").elements()) {
            // The library sends no conditions and no nonces.
            if (status(vector.get("answer")) == 304 || vector.get("request").get("nonce") != null) continue;
            Request request = request(vector);
            Answer answer = answer(vector);
            equal(verifier.verdict(request, answer, now), null, text(vector, "name"));
            equal(verifier.verdict(request, answer, now + 301), "wrongClock");
            first = (first + 1) % 7;
            for (int index = first; index < answer.body.length; index += 7) {
                byte[] changed = answer.body.clone();
                changed[index] ^= 1;
                equal(verifier.verdict(request, with(vector, null, null, answer.status, changed), now), "signature");
            }
            for (String name : List.of("content-digest", "sealpost-account", "signature-input", "signature")) {
                String value = answer.field(name);
                for (int index = first; index < value.length(); index += 7) {
                    String changed = value.substring(0, index) + (char) (value.charAt(index) ^ 1) + value.substring(index + 1);
                    Answer other = with(vector, name, changed, answer.status, answer.body);
                    that(verifier.verdict(request, other, now) != null, name + " " + index);
                }
            }
            equal(verifier.verdict(request, with(vector, null, null, 299, answer.body), now), "signature");
            for (Request other : List.of(
                    new Request("TRACE", request.path, request.query, request.token),
                    new Request(request.method, "/x", request.query, request.token),
                    new Request(request.method, request.path, "?x=1", request.token),
                    new Request(request.method, request.path, request.query, request.token ^ 1))) {
                equal(verifier.verdict(other, answer, now), "signature");
            }
        }
        fails(IllegalArgumentException.class, () -> new Verifier("AAAA"));
    }

    private static Answer with(Json vector, String name, String value, int status, byte[] body) {
        Answer answer = answer(vector);
        Map<String, List<String>> fields = new LinkedHashMap<>();
        for (Json pair : vector.get("answer").get("fields").elements()) {
            String field = pair.elements().get(0).string().toLowerCase();
            fields.put(field, List.of(field.equals(name) ? value : answer.field(field)));
        }
        return new Answer(status, HttpHeaders.of(fields, (one, other) -> true), body);
    }
}
