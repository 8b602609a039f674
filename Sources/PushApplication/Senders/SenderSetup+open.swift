import CurlHTTP
import Foundation
import PushCore
import PushDelivery
import PushSenders
import PushServer
import Reactor

/// The senders to configurable web addresses: browsers' push services and the operator's webhook
/// receivers.
extension SenderSetup {
    static func webPush(
        _ webPush: SenderConfiguration.WebPush,
        name: Platform,
        on loop: EventLoop,
        _ egress: Egress,
        _ alerts: AlertPolicy
    ) throws -> SenderSetup {
        // The server's start makes a missing file before this call. Only a check before the start
        // can find the file missing; a new key then stands in for the missing one.
        let file = webPush.keyFile
        let isMissing = PrivateFile.isMissing(file)
        let text = isMissing ? VAPIDKey.generateText() : try PrivateFile.load(file, what: name.keyFileSubject)
        let key = try VAPIDKey(Secret(text))
        let settings = WebPushSettings(
            key: key,
            subject: webPush.subject,
            allowedHosts: webPush.allowedHosts,
            addresses: webPush.allowsPrivateAddresses ? .any : .globalOnly,
            alerts: alerts,
            placeholder: webPush.placeholder,
            connection: ConnectionSettings(caFile: webPush.caFile, connections: webPush.connections, egress: egress)
        )
        let sender = try WebPushSender(settings, on: loop)
        let lanes = sender.handles.services.map { service in
            var lane = LaneSettings(
                Lane(name, part: service.name),
                sender: sender,
                // This concurrency assumes that all push services speak HTTP/2. With HTTP/1.1,
                // some calls wait for a free connection.
                concurrency: 16 * webPush.connections,
                rate: webPush.rate
            )
            lane.hasUnrelatedHosts = service == .anyPublic
            return lane
        }
        let rule = ServerSettings.PlatformRule(sender.handles, applicationServerKey: key.publicText)
        // The key is read only at the start, since another key would invalidate every
        // subscription.
        return SenderSetup(lanes, rule: rule, close: sender.close)
    }

    static func webhook(
        _ webhook: SenderConfiguration.Webhook,
        name: Platform,
        on loop: EventLoop,
        _ egress: Egress
    ) throws -> SenderSetup {
        let key = "\(name.configurationKey).secretFile"
        let credential = try SenderCredential(file: webhook.secretFile, key: key) { secret in
            let settings = WebhookSettings(
                url: webhook.url,
                secret: secret,
                connection: ConnectionSettings(caFile: webhook.caFile, connections: webhook.connections, egress: egress)
            )
            let sender = try WebhookSender(settings, on: loop)
            return (sender, sender.close)
        }
        let lane = LaneSettings(
            Lane(name),
            sender: credential.sender,
            // This concurrency assumes HTTP/2. If the receiver speaks HTTP/1.1, some calls wait
            // for a free connection.
            concurrency: 4 * webhook.connections,
            rate: webhook.rate
        )
        let rule = ServerSettings.PlatformRule(WebhookHandleRule(), receiver: webhook.host)
        var setup = SenderSetup([lane], rule: rule, close: credential.close)
        setup.reload = credential.reload
        return setup
    }
}

extension Configuration {
    /// Makes the missing keys of Web Push. Throws `ConfigurationError`.
    func makeKeysOfWebPush() throws {
        for case (let name, .webPush(let webPush)) in self.senders {
            _ = try PrivateFile.load(webPush.keyFile, what: name.keyFileSubject, ifMissing: VAPIDKey.generateText)
        }
    }
}

extension Platform {
    /// The beginning of errors about the sender's key.
    fileprivate var keyFileSubject: String { "\(self.configurationKey).keyFile:" }
}
