import Foundation
import Glibc
import Synchronization

/// A pipe whose reader reads only when the test tells it to.
final class UnreadPipe: Sendable {
    /// The descriptor for writing to the pipe.
    let end: Int32
    private let reader: Mutex<Int32>

    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        // Processes that other tests start must not inherit the descriptors, or the pipe would
        // stay open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        self.reader = Mutex(ends[0])
        self.end = ends[1]
    }

    deinit {
        close(self.end)
        self.closeReader()
    }

    /// Returns another descriptor of the writing end, for a writer that lives as long as this
    /// process. The descriptor is never closed. Otherwise another file would soon get its number,
    /// and receive the writer's bytes.
    func endForEver() -> Int32 {
        fcntl(self.end, F_DUPFD_CLOEXEC, 0)
    }

    /// Fills the pipe, so that not even one byte fits.
    func fill() {
        _ = fcntl(self.end, F_SETFL, O_NONBLOCK)
        for size in [4096, 1] {
            let bytes = [UInt8](repeating: UInt8(ascii: "\n"), count: size)
            while write(self.end, bytes, size) > 0 {}
        }
        _ = fcntl(self.end, F_SETFL, 0)
    }

    func closeReader() {
        let reader = self.reader.withLock { reader in
            defer { reader = -1 }
            return reader
        }
        if reader >= 0 { close(reader) }
    }

    /// Reads once from the pipe. At the end of the pipe, the returned array is empty.
    func readSome() -> [UInt8] {
        let reader = self.reader.withLock { $0 }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        return Array(buffer[..<max(0, Glibc.read(reader, &buffer, buffer.count))])
    }

    /// Reads lines until one satisfies `isEnough`. Returns all lines in order.
    func readLines(until isEnough: (Substring) -> Bool) -> [Substring] {
        var lines: [Substring] = []
        var rest: [UInt8] = []
        while case let more = self.readSome(), !more.isEmpty {
            rest += more
            guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            let text = String(decoding: rest[...end], as: UTF8.self)
            rest.removeSubrange(...end)
            let new = text.split(separator: "\n")
            lines += new
            if new.count(where: isEnough) > 0 { break }
        }
        return lines
    }

    /// Runs `body`, which may block, on a new thread, so that it blocks no task.
    static func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
