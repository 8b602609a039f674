/// Input buffers that no connection needs at the moment, for the next ones that read.
///
/// A connection gives its buffer back after each request. A new one for the next would have to be made and set to zero, and is larger
/// than what the C library has ready at once.
struct SpareBuffers {
    /// More connections seldom read in one turn of the loop.
    private static let bound = 64

    private var buffers: [[UInt8]] = []

    /// A buffer of `InputBuffer.usualSize` bytes, which need not be zero.
    mutating func take() -> [UInt8] {
        self.buffers.popLast() ?? [UInt8](repeating: 0, count: InputBuffer.usualSize)
    }

    /// Keeps the buffer, unless it has another size or there are enough.
    mutating func put(_ buffer: consuming [UInt8]) {
        if buffer.count == InputBuffer.usualSize, self.buffers.count < Self.bound { self.buffers.append(buffer) }
    }
}
