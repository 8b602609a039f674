import Foundation
package import PushCore
package import PushSQLite
import PushSenders
package import PushServer
package import PushStore
import Reactor
package import SocketHTTP

/// All settings of an operator, with their defaults.
///
/// `config/sealpost.yaml` shows each key with its default and its meaning.
package struct Configuration: Sendable {
    package var listen = ["127.0.0.1:8080"]
    /// The number of event loops.
    var loops = CoreCount.current
    /// The trusted proxies: blocks of addresses, or `unix` for local sockets.
    var trustedProxies: [String] = []
    var forwardedField = TrustedProxies.Field.xForwardedFor.rawValue
    /// Whether trusted proxies begin each connection with a header of the PROXY protocol.
    var readsProxyHeaders = false
    /// The files for the server's TLS; `nil`: the server speaks plain HTTP.
    package var tls: TLS?
    package var limits = ServerLimits()
    /// The settings of the API, except those in other sections of the configuration.
    package var server = ServerSettings {
        $0.storage = [
            Role.device: StorageBounds(devices: 25, notifications: 1000, bytes: 4 << 20),
            .viewer: StorageBounds(devices: 25, notifications: 1000, bytes: 4 << 20),
            .publisher: StorageBounds(devices: 1000, notifications: 20_000_000, bytes: 100 << 30),
            .admin: StorageBounds(devices: 1000, notifications: 20_000_000, bytes: 100 << 30),
        ].compactMapValues(\.self)
    }
    var database = "var/sealpost.db"
    /// Makes the location of the store from the value of `database`. The executable sets it, since
    /// only the executable knows the available kinds of store.
    var place: @Sendable (_ database: String) -> any StorePlace = { SQLiteDatabase(path: $0) }
    /// The folder for the server's own files, apart from the database.
    package var keys = "var"
    var localSocket = LocalSocket.beside
    var logLevel = "info"
    var logFormat = "text"
    /// The file of the log; `nil`: the server logs to standard error.
    package var logFile: String?
    /// The server logs one in this number of requests at level `info`; 0: it logs none at `info`.
    var loggedRequests = 0
    /// How long the server keeps the audit's records.
    var auditKept = Duration.seconds(31_536_000)
    var events = Events()
    package var passwords = PasswordParameters.usual
    /// The request quota of each user of a role; a role without an entry has no quota.
    var quotas = [
        Role.device: Quota(requests: 1200, window: 60, changes: 10_000),
        .viewer: Quota(requests: 1200, window: 60, changes: 10_000),
        .publisher: Quota(requests: 60_000, window: 60), .admin: Quota(requests: 60_000, window: 60),
    ].compactMapValues(\.self)
    /// The issuer with whose tokens users can sign in; `nil`: no issuer.
    var oidc: OIDC?
    /// The collector that receives spans; `nil`: no collector.
    var tracing: Tracing?
    /// The reason why the server does not use the collector that the environment names for all
    /// programs; `nil` if there is no such reason.
    var tracingFault: String?
    /// The proxy for calls to the providers; `nil`: no proxy.
    var proxy: Proxy?
    /// The senders that do not use the proxy.
    var directSenders: Set<Platform> = []
    /// The senders of all apps. The default has only event streams, which need no provider.
    var senders: [Platform: SenderConfiguration] = [Platform("stream"): .stream]
    /// The apps that have senders, and the default app.
    var apps: Set<AppName> { Set(self.senders.keys.map(\.app)).union([.usual]) }
    /// The values that the file sets and the environment does not override, by the paths of their
    /// keys. A reload compares the old values with the new ones.
    var values: [String: String] = [:]

    package init() {}

    /// The place where the daemon accepts commands from programs on this machine.
    enum LocalSocket: Sendable, Hashable {
        /// The socket is in a folder `admin` next to the SQLite database. If the database is on a
        /// server, the folder `admin` is next to the keyring's file.
        case beside
        case at(String)
        case off
    }

    /// The kinds of events that the server stores, their lifetime, and the receiver that gets
    /// them.
    struct Events: Sendable, Hashable {
        /// A receiver of events that the operator runs.
        struct Webhook: Sendable, Hashable {
            var url: String
            var secretFile: String
            var caFile: String?
            /// Whether calls to the receiver bypass the proxy.
            var isDirect = false
        }

        /// Whether the server stores events even if there is no receiver.
        var isKept = false
        var kept = Duration.seconds(604_800)
        var kinds = PushEvent.Kind.allCases
        /// The receiver of events; `nil`: the server lists events, but sends them to no receiver.
        var webhook: Webhook?

        /// Whether the server stores events.
        var isOn: Bool { self.isKept || self.webhook != nil }

        /// The kinds of events that the store is to record.
        var stored: Set<PushEvent.Kind> { self.isOn ? Set(self.kinds) : [] }
    }

    /// A proxy between the server and the providers.
    struct Proxy: Sendable, Hashable {
        var url: String
        /// The path of a file that contains a name, a colon and a password.
        var credentialsFile: String?
        /// Whether calls to the hosts in devices' handles also use the proxy.
        var includesDeviceHosts = false
    }

    /// The paths of the files for the server's TLS. All these files are in PEM.
    package struct TLS: Sendable, Hashable {
        package struct Identity: Sendable, Hashable {
            /// The file of the certificate chain, which begins with the server's own certificate.
            package var certificate: String
            package var privateKey: String

            package init(certificate: String, privateKey: String) {
                self.certificate = certificate
                self.privateKey = privateKey
            }

            /// Throws `ConfigurationError` unless the certificate and the private key can be used
            /// together.
            package func check() throws {
                _ = try TLSSetup.inspect(TLS(identity: self), logger: .silent)
            }
        }

        /// The default certificate: for clients that send no server name, or a name that no other
        /// certificate covers.
        var identity: Identity
        var additional: [Identity] = []
        /// The file of the authorities that sign client certificates. Such a certificate replaces
        /// a password.
        var clientCA: String?
        /// The file of the certificates that the authorities in `clientCA` have revoked; `nil`: no
        /// certificate counts as revoked.
        var clientCRL: String?
        /// The `max-age` of `Strict-Transport-Security` in seconds; `nil`: no answer has the
        /// field.
        var hsts: Int?
    }
}

extension Configuration {
    /// The file of the keys that encrypt stored data.
    package var keyring: String { "\(self.keys)/keyring" }
    package var signingKeys: String { "\(self.keys)/signing-keys" }
    var dayKeys: String { "\(self.keys)/day-keys" }
    /// The file with the newest timeline of the PostgreSQL database that this server has seen.
    var timeline: String { "\(self.keys)/timeline" }
    /// The file that shows that a SQLite database was made for these keys. It is in the
    /// folder of the keys, as the database's folder may be a volume that is not mounted.
    var databaseMark: String { "\(self.keys)/has-database" }

    package var storePlace: any StorePlace { self.place(self.database) }

    /// The SQLite database's file; `nil` if the database is on a server.
    package var databaseFile: SQLiteDatabase? { self.storePlace as? SQLiteDatabase }

    /// The SQLite database's file, for a command that needs such a file. Throws `CommandFailure`
    /// for a database on a server, with `tools` as the alternative.
    package func databaseFile(insteadUse tools: String) throws -> SQLiteDatabase {
        guard let file = self.databaseFile else {
            throw CommandFailure(
                "\(self.storePlace) is not a file: use \(tools) of PostgreSQL, see docs/operate/postgresql.md"
            )
        }
        return file
    }

    /// The socket at which the daemon accepts commands; `nil`: the daemon accepts no commands.
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

    /// A file whose owner is the user that the server runs as.
    private var serverFile: String { self.databaseFile?.path ?? self.keyring }

    /// The trusted proxies. Loading has already checked that each block of addresses is valid.
    var proxies: TrustedProxies {
        TrustedProxies(
            networks: self.trustedProxies.compactMap(IPNetwork.init),
            includesUnix: self.trustedProxies.contains("unix"),
            field: TrustedProxies.Field(rawValue: self.forwardedField) ?? .xForwardedFor
        )
    }
}

/// The settings of a sender by its `type`. Loading checks all that it can check without reading
/// the files.
enum SenderConfiguration: Sendable, Hashable {
    case apns(APNs)
    case fcm(FCM)
    case wns(WNS)
    case webPush(WebPush)
    case webhook(Webhook)
    /// Server-sent events at this server itself.
    case stream

    /// The shortest time in seconds between two looks (pushes that only tell a device to sync) of
    /// one device; `nil`: the sender's devices get no looks.
    var lookInterval: Int? {
        switch self {
        case .apns(let apns): apns.lookInterval
        case .fcm(let fcm): fcm.lookInterval
        case .wns(let wns): wns.lookInterval
        // No looks (silent pushes): a browser must show something for each push, and a webhook's
        // receiver shows nothing.
        case .webPush, .webhook: nil
        case .stream: 1
        }
    }

    /// The sender that sends invisible pushes to this sender's devices. It may be this sender
    /// itself. `nil`: no such sender exists.
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
        /// Apple's sandbox, which sends the pushes to development builds; `nil`: development
        /// builds get no pushes.
        var sandbox: Sandbox?
        var caFile: String?
        var connections = 1
        /// The maximum number of pushes per second; `nil`: unlimited.
        var rate: Int?
        /// The minimum number of seconds between two background pushes to one device. Of the
        /// pushes that become due in this time, only the latest is sent.
        var backgroundInterval = 1200
        /// Whether visible pushes contain the number of unread notifications.
        var sendsUnread = false
        /// See `SenderConfiguration.lookInterval`.
        var lookInterval: Int?
    }

    /// Apple's sandbox, with a key of its own or with the key of the production sender.
    struct Sandbox: Sendable, Hashable {
        var endpoint = "https://api.sandbox.push.apple.com"
        var keyFile: String?
        var keyID: String?
    }

    struct FCM: Sendable, Hashable {
        enum Credentials: Sendable, Hashable {
            /// A file with the key of a service account, or with a configuration of workload
            /// identity federation.
            case file(String)
            /// The metadata server of Google's cloud.
            case metadata
        }

        var credentials: Credentials
        /// The id of the Google project; `nil`: the project that the service account's key names.
        var projectID: String?
        var endpoint = "https://fcm.googleapis.com"
        /// The endpoint that issues access tokens; `nil`: Google's own endpoint, even if the
        /// service account's file names another endpoint.
        var tokenEndpoint: String?
        /// The hosts that a configuration of workload identity federation may name.
        var allowedHosts = FCMSettings.usualHosts
        /// How pushes appear on Apple devices; `nil`: Apple devices get no pushes.
        var apple: AppleEnvelope?
        var android = AndroidContent.data
        var caFile: String?
        var connections = 1
        /// The maximum number of pushes per second. Google limits a project to 600,000 a minute
        /// and also counts refused pushes; the default is below this limit.
        var rate = 9000
        var lookInterval: Int?
    }

    struct WNS: Sendable, Hashable {
        /// The directory (tenant) in Microsoft Entra; `nil`: the app is registered in Partner
        /// Center instead.
        var tenantID: String?
        var clientID: String
        var clientSecretFile: String
        /// The expiry of the client secret. Microsoft shows it only in its portal, so the operator
        /// copies it.
        var clientSecretExpires: Date?
        var content = WNSContent.raw
        var tokenEndpoint: String?
        var allowedHosts = ["*.notify.windows.com"]
        /// Whether the allowed hosts may resolve to addresses outside the public Internet.
        var allowsPrivateAddresses = false
        var caFile: String?
        var connections = 8
        /// The maximum number of pushes per second; `nil`: unlimited.
        var rate: Int?
        var lookInterval: Int?
    }

    struct WebPush: Sendable, Hashable {
        var subject: String
        var keyFile = "var/vapid.pem"
        var allowedHosts = WebPushSettings.publicHosts
        /// Whether the allowed hosts may resolve to addresses outside the public Internet.
        var allowsPrivateAddresses = false
        /// The notification that Safari shows if the page's service worker does not run; `nil`: no
        /// notification.
        var placeholder: WebPushPlaceholder?
        var caFile: String?
        var connections = 4
        /// The maximum number of pushes per second to each push service; `nil`: unlimited.
        var rate: Int?
    }

    struct Webhook: Sendable, Hashable {
        var url: String
        var secretFile: String
        var caFile: String?
        var connections = 4
        /// The maximum number of pushes per second; `nil`: unlimited.
        var rate: Int?
    }
}

/// The error for a configuration that cannot be used. It names the key, and the line if the key
/// comes from a file.
package struct ConfigurationError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    /// The text of a file of certificates, or of a revocation list, that a key names. If the file
    /// cannot be read, throws a `ConfigurationError` that names the file and the key.
    static func text(of file: String, key: String) throws -> String {
        try PrivateFile.read(file, what: "\(key):", upTo: 64 << 20).text
    }
}
