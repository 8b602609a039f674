internal import Reactor

/// What has been read from a connection and not yet been used. Grows as far as its owner lets unread bytes pile up.
struct InputBuffer {
    /// Enough for nearly every request, and little for a connection that does nothing.
    static let usualSize = 4096

    private var bytes = [UInt8](repeating: 0, count: Self.usualSize)
    private var start = 0
    private var end = 0

    var count: Int { self.end - self.start }
    var isEmpty: Bool { self.start == self.end }

    /// Reads once. `nil`: nothing there yet; 0: the peer has ended its side.
    mutating func fill(from stream: any ByteStream) throws(StreamError) -> Int? {
        self.makeRoom()
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
        if self.bytes.count > Self.usualSize { self.bytes = [UInt8](repeating: 0, count: Self.usualSize) }
    }

    private mutating func makeRoom() {
        guard self.end == self.bytes.count else { return }
        if self.start > 0 {
            self.bytes.removeSubrange(..<self.start)
            self.end -= self.start
            self.start = 0
        }
        let room = max(Self.usualSize, self.end * 2)
        self.bytes.append(contentsOf: repeatElement(0, count: room - self.bytes.count))
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
