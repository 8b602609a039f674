internal import CZlib

/// Compression by RFC 1952, for long answers of text.
package enum Gzip {
    /// The fastest level: a page of 200 short texts shrinks to 0.23 of its length. The slowest
    /// level shrinks the page to 0.19 of its length, but takes four times as long.
    private static let level: Int32 = 1

    /// Compresses bytes; returns `nil` if there is too little memory. As padding, an uncompressed,
    /// meaningless file name of `nameLength` characters precedes the compressed bytes.
    package static func compress(_ bytes: [UInt8], nameLength: Int) -> [UInt8]? {
        // zlib keeps the stream's address, so the stream must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        defer { stream.deallocate() }
        stream.initialize(to: z_stream())
        guard czlib_begin_gzip(stream, self.level) == Z_OK else { return nil }
        defer { deflateEnd(stream) }
        var (input, name) = (bytes, [UInt8](repeating: UInt8(ascii: "x"), count: nameLength) + [0])
        return name.withUnsafeMutableBufferPointer { name in
            var header = gz_header()
            // 255 means an unknown system. The header contains no time either, so equal inputs
            // have equal outputs.
            header.os = 255
            header.name = name.baseAddress
            return withUnsafeMutablePointer(to: &header) { header in
                guard deflateSetHeader(stream, header) == Z_OK else { return nil }
                return input.withUnsafeMutableBufferPointer { self.deflate($0, stream) }
            }
        }
    }

    private static func deflate(
        _ input: UnsafeMutableBufferPointer<UInt8>,
        _ stream: UnsafeMutablePointer<z_stream>
    ) -> [UInt8]? {
        // The input is at most a page of a list, far below the range of zlib's counts.
        guard let length = UInt32(exactly: input.count) else { return nil }
        stream.pointee.next_in = input.baseAddress
        stream.pointee.avail_in = length
        let bound = Int(deflateBound(stream, UInt(length)))
        guard let room = UInt32(exactly: bound) else { return nil }
        var isWhole = false
        let output = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            stream.pointee.next_out = output.baseAddress
            stream.pointee.avail_out = room
            isWhole = CZlib.deflate(stream, Z_FINISH) == Z_STREAM_END
            count = bound - Int(stream.pointee.avail_out)
        }
        return isWhole ? output : nil
    }
}
