internal import Synchronization

/// The current set of keys; an answer reads it once.
package final class SigningKeys: Sendable {
    // Locked only to copy a reference, and only by requests that ask for a signature.
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
