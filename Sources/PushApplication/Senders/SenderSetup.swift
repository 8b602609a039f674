import CurlHTTP
import Foundation
import PushCore
import PushDelivery
import PushSenders
import PushServer
import Reactor

/// A configured sender: its lanes (queues of pushes), the rule for its devices' handles, and the
/// reload of its credentials.
struct SenderSetup {
    private(set) var lanes: [LaneSettings]
    let rule: ServerSettings.PlatformRule
    private(set) var close: @Sendable () async -> Void
    /// Reloads the credentials; returns whether they have changed. If this function throws, the
    /// old credentials stay in use.
    var reload: @Sendable () throws -> Bool = { false }
    /// The expiry of the credentials; `nil` if it is unknown.
    var expiry: CredentialExpiry?

    /// Reads the files that the configuration names. Throws a `ConfigurationError` that names the
    /// configuration key whose value is unusable.
    ///
    /// `streams` contains the server's open event streams. `egress` is the proxy to the provider,
    /// or none. All senders to Apple share `tokens`. `alerts` lists the alerts that notifications
    /// may have.
    init(
        _ configuration: SenderConfiguration,
        name: Platform,
        on loop: EventLoop,
        streams: StreamHub,
        egress: Egress,
        tokens: APNsProviderTokens,
        alerts: AlertPolicy = AlertPolicy()
    ) throws {
        let path = name.configurationKey
        try TLSSetup.checkAuthorities(in: configuration.caFile, key: "\(path).caFile")
        do {
            switch configuration {
            case .apns(let apns): self = try Self.apns(apns, name: name, on: loop, egress, tokens)
            case .fcm(let fcm): self = try Self.fcm(fcm, name: name, on: loop, egress)
            case .wns(let wns): self = try Self.wns(wns, name: name, on: loop, egress)
            case .webPush(let webPush): self = try Self.webPush(webPush, name: name, on: loop, egress, alerts)
            case .webhook(let webhook): self = try Self.webhook(webhook, name: name, on: loop, egress)
            case .stream: self = SenderSetup(streamsOf: name, streams)
            }
            guard configuration.lookInterval != nil, let silent = configuration.silent else { return }
            if silent == configuration {
                // Looks (pushes that only tell a device to sync) share the connections and access
                // tokens of other pushes. If looks had connections of their own, the provider
                // could tell which pushes are looks.
                self.lanes += self.lanes.map { $0.ofLooks(by: $0.sender) }
            } else {
                self.addLooks(
                    of: try SenderSetup(silent, name: name, on: loop, streams: streams, egress: egress, tokens: tokens)
                )
            }
        } catch let error as SenderSettingsError {
            throw ConfigurationError("\(path).\(error)")
        }
    }

    init(
        _ lanes: [LaneSettings],
        rule: ServerSettings.PlatformRule,
        close: @escaping @Sendable () async -> Void
    ) {
        self.lanes = lanes
        self.rule = rule
        self.close = close
    }

    init(_ lane: LaneSettings, handles: any HandleRule, credential: SenderCredential) {
        self.init([lane], rule: .init(handles), close: credential.close)
        self.reload = credential.reload
    }

    private init(streamsOf name: Platform, _ streams: StreamHub) {
        // Event streams have no provider that limits the number of calls. A call only waits for a
        // socket.
        let lane = LaneSettings(Lane(name), sender: StreamSender(streams), concurrency: 1000)
        var looks = lane.ofLooks(by: StreamSender(streams, sendsLooks: true))
        looks.concurrency = lane.concurrency
        self.init([lane, looks], rule: .init(StreamHandleRule()), close: {})
    }

    /// Adds lanes for looks (pushes that only tell a device to sync). They go through `silent`: it
    /// is another sender for the same devices, and its pushes show nothing.
    private mutating func addLooks(of silent: SenderSetup) {
        let (close, reload) = (self.close, self.reload)
        self.lanes += silent.lanes.filter(\.lane.isOfLooks)
        self.close = {
            await close()
            await silent.close()
        }
        self.reload = {
            // The second sender is reloaded even if the credentials of the first have changed.
            let hasChanged = try reload()
            return try silent.reload() || hasChanged
        }
    }

    private static func wns(
        _ wns: SenderConfiguration.WNS,
        name: Platform,
        on loop: EventLoop,
        _ egress: Egress
    ) throws -> SenderSetup {
        let path = name.configurationKey
        let credential = try SenderCredential(file: wns.clientSecretFile, key: "\(path).clientSecretFile") { secret in
            let settings = WNSSettings(
                clientID: wns.clientID,
                clientSecret: Secret(secret.exposed.trimmingCharacters(in: .whitespacesAndNewlines)),
                tokenEndpoint: wns.tokenEndpoint ?? wns.usualTokenEndpoint,
                scope: wns.tenantID == nil ? WNSSettings.storeScope : WNSSettings.entraScope,
                content: wns.content,
                allowedHosts: wns.allowedHosts,
                addresses: wns.allowsPrivateAddresses ? .any : .globalOnly,
                connection: ConnectionSettings(caFile: wns.caFile, connections: wns.connections, egress: egress)
            )
            let sender = try WNSSender(settings, on: loop)
            return (sender, sender.close)
        }
        var setup = SenderSetup(
            // This concurrency assumes HTTP/2. If WNS speaks HTTP/1.1, some calls wait for a free
            // connection.
            LaneSettings(Lane(name), sender: credential.sender, concurrency: 4 * wns.connections, rate: wns.rate),
            handles: try WNSHandleRule(allowedHosts: wns.allowedHosts),
            credential: credential
        )
        setup.expiry = wns.clientSecretExpires.map {
            CredentialExpiry(name: "\(path).clientSecretFile", expiresAt: $0)
        }
        return setup
    }
}

extension Platform {
    /// The configuration key of the platform's sender.
    var configurationKey: String {
        self.app == .usual ? "senders.\(self.name)" : "apps.\(self.app).senders.\(self.name)"
    }
}

extension SenderConfiguration.Webhook {
    /// The host of the receiver; `nil` if the URL is not valid.
    var host: String? { OutboundURL(self.url)?.host }
}

extension SenderConfiguration {
    /// The operator's host, which gets all pushes of the sender; `nil` if each device names its
    /// own host, or if the sender calls a provider such as Apple.
    var receiver: String? { if case .webhook(let webhook) = self { webhook.host } else { nil } }
}

extension SenderConfiguration.WNS {
    /// Microsoft's default token endpoint: an app in Microsoft Entra and an app in Partner Center
    /// have different endpoints.
    var usualTokenEndpoint: String {
        self.tenantID.map(WNSSettings.entraTokenEndpoint) ?? WNSSettings.storeTokenEndpoint
    }
}
