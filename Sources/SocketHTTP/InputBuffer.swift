internal import Reactor

/// The bytes that were read from a connection but not consumed yet. The connection that owns the
/// buffer limits its growth.
struct InputBuffer {
    /// The usual size in bytes: nearly every head fits, and an idle connection needs little
    /// memory.
    static let usualSize = 2048
    /// The size in bytes for one read of a body.
    private static let largeSize = 16_384

    private var bytes: [UInt8] = []
    private var start = 0
    private var end = 0

    var count: Int { self.end - self.start }
    var isEmpty: Bool { self.start == self.end }

    /// Reads once. Returns `nil` if no bytes have arrived yet, and 0 if the peer has ended its
    /// side.
    ///
    /// `expected` is the number of bytes that are still missing, if it is known.
    mutating func fill(
        from stream: any ByteStream,
        expecting expected: Int = 1,
        _ spares: inout SpareBuffers
    ) throws(StreamError) -> Int? {
        self.makeRoom(for: min(expected, Self.largeSize), &spares)
        let count = try Self.read(from: stream, into: &self.bytes, at: self.end)
        self.end += count ?? 0
        return count
    }

    func withUnread<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.bytes.span.extracting(self.start..<self.end))
    }

    mutating func consume(_ count: Int) {
        precondition(count <= self.count, "only what is there can be used up")
        self.start += count
        guard self.isEmpty else { return }
        self.start = 0
        self.end = 0
    }

    /// Releases the memory if the buffer is empty. The connection calls this before a wait that
    /// may be long.
    mutating func release(to spares: inout SpareBuffers) {
        guard self.isEmpty else { return }
        spares.put(self.bytes)
        self.bytes = []
    }

    private mutating func makeRoom(for count: Int, _ spares: inout SpareBuffers) {
        guard self.bytes.count - self.end < count else { return }
        if self.bytes.isEmpty, count <= Self.usualSize { return self.bytes = spares.take() }
        if self.start > 0 {
            self.bytes.removeSubrange(..<self.start)
            self.end -= self.start
            self.start = 0
        }
        let size = max(Self.usualSize, self.bytes.count, self.end + max(self.end, count))
        // `room` is an array: without optimisation, Swift copies a `repeatElement` one element at
        // a time.
        let room = [UInt8](repeating: 0, count: size - self.bytes.count)
        if self.bytes.isEmpty { self.bytes = room } else { self.bytes += room }
    }

    /// The function is static, so that it can borrow the array while it reads the stream.
    private static func read(
        from stream: any ByteStream,
        into bytes: inout [UInt8],
        at offset: Int
    ) throws(StreamError) -> Int? {
        try bytes.withUnsafeMutableBufferPointer { (buffer) throws(StreamError) -> Int? in
            try stream.read(
                into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[offset...])
            )
        }
    }
}
