import CurlHTTP
import PushCore
import PushDelivery
import PushSenders
import PushServer
import Reactor

/// The sender of Firebase Cloud Messaging, with credentials from a file or from the metadata
/// server of Google's cloud.
extension SenderSetup {
    static func fcm(
        _ fcm: SenderConfiguration.FCM,
        name: Platform,
        on loop: EventLoop,
        _ egress: Egress
    ) throws -> SenderSetup {
        switch fcm.credentials {
        case .file(let file):
            let key = "\(name.configurationKey).serviceAccount"
            let credential = try SenderCredential(file: file, key: key, isPublic: GoogleCredentials.isPublic) { text in
                let sender = try FCMSender(fcm.settings(.file(text), egress), on: loop)
                return (sender, sender.close)
            }
            return SenderSetup(
                fcm.lane(name, sender: credential.sender),
                handles: FCMHandleRule(),
                credential: credential
            )
        case .metadata:
            let sender = try FCMSender(fcm.settings(.metadata, egress), on: loop)
            let lane = fcm.lane(name, sender: sender)
            return SenderSetup([lane], rule: .init(FCMHandleRule()), close: sender.close)
        }
    }
}

extension SenderConfiguration.FCM {
    /// Reads the file of the credentials; without a file, the metadata server supplies them.
    /// Throws `ConfigurationError` if the file cannot be read.
    func readCredentials(key: String) throws -> GoogleCredentials {
        switch self.credentials {
        case .file(let file):
            .file(Secret(try SecretFile.text(of: file, key: key, isPublic: GoogleCredentials.isPublic)))
        case .metadata: .metadata
        }
    }

    fileprivate func settings(_ credentials: GoogleCredentials, _ egress: Egress) -> FCMSettings {
        FCMSettings(
            credentials: credentials,
            projectID: self.projectID,
            endpoint: self.endpoint,
            tokenEndpoint: self.tokenEndpoint,
            allowedHosts: self.allowedHosts,
            apple: self.apple,
            android: self.android,
            connection: ConnectionSettings(caFile: self.caFile, connections: self.connections, egress: egress)
        )
    }

    fileprivate func lane(_ name: Platform, sender: any PushSender) -> LaneSettings {
        LaneSettings(Lane(name), sender: sender, concurrency: 100 * self.connections, rate: self.rate)
    }
}
