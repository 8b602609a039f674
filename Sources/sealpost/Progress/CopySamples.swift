import Foundation
import PushSQLite
import Synchronization

/// How far a copy of a database is; asked from another thread than the one that copies.
final class CopySamples: Sendable {
    private struct State {
        var step: CopyStep
        /// What the system counts of the thread that copies.
        var counts: String
        /// What that thread had read when the step began.
        var read: Int
    }

    private let state = Mutex<State?>(nil)

    /// Takes in that this thread begins a step.
    func begin(_ step: CopyStep) {
        // Without the link there is no count, and no progress to show.
        let thread = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
        let counts = "/proc/\(thread)/io"
        self.state.withLock { $0 = State(step: step, counts: counts, read: Self.bytesRead(counts)) }
    }

    /// The step, how much of it is done, and of how much; `nil` before the first.
    var current: (step: String, done: Int, total: Int)? {
        self.state.withLock(\.self).map { state in
            switch state.step {
            case .copying(let bytes, let file):
                // Not there before the first page.
                let size = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
                return (state.step.title, size, bytes)
            case .verifying(let bytes):
                return (state.step.title, max(0, Self.bytesRead(state.counts) - state.read), bytes)
            }
        }
    }

    /// All that the thread has read so far, as proc(5) counts it; 0 where that may not be read.
    private static func bytesRead(_ counts: String) -> Int {
        let text = FileHandle(forReadingAtPath: counts).flatMap { try? $0.readToEnd() } ?? Data()
        return String(decoding: text, as: UTF8.self).firstMatch(of: /rchar: (\d+)/).flatMap { Int($0.1) } ?? 0
    }
}

extension CopyStep {
    var title: String {
        switch self {
        case .copying: "copying"
        case .verifying: "verifying"
        }
    }

    var bytes: Int {
        switch self {
        case .copying(let bytes, _), .verifying(let bytes): bytes
        }
    }
}
