internal import HTTPTypes

/// Writes responses as bytes.
struct ResponseEncoder {
    /// The `Connection` field; none if the request's version implies it.
    enum ConnectionLine {
        case implied
        case close
        case keepAlive
    }

    /// How the client finds the end of the body.
    enum Framing {
        case length
        case chunked
        /// By the end of the connection.
        case untilClose
    }

    static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    private var date = DateLine()

    /// Appends the head of `response`, including the empty line.
    mutating func appendHead(
        of response: Response,
        isHead: Bool,
        framing: Framing = .length,
        connection: ConnectionLine,
        now: Int,
        to output: inout [UInt8]
    ) {
        Self.appendStatusLine(response.status, to: &output)
        output.append(contentsOf: response.fields.bytes)
        if !response.fields.hasDate { output.append(contentsOf: self.date.bytes(at: now)) }
        switch framing {
        case .length where response.status.allowsContent:
            output.append("Content-Length: ")
            if isHead, response.body.isEmpty, let length = response.fields.contentLength {
                output.append(decimal: length)
            } else {
                output.append(decimal: response.body.count)
            }
            output.append("\r\n")
        case .chunked where response.status.allowsContent:
            output.append("Transfer-Encoding: chunked\r\n")
        default: break
        }
        switch connection {
        case .implied: break
        case .close: output.append("Connection: close\r\n")
        case .keepAlive: output.append("Connection: keep-alive\r\n")
        }
        output.append("\r\n")
    }

    // MARK: - Private

    private static func appendStatusLine(_ status: HTTPResponse.Status, to output: inout [UInt8]) {
        output.append("HTTP/1.1 ")
        output.append(decimal: status.code)
        output.append(" ")
        output.append(contentsOf: status.reasonPhrase.utf8)
        output.append("\r\n")
    }
}

extension HTTPResponse.Status {
    /// RFC 9110 §6.4.1: these end with their fields, even with a `Content-Length`.
    var allowsContent: Bool { self.code >= 200 && self.code != 204 && self.code != 304 }
}
