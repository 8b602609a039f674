/// Inputs that this project's server accepts and h11 does not. docs/http.md gives the reason for
/// each.
enum KnownDifference: CaseIterable {
    case emptyLineFirst
    case persistentVersion10
    case manyZerosInLength
    case framingFieldInTrailer

    /// The known difference that made this project's server continue after `count` requests, while
    /// h11 ended. `nil` if none explains that.
    init?(_ ours: Verdict, _ theirs: Verdict, after count: Int, of stream: [UInt8]) {
        let next = count < ours.requests.count ? ours.requests[count] : nil
        switch (theirs.ending, theirs.reason) {
        case (.refused, "head: no request line received"):
            self = .emptyLineFirst
        case (.refused, "head: illegal request line") where ours.ending == .waiting && stream.last == 0x0D:
            // The stream ends in the middle of an empty line.
            self = .emptyLineFirst
        case (.closed, _) where Self.isPersistent10(ours.requests[count - 1]):
            self = .persistentVersion10
        case (.refused, "head: bad Content-Length") where next.map(Self.hasLongLength) ?? (ours.ending == .waiting):
            self = .manyZerosInLength
        case (.refused, "body: bad Content-Length"), (.refused, "body: conflicting Content-Length headers"),
            (.refused, "body: multiple Transfer-Encoding headers"),
            (.refused, "body: Only Transfer-Encoding: chunked is supported"):
            self = .framingFieldInTrailer
        default:
            return nil
        }
    }

    private static func isPersistent10(_ request: [UInt8]) -> Bool {
        let head = String(latin1: request).lowercased().split(separator: "\n\n", maxSplits: 1)[0]
        let lines = head.split(separator: "\n")
        return lines[0].hasSuffix(" 1.0") && lines.contains { $0.hasPrefix("connection:") && $0.contains("keep-alive") }
    }

    /// Whether the request's `Content-Length` has more digits than h11 accepts.
    private static func hasLongLength(_ request: [UInt8]) -> Bool {
        String(latin1: request).lowercased().split(separator: "\n").contains { line in
            line.hasPrefix("content-length:") && line.utf8.count > "content-length:".utf8.count + 20
        }
    }
}
