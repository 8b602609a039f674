@testable import SocketHTTP

/// A parser's result for a stream of bytes.
enum Outcome: Hashable {
    case complete(Int)
    case refused(Refusal)
    case incomplete
}

/// Feeds a head to the parser as the server does: each time that bytes arrive, it passes all bytes
/// so far.
func outcome(of text: String, in portions: [Int], limits: ServerLimits = ServerLimits()) -> Outcome {
    let bytes = Array(text.utf8)
    var parser = HeadParser(limits: limits)
    do throws(Refusal) {
        for end in portions + [bytes.count] {
            if let length = try parser.parse(bytes.span.extracting(..<end)) { return .complete(length) }
        }
        return .incomplete
    } catch {
        return .refused(error)
    }
}

/// Returns whether the outcome is the refusal of a bad request, whatever its text.
func isBadRequest(_ outcome: Outcome) -> Bool {
    if case .refused(.badRequest) = outcome { return true }
    return false
}
