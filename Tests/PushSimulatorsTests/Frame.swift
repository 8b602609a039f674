/// An HTTP/2 frame, read and written byte by byte (RFC 9113 section 4.1).
struct Frame: Equatable {
    let type: UInt8
    let flags: UInt8
    let stream: UInt8
    let payload: [UInt8]

    var isSetting: Bool { self.type == 4 && self.flags == 0 }
    var isGoAway: Bool { self.type == 7 }
    var isHeaders: Bool { self.type == 1 }

    /// The first bytes that a client sends: the preface and an empty SETTINGS frame.
    static let opening = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.bytes(type: 4, flags: 0, stream: 0)

    /// The HEADERS frame of `POST https://a/`, with fields from HPACK's static table (RFC 7541).
    static func request(endsStream: Bool = true, more: [UInt8] = [], stream: UInt8 = 1) -> [UInt8] {
        let block: [UInt8] = [0x83, 0x87, 0x84, 0x41, 0x01, UInt8(ascii: "a")] + more
        return self.bytes(type: 1, flags: endsStream ? 5 : 4, stream: stream, block)
    }

    static func bytes(type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        let length = [UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 0xFF), UInt8(payload.count & 0xFF)]
        return length + [type, flags, 0, 0, 0, stream] + payload
    }

    /// Returns the complete frames at the start of the bytes.
    static func all(in bytes: [UInt8]) -> [Frame] {
        var rest = bytes[...]
        var frames: [Frame] = []
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard rest.count >= 9 + length else { break }
            let payload = Array(rest.dropFirst(9).prefix(length))
            frames.append(Frame(type: head[3], flags: head[4], stream: head[8], payload: payload))
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }
}
