package sealpost.client;

import java.io.File;
import java.nio.charset.StandardCharsets;

/**
 * The vectors that every client is tested with: {@code docs/evidence/vectors},
 * whose README explains them.
 */
final class Vectors {
    static final File FOLDER = new File(System.getProperty("sealpost.vectors"));

    final Json keys = read("keys");
    final VerificationKey pinned = new VerificationKey(keys.get("pinned").get("publicKey").string());

    static Json read(String name) {
        try {
            return Json.read(Files.read(new File(FOLDER, name + ".json")));
        } catch (java.io.IOException | JsonException error) {
            throw new IllegalStateException("the vectors " + name + " cannot be read", error);
        }
    }

    ResponseVerifier verifier() {
        long tolerance = keys.get("toleranceSeconds").integer() * 1000;
        return new ResponseVerifier(java.util.Collections.singletonList(pinned), PlatformVerifier.find(), tolerance);
    }

    static Request request(Json json) {
        Request request = new Request(json.get("method").string(), json.get("path").string());
        if (json.get("query").string() != null) request.rawQuery(json.get("query").string());
        request.tag = json.get("condition").string();
        return request;
    }

    /** A push as FCM delivers it: all values are texts. */
    static PushMessage push(Json json) {
        java.util.Map<String, String> data = new java.util.HashMap<>();
        for (String name : new String[] {"secureId", "accountHint"}) {
            Json value = json.get(name);
            if (value != null && value.string() != null) data.put(name, value.string());
        }
        return PushMessage.read(data);
    }

    static MyToken token(Json request) {
        Json nonce = request.get("nonce");
        return new MyToken(Integer.parseInt(request.get("token").string()), nonce == null ? null : nonce.string());
    }

    static RawAnswer answer(Json json) {
        RawAnswer answer = new RawAnswer(json.get("status").integer().intValue());
        for (Json field : json.get("fields").elements()) {
            answer.add(field.elements().get(0).string(), field.elements().get(1).string());
        }
        answer.body = body(json);
        if ("cut".equals(json.get("end").string())) answer.end = RawAnswer.End.CUT;
        return answer;
    }

    static byte[] body(Json json) {
        if (json.get("bodyBase64") != null) return Base64.fromStandard(json.get("bodyBase64").string());
        return json.get("body").string().getBytes(StandardCharsets.UTF_8);
    }
}
