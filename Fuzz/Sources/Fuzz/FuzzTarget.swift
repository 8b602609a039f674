/// The fuzzed targets: the parsers of all input from outside.
///
/// Each accepts any bytes. It throws a `Contradiction` if two ways to the same result disagree.
/// libFuzzer itself notices a parser that traps or does not end.
enum FuzzTarget: String, CaseIterable, Sendable {
    case authorization, chunk, coding, etag, events, field, head, json, mytoken, origin, payload, phc, prefer, proxy,
        signature, tag, target, token, trace

    func run(_ bytes: [UInt8]) throws {
        switch self {
        case .authorization: try Self.authorization(bytes)
        case .chunk: try Self.chunk(bytes)
        case .coding: try Self.coding(bytes)
        case .etag: try Self.etag(bytes)
        case .events: try Self.events(bytes)
        case .field: try Self.field(bytes)
        case .head: try Self.head(bytes)
        case .json: try Self.json(bytes)
        case .mytoken: try Self.mytoken(bytes)
        case .origin: try Self.origin(bytes)
        case .payload: try Self.payload(bytes)
        case .phc: try Self.phc(bytes)
        case .prefer: try Self.prefer(bytes)
        case .proxy: try Self.proxy(bytes)
        case .signature: try Self.signature(bytes)
        case .tag: try Self.tag(bytes)
        case .target: try Self.target(bytes)
        case .token: try Self.token(bytes)
        case .trace: try Self.trace(bytes)
        }
    }
}

/// A rule that should always hold, and did not.
struct Contradiction: Error, CustomStringConvertible {
    let description: String
}

/// Throws a `Contradiction` unless `condition` holds.
func require(_ condition: Bool, _ rule: @autoclosure () -> String) throws {
    guard condition else { throw Contradiction(description: "does not hold: \(rule())") }
}
