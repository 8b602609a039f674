internal import Bytes
package import PushCore

/// A device's address at FCM: a registration token, whose format Google does not document.
package struct FCMHandleRule: HandleRule {
    package init() {}

    /// A registration token has more than 100 random characters.
    package var isGuessable: Bool { false }

    package func address(_ handle: String) throws(HandleFlaw) -> String {
        guard (1...4096).contains(handle.utf8.count), handle.utf8.allSatisfy(\.isVisible) else {
            throw .malformed("it must be a registration token")
        }
        return handle
    }
}
