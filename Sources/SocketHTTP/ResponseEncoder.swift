internal import Bytes
internal import HTTPTypes

/// Encodes the heads of responses as bytes.
struct ResponseEncoder {
    /// The field `Connection`; `implied` if the request's version already implies the value.
    enum ConnectionLine {
        case implied
        case close
        case keepAlive
    }

    /// How the client finds the end of the body.
    enum Framing {
        case length
        case chunked
        /// The end of the connection is the end of the body.
        case untilClose
    }

    static let continueHead = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// An upper bound for the bytes of the status line and of the lines that the encoder adds.
    static let ownBytes = 256

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
        let date = response.fields.hasDate ? [] : self.date.bytes(at: now)
        output.append(upTo: Self.ownBytes + response.fields.bytes.count) { writer in
            writer.write("HTTP/1.1 ")
            writer.write(decimal: response.status.code)
            writer.write(" ")
            writer.write(string: response.status.reasonPhrase)
            writer.write("\r\n")
            writer.write(response.fields.bytes)
            writer.write(date)
            switch framing {
            case .length where response.status.allowsContent:
                writer.write("Content-Length: ")
                if isHead, response.body.isEmpty, let length = response.fields.contentLength {
                    writer.write(decimal: length)
                } else {
                    writer.write(decimal: response.body.count)
                }
                writer.write("\r\n")
            case .chunked where response.status.allowsContent:
                writer.write("Transfer-Encoding: chunked\r\n")
            default: break
            }
            switch connection {
            case .implied: break
            case .close: writer.write("Connection: close\r\n")
            case .keepAlive: writer.write("Connection: keep-alive\r\n")
            }
            writer.write("\r\n")
        }
    }
}

extension HTTPResponse.Status {
    /// Whether a response with this status may have content. A response with 1xx, 204 or 304 ends
    /// after its fields, even if it has a `Content-Length` (RFC 9110 §6.4.1).
    var allowsContent: Bool { self.code >= 200 && self.code != 204 && self.code != 304 }
}
