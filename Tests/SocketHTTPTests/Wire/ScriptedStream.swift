import Reactor

/// A connection without a socket: each read gives one portion of a script, and before the next the server has to wait.
///
/// Sockets join portions as they please, so only here does a border in the script surely reach the parser as one. On
/// the server's loop only, as every stream.
final class ScriptedStream: ByteStream {
    /// What the client does after the last portion.
    enum Client: Sendable {
        case waits
        /// Ends its side, and goes on reading.
        case ends
    }

    /// What the server has sent.
    private(set) var written: [UInt8] = []
    /// The server asked for more when the client had no more to say.
    private(set) var wasAwaited = false

    private let bytes: [UInt8]
    /// Where portions end, the last one too.
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
