import Testing

@testable import PushServer

/// How the server reads the field `Prefer` (RFC 7240).
@Suite(.timeLimit(.minutes(5))) struct PreferencesTests {
    @Test(arguments: [
        "handling=strict", "Handling=Strict", "HANDLING = strict", "handling=\"strict\"", " handling=strict ",
        "respond-async, handling=strict", "handling=strict, wait=10", "handling=strict; foo=bar", "handling=strict;",
        "wait=10,handling=strict,handling=lenient", "a=\"handling=lenient\", handling=strict",
        "a=\"\\\", handling=lenient\", handling=strict", ",,handling=strict,,", "a==b=c, handling=strict",
        "=handling, handling=strict", "handling=strict;\"a, handling=lenient\"", "ä, handling=strict",
    ])
    func strictHandlingIsFound(field: String) {
        #expect(Preferences(field).isStrict)
    }

    @Test(arguments: [
        "", " ", ",", "handling", "handling=", "handling=lenient", "strict", "handling=strictly", "handlings=strict",
        "handling=lenient, handling=strict", "handling, handling=strict", "handling=strict=strict", "handling strict",
        "a=\"handling=strict\"", "a=\", handling=strict", "a=\"\\\", handling=strict", "foo; handling=strict",
        "a=\"x, handling=strict", "handling=\"strict", "handling=str ict", "return=minimal",
    ])
    func everyOtherPreferenceIsLenient(field: String) {
        #expect(!Preferences(field).isStrict)
    }
}
