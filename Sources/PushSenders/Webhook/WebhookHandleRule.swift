package import PushCore

/// A device's address at the operator's receiver, which alone can say what it looks like.
package struct WebhookHandleRule: HandleRule {
    package init() {}

    package func address(_ handle: String) throws(HandleFlaw) -> String {
        handle
    }
}
