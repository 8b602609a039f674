import Foundation
package import PushSQLite
import Synchronization

/// The progress of a copy of a database; the reader is another thread than the copying one.
package final class CopySamples: Sendable {
    private let step = Mutex<CopyStep?>(nil)

    package init() {}

    /// Records that a step begins.
    package func begin(_ step: CopyStep) {
        self.step.withLock { $0 = step }
    }

    /// The step, how much of it is done, and its total; `nil` before the first step.
    package var current: (step: String, done: Int, total: Int)? {
        self.step.withLock(\.self).map { step in
            switch step {
            case .copying(let bytes, let file):
                // The file is missing before the first page.
                let size = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
                return (step.title, size, bytes)
            // The verification reads nearly everything twice.
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
