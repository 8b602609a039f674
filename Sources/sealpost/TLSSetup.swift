import Foundation
import Logging
import SocketTLS

/// The server's TLS: what the configuration names, read from its files at the start and again at each reload.
struct TLSSetup: Sendable {
    let acceptor: TLSAcceptor
    private let configuration: Configuration.TLS
    /// The same after a reload, so that sessions can still be resumed.
    private let ticketKeys: TicketKeys
    private let logger: Logger

    /// Throws `ConfigurationError` with the key that is wrong.
    init(_ configuration: Configuration.TLS, handshakeTimeout: Duration, logger: Logger) throws {
        self.configuration = configuration
        self.ticketKeys = try TicketKeys()
        self.logger = logger
        let context = try Self.context(configuration, ticketKeys: self.ticketKeys, logger: logger)
        self.acceptor = TLSAcceptor(context, handshakeTimeout: handshakeTimeout) { error in
            logger.debug("handshake failed", metadata: ["error": "\(error)"])
        }
    }

    /// Reads the files again, for connections that are still to come; whatever is wrong with them is logged, and the
    /// old ones stay.
    func reload() {
        do {
            let context = try Self.context(self.configuration, ticketKeys: self.ticketKeys, logger: self.logger)
            self.acceptor.replace(with: context)
            self.logger.info("certificates reloaded")
        } catch {
            self.logger.error("certificates not reloaded, the old ones stay", metadata: ["error": "\(error)"])
        }
    }

    // MARK: - Private

    private static let path = "server.tls"

    private static func context(
        _ configuration: Configuration.TLS,
        ticketKeys: TicketKeys,
        logger: Logger
    ) throws -> TLSServerContext {
        var identities = [try self.identity(configuration.identity, path: self.path, logger: logger)]
        for (index, additional) in configuration.additional.enumerated() {
            identities.append(try self.identity(additional, path: "\(self.path).additional.\(index)", logger: logger))
        }
        return try TLSServerContext(
            identities: identities,
            protocols: ["http/1.1"],
            clientAuthorities: try configuration.clientCA.map(self.clientAuthorities),
            ticketKeys: ticketKeys
        )
    }

    private static func identity(
        _ files: Configuration.TLS.Identity,
        path: String,
        logger: Logger
    ) throws -> TLSIdentity {
        let certificates = try ConfigurationError.text(of: files.certificate, key: "\(path).certificate")
        let privateKey = try ConfigurationError.text(of: files.privateKey, key: "\(path).privateKey")
        let identity: TLSIdentity
        do throws(TLSIdentityError) {
            identity = try TLSIdentity(certificates: certificates, privateKey: privateKey)
        } catch {
            switch error {
            case .certificates(let reason):
                throw ConfigurationError("\(path).certificate: \(files.certificate) \(reason)")
            case .privateKey(let reason):
                throw ConfigurationError("\(path).privateKey: \(files.privateKey) \(reason)")
            }
        }
        if let objection = identity.objection {
            logger.warning(
                "clients will refuse a certificate",
                metadata: ["key": "\(path).certificate", "reason": "\(files.certificate) \(objection)"]
            )
        }
        return identity
    }

    private static func clientAuthorities(_ file: String) throws -> TLSClientAuthorities {
        let key = "\(self.path).clientCA"
        let certificates = try ConfigurationError.text(of: file, key: key)
        do throws(OpenSSLError) {
            return try TLSClientAuthorities(certificates: certificates)
        } catch {
            throw ConfigurationError("\(key): \(file) holds no certificate in PEM that can be read (\(error))")
        }
    }
}
