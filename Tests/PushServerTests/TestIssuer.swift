import Bytes
import Cryptography
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// An issuer with a key for each algorithm. A test chooses the contents of the issuer's tokens.
struct TestIssuer: Sendable {
    static let name = "https://id.example/realm"
    static let audience = "sealpost"
    private static let keys = Result { try SampleKeys() }
    private static let nextKeys = Result { try SampleKeys() }

    private let keys: SampleKeys
    let clock: ManualClock

    /// With `isRotated`, the issuer has other keys than usual. All tests share these two sets of
    /// keys, because making keys takes long.
    init(_ clock: ManualClock, isRotated: Bool = false) throws {
        self.keys = try (isRotated ? Self.nextKeys : Self.keys).get()
        self.clock = clock
    }

    /// The rules for the issuer that most tests need. With them, the server creates an account for
    /// an unknown user.
    static var rules: IssuerRules {
        var rules = IssuerRules(issuer: Self.name, audiences: [Self.audience])
        rules.createsUsers = true
        rules.leeway = 0
        return rules
    }

    /// Makes the object by which a server knows this issuer. It already contains the issuer's
    /// keys.
    func issuer(_ rules: IssuerRules = Self.rules, kept: TimeInterval = 86_400) throws -> Issuer {
        let issuer = Issuer(rules: rules, keys: IssuerKeys(kept: kept)) { [clock] in clock.now }
        try self.publish(in: issuer)
        return issuer
    }

    /// Gives the server the keys of these algorithms, in place of the issuer's keys that it knew.
    func publish(_ algorithms: [TokenAlgorithm] = TokenAlgorithm.allCases, in issuer: Issuer) throws {
        issuer.keys.end(issuer.keys.begin(), with: try self.keySet(algorithms), now: self.clock.now)
    }

    func keySet(_ algorithms: [TokenAlgorithm] = TokenAlgorithm.allCases) throws -> IssuerKeySet {
        try Self.keySet(algorithms.map(self.keys.json))
    }

    static func keySet(_ keys: [JSONValue]) throws -> IssuerKeySet {
        try IssuerKeySet(JSONValue.object([.init("keys", .array(keys))]).bytes)
    }

    /// Returns the key of an algorithm as the issuer publishes it, with changed JSON members.
    func key(_ algorithm: TokenAlgorithm, _ changes: [String: JSONValue?] = [:]) -> JSONValue {
        self.keys.json(algorithm).with(changes)
    }

    /// Makes a token with changed claims and the default header.
    func token(_ claims: [String: JSONValue?]) throws -> String {
        try self.token(.es256, claims)
    }

    /// Makes a token of alina. The given members replace members of the default header and claims.
    /// `nil` removes a member.
    func token(
        _ algorithm: TokenAlgorithm = .es256,
        header: [String: JSONValue?] = [:],
        _ claims: [String: JSONValue?] = [:]
    ) throws -> String {
        let now = Int(self.clock.now.timeIntervalSince1970)
        let allClaims = JSONValue.object([
            .init("iss", .string(Self.name)), .init("aud", .string(Self.audience)), .init("sub", .string("alina")),
            .init("iat", .number(now)), .init("exp", .number(now + 600)),
        ]).with(claims)
        return try self.token(algorithm, header: self.header(algorithm).with(header).bytes, claims: allClaims.bytes)
    }

    func header(_ algorithm: TokenAlgorithm) -> JSONValue {
        .object([
            .init("alg", .string(algorithm.rawValue)), .init("kid", .string(algorithm.rawValue)),
            .init("typ", .string("JWT")),
        ])
    }

    /// Makes a signed token whose header and claims are these bytes.
    func token(_ algorithm: TokenAlgorithm, header: [UInt8], claims: [UInt8]) throws -> String {
        let message = "\(Base64.url.text(of: header)).\(Base64.url.text(of: claims))"
        return "\(message).\(Base64.url.text(of: try self.keys.sign(Data(message.utf8), algorithm)))"
    }
}

private struct SampleKeys: Sendable {
    let rsa: RSA.Signing.PrivateKey
    let ecdsa: [ECDSA.Curve: ECDSA.PrivateKey]
    let ed25519 = Curve25519.Signing.PrivateKey()

    init() throws {
        self.rsa = try RSA.Signing.PrivateKey()
        self.ecdsa = Dictionary(
            uniqueKeysWithValues: try ECDSA.Curve.allCases.map { ($0, try ECDSA.PrivateKey(on: $0)) }
        )
    }

    func sign(_ message: Data, _ algorithm: TokenAlgorithm) throws -> Data {
        switch algorithm.method {
        case .rsa(let padding, let hash): try self.rsa.signature(for: message, padding: padding, hash: hash)
        case .ecdsa(let curve): try #require(self.ecdsa[curve]).signature(for: message)
        case .ed25519: try self.ed25519.signature(for: message)
        }
    }

    func json(_ algorithm: TokenAlgorithm) -> JSONValue {
        func text(_ bytes: some Sequence<UInt8>) -> JSONValue { .string(Base64.url.text(of: bytes)) }
        let own: [JSONValue.Member]
        switch algorithm.method {
        case .rsa:
            let key = self.rsa.publicKey
            own = [.init("kty", .string("RSA")), .init("n", text(key.n)), .init("e", text(key.e))]
        case .ecdsa(let curve):
            let point = self.ecdsa[curve]?.publicKey.rawRepresentation ?? Data()
            let name = [ECDSA.Curve.p256: "P-256", .p384: "P-384", .p521: "P-521"][curve] ?? ""
            own = [
                .init("kty", .string("EC")), .init("crv", .string(name)),
                .init("x", text(point.prefix(curve.scalarByteCount))),
                .init("y", text(point.suffix(curve.scalarByteCount))),
            ]
        case .ed25519:
            own = [
                .init("kty", .string("OKP")), .init("crv", .string("Ed25519")),
                .init("x", text(self.ed25519.publicKey.rawRepresentation)),
            ]
        }
        let name = JSONValue.string(algorithm.rawValue)
        return .object(own + [.init("kid", name), .init("alg", name), .init("use", .string("sig"))])
    }
}

extension JSONValue {
    /// Returns the object with changed members. `nil` removes a member.
    fileprivate func with(_ changes: [String: JSONValue?]) -> JSONValue {
        guard case .object(let members) = self else { return self }
        let new = changes.compactMap { name, value in value.map { Member(name, $0) } }
        return .object(members.filter { changes[$0.name] == nil } + new)
    }
}

extension ServerFixture {
    /// Sends a request with a token.
    func send(
        _ method: HTTPRequest.Method = .get,
        _ target: String = Paths.currentSession,
        bearing token: String,
        body: String = "",
        client: PeerAddress = .unknown,
        certificate: String? = nil
    ) async throws -> Response {
        try await self.send(
            method,
            target,
            user: nil,
            headers: [("Authorization", "Bearer \(token)")],
            body: body,
            client: client,
            certificate: certificate
        )
    }
}
