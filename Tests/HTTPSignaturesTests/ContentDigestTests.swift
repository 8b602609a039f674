import HTTPSignatures
import Testing

@Suite(.timeLimit(.minutes(5))) struct ContentDigestTests {
    /// Examples of RFC 9530 and RFC 9421. The first example of RFC 9421 equals that of RFC 9530
    /// without the line feed.
    @Test(arguments: [
        ("{\"hello\": \"world\"}", "X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE="),
        ("{\"hello\": \"world\"}\n", "RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg="),
        ("{\"message\": \"good dog\"}", "z0bm/K2/kBiAHdTk/FHlB2NyoHqaTdzCA9k+jeJ0ezA="),
        (
            "{\"busy\": true, \"message\": \"Your call is very important to us\"}",
            "rc2KvDMji8odGT+Q1q6viAHxdFxGD8lovGK7eTZiycg="
        ),
        ("", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
    ])
    func digestMatchesTheRFC(body: String, digest: String) {
        #expect(ContentDigest.field(of: body.utf8) == "sha-256=:\(digest):")
        #expect(ContentDigest.matches(field: "sha-256=:\(digest):", body: body.utf8))
        #expect(!ContentDigest.matches(field: "sha-256=:\(digest):", body: (body + " ").utf8))
    }

    private static let nothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test(arguments: [
        "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:, sha-256=:\(Self.nothing):", "sha-256=:\(Self.nothing):, unknown=7;a=b",
        " sha-256=:\(Self.nothing):;a=1 ,\tsha-512=:AAAA: ",
    ])
    func otherMembersAreIgnored(field: String) {
        #expect(ContentDigest.matches(field: field, body: []))
    }

    @Test(arguments: [
        "", "sha-256", "sha-256=\(Self.nothing)", "sha-256=::", "sha-256=:AAAA:", "sha-512=:\(Self.nothing):",
        "SHA-256=:\(Self.nothing):", "sha-256=:\(Self.nothing):,",
        "sha-256=:\(Self.nothing):, sha-256=:\(Self.nothing):",
        "sha-256=(:\(Self.nothing):)", "sha-256=\"\(Self.nothing)\"",
        // The base64 text has surplus bits or lacks its padding, which some readers overlook.
        "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=:",
        "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:",
        "sha-256=:\(Self.nothing):\r\n", "sha-256=:\(Self.nothing):é",
    ])
    func wrongOrMalformedDigestDoesNotMatch(field: String) {
        #expect(!ContentDigest.matches(field: field, body: []))
    }
}
