internal import Synchronization

/// The set of keys that holds at the moment; an answer takes it once.
package final class SigningKeys: Sendable {
    // Held for as long as it takes to copy a reference, and only by requests that ask for a signature.
    private let set: Mutex<SigningKeySet>

    package init(_ set: SigningKeySet) {
        self.set = Mutex(set)
    }

    package var current: SigningKeySet { self.set.withLock { $0 } }

    /// Puts other keys in the place of those that there are.
    package func exchange(_ new: SigningKeySet) {
        self.set.withLock { $0 = new }
    }
}
