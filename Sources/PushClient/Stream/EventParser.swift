internal import Foundation

/// A push from an event stream.
package struct ServerEvent: Sendable, Hashable {
    /// The id of the push's notification.
    package let id: Int64
    /// The event id that the next stream continues after; `nil` if no event had an id.
    package let last: String?

    package init(id: Int64, last: String?) {
        (self.id, self.last) = (id, last)
    }
}

/// Parses the events of a stream from pieces of any size (WHATWG HTML §9.2.6).
///
/// The parser skips events that name no notification, such as another service's push.
package struct EventParser: Sendable {
    /// Thrown if a line or the data of an event is longer than the limit, which the server's own
    /// events never reach.
    package struct TooLong: Error, Hashable {}

    /// The maximum number of bytes of a line. The server's lines have about thirty bytes.
    package static let maximumLine = 4096
    package static let maximumData = 16_384

    /// The delay that the server asks for before a reconnection, limited to between one second and
    /// one minute. Without the lower limit, the client could reconnect without pause.
    package private(set) var retry: Duration?
    private var line: [UInt8] = []
    private var isFirstLine = true
    private var isAfterReturn = false
    private var data: [UInt8]?
    private var last: String?
    private let maximumLine: Int
    private let maximumData: Int

    /// The fuzzer passes lower limits, which short inputs reach.
    package init(maximumLine: Int = Self.maximumLine, maximumData: Int = Self.maximumData) {
        (self.maximumLine, self.maximumData) = (maximumLine, maximumData)
    }

    /// Returns the events that end in these bytes.
    package mutating func take(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [ServerEvent] {
        var events: [ServerEvent] = []
        for byte in bytes {
            defer { self.isAfterReturn = byte == UInt8(ascii: "\r") }
            switch byte {
            case UInt8(ascii: "\n") where self.isAfterReturn: continue
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): if let event = try self.endLine() { events.append(event) }
            default:
                guard self.line.count < self.maximumLine else { throw TooLong() }
                self.line.append(byte)
            }
        }
        return events
    }

    // MARK: - Private

    private mutating func endLine() throws(TooLong) -> ServerEvent? {
        var line = self.line[...]
        self.line.removeAll(keepingCapacity: true)
        if self.isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        self.isFirstLine = false
        if line.isEmpty { return self.endEvent() }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropFirst(name.count + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: name, as: UTF8.self) {
        case "data":
            guard (self.data?.count ?? 0) + value.count < self.maximumData else { throw TooLong() }
            self.data = (self.data.map { $0 + [UInt8(ascii: "\n")] } ?? []) + value
        case "id":
            // The client sends the id in a header field of its next request, so only a number is
            // accepted.
            if let number = Self.number(value) { self.last = "\(number)" }
        case "retry":
            if let milliseconds = Self.number(value) {
                self.retry = .milliseconds(min(max(milliseconds, 1000), 60_000))
            }
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> ServerEvent? {
        defer { self.data = nil }
        guard let data, let push = PushMessage(json: Data(data)) else { return nil }
        return ServerEvent(id: push.id, last: self.last)
    }

    /// Returns `nil` unless the text consists of digits.
    private static func number(_ text: ArraySlice<UInt8>) -> Int64? {
        guard !text.isEmpty, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(String(decoding: text, as: UTF8.self))
    }
}
