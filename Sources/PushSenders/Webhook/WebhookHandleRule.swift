package import PushCore

/// The rule for a device's address at the operator's receiver; only the receiver knows the format
/// of addresses.
package struct WebhookHandleRule: HandleRule {
    package init() {}

    /// The receiver chooses the handles: they may be names or telephone numbers.
    package var isGuessable: Bool { true }

    package func address(_ handle: String) throws(HandleFlaw) -> String {
        handle
    }
}
