/// Unused input buffers, for the next connections that read.
///
/// A connection returns its buffer after each request. A new buffer for the next request would
/// have to be allocated and set to zero. The allocation is slow, because a buffer is larger than
/// the blocks that the C library keeps ready.
struct SpareBuffers {
    /// In one turn of the loop, rarely more connections than this read.
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
