internal import Foundation

/// A push as it comes over an event stream.
package struct ServerEvent: Sendable, Hashable {
    /// The notification that it names.
    package let id: Int64
    /// What the next stream is asked to go on after; `nil` if no event had an id.
    package let last: String?

    package init(id: Int64, last: String?) {
        (self.id, self.last) = (id, last)
    }
}

/// Reads the events of a stream, in whatever pieces its bytes come (WHATWG HTML §9.2.6).
///
/// What names no notification is skipped, as another service's push is.
package struct EventParser: Sendable {
    /// A line or the data of an event is longer than any of the server's.
    package struct TooLong: Error, Hashable {}

    /// The server's lines have some thirty bytes.
    package static let maximumLine = 4096
    package static let maximumData = 16_384

    /// How long the server wants a client to wait before it connects again: from one second, lest
    /// the client connect all the time, up to a minute.
    package private(set) var retry: Duration?
    private var line: [UInt8] = []
    private var isFirstLine = true
    private var isAfterReturn = false
    private var data: [UInt8]?
    private var last: String?
    private let maximumLine: Int
    private let maximumData: Int

    /// The fuzzer gives lower bounds, which short inputs reach.
    package init(maximumLine: Int = Self.maximumLine, maximumData: Int = Self.maximumData) {
        (self.maximumLine, self.maximumData) = (maximumLine, maximumData)
    }

    /// The events that end in these bytes.
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
            // It comes back in a field of the next request: nothing but a number of the server's.
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

    /// `nil` for anything but digits.
    private static func number(_ text: ArraySlice<UInt8>) -> Int64? {
        guard !text.isEmpty, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(String(decoding: text, as: UTF8.self))
    }
}
