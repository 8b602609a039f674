import PushServer
import PushTesting
import Testing

/// The reader of an issuer's documents must be fast even for the largest documents of the worst
/// shapes that an issuer, or an attacker in its place, may send.
@Suite(.timeLimit(.minutes(5))) struct IssuerReaderTests {
    private static let frames = [
        ("", ""), (#"{"issuer":""#, #""}"#), (#"{"issuer":"https://id.example","jwks_uri":""#, #""}"#),
        (#"{"keys":[{"kty":"RSA","e":"AQAB","n":""#, #""}]}"#),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":""#, #""}]}"#),
        (#"{"keys":["#, "{}]}"),
    ]
    private static let units = [
        "a", " ", "://", "9", "é", "e\u{301}", #"{"a":"#, "[", #"["a","#, #""a":1,"#, #"\""#, #"\u00e9"#, "{},",
    ]

    @Test(arguments: frames.map(\.0)) func theLargestDocumentIsReadInProportion(start: String) {
        let end = Self.frames.first { $0.0 == start }?.1 ?? ""
        for unit in Self.units {
            let isInProportion = ComputingTime.isInProportion(to: 262_000 / unit.utf8.count) { count in
                Array((start + String(repeating: unit, count: count) + end).utf8)
            } _: { bytes in
                // The reader may refuse the document: only the time counts.
                _ = try? IssuerDocument(bytes, of: "https://id.example")
                _ = try? IssuerKeySet(bytes)
            }
            #expect(isInProportion, "\(start)\(unit)\(end)")
            if !isInProportion { return }
        }
    }
}
