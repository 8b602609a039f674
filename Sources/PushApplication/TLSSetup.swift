import Foundation
import Logging
import PushCore
import SocketTLS
import Synchronization

/// The server's TLS: certificates and keys, read from the configured files at the start and at
/// each reload.
struct TLSSetup: Sendable {
    let acceptor: TLSAcceptor
    private let ends: Expiries
    private let configuration: Configuration.TLS
    /// The keys that encrypt session tickets. They stay the same across reloads, so that clients
    /// can resume their sessions.
    private let ticketKeys: TicketKeys
    private let logger: Logger

    /// Throws a `ConfigurationError` that names the configuration key whose file is unusable.
    init(_ configuration: Configuration.TLS, logger: Logger) throws {
        self.configuration = configuration
        self.ticketKeys = try TicketKeys()
        self.logger = logger
        let (context, ends, listsEnd) = try Self.context(configuration, ticketKeys: self.ticketKeys, logger: logger)
        self.ends = Expiries(ends, listsEnd)
        self.acceptor = TLSAcceptor(context, handshakeTimeout: .seconds(10)) { error in
            logger.debug("TLS handshake failed", metadata: ["error": "\(error)"])
        }
    }

    /// Reads the files again, for new connections. If a file is unusable, logs the error, and the
    /// old certificates stay in use.
    func reload() {
        do {
            let (context, ends, listsEnd) = try Self.context(
                self.configuration,
                ticketKeys: self.ticketKeys,
                logger: self.logger
            )
            self.acceptor.replace(with: context)
            self.ends.set(ends, listsEnd)
            self.logger.info("certificates reloaded")
        } catch {
            self.logger.error(
                "certificate reload failed; the old certificates stay in use",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// The expiry dates of the certificates in use, of their chains, and of the authorities that
    /// sign client certificates.
    var expiries: [CredentialExpiry] { self.ends.all }

    /// The end of the revocation list that expires first, in seconds since 1970. `expiries` does
    /// not contain it: such lists are valid for days only, so warnings, which begin weeks before
    /// an expiry, would never stop.
    var listsEnd: Int64? { self.ends.lists }

    /// `expiries`, and the end of the revocation list that expires first if it is less than a day
    /// away. Lists are valid for days only, so an earlier warning would never stop.
    func expiries(at now: Date) -> [CredentialExpiry] {
        guard let end = self.listsEnd.map({ Date(timeIntervalSince1970: TimeInterval($0)) }), end < now + 86_400 else {
            return self.expiries
        }
        return self.expiries + [CredentialExpiry(name: "\(Self.path).clientCRL", expiresAt: end)]
    }

    /// Reads the files once, to check that they are usable. Throws a `ConfigurationError` that
    /// names the configuration key whose file is unusable.
    static func inspect(_ configuration: Configuration.TLS, logger: Logger) throws -> [CredentialExpiry] {
        try self.context(configuration, ticketKeys: TicketKeys(), logger: logger).ends
    }

    /// Throws a `ConfigurationError` unless `file`, the value of a key `caFile`, has certificates
    /// in PEM. libcurl would report a bad file only at the first call.
    static func checkAuthorities(in file: String?, key: String) throws {
        guard let file else { return }
        _ = try self.authorities(in: file, key: key)
    }

    // MARK: - Private

    private static let path = "server.tls"

    private static func context(
        _ configuration: Configuration.TLS,
        ticketKeys: TicketKeys,
        logger: Logger
    ) throws -> (context: TLSServerContext, ends: [CredentialExpiry], listsEnd: Int64?) {
        var identities: [TLSIdentity] = []
        var ends: [CredentialExpiry] = []
        func record(_ key: String, _ validity: TLSValidity?) {
            guard let validity else { return }
            let end = Date(timeIntervalSince1970: TimeInterval(validity.end))
            let lifetime = TimeInterval(validity.end) - TimeInterval(validity.start)
            ends.append(CredentialExpiry(name: key, expiresAt: end, lifetime: lifetime))
        }
        let additional = configuration.additional.enumerated().map { ("\(self.path).additional.\($0)", $1) }
        for (path, files) in [(self.path, configuration.identity)] + additional {
            let identity = try self.identity(files, path: path, logger: logger)
            identities.append(identity)
            record("\(path).certificate", identity.validity)
        }
        let revoked = try configuration.clientCRL.map { try self.revocationLists($0, logger: logger) }
        let authorities = try configuration.clientCA.map {
            try self.authorities(in: $0, key: "\(self.path).clientCA", revoked: revoked)
        }
        record("\(self.path).clientCA", authorities?.validity)
        let context = try TLSServerContext(
            identities: identities,
            protocols: ["http/1.1"],
            clientAuthorities: authorities,
            ticketKeys: ticketKeys
        )
        return (context, ends, revoked?.expiresAt)
    }

    private static func identity(
        _ files: Configuration.TLS.Identity,
        path: String,
        logger: Logger
    ) throws -> TLSIdentity {
        let certificates = try ConfigurationError.text(of: files.certificate, key: "\(path).certificate")
        let privateKey = try SecretFile.text(of: files.privateKey, key: "\(path).privateKey")
        let identity: TLSIdentity
        do throws(TLSIdentityError) {
            identity = try TLSIdentity(certificates: certificates, privateKey: privateKey)
        } catch {
            switch error {
            case .certificates(let reason):
                throw ConfigurationError("\(path).certificate: \(files.certificate) \(reason)")
            case .privateKey(let reason):
                throw ConfigurationError("\(path).privateKey: \(files.privateKey) \(reason)")
            case .otherKey(let objection):
                throw ConfigurationError(
                    "\(path).privateKey: \(files.privateKey) does not match the first certificate in \(files.certificate), "
                        + "which must be the server's own\(objection.map { "; that certificate \($0)" } ?? "")"
                )
            }
        }
        if let objection = identity.objection {
            logger.warning(
                "clients will refuse a certificate; replace the file",
                metadata: ["key": "\(path).certificate", "reason": "\(files.certificate) \(objection)"]
            )
        }
        return identity
    }

    private static func revocationLists(_ file: String, logger: Logger) throws -> TLSRevocationLists {
        let key = "\(self.path).clientCRL"
        let text = try ConfigurationError.text(of: file, key: key)
        let lists: TLSRevocationLists
        do throws(OpenSSLError) {
            lists = try TLSRevocationLists(text)
        } catch {
            throw ConfigurationError("\(key): \(file) has no readable PEM revocation list (\(error))")
        }
        if let end = lists.expiresAt, TimeInterval(end) <= Date().timeIntervalSince1970 {
            logger.error(
                "revocation list expired, so client certificates are refused; replace the file",
                metadata: ["key": "\(key)", "file": "\(file)"]
            )
        }
        return lists
    }

    private static func authorities(
        in file: String,
        key: String,
        revoked: TLSRevocationLists? = nil
    ) throws -> TLSClientAuthorities {
        let certificates = try ConfigurationError.text(of: file, key: key)
        do throws(OpenSSLError) {
            return try TLSClientAuthorities(certificates: certificates, revoked: revoked)
        } catch {
            throw ConfigurationError("\(key): \(file) contains no readable PEM certificate (\(error))")
        }
    }
}

private final class Expiries: Sendable {
    // A lock protects this property, because a reload may come at any time.
    private let current: Mutex<(all: [CredentialExpiry], lists: Int64?)>

    init(_ all: [CredentialExpiry], _ lists: Int64?) {
        self.current = Mutex((all, lists))
    }

    var all: [CredentialExpiry] { self.current.withLock { $0.all } }

    var lists: Int64? { self.current.withLock { $0.lists } }

    func set(_ all: [CredentialExpiry], _ lists: Int64?) {
        self.current.withLock { $0 = (all, lists) }
    }
}
