import PushCore
import Testing

@Suite struct DurationTests {
    @Test(arguments: [
        ("90", 90), ("90s", 90), ("5m", 300), ("12h", 43_200), ("7d", 604_800), ("0d", 0), ("-5m", -300),
        ("9223372036854775807", .max), ("9223372036854775807s", .max), ("106751991167300d", 9_223_372_036_854_720_000),
        ("", nil), ("m", nil), ("5 m", nil), ("5w", nil), ("5M", nil), ("1.5h", nil), ("1h30m", nil), ("5ms", nil),
        ("٥m", nil), ("5m\u{301}", nil),
        ("9223372036854775808", nil), ("106751991167301d", nil), ("-9223372036854775808d", nil),
    ])
    func aDurationIsANumberOfSecondsOrHasAUnit(text: String, seconds: Int?) {
        #expect(Int(secondsOf: text) == seconds)
    }
}
