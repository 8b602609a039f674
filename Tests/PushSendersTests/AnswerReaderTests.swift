import CurlHTTP
import Foundation
import PushTesting
import Testing

@testable import PushSenders

/// A host that a device has named may send large answers of the worst shapes. The readers must be
/// fast even for these.
@Suite(.timeLimit(.minutes(5))) struct AnswerReaderTests {
    enum Reader: String, CaseIterable {
        case apns, fcm, wns, webpush, webhook, token

        func read(_ response: OutboundResponse) {
            switch self {
            case .apns: _ = APNsResponse.outcome(response, now: Samples.now)
            case .fcm: _ = FCMResponse.outcome(response, now: Samples.now)
            case .wns: _ = WNSResponse.outcome(response, now: Samples.now)
            case .webpush: _ = WebPushResponse.outcome(response, now: Samples.now)
            case .webhook: _ = WebhookResponse.outcome(response, now: Samples.now)
            // The reader may refuse the token: the test measures only the time.
            case .token: _ = try? AccessToken(response, now: Samples.now)
            }
        }
    }

    /// Repeated texts that a careless search reads again and again, because it restarts at each
    /// byte.
    private static let units = ["a", "a ", " ", ":/", "://", "a://", "9", ",", ";", "%", "\\", "é", "e\u{301}"]
    /// Header fields that the readers look for.
    private static let fields = [
        "x-wns-error-description", "x-wns-status", "x-wns-msg-id", "retry-after", "apns-id", "content-type",
    ]
    /// JSON text before and after the repeated part, for all readers.
    private static let usualFrames = [("", ""), (#"{"name":""#, #""}"#)]
    /// JSON text around the members that only some readers look for.
    private static let frames: [Reader: [(String, String)]] = {
        let (reason, error) = ((#"{"reason":""#, #""}"#), (#"{"error":{"status":"x","message":""#, #""}}"#))
        return [
            .apns: [reason], .fcm: [error],
            .webpush: [reason, (#"{"errno":109,"message":""#, #""}"#), (#"{"errno":1"#, "}")],
            .token: [
                error, (#"{"error":""#, #""}"#), (#"{"access_token":""#, #""}"#), (#"{"expires_in":1"#, "}"),
            ],
        ]
    }()
    private static let parts = [#"{"a":"#, "[", #"["a","#, #""a":1,"#, #"\""#, #"\u00e9"#, "\n", "9"]

    @Test(arguments: Reader.allCases) func theLargestHeaderIsReadInProportion(reader: Reader) {
        for unit in Self.units {
            for status in [200, 400, 401, 410] {
                let isInProportion = ComputingTime.isInProportion(to: 16_384 / unit.utf8.count) { count in
                    let value = String(repeating: unit, count: count)
                    return OutboundResponse(status: status, headers: Self.fields.map { .init($0, value) })
                } _: {
                    reader.read($0)
                }
                // After a failure, the test ends, because another slow reading may take minutes.
                #expect(isInProportion, "\(unit) with \(status)")
                if !isInProportion { return }
            }
        }
    }

    @Test(arguments: Reader.allCases) func aHeaderOfTheMostLinesIsReadInProportion(reader: Reader) {
        let isInProportion = ComputingTime.isInProportion(to: 4000) { count in
            OutboundResponse(status: 410, headers: (0..<count).map { .init("x-\($0 % 10)", "") })
        } _: {
            reader.read($0)
        }
        #expect(isInProportion)
    }

    @Test(arguments: Reader.allCases) func theLargestBodyIsReadInProportion(reader: Reader) {
        for (start, end) in Self.usualFrames + Self.frames[reader, default: []] {
            for unit in Self.units + Self.parts {
                for status in [200, 400] {
                    let isInProportion = ComputingTime.isInProportion(to: 65_000 / unit.utf8.count) { count in
                        let text = start + String(repeating: unit, count: count) + end
                        return OutboundResponse(status: status, body: Array(text.utf8))
                    } _: {
                        reader.read($0)
                    }
                    #expect(isInProportion, "\(start)\(unit)\(end) with \(status)")
                    if !isInProportion { return }
                }
            }
        }
    }
}
