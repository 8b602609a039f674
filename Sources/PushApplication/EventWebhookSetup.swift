import CurlHTTP
import Foundation
import PushCore
import PushSenders
import Reactor
import Synchronization

/// The configured receiver of events: the client that calls it, and the reload of the secret that
/// signs the calls.
final class EventWebhookSetup: Sendable {
    private static let key = "events.webhook"

    let webhook: EventWebhook
    private let file: String
    // A lock protects the secret's text, because a reload may come at any time. A reload holds the
    // lock only while it reads a file.
    private let text: Mutex<String>

    /// Reads the file with the secret. `egress` is the proxy to the receiver, or none.
    ///
    /// Throws a `ConfigurationError` that names the configuration key whose value is unusable.
    init(_ configuration: Configuration.Events.Webhook, on loop: EventLoop, egress: Egress) throws {
        try TLSSetup.checkAuthorities(in: configuration.caFile, key: "\(Self.key).caFile")
        let text = try SecretFile.text(of: configuration.secretFile, key: "\(Self.key).secretFile")
        do {
            self.webhook = try EventWebhook(
                WebhookSettings(
                    url: configuration.url,
                    secret: Secret(text),
                    // One connection is enough, since only one message is in flight at a time.
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

    /// Reads the file again; `true` if the server now signs with another secret. If this function
    /// throws, the old secret stays in use.
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
