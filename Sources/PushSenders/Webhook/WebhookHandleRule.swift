package import PushCore

/// A device's address at the operator's receiver; only the receiver knows its format.
package struct WebhookHandleRule: HandleRule {
    package init() {}

    package func address(_ handle: String) throws(HandleFlaw) -> String {
        handle
    }
}
