import Foundation
import HTTPSignatures
import PushClient

extension Place {
    /// The settings of this app. A mistake in the settings ends the app at its first start.
    static let messages: Place = {
        let group = "group.org.example.messages"
        guard let server = URL(string: "https://push.example.org"),
            // Pin the current and the next key of `sealpost signing-keys list`.
            let key = VerificationKey(base64URL: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"),
            let folder = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
        else { preconditionFailure("a wrong address or key, or no app group: see the entitlements") }
        return Place(
            server: server,
            options: PushClient.Options(signatures: .pinned([key])),
            folder: folder.appending(path: "push"),
            secrets: Keychain(group: "ABCDE12345.org.example.messages"),
            // For end-to-end encryption: the `text` of the backend's sender key.
            senders: []
        )
    }()
}
