internal import HTTPTypes

/// Writes responses as bytes.
struct ResponseEncoder {
    /// What is said about the connection: nothing is what the version of the request implies.
    enum ConnectionLine {
        case implied
        case close
        case keepAlive
    }

    static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    private var date = DateLine()

    /// Appends the head of `response`, the empty line included.
    ///
    mutating func appendHead(
        of response: Response,
        isHead: Bool,
        connection: ConnectionLine,
        now: Int,
        to output: inout [UInt8]
    ) {
        Self.appendStatusLine(response.status, to: &output)
        var hasDate = false
        var ownLength: HTTPField?
        for field in response.fields {
            switch Self.role(of: field.name) {
            case .ordinary: Self.append(field, to: &output)
            case .date:
                hasDate = true
                Self.append(field, to: &output)
            case .length: ownLength = field
            case .ours: break
            }
        }
        if !hasDate { output.append(contentsOf: self.date.bytes(at: now)) }
        if response.status.allowsContent {
            if isHead, response.body.isEmpty, let ownLength {
                Self.append(ownLength, to: &output)
            } else {
                output.append("Content-Length: ")
                output.append(decimal: response.body.count)
                output.append("\r\n")
            }
        }
        switch connection {
        case .implied: break
        case .close: output.append("Connection: close\r\n")
        case .keepAlive: output.append("Connection: keep-alive\r\n")
        }
        output.append("\r\n")
    }

    // MARK: - Private

    private enum Role {
        case ordinary, date, length, ours
    }

    /// The length sorts nearly every name out before any comparison.
    private static func role(of name: HTTPField.Name) -> Role {
        switch name.canonicalName.utf8.count {
        case 4 where name.canonicalName == "date": .date
        case 14 where name.canonicalName == "content-length": .length
        case 10 where name.canonicalName == "connection" || name.canonicalName == "keep-alive": .ours
        case 17 where name.canonicalName == "transfer-encoding": .ours
        default: .ordinary
        }
    }

    private static func appendStatusLine(_ status: HTTPResponse.Status, to output: inout [UInt8]) {
        output.append("HTTP/1.1 ")
        output.append(decimal: status.code)
        output.append(" ")
        output.append(contentsOf: status.reasonPhrase.utf8)
        output.append("\r\n")
    }

    /// `HTTPField` has no way to hold CR, LF or NUL in a value, nor anything but a token in a name.
    private static func append(_ field: HTTPField, to output: inout [UInt8]) {
        output.append(contentsOf: field.name.rawName.utf8)
        output.append(": ")
        field.withUnsafeBytesOfValue { output.append(contentsOf: $0) }
        output.append("\r\n")
    }
}

extension HTTPResponse.Status {
    /// RFC 9110 §6.4.1: these end with their fields, whatever these say.
    var allowsContent: Bool { self.code >= 200 && self.code != 204 && self.code != 304 }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.append(contentsOf: $0) }
    }

    /// Without a string in between. Not for negative numbers.
    fileprivate mutating func append(decimal number: Int) {
        if number >= 10 { self.append(decimal: number / 10) }
        self.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
    }
}
