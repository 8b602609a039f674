import CurlHTTP
import Foundation
import PushCore
import PushSenders
import Reactor
import Synchronization

/// The configured receiver of events: the sender that calls it, and the reloading of its secret.
final class EventWebhookSetup: Sendable {
    private static let key = "events.webhook"

    let webhook: EventWebhook
    private let file: String
    // A lock protects the text, because a reload may come at any time. A reload holds the lock
    // only while it reads a file.
    private let text: Mutex<String>

    /// Reads the file with the secret; `egress` is the way to the receiver.
    ///
    /// Throws `ConfigurationError` with the key that is wrong.
    init(_ configuration: Configuration.Events.Webhook, on loop: EventLoop, egress: Egress) throws {
        let text = try SecretFile.text(of: configuration.secretFile, key: "\(Self.key).secretFile")
        do {
            self.webhook = try EventWebhook(
                WebhookSettings(
                    url: configuration.url,
                    secret: Secret(text),
                    // Only one message is in flight at a time.
                    connection: ConnectionSettings(caFile: configuration.caFile, connections: 1, egress: egress)
                ),
                on: loop
            )
        } catch {
            throw ConfigurationError("\(Self.key).\(error)")
        }
        self.file = configuration.secretFile
        self.text = Mutex(text)
    }

    /// Reads the file again; `true` if another secret signs from now on. If this throws, the old
    /// secret stays in use.
    func reload() throws -> Bool {
        try self.text.withLock { current in
            let text = try SecretFile.text(of: self.file, key: "\(Self.key).secretFile")
            guard text != current else { return false }
            do {
                try self.webhook.replaceSecret(with: Secret(text))
            } catch {
                throw ConfigurationError("\(Self.key).\(error)")
            }
            current = text
            return true
        }
    }
}
