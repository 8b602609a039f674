internal import Reactor

/// The bytes that have been read from a connection and not yet been used. It grows as far as its owner lets them pile up.
struct InputBuffer {
    /// Enough for nearly every head, and little for a connection that does nothing.
    static let usualSize = 2048
    /// Enough at a time for a body.
    private static let largeSize = 16_384

    private var bytes: [UInt8] = []
    private var start = 0
    private var end = 0

    var count: Int { self.end - self.start }
    var isEmpty: Bool { self.start == self.end }

    /// Reads once. `nil`: nothing there yet; 0: the peer has ended its side.
    ///
    /// `expected` is how much more would be welcome, if that is known.
    mutating func fill(from stream: any ByteStream, expecting expected: Int = 1) throws(StreamError) -> Int? {
        self.makeRoom(for: min(expected, Self.largeSize))
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

    /// Gives its memory back if it is empty. Called before waits that may be long.
    mutating func release() {
        if self.isEmpty { self.bytes = [] }
    }

    private mutating func makeRoom(for count: Int) {
        guard self.bytes.count - self.end < count else { return }
        if self.start > 0 {
            self.bytes.removeSubrange(..<self.start)
            self.end -= self.start
            self.start = 0
        }
        let size = max(Self.usualSize, self.bytes.count, self.end + max(self.end, count))
        // As an array and not as repeated elements, which without optimisation are taken one by one.
        let room = [UInt8](repeating: 0, count: size - self.bytes.count)
        if self.bytes.isEmpty { self.bytes = room } else { self.bytes += room }
    }

    /// Apart from `self`, so that the array can be lent out while the stream is asked.
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
