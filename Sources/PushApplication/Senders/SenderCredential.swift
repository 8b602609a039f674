import Foundation
import PushCore
import PushSenders
import Synchronization

/// A sender and the file with its credentials. The sender is made from the file at the start, and
/// again when the file's content has changed.
final class SenderCredential: Sendable {
    typealias Made = (sender: any PushSender, close: @Sendable () async -> Void)

    /// The sender through which all pushes go; it forwards each push to the current sender.
    let sender: ReplaceableSender
    private let file: String
    private let key: String
    private let isPublic: @Sendable (String) -> Bool
    private let make: @Sendable (Secret<String>) throws -> Made
    // A lock protects the current sender, because a reload may come at any time. Making a sender
    // does not block, so the lock is held briefly.
    private let current: Mutex<(text: String, close: @Sendable () async -> Void)>

    /// Reads the file, whose path is the value of the configuration's `key`.
    ///
    /// Throws `ConfigurationError` if the file cannot be read, or if all users may change it. Also
    /// throws it if all users may read the file although its content is secret. Rethrows the
    /// errors of `make`.
    init(
        file: String,
        key: String,
        isPublic: @escaping @Sendable (String) -> Bool = { _ in false },
        make: @escaping @Sendable (Secret<String>) throws -> Made
    ) throws {
        let text = try SecretFile.text(of: file, key: key, isPublic: isPublic)
        let made = try make(Secret(text))
        self.file = file
        self.key = key
        self.isPublic = isPublic
        self.make = make
        self.sender = ReplaceableSender(made.sender)
        self.current = Mutex((text, made.close))
    }

    /// Reads the file again; `true` if a new sender has replaced the old one. If this function
    /// throws, the old sender stays in use.
    ///
    /// If the content is unchanged, the old sender stays, too: its access token is still valid.
    func reload() throws -> Bool {
        try self.current.withLock { current in
            let text = try SecretFile.text(of: self.file, key: self.key, isPublic: self.isPublic)
            guard text != current.text else { return false }
            let made = try self.make(Secret(text))
            self.sender.replace(with: made.sender)
            current = (text, made.close)
            return true
        }
    }

    /// Fails the requests under way and closes the connections.
    func close() async {
        await self.current.withLock { $0.close }()
    }
}
