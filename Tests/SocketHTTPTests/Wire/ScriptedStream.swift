import Reactor

/// A connection without a socket: each read returns one portion of a script, and the server has to
/// wait before the next read.
///
/// Sockets may join portions, but this stream always delivers them to the parser separately. Like
/// every stream, it is used only on the server's loop.
final class ScriptedStream: ByteStream {
    /// The client's behaviour after the last portion.
    enum Client: Sendable {
        case waits
        /// The client ends its side, and continues to read.
        case ends
    }

    /// The bytes that the server has sent.
    private(set) var written: [UInt8] = []
    /// Whether the server has waited for more bytes after the last portion.
    private(set) var wasAwaited = false

    private let bytes: [UInt8]
    /// The ends of all portions, including the last.
    private let borders: [Int]
    private let client: Client
    private var portion = 0
    private var offset = 0
    private var mustWait = false
    private var hasEnded = false

    /// `borders` are offsets in ascending order.
    init(_ bytes: [UInt8], _ borders: [Int], then client: Client) {
        self.bytes = bytes
        self.borders = borders + [bytes.count]
        self.client = client
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int? {
        guard !self.mustWait else { return nil }
        guard self.offset < self.bytes.count else { return self.client == .ends ? 0 : nil }
        let count = min(self.borders[self.portion] - self.offset, buffer.count)
        buffer.copyBytes(from: self.bytes[self.offset..<self.offset + count])
        self.offset += count
        if self.offset == self.borders[self.portion] {
            self.portion += 1
            self.mustWait = true
        }
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        guard !self.hasEnded else { throw StreamError("written after the end") }
        self.written.append(contentsOf: bytes)
        return bytes.count
    }

    func whenReadable(until deadline: ContinuousClock.Instant, resume waiter: Waiter) {
        self.mustWait = false
        guard self.offset == self.bytes.count, self.client == .waits else { return waiter.resume(returning: nil) }
        if !self.hasEnded { self.wasAwaited = true }
        waiter.resume(returning: .closed)
    }

    func wakeReader() {}

    func waitToWrite(until deadline: ContinuousClock.Instant) async throws(WaitError) {}

    func endWriting() {
        self.hasEnded = true
    }

    func close() {
        self.hasEnded = true
    }
}
