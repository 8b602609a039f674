import Foundation
package import PushSQLite
import Synchronization

/// How far a copy of a database is; asked from another thread than the one that copies.
package final class CopySamples: Sendable {
    private let step = Mutex<CopyStep?>(nil)

    package init() {}

    /// Takes in that a step begins.
    package func begin(_ step: CopyStep) {
        self.step.withLock { $0 = step }
    }

    /// The step, how much of it is done, and of how much; `nil` before the first.
    package var current: (step: String, done: Int, total: Int)? {
        self.step.withLock(\.self).map { step in
            switch step {
            case .copying(let bytes, let file):
                // Not there before the first page.
                let size = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
                return (step.title, size, bytes)
            // Nearly all is read twice.
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
