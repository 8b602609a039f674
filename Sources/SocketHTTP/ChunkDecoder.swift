internal import Bytes

/// Decodes a chunked body (RFC 9112 §7.1) from bytes that may arrive in portions of any size.
///
/// It is stricter than the grammar in one point: it refuses spaces within a chunk's line, which
/// only attackers send. It checks chunk extensions and trailer fields, limits their length, and
/// drops them.
struct ChunkDecoder: Sendable {
    private enum State: Sendable {
        case sizeStart, size, sizeEnd
        case extensionStart, extensionName, extensionValueStart, extensionValue
        case quoted, quotedPair, quotedEnd
        case data, dataEnd, dataLineEnd
        case trailerStart, trailerName, trailerValue, trailerLineEnd, end, finished
    }

    /// The maximum total number of bytes in the extensions of a body's chunks. This server uses no
    /// extensions. Without the limit, a client could send any number of bytes in them.
    static let extensionBytes = 4096

    var isFinished: Bool { self.state == .finished }

    private var state = State.sizeStart
    private var size: UInt64 = 0
    private var digits = 0
    private var remaining = 0
    private var extensionRoom = Self.extensionBytes
    private var trailerRoom: Int

    init(trailerBytes: Int) {
        self.trailerRoom = trailerBytes
    }

    /// Appends the decoded content to `output`. Throws `tooLarge` if `output` would get more than
    /// `limit` bytes. Returns the number of bytes of `input` that it has consumed.
    ///
    /// It consumes all of `input`, unless the body ends earlier: the bytes after that end belong
    /// to the next request.
    mutating func decode(
        _ input: Span<UInt8>,
        into output: inout [UInt8],
        limit: Int
    ) throws(BodyError) -> Int {
        var index = 0
        while index < input.count, self.state != .finished {
            if self.state == .data {
                let count = min(self.remaining, input.count - index)
                input.extracting(index..<index + count).withUnsafeBufferPointer { output.append(contentsOf: $0) }
                self.remaining -= count
                index += count
                if self.remaining == 0 { self.state = .dataEnd }
            } else {
                self.state = try self.next(input[index])
                index += 1
                if self.state == .data, self.remaining > limit - output.count { throw .tooLarge }
            }
        }
        return index
    }

    // MARK: - One byte outside the content

    private mutating func next(_ byte: UInt8) throws(BodyError) -> State {
        switch self.state {
        case .sizeStart, .size, .sizeEnd:
            return try self.nextInSize(byte)
        case .extensionStart, .extensionName, .extensionValueStart, .extensionValue, .quoted, .quotedPair, .quotedEnd:
            return try self.nextInExtension(byte)
        case .dataEnd where byte == 0x0D:
            return .dataLineEnd
        case .dataLineEnd where byte == 0x0A:
            return .sizeStart
        case .trailerStart, .trailerName, .trailerValue, .trailerLineEnd, .end:
            return try self.nextInTrailer(byte)
        case .data, .dataEnd, .dataLineEnd, .finished:
            throw .malformed
        }
    }

    private mutating func nextInSize(_ byte: UInt8) throws(BodyError) -> State {
        if self.state == .sizeEnd {
            guard byte == 0x0A, let size = Int(exactly: self.size) else { throw .malformed }
            self.remaining = size
            self.size = 0
            self.digits = 0
            return size == 0 ? .trailerStart : .data
        }
        if let digit = byte.hexDigitValue {
            // Sixteen hexadecimal digits, including leading zeros, fit in 64 bits.
            guard self.digits < 16 else { throw .malformed }
            self.digits += 1
            self.size = self.size << 4 | UInt64(digit)
            return .size
        }
        guard self.state == .size else { throw .malformed }
        return try Self.endOfExtension(byte)
    }

    private mutating func nextInExtension(_ byte: UInt8) throws(BodyError) -> State {
        guard self.extensionRoom > 0 else { throw .malformed }
        self.extensionRoom -= 1
        switch (self.state, byte) {
        case (.quoted, UInt8(ascii: "\"")): return .quotedEnd
        case (.quoted, UInt8(ascii: "\\")): return .quotedPair
        case (.quoted, _) where byte.isFieldValue, (.quotedPair, _) where byte.isFieldValue: return .quoted
        case (.extensionStart, _) where ByteSet.token.contains(byte): return .extensionName
        case (.extensionName, _) where ByteSet.token.contains(byte): return .extensionName
        case (.extensionName, UInt8(ascii: "=")): return .extensionValueStart
        case (.extensionValueStart, UInt8(ascii: "\"")): return .quoted
        case (.extensionValueStart, _) where ByteSet.token.contains(byte): return .extensionValue
        case (.extensionValue, _) where ByteSet.token.contains(byte): return .extensionValue
        case (.extensionName, _), (.extensionValue, _), (.quotedEnd, _): return try Self.endOfExtension(byte)
        default: throw .malformed
        }
    }

    private static func endOfExtension(_ byte: UInt8) throws(BodyError) -> State {
        switch byte {
        case UInt8(ascii: ";"): return .extensionStart
        case 0x0D: return .sizeEnd
        default: throw .malformed
        }
    }

    private mutating func nextInTrailer(_ byte: UInt8) throws(BodyError) -> State {
        guard self.trailerRoom > 0 else { throw .tooLarge }
        self.trailerRoom -= 1
        switch (self.state, byte) {
        case (.trailerStart, 0x0D): return .end
        case (.trailerStart, _) where ByteSet.token.contains(byte): return .trailerName
        case (.trailerName, _) where ByteSet.token.contains(byte): return .trailerName
        case (.trailerName, UInt8(ascii: ":")): return .trailerValue
        case (.trailerValue, 0x0D): return .trailerLineEnd
        case (.trailerValue, _) where byte.isFieldValue: return .trailerValue
        case (.trailerLineEnd, 0x0A): return .trailerStart
        case (.end, 0x0A): return .finished
        default: throw .malformed
        }
    }
}
