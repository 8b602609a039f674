internal import Bytes
package import PushCore

/// A device's address at FCM: a registration token, whose format Google does not document, or
/// `fid:` and a Firebase installation id.
///
/// The client names the kind of address by the prefix `fid:`, because FCM has a field for each
/// kind, and the formats may change.
package struct FCMHandleRule: HandleRule {
    /// The target of a message:
    /// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
    enum Target: Hashable {
        case token(String)
        case installation(String)

        /// The field of the message that contains the target, and the field's value.
        var field: (name: String, value: String) {
            switch self {
            case .token(let token): ("token", token)
            case .installation(let id): ("fid", id)
            }
        }
    }

    private static let installationPrefix = "fid:"

    package init() {}

    /// A registration token has more than 100 random characters.
    package var isGuessable: Bool { false }

    package func address(_ handle: String) throws(HandleFlaw) -> String {
        _ = try self.target(handle)
        return handle
    }

    func target(_ handle: String) throws(HandleFlaw) -> Target {
        guard handle.hasPrefix(Self.installationPrefix) else {
            guard (1...4096).contains(handle.utf8.count), handle.utf8.allSatisfy(\.isVisible) else {
                throw .malformed("it must be a registration token, or fid: and an installation id")
            }
            return .token(handle)
        }
        let id = handle.dropFirst(Self.installationPrefix.count)
        guard id.utf8.count == 22, id.utf8.allSatisfy({ $0.isLetterOrDigit || "-_".utf8.contains($0) }) else {
            throw .malformed("fid: must be followed by an installation id of 22 letters, digits, - and _")
        }
        return .installation(String(id))
    }
}
