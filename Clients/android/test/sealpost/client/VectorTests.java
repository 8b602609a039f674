package sealpost.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import sealpost.client.ResponseVerifier.Coverage;

/** Tests all vectors, and each vector again with one changed byte. */
public final class VectorTests {
    private static final Vectors VECTORS = new Vectors();
    private static final Json ACCOUNTS = Vectors.read("accounts");
    private static final String OWN = ACCOUNTS.get("accounts").get("alice").string();

    private VectorTests() {}

    public static void theEchoIsThatOfTheVectors() {
        Json file = Vectors.read("echo");
        Check.equal((long) MyToken.GREATEST, file.get("greatest").integer(), "the greatest token");
        for (Json vector : file.get("echoes").elements()) {
            MyToken token = new MyToken(Integer.parseInt(vector.get("token").string()));
            Check.equal(token.toString(), vector.get("token").string(), "the token");
            Check.equal(token.echo(), vector.get("echo").string(), "the echo");
        }
        for (Json text : file.get("refused").elements()) {
            // The client creates tokens from numbers, and never parses a text, so texts that are
            // no numbers do not apply.
            if (!text.string().matches("-?[0-9]+")) continue;
            try {
                new MyToken(Integer.parseInt(text.string()));
                throw new AssertionError("a token that the server refuses: " + text.string());
            } catch (IllegalArgumentException expected) {
                Check.that(expected.getMessage() != null, "why");
            }
        }
        Set<String> nonces = new HashSet<>();
        for (int count = 0; count < 1000; count++) {
            MyToken random = MyToken.random();
            Check.that(random.nonce().length() == 22 && nonces.add(random.nonce()), "a nonce of its own");
            int value = Integer.parseInt(random.toString());
            Check.that(value >= 0 && value <= MyToken.GREATEST, "a random token is in the range");
        }
    }

    public static void hintsAreThoseOfTheVectors() throws Exception {
        Json file = Vectors.read("hints");
        for (Json vector : file.get("hints").elements()) {
            String hint = AccountHint.of(vector.get("id").integer(), vector.get("registration").string());
            Check.equal(hint, vector.get("accountHint").string(), "the hint");
            PushMessage push = Vectors.push(Json.read(vector.get("push").string().getBytes(StandardCharsets.UTF_8)));
            Check.equal(push.id(), vector.get("id").integer(), "the id");
            Check.equal(push.accountHint(), hint, "the push's hint");
        }
        for (Json text : file.get("none").elements()) {
            Json push = Json.read(text.string().getBytes(StandardCharsets.UTF_8));
            Check.equal(Vectors.push(push).accountHint(), null, "no hint");
        }
    }

    public static void pushesAreParsedAsTheVectorsSay() throws Exception {
        Json file = Vectors.read("pushes");
        for (Json vector : file.get("pushes").elements()) {
            for (String name : new String[] {"push", "amongOthers"}) {
                Json push = Json.read(vector.get(name).string().getBytes(StandardCharsets.UTF_8));
                Check.equal(Vectors.push(push).id(), vector.get("id").integer(), name);
            }
        }
        for (Json text : file.get("none").elements()) {
            try {
                Json push = Json.read(text.string().getBytes(StandardCharsets.UTF_8));
                Check.equal(Vectors.push(push), null, text.string());
            } catch (JsonException none) {
                continue;
            }
        }
    }

    public static void waitsAreThoseOfTheVectors() throws Exception {
        Json file = Vectors.read("interference");
        Json vector = file.get("cases").elements().get(0);
        for (Json wait : file.get("retryAfter").elements()) {
            RawAnswer raw = Vectors.answer(vector.get("answer"));
            raw.add("Retry-After", wait.get("field").string());
            Answer answer = new AnswerCheck(null).answer(Vectors.request(vector.get("request")), Vectors.token(vector.get("request")), raw, null, 0);
            Long seconds = wait.get("seconds").integer();
            Check.equal(answer.retryAfterSeconds, seconds == null ? -1L : seconds, wait.get("field").string());
        }
    }

    public static void digestsAreThoseOfTheVectors() {
        Json file = Vectors.read("digests");
        for (Json vector : file.get("contents").elements()) {
            Json zeros = vector.get("zeros");
            byte[] body = zeros == null ? Vectors.body(vector) : new byte[zeros.integer().intValue()];
            Check.that(ContentDigest.matches(Collections.singletonList(vector.get("field").string()), body), vector.get("name").string());
        }
        byte[] body = file.get("comparisons").get("body").string().getBytes(StandardCharsets.UTF_8);
        for (Json vector : file.get("comparisons").get("fields").elements()) {
            boolean matches = ContentDigest.matches(Collections.singletonList(vector.get("field").string()), body);
            Check.equal(matches, vector.get("matches").bool(), "a digest " + vector.get("name").string());
        }
    }

    public static void basesAndSignaturesAreThoseOfTheVectors() throws Exception {
        Json file = Vectors.read("signatures");
        long now = file.get("now").integer() * 1000;
        for (Json vector : file.get("vectors").elements()) {
            String name = vector.get("name").string();
            Request request = Vectors.request(vector.get("request"));
            RawAnswer answer = Vectors.answer(vector.get("answer"));
            FieldDictionary inputs = StructuredField.dictionary(answer.lines("signature-input"), "Signature-Input");
            FieldDictionary signatures = StructuredField.dictionary(answer.lines("signature"), "Signature");
            byte[] signature = signatures.members.get(0).item.value.bytes;
            Check.equal(Base64.standard(signature), vector.get("signature").string(), "the signature of " + name);
            String token = vector.get("request").get("token").string();
            // The client never creates such a token, so the check of the whole answer is skipped
            // for it.
            if (Long.parseLong(token) > MyToken.GREATEST) continue;
            MyToken own = Vectors.token(vector.get("request"));
            String base = ResponseVerifier.base(Coverage.ACCOUNT, request, own, answer, inputs.members.get(0));
            Check.equal(base, vector.get("base").string(), "the base of " + name);
            VECTORS.verifier().verify(Coverage.ACCOUNT, request, own, answer, now);
        }
        Options options = new Options("https://push.example", Signatures.pinned(PlatformVerifier.find(), VECTORS.pinned));
        String nonce = VECTORS.keys.get("nonce").string();
        Check.equal(options.acceptSignature(OWN, null), VECTORS.keys.get("acceptSignature").string(), "the demand without a nonce");
        Check.equal(options.acceptSignature(OWN, nonce), VECTORS.keys.get("acceptSignatureWithNonce").string(), "the demand");
        Check.equal(options.acceptSignature(null, nonce), VECTORS.keys.get("acceptSignatureOfEither").string(), "the first demand");
        Check.equal(VECTORS.pinned.id(), VECTORS.keys.get("pinned").get("keyid").string(), "the key's name");
    }

    public static void interferenceIsNamedAsInTheVectors() {
        Set<String> verdicts = new TreeSet<>();
        for (Json vector : Vectors.read("interference").get("cases").elements()) {
            for (boolean isSigned : new boolean[] {true, false}) {
                String due = vector.get("verdict").get(isSigned ? "signed" : "unsigned").string();
                String name = vector.get("name").string() + (isSigned ? ", signed" : ", unsigned");
                Check.equal(verdict(vector, isSigned), due, name);
                verdicts.add(due);
            }
        }
        Check.that(verdicts.size() >= 11, "the vectors have most kinds: " + verdicts);
    }

    public static void theAccountIsLearntAsInTheVectors() throws Exception {
        for (Json vector : ACCOUNTS.get("signIns").elements()) {
            String name = vector.get("request").get("method").string() + ", " + vector.get("name").string();
            try (TestFolder folder = new TestFolder()) {
                String known = vector.get("known").string();
                PushClient client = client(folder, vector.get("asked").string());
                client.api.own().begin(known, null, client.api.account(), former -> {});
                String verdict = "accepted";
                try {
                    Answer answer = answer(vector, known);
                    client.api.own().begin(
                            answer.success().account(vector.get("asked").string()), null, client.api.account(), former -> {});
                } catch (PushClientException error) {
                    verdict = error.interference().kind().label();
                }
                Check.equal(verdict, vector.get("verdict").string(), name);
                Check.equal(client.api.own().id(), vector.get("account").string(), name + ": the account");
                String cached = client(folder, vector.get("asked").string()).api.own().id();
                Check.equal(cached, vector.get("account").string(), name + ": the stored account");
            }
        }
    }

    private static PushClient client(TestFolder folder, String username) {
        Options options = new Options("https://push.example", Signatures.pinned(PlatformVerifier.find(), VECTORS.pinned));
        return new PushClient(options, Credentials.basic(username, "secret"), folder.store());
    }

    private static Answer answer(Json vector, String account) throws PushClientException {
        Request request = Vectors.request(vector.get("request"));
        request.isSignIn = request.method.equals("POST");
        AnswerCheck check = new AnswerCheck(VECTORS.verifier());
        long now = Vectors.read("signatures").get("now").integer() * 1000;
        return check.answer(request, Vectors.token(vector.get("request")), Vectors.answer(vector.get("answer")), account, now);
    }

    public static void aSignOutIsToldAsInTheVectors() throws Exception {
        Set<String> outcomes = new TreeSet<>();
        for (Json vector : ACCOUNTS.get("signOuts").elements()) {
            String path = vector.get("request").get("path").string();
            String outcome = "done";
            try {
                answer(vector, vector.get("account").string()).success();
            } catch (PushClientException error) {
                if (error.interference() != null) outcome = error.interference().kind().label();
                else if (SignOut.answered(path, error) == SignOut.Answered.NOBODY) outcome = "ended";
                else Check.equal(SignOut.answered(path, error), SignOut.Answered.ENDED, vector.get("name").string());
            }
            if (outcome.equals("wrongAccount")) outcome = "waits";
            Check.equal(outcome, vector.get("outcome").string(), vector.get("name").string());
            outcomes.add(outcome);
        }
        Check.equal(outcomes.size(), 3, "outcomes");
    }

    private static String verdict(Json vector, boolean isSigned) {
        Request request = Vectors.request(vector.get("request"));
        RawAnswer raw = Vectors.answer(vector.get("answer"));
        AnswerCheck check = new AnswerCheck(isSigned ? VECTORS.verifier() : null);
        long now = vector.get("deviceTime").integer() * 1000;
        try {
            String account = vector.get("account").string();
            Answer answer = check.answer(request, Vectors.token(vector.get("request")), raw, account, now);
            if (answer.success().status == 304) return "accepted";
            if (vector.get("call").string().equals("list")) new Page(answer, now);
            else answer.item(7L);
            return "accepted";
        } catch (PushClientException error) {
            return error.interference() == null ? "accepted" : error.interference().kind().label();
        }
    }

    public static void historiesEndAsInTheVectors() throws Exception {
        for (Json history : Vectors.read("histories").get("histories").elements()) {
            try (TestFolder folder = new TestFolder()) {
                History.run(history, folder, VECTORS);
            }
        }
    }

    public static void aChangedByteInAnyOfAThousandAnswersIsRefused() throws Exception {
        Json file = Vectors.read("signatures");
        long now = file.get("now").integer() * 1000;
        Random random = new Random(20);
        AnswerCheck check = new AnswerCheck(VECTORS.verifier());
        Set<Integer> statuses = new HashSet<>();
        for (int count = 0; count < 1000; ) {
            Json vector = file.get("vectors").elements().get(random.nextInt(file.get("vectors").elements().size()));
            Json request = vector.get("request");
            if (Long.parseLong(request.get("token").string()) > MyToken.GREATEST) continue;
            // The client requests no public path.
            if (request.get("path").string().equals("/healthz")) continue;
            Json changed = spoil(vector.get("answer"), random);
            if (changed == null) continue;
            count++;
            String what = vector.get("name").string() + ": " + changed;
            // The unchanged answer is accepted, so only the change causes the refusal.
            check.answer(Vectors.request(request), Vectors.token(request), Vectors.answer(vector.get("answer")), null, now);
            try {
                check.answer(Vectors.request(request), Vectors.token(request), Vectors.answer(changed), null, now);
                throw new AssertionError("accepted " + what);
            } catch (PushClientException error) {
                Check.that(error.interference() != null, what);
                statuses.add(vector.get("answer").get("status").integer().intValue());
            }
        }
        Check.that(statuses.containsAll(Arrays.asList(200, 201, 204, 304, 400, 401, 404, 429, 503)), "all statuses: " + statuses);
    }

    /**
     * InboxChanges one byte of the status, the body, or a signed field; null if the answer has none of
     * these.
     */
    private static Json spoil(Json answer, Random random) {
        int part = random.nextInt(7);
        if (part == 0) {
            String status = answer.get("status").digits();
            String other = replaced(status, random, "123456789");
            return answer.replacing("status", Json.number(other));
        }
        if (part == 1) {
            byte[] body = Vectors.body(answer);
            if (body.length == 0) return null;
            body[random.nextInt(body.length)] ^= (byte) (1 << random.nextInt(8));
            return answer.without("body").without("bodyBase64").with("bodyBase64", Json.of(Base64.standard(body)));
        }
        boolean isUnchanged = answer.get("status").integer() == 304;
        String[] names = {
            "mytoken", isUnchanged ? "etag" : "content-digest", "signature-input", "signature", "sealpost-account"
        };
        String name = names[part - 2];
        java.util.List<Json> fields = new java.util.ArrayList<>(answer.get("fields").elements());
        for (int index = 0; index < fields.size(); index++) {
            Json field = fields.get(index);
            if (!field.elements().get(0).string().equalsIgnoreCase(name)) continue;
            String value = replaced(field.elements().get(1).string(), random, "ABCxyz019:;=\"+/ ");
            fields.set(index, Json.array(Arrays.asList(field.elements().get(0), Json.of(value))));
            return answer.replacing("fields", Json.array(fields));
        }
        return null;
    }

    private static String replaced(String text, Random random, String alphabet) {
        StringBuilder changed = new StringBuilder(text);
        // The loop repeats if the change is only in the blanks around the value, which do not
        // count.
        while (StructuredField.trimmed(changed.toString()).equals(text)) {
            changed.replace(0, changed.length(), text);
            changed.setCharAt(random.nextInt(text.length()), alphabet.charAt(random.nextInt(alphabet.length())));
        }
        return changed.toString();
    }
}
