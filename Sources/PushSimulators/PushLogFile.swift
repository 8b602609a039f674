internal import Foundation
internal import Glibc
internal import Reactor
internal import Synchronization

/// A file with one short line for each request, to count the outcomes of a million pushes
/// afterwards.
///
/// A line is `milliseconds platform push outcome device`, with single spaces: the time since 1970,
/// the sender's name, the `apns-id` or the notification's id (or `-`), the status or the fault's
/// name, the device. Lines are buffered and written each second and at the end, so a process that
/// is killed loses the lines of the last second.
package final class PushLogFile: Sendable {
    // A lock protects `buffer`: the simulators' threads append lines. The lock is held only
    // briefly.
    private let buffer = Mutex<[UInt8]>([])
    private let descriptor: Int32

    private static let writeSize = 256 * 1024

    /// Opens the file for appending. Throws `SystemError` if that fails.
    package init(path: String) throws {
        self.descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { throw SystemError(call: "open \(path)", code: errno) }
    }

    deinit {
        self.flush()
        close(self.descriptor)
    }

    /// Adds a line for a request.
    package func append(_ push: ReceivedPush, platform: String) {
        let key = PushKey(push.request)
        let milliseconds = Int((Date().timeIntervalSince1970 * 1000).rounded())
        let id = key.push.isEmpty ? "-" : key.push
        let line = "\(milliseconds) \(platform) \(id) \(push.verdict) \(key.device)\n"
        self.buffer.withLock { buffer in
            buffer.append(contentsOf: line.utf8)
            if buffer.count >= Self.writeSize { self.write(&buffer) }
        }
    }

    /// Writes the buffered lines.
    package func flush() {
        self.buffer.withLock { self.write(&$0) }
    }

    /// Writes the buffered lines each second until the task is cancelled, and then once more.
    package func run() async {
        // Cancellation ends the sleep early, and the loop's condition then ends the loop.
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            self.flush()
        }
    }

    /// Writes the bytes. If that fails, as on a full disk, the lines are lost and the simulators
    /// continue.
    private func write(_ bytes: inout [UInt8]) {
        var written = 0
        bytes.withUnsafeBytes { bytes in
            while written < bytes.count {
                let count = Glibc.write(
                    self.descriptor,
                    bytes.baseAddress?.advanced(by: written),
                    bytes.count - written
                )
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return }
                written += count
            }
        }
        bytes.removeAll(keepingCapacity: true)
    }
}
