import CurlHTTP
import Foundation
import PushCore
import PushSenders
import PushServer
import Reactor

/// A configured sender, what handles its devices may have, and how to end it.
struct SenderSetup {
    let sender: any PushSender
    let rule: ServerSettings.PlatformRule
    let close: @Sendable () async -> Void

    /// Reads the files that the configuration names. Throws `ConfigurationError` with the key that is wrong.
    init(_ configuration: SenderConfiguration, name: Platform, on loop: EventLoop) throws {
        let path = "senders.\(name)"
        do {
            switch configuration {
            case .apns(let apns): self = try Self.apns(apns, name: name, on: loop)
            case .fcm(let fcm): self = try Self.fcm(fcm, name: name, on: loop)
            case .wns(let wns): self = try Self.wns(wns, name: name, on: loop)
            }
        } catch let error as SenderSettingsError {
            throw ConfigurationError("\(path).\(error)")
        }
    }

    private init(
        _ sender: any PushSender,
        lane: Lane,
        handles: String,
        accepts: @escaping @Sendable (String) -> Bool,
        close: @escaping @Sendable () async -> Void
    ) {
        self.sender = sender
        self.rule = .init { accepts($0.value) ? .accepted(lane) : .refused("it must be \(handles)") }
        self.close = close
    }

    private static func apns(_ apns: SenderConfiguration.APNs, name: Platform, on loop: EventLoop) throws -> SenderSetup
    {
        let path = "senders.\(name)"
        let settings = APNsSettings(
            key: Secret(try ConfigurationError.text(of: apns.keyFile, key: "\(path).keyFile")),
            keyID: apns.keyID,
            teamID: apns.teamID,
            topic: apns.topic,
            envelope: APNsSettings.Envelope(rawValue: apns.envelope) ?? .background,
            endpoint: apns.endpoint,
            connection: ConnectionSettings(
                caFile: apns.caFile,
                connections: apns.connections,
                streams: apns.streams
            )
        )
        let sender = try APNsSender(settings, on: loop)
        return SenderSetup(
            sender,
            lane: Lane(name),
            handles: "a device token in hexadecimal",
            accepts: APNsSender.accepts,
            close: sender.close
        )
    }

    private static func fcm(_ fcm: SenderConfiguration.FCM, name: Platform, on loop: EventLoop) throws -> SenderSetup {
        let path = "senders.\(name)"
        let settings = FCMSettings(
            serviceAccount: Secret(try ConfigurationError.text(of: fcm.serviceAccount, key: "\(path).serviceAccount")),
            endpoint: fcm.endpoint,
            tokenEndpoint: fcm.tokenEndpoint,
            connection: ConnectionSettings(caFile: fcm.caFile)
        )
        let sender = try FCMSender(settings, on: loop)
        return SenderSetup(
            sender,
            lane: Lane(name),
            handles: "a registration token",
            accepts: FCMSender.accepts,
            close: sender.close
        )
    }

    private static func wns(_ wns: SenderConfiguration.WNS, name: Platform, on loop: EventLoop) throws -> SenderSetup {
        let path = "senders.\(name)"
        let secret = try ConfigurationError.text(of: wns.clientSecretFile, key: "\(path).clientSecretFile")
        let settings = WNSSettings(
            clientID: wns.clientID,
            clientSecret: Secret(secret.trimmingCharacters(in: .whitespacesAndNewlines)),
            tokenEndpoint: wns.tokenEndpoint ?? WNSSettings.entraTokenEndpoint(tenantID: wns.tenantID),
            allowedHosts: wns.allowedHosts,
            addresses: wns.allowsPrivateAddresses ? .any : .globalOnly,
            connection: ConnectionSettings(caFile: wns.caFile, connections: 8)
        )
        let sender = try WNSSender(settings, on: loop)
        let hosts = wns.allowedHosts.joined(separator: ", ")
        return SenderSetup(
            sender,
            lane: Lane(name),
            handles: "a channel, https at \(hosts)",
            accepts: sender.accepts,
            close: sender.close
        )
    }
}
