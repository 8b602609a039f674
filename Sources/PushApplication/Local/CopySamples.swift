import Foundation
package import PushSQLite
import Synchronization

/// The progress of a copy of a database. One thread copies, and another thread reads the progress.
package final class CopySamples: Sendable {
    private let step = Mutex<CopyStep?>(nil)

    package init() {}

    /// Records that a step begins.
    package func begin(_ step: CopyStep) {
        self.step.withLock { $0 = step }
    }

    /// The name of the step, the number of bytes that it has processed, and their total; `nil`
    /// before the first step.
    package var current: (step: String, done: Int, total: Int)? {
        self.step.withLock(\.self).map { step in
            switch step {
            case .copying(let bytes, let file):
                // The file does not exist before its first page is written.
                let size = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
                return (step.title, size, bytes)
            // The verification reads nearly every byte twice.
            case .verifying(let bytes, let copy): return (step.title, copy.bytesRead / 2, bytes)
            }
        }
    }
}

extension CopyStep {
    package var title: String {
        switch self {
        case .copying: "copying"
        case .verifying: "verifying"
        }
    }

    package var bytes: Int {
        switch self {
        case .copying(let bytes, _), .verifying(let bytes, _): bytes
        }
    }
}
