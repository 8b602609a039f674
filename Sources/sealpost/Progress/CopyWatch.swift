import Foundation
import PushSQLite
import Synchronization

/// Watches how a database is copied and the copy is read again, for a bar.
final class CopyWatch: Sendable {
    private let bar = ProgressBar()
    // A lock, since it is asked from another thread than the one that copies.
    private let step = Mutex<CopyStep?>(nil)
    /// What this process had read when the step began.
    private let read = Mutex(0)

    /// Runs `copy`, which tells each step that it begins. Throws what it throws.
    func run<Value>(_ copy: ((CopyStep) -> Void) throws -> Value) async throws -> Value {
        try await self.bar.whileSampling({ self.done }) {
            try copy { step in
                self.read.withLock { $0 = Self.bytesRead }
                self.step.withLock { $0 = step }
                self.bar.begin(step.title, total: step.bytes, unit: .bytes)
            }
        }
    }

    // MARK: - Private

    private var done: Int? {
        switch self.step.withLock(\.self) {
        case .copying(_, let file):
            // Not there before the first page.
            (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
        case .verifying: Self.bytesRead - self.read.withLock(\.self)
        case nil: nil
        }
    }

    /// All that this process has read so far, as proc(5) counts it.
    private static var bytesRead: Int {
        let text = FileHandle(forReadingAtPath: "/proc/self/io").flatMap { try? $0.readToEnd() } ?? Data()
        return String(decoding: text, as: UTF8.self).firstMatch(of: /rchar: (\d+)/).flatMap { Int($0.1) } ?? 0
    }
}

extension CopyStep {
    fileprivate var title: String {
        switch self {
        case .copying: "copying"
        case .verifying: "verifying"
        }
    }

    fileprivate var bytes: Int {
        switch self {
        case .copying(let bytes, _), .verifying(let bytes): bytes
        }
    }
}
