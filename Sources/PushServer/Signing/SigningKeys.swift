internal import Synchronization

/// Holds the current set of keys that sign answers. Each answer reads the set once.
package final class SigningKeys: Sendable {
    // This lock is held only to copy a reference, and only by requests for a signature.
    private let set: Mutex<SigningKeySet>

    package init(_ set: SigningKeySet) {
        self.set = Mutex(set)
    }

    package var current: SigningKeySet { self.set.withLock { $0 } }

    /// Replaces the keys.
    package func replace(with new: SigningKeySet) {
        self.set.withLock { $0 = new }
    }
}
