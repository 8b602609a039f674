/// Unused input buffers, which the next connections use for their reads.
///
/// A connection returns its buffer after each request. Otherwise the next request would need a new
/// buffer, which must be allocated and set to zero. The allocation is slow, because a buffer is
/// larger than the blocks that the C library keeps ready.
struct SpareBuffers {
    /// The maximum number of spare buffers: more connections rarely read in one turn of the event
    /// loop.
    private static let limit = 64

    private var buffers: [[UInt8]] = []

    /// A buffer of `InputBuffer.usualSize` bytes, which need not be zero.
    mutating func take() -> [UInt8] {
        self.buffers.popLast() ?? [UInt8](repeating: 0, count: InputBuffer.usualSize)
    }

    /// Keeps the buffer, unless it has another size or there are enough spare buffers.
    mutating func put(_ buffer: consuming [UInt8]) {
        if buffer.count == InputBuffer.usualSize, self.buffers.count < Self.limit { self.buffers.append(buffer) }
    }
}
