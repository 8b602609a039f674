/// Unused input buffers, for the next connections that read.
///
/// A connection returns its buffer after each request. A new buffer for the next request would
/// cost an allocation and setting it to zero. It is larger than the blocks that the C library has
/// ready.
struct SpareBuffers {
    /// More connections rarely read in one turn of the loop.
    private static let limit = 64

    private var buffers: [[UInt8]] = []

    /// A buffer of `InputBuffer.usualSize` bytes, which need not be zero.
    mutating func take() -> [UInt8] {
        self.buffers.popLast() ?? [UInt8](repeating: 0, count: InputBuffer.usualSize)
    }

    /// Keeps the buffer, unless it has another size or there are enough.
    mutating func put(_ buffer: consuming [UInt8]) {
        if buffer.count == InputBuffer.usualSize, self.buffers.count < Self.limit { self.buffers.append(buffer) }
    }
}
