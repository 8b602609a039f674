import Foundation
import PushCore
import PushSenders
import Synchronization

/// A sender and its credentials file; the sender is built from the file at the start, and again
/// when the file has changed.
final class SenderCredential: Sendable {
    typealias Made = (sender: any PushSender, close: @Sendable () async -> Void)

    /// The sender of all pushes; it forwards to the current sender.
    let sender: ReplaceableSender
    private let file: String
    private let key: String
    private let isPublic: @Sendable (String) -> Bool
    private let make: @Sendable (Secret<String>) throws -> Made
    // A lock protects it, because a reload may come at any time, and building a sender does not
    // block.
    private let current: Mutex<(text: String, close: @Sendable () async -> Void)>

    /// Reads the file, which the configuration's `key` names.
    ///
    /// Throws `ConfigurationError` if the file cannot be read, or if all users may change it. Also
    /// throws it if all users may read the file although it is secret. Rethrows the errors of
    /// `make`.
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

    /// Reads the file again; `true` if a new sender has replaced the old one. If this throws, the
    /// old sender stays.
    ///
    /// A file with the same content changes nothing: the sender's access token is still valid.
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
