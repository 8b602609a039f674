import Foundation
import PushCore
import PushSenders
import Synchronization

/// A sender and the file with its credentials: built from it at the start, and again when the file has changed.
final class SenderCredential: Sendable {
    typealias Made = (sender: any PushSender, close: @Sendable () async -> Void)

    /// What pushes are sent with, whichever sender is behind it.
    let sender: ReplaceableSender
    private let file: String
    private let key: String
    private let make: @Sendable (Secret<String>) throws -> Made
    // A lock: a reload comes at any time, and building a sender waits for nothing.
    private let current: Mutex<(text: String, close: @Sendable () async -> Void)>

    /// Reads the file, which the configuration's `key` names.
    ///
    /// Throws `ConfigurationError` if it cannot be read, or all users may read it, and what `make` throws.
    init(file: String, key: String, make: @escaping @Sendable (Secret<String>) throws -> Made) throws {
        let text = try SecretFile.text(of: file, key: key)
        let made = try make(Secret(text))
        self.file = file
        self.key = key
        self.make = make
        self.sender = ReplaceableSender(made.sender)
        self.current = Mutex((text, made.close))
    }

    /// Reads the file again; true if another sender has taken over. If this throws, the old one stays.
    ///
    /// A file with the same content changes nothing: its access token is still good.
    func reload() throws -> Bool {
        try self.current.withLock { current in
            let text = try SecretFile.text(of: self.file, key: self.key)
            guard text != current.text else { return false }
            let made = try self.make(Secret(text))
            self.sender.replace(with: made.sender)
            current = (text, made.close)
            return true
        }
    }

    /// Fails what is under way and closes the connections.
    func close() async {
        await self.current.withLock { $0.close }()
    }
}
