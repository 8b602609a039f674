import Foundation
package import PushCore
package import PushSQLite
import PushSenders
package import PushServer
package import PushStore
import Reactor
package import SocketHTTP

/// Everything that an operator can set, with its defaults.
///
/// `config/sealpost.yaml` shows each key with its default and its meaning.
package struct Configuration: Sendable {
    package var listen = ["127.0.0.1:8080"]
    /// The number of event loops.
    var loops = CoreCount.current
    /// Address blocks, or `unix`.
    var trustedProxies: [String] = []
    var forwardedField = TrustedProxies.Field.xForwardedFor.rawValue
    /// Whether trusted proxies send headers of the PROXY protocol.
    var readsProxyHeaders = false
    /// `nil`: the server speaks plain HTTP.
    package var tls: TLS?
    package var limits = ServerLimits()
    /// The settings of the API, but for those that other sections decide.
    package var server = ServerSettings(
        storage: [
            Role.device: StorageBounds(devices: 25, notifications: 1000, bytes: 4 << 20),
            .viewer: StorageBounds(devices: 25, notifications: 1000, bytes: 4 << 20),
            .publisher: StorageBounds(devices: 1000, notifications: 20_000_000, bytes: 100 << 30),
            .admin: StorageBounds(devices: 1000, notifications: 20_000_000, bytes: 100 << 30),
        ].compactMapValues(\.self)
    )
    var database = "var/sealpost.db"
    /// The location of the store that `database` names. The executable knows which kinds of store
    /// there are.
    var place: @Sendable (_ database: String) -> any StorePlace = { SQLiteDatabase(path: $0) }
    /// The folder of the files that the server makes, apart from the database.
    package var keys = "var"
    var localSocket = LocalSocket.beside
    var logLevel = "info"
    var logFormat = "text"
    /// `nil`: standard error.
    package var logFile: String?
    /// Of this many requests, the server logs one at level `info`; 0: it logs none.
    var loggedRequests = 0
    /// How long the audit is kept.
    var auditKept = Duration.seconds(31_536_000)
    var events = Events()
    package var passwords = PasswordParameters.usual
    /// The request quota of each user of a role; a role without an entry has none.
    var quotas = [
        Role.device: Quota(requests: 1200, window: 60, changes: 10_000),
        .viewer: Quota(requests: 1200, window: 60, changes: 10_000),
        .publisher: Quota(requests: 60_000, window: 60), .admin: Quota(requests: 60_000, window: 60),
    ].compactMapValues(\.self)
    /// The issuer whose tokens sign in; `nil`: none.
    var oidc: OIDC?
    /// The collector of spans; `nil`: none.
    var tracing: Tracing?
    /// Why a collector that the environment names for all programs is not used; `nil` otherwise.
    var tracingFault: String?
    /// The proxy to the providers; `nil`: none.
    var proxy: Proxy?
    /// The senders that do not use the proxy.
    var directSenders: Set<Platform> = []
    /// The senders of all apps. By default only event streams, which need no provider.
    var senders: [Platform: SenderConfiguration] = [Platform("stream"): .stream]
    /// The texts of the file that are in force, by the paths of their keys; a reload compares
    /// them.
    var values: [String: String] = [:]

    package init() {}

    /// The place where the daemon accepts the commands of this machine.
    enum LocalSocket: Sendable, Hashable {
        /// The socket is in a folder `admin` next to the database or, if the database is on a
        /// server, in the folder of the keys.
        case beside
        case at(String)
        case off
    }

    /// The kinds of stored events, how long they are kept, and their receiver.
    struct Events: Sendable, Hashable {
        /// A receiver of the operator's.
        struct Webhook: Sendable, Hashable {
            var url: String
            var secretFile: String
            var caFile: String?
            /// Whether calls to the receiver bypass the proxy.
            var isDirect = false
        }

        /// Whether events are stored without a receiver, too.
        var isKept = false
        var kept = Duration.seconds(604_800)
        var kinds = PushEvent.Kind.allCases
        /// `nil`: events are only listed.
        var webhook: Webhook?

        /// Whether events are stored.
        var isOn: Bool { self.isKept || self.webhook != nil }

        /// The kinds that the store is opened with.
        var stored: Set<PushEvent.Kind> { self.isOn ? Set(self.kinds) : [] }
    }

    /// A proxy on the way to the providers.
    struct Proxy: Sendable, Hashable {
        var url: String
        /// A file with a name, a colon and a password.
        var credentialsFile: String?
        /// Whether calls to hosts that devices name use the proxy, too.
        var includesDeviceHosts = false
    }

    /// The files of the server's TLS, all PEM.
    package struct TLS: Sendable, Hashable {
        package struct Identity: Sendable, Hashable {
            /// The certificate chain, the server's own certificate first.
            package var certificate: String
            package var privateKey: String

            package init(certificate: String, privateKey: String) {
                self.certificate = certificate
                self.privateKey = privateKey
            }

            /// Throws `ConfigurationError` unless the server can use both files together.
            package func check() throws {
                _ = try TLSSetup.inspect(TLS(identity: self), logger: .silent)
            }
        }

        /// The certificate for clients that send no server name, or a name that no certificate
        /// covers.
        var identity: Identity
        var additional: [Identity] = []
        /// The authorities whose client certificates are accepted instead of a password.
        var clientCA: String?
        /// The list of certificates that those authorities have revoked; `nil`: no certificate
        /// counts as revoked.
        var clientCRL: String?
        /// The seconds of `Strict-Transport-Security`; `nil`: the field is not sent.
        var hsts: Int?
    }
}

extension Configuration {
    /// The file of the data keys.
    package var keyring: String { "\(self.keys)/keyring" }
    package var signingKeys: String { "\(self.keys)/signing-keys" }
    var dayKeys: String { "\(self.keys)/day-keys" }
    /// The file of the newest timeline of the database.
    var timeline: String { "\(self.keys)/timeline" }

    package var storePlace: any StorePlace { self.place(self.database) }

    /// The database's file; `nil` if the database is on a server.
    package var databaseFile: SQLiteDatabase? { self.storePlace as? SQLiteDatabase }

    /// The database's file, for a command that works only with a store in a file. Throws
    /// `CommandFailure` for another store.
    package func databaseFile(insteadUse tools: String) throws -> SQLiteDatabase {
        guard let file = self.databaseFile else {
            throw CommandFailure(
                "\(self.storePlace) is not a file: use \(tools) of PostgreSQL, see docs/operate/postgresql.md"
            )
        }
        return file
    }

    /// `nil`: the daemon accepts no commands.
    var adminSocket: AdminSocket? {
        switch self.localSocket {
        case .off: nil
        case .at(let path): AdminSocket(path: path, serverFile: self.serverFile)
        case .beside: self.usualAdminSocket
        }
    }

    var usualAdminSocket: AdminSocket {
        let folder = self.serverFile.lastIndex(of: "/").map { self.serverFile[...$0] } ?? ""
        return AdminSocket(path: "\(folder)admin/sealpost.sock", serverFile: self.serverFile, isUsual: true)
    }

    /// A file that the server's user owns.
    private var serverFile: String { self.databaseFile?.path ?? self.keyring }

    /// The trusted proxies; their spelling was checked before.
    var proxies: TrustedProxies {
        TrustedProxies(
            networks: self.trustedProxies.compactMap(IPNetwork.init),
            includesUnix: self.trustedProxies.contains("unix"),
            field: TrustedProxies.Field(rawValue: self.forwardedField) ?? .xForwardedFor
        )
    }
}

/// A sender by its `type`, checked as far as possible without its files.
enum SenderConfiguration: Sendable, Hashable {
    case apns(APNs)
    case fcm(FCM)
    case wns(WNS)
    case webPush(WebPush)
    case webhook(Webhook)
    /// Server-sent events at this server itself.
    case stream

    /// The shortest time between two pushes that tell a device of the sender to sync, in seconds;
    /// `nil`: the sender's devices get no such pushes.
    var lookInterval: Int? {
        switch self {
        case .apns(let apns): apns.lookInterval
        case .fcm(let fcm): fcm.lookInterval
        case .wns(let wns): wns.lookInterval
        // A browser must show something for each push, and a receiver has no screen.
        case .webPush, .webhook: nil
        case .stream: 1
        }
    }

    /// The sender whose pushes to the same devices show nothing; it may be this sender. `nil`: no
    /// such sender exists.
    var silent: SenderConfiguration? {
        switch self {
        case .apns(var apns):
            apns.envelope = .background
            return .apns(apns)
        case .fcm(var fcm):
            if fcm.apple != nil { fcm.apple = .background }
            fcm.android = .data
            return .fcm(fcm)
        case .wns(var wns):
            wns.content = .raw
            return .wns(wns)
        case .webPush, .webhook, .stream: return nil
        }
    }

    var isStream: Bool { if case .stream = self { true } else { false } }

    struct APNs: Sendable, Hashable {
        var keyFile: String
        var keyID: String
        var teamID: String
        var topic: String
        var envelope: AppleEnvelope
        var endpoint = "https://api.push.apple.com"
        /// The sandbox to which devices of development builds are pushed; `nil`: they get no
        /// pushes.
        var sandbox: Sandbox?
        var caFile: String?
        var connections = 1
        /// The maximum number of pushes a second; `nil`: unlimited.
        var rate: Int?
        /// Seconds between two background pushes to one device; only the latest of the pushes due
        /// meanwhile is sent.
        var backgroundInterval = 1200
        /// Whether visible pushes have the number of unread notifications.
        var sendsUnread = false
        /// See `SenderConfiguration.lookInterval`.
        var lookInterval: Int?
    }

    /// Apple's sandbox, with a key of its own or the sender's.
    struct Sandbox: Sendable, Hashable {
        var endpoint = "https://api.sandbox.push.apple.com"
        var keyFile: String?
        var keyID: String?
    }

    struct FCM: Sendable, Hashable {
        enum Credentials: Sendable, Hashable {
            /// The key of a service account, or a configuration of workload identity federation.
            case file(String)
            /// The metadata server of Google's cloud.
            case metadata
        }

        var credentials: Credentials
        /// `nil`: the project of the service account's key.
        var projectID: String?
        var endpoint = "https://fcm.googleapis.com"
        /// `nil`: Google's own endpoint, regardless of the service account.
        var tokenEndpoint: String?
        /// The hosts that a configuration of workload identity federation may name.
        var allowedHosts = FCMSettings.usualHosts
        /// How pushes appear on Apple devices; `nil`: they get none.
        var apple: AppleEnvelope?
        var android = AndroidContent.data
        var caFile: String?
        var connections = 1
        /// The maximum number of pushes a second; the default is below Google's limit for a
        /// project, 600,000 a minute, which also counts refused pushes.
        var rate = 9000
        var lookInterval: Int?
    }

    struct WNS: Sendable, Hashable {
        /// `nil`: the app is registered in Partner Center, and not in Microsoft Entra.
        var tenantID: String?
        var clientID: String
        var clientSecretFile: String
        /// The expiry of the secret, which Microsoft shows in its portal only.
        var clientSecretExpires: Date?
        var content = WNSContent.raw
        var tokenEndpoint: String?
        var allowedHosts = ["*.notify.windows.com"]
        /// Whether the allowed hosts may resolve to addresses outside the public Internet.
        var allowsPrivateAddresses = false
        var caFile: String?
        var connections = 8
        /// The maximum number of pushes a second; `nil`: unlimited.
        var rate: Int?
        var lookInterval: Int?
    }

    struct WebPush: Sendable, Hashable {
        var subject: String
        var keyFile = "var/vapid.pem"
        var allowedHosts = WebPushSettings.publicHosts
        /// Whether the allowed hosts may resolve to addresses outside the public Internet.
        var allowsPrivateAddresses = false
        /// The notification that Safari shows without the page's worker; `nil`: none.
        var placeholder: WebPushPlaceholder?
        var caFile: String?
        var connections = 4
        /// The maximum number of pushes a second to each push service; `nil`: unlimited.
        var rate: Int?
    }

    struct Webhook: Sendable, Hashable {
        var url: String
        var secretFile: String
        var caFile: String?
        var connections = 4
        /// The maximum number of pushes a second; `nil`: unlimited.
        var rate: Int?
    }
}

/// A configuration that cannot be used: names the key, and the line if it came from a file.
package struct ConfigurationError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    /// The text of a file that a key names. If the file cannot be read, throws a
    /// `ConfigurationError` that names the file and the key.
    static func text(of file: String, key: String) throws -> String {
        do {
            return try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            throw ConfigurationError("\(key): \(file) cannot be read: \(error.localizedDescription)")
        }
    }
}
