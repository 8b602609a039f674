import CurlHTTP
import Foundation
import PushCore
import PushDelivery
import PushSenders
import PushServer
import Reactor

/// The sender of Apple's push service: one lane (queue of pushes) for production, and one for the
/// sandbox if the sandbox is enabled.
extension SenderSetup {
    static func apns(
        _ apns: SenderConfiguration.APNs,
        name: Platform,
        on loop: EventLoop,
        _ egress: Egress,
        _ tokens: APNsProviderTokens
    ) throws -> SenderSetup {
        let key = name.configurationKey
        let production = try SenderCredential(file: apns.keyFile, key: "\(key).keyFile") { text in
            try APNsSender.made(apns, text, on: loop, egress, tokens)
        }
        let sandbox = try apns.sandbox.map { sandbox in
            let file = sandbox.keyFile ?? apns.keyFile
            return try SenderCredential(file: file, key: "\(key).sandbox.keyFile") { text in
                try APNsSender.made(apns.inSandbox(sandbox), text, on: loop, egress, tokens)
            }
        }
        let credentials = [(PushEnvironment.production, production)] + (sandbox.map { [(.sandbox, $0)] } ?? [])
        let isPaced = apns.envelope == .background && apns.backgroundInterval > 0
        let lanes = credentials.map { environment, credential -> LaneSettings in
            var lane = LaneSettings(
                Lane(name, in: environment),
                sender: credential.sender,
                concurrency: 100 * apns.connections,
                rate: apns.rate,
                interval: isPaced ? .seconds(apns.backgroundInterval) : nil,
                otherEnvironment: sandbox == nil ? nil : Lane(name, in: environment.other)
            )
            lane.countsUnread = apns.sendsUnread
            return lane
        }
        let rule = ServerSettings.PlatformRule(
            APNsHandleRule(),
            hasSandbox: sandbox != nil,
            isForCalls: apns.envelope == .voip
        )
        var setup = SenderSetup(lanes, rule: rule) {
            for (_, credential) in credentials { await credential.close() }
        }
        setup.reload = {
            // `||` comes after the call of `reload()`, so every credential is reloaded, even after
            // another one has changed.
            try credentials.reduce(false) { hasChanged, next in try next.1.reload() || hasChanged }
        }
        return setup
    }
}

extension SenderConfiguration.APNs {
    fileprivate func inSandbox(_ sandbox: SenderConfiguration.Sandbox) -> SenderConfiguration.APNs {
        var apns = self
        apns.endpoint = sandbox.endpoint
        apns.keyID = sandbox.keyID ?? self.keyID
        return apns
    }
}

extension APNsSender {
    fileprivate static func made(
        _ apns: SenderConfiguration.APNs,
        _ key: Secret<String>,
        on loop: EventLoop,
        _ egress: Egress,
        _ tokens: APNsProviderTokens
    ) throws -> SenderCredential.Made {
        let settings = APNsSettings(
            key: key,
            keyID: apns.keyID,
            teamID: apns.teamID,
            topic: apns.topic,
            envelope: apns.envelope,
            endpoint: apns.endpoint,
            connection: ConnectionSettings(caFile: apns.caFile, connections: apns.connections, egress: egress),
            tokens: tokens
        )
        let sender = try APNsSender(settings, on: loop)
        return (sender, sender.close)
    }
}
