package import Bytes
package import HTTPTypes

/// The field lines of a response, stored as the bytes that are sent.
///
/// ```swift
/// var fields: ResponseFields = [.contentType: "text/plain"]
/// fields.append(.age, "17")
/// ```
/// A value cannot end its line: carriage return, line feed and NUL become spaces (RFC 9110 §5.5).
/// The lines `Connection`, `Keep-Alive` and `Transfer-Encoding` are dropped, since only the server
/// may set them.
package struct ResponseFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private(set) var bytes: [UInt8] = []
    private(set) var hasDate = false
    /// The `Content-Length` that a handler has set for a body that it leaves out. It is used only
    /// for `HEAD`.
    private(set) var contentLength: Int?

    package init() {
        // With the array's own 32 bytes, this is the most that the C library keeps ready for
        // reuse. The fields of nearly all answers fit, so that the array need not grow.
        self.bytes.reserveCapacity(1000)
    }

    package init(dictionaryLiteral elements: (HTTPField.Name, String)...) {
        self.init()
        for (name, value) in elements { self.append(name, value) }
    }

    /// Appends a field line.
    package mutating func append(_ name: HTTPField.Name, _ value: String) {
        let start = self.bytes.count
        self.bytes.append(contentsOf: name.rawName.utf8)
        self.bytes.append(": ")
        let valueStart = self.bytes.count
        self.bytes.append(contentsOf: value.utf8)
        self.removeControls(from: valueStart)
        switch Self.role(of: name) {
        case .ordinary: self.bytes.append("\r\n")
        case .date:
            self.hasDate = true
            self.bytes.append("\r\n")
        case .length:
            self.contentLength = Int(String(decoding: self.bytes[valueStart...], as: UTF8.self))
            self.bytes.removeSubrange(start...)
        case .ours:
            self.bytes.removeSubrange(start...)
        }
    }

    /// Appends the lines that `write` writes, in all at most `most` bytes. `write` also writes the
    /// end of each line.
    ///
    /// The lines contain only digits, dates and similar values that this program makes. So the
    /// function does not search them for further line ends. No line may be `Date` or
    /// `Content-Length`.
    package mutating func append(upTo most: Int, _ write: (inout ByteWriter) -> Void) {
        self.bytes.append(upTo: most, write)
    }

    /// Appends constant lines that contain their line ends, without counting or copying their
    /// bytes first. No line may be `Date` or `Content-Length`.
    package mutating func append(lines: StaticString) {
        self.bytes.append(lines)
    }

    /// Appends the lines of `fields`, which a caller may have encoded once for many responses.
    package mutating func append(contentsOf fields: ResponseFields) {
        self.bytes.append(contentsOf: fields.bytes)
        self.hasDate = self.hasDate || fields.hasDate
        self.contentLength = fields.contentLength ?? self.contentLength
    }

    /// Removes all lines with this field name.
    package mutating func remove(_ name: HTTPField.Name) {
        let wanted = Array(name.canonicalName.utf8)
        var start = 0
        // A line feed occurs only at the end of a line.
        while let end = self.bytes[start...].firstIndex(of: 0x0A) {
            if Self.isNamed(wanted, self.bytes[start...end]) {
                self.bytes.removeSubrange(start...end)
            } else {
                start = end + 1
            }
        }
        switch Self.role(of: name) {
        case .date: self.hasDate = false
        case .length: self.contentLength = nil
        case .ordinary, .ours: break
        }
    }

    // MARK: Reading

    /// Names and values of the lines in their order, for tests and logs.
    package var lines: [(name: HTTPField.Name, value: String)] {
        self.parts { name, value in HTTPField.Name(name).map { ($0, value) } }
    }

    /// The value of the first line with this field name.
    package subscript(_ name: HTTPField.Name) -> String? {
        self.parts { $0.lowercased() == name.canonicalName ? $1 : nil }.first
    }

    // MARK: - Private

    /// Calls `transform` with each line's name and value; returns its results.
    private func parts<Part>(_ transform: (_ name: String, _ value: String) -> Part?) -> [Part] {
        var parts: [Part] = []
        var (start, colon) = (0, -1)
        let bytes = self.bytes.span
        for index in 0..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: ":") where colon < start: colon = index
            // A line feed occurs only at the end of a line.
            case 0x0A:
                let name = String(decoding: self.bytes[start..<colon], as: UTF8.self)
                let value = String(decoding: self.bytes[(colon + 2)..<(index - 1)], as: UTF8.self)
                if let part = transform(name, value) { parts.append(part) }
                start = index + 1
            default: break
            }
        }
        return parts
    }

    /// Whether a line has this field name, which must be in lower case.
    private static func isNamed(_ name: [UInt8], _ line: ArraySlice<UInt8>) -> Bool {
        line.dropFirst(name.count).first == UInt8(ascii: ":")
            && zip(line, name).allSatisfy { $0.lowercased == $1 }
    }

    private enum Role {
        case ordinary, date, length, ours
    }

    /// The role of a field. The name's length alone excludes nearly every role, before any
    /// comparison of bytes.
    private static func role(of name: HTTPField.Name) -> Role {
        switch name.canonicalName.utf8.count {
        case 4 where name.canonicalName == "date": .date
        case 14 where name.canonicalName == "content-length": .length
        case 10 where name.canonicalName == "connection" || name.canonicalName == "keep-alive": .ours
        case 17 where name.canonicalName == "transfer-encoding": .ours
        default: .ordinary
        }
    }

    private mutating func removeControls(from start: Int) {
        var bytes = self.bytes.mutableSpan
        for index in start..<bytes.count {
            switch bytes[index] {
            case 0x00, 0x0A, 0x0D: bytes[index] = 0x20
            default: break
            }
        }
    }
}
