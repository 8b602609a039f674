internal import Cryptography
internal import Foundation
internal import PushCore

/// A Google service account:
/// https://developers.google.com/identity/protocols/oauth2/service-account
struct ServiceAccount: Sendable {
    /// The only endpoint that Google's own libraries accept. If a key file names another endpoint,
    /// somebody may have changed the file, so that the server would send a signed assertion to a
    /// stranger.
    static let googleTokenEndpoint = "https://oauth2.googleapis.com/token"
    /// The longest lifetime that Google accepts.
    private static let assertionLifetime = 3600

    let projectID: String
    let tokenEndpoint: String
    private let clientEmail: String
    private let keyID: String?
    private let key: RSA.Signing.PrivateKey

    private struct File: Decodable {
        let type: String?
        let projectId: String?
        let clientEmail: String?
        let privateKey: String?
        let privateKeyId: String?
        let tokenUri: String?
    }

    /// Reads the JSON file; if the operator has configured `tokenEndpoint`, it replaces the one in
    /// the file.
    init(_ json: Secret<String>, tokenEndpoint: String?) throws(SenderSettingsError) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        // The error of the decoder may quote the file, so this error is not passed on.
        guard let file = try? decoder.decode(File.self, from: Data(json.exposed.utf8)) else {
            throw .badValue(field: "serviceAccount", expected: "the JSON file of a service account")
        }
        if let type = file.type, type != "service_account" {
            throw .badValue(field: "type", expected: "service_account or \(ExternalAccount.type)")
        }
        let projectID = try GoogleProject.checked(try Self.required(file.projectId, "project_id"), field: "project_id")
        let namedEndpoint = try Self.required(file.tokenUri, "token_uri")
        guard tokenEndpoint != nil || namedEndpoint == Self.googleTokenEndpoint else {
            throw .badValue(field: "token_uri", expected: Self.googleTokenEndpoint)
        }
        self.projectID = projectID
        self.tokenEndpoint = tokenEndpoint ?? namedEndpoint
        self.clientEmail = try Self.required(file.clientEmail, "client_email")
        self.keyID = file.privateKeyId
        let pem = try Self.required(file.privateKey, "private_key")
        do {
            self.key = try RSA.Signing.PrivateKey(pemRepresentation: pem)
        } catch {
            throw .badKey(field: "private_key", expected: "an RSA private key in PEM of at least 2048 bits")
        }
    }

    /// The signed assertion, which the sender exchanges for an access token.
    func assertion(now: Date) throws -> String {
        let issued = Int(now.timeIntervalSince1970)
        let keyID = self.keyID.map { ",\"kid\":" + JSONText.quoted($0) } ?? ""
        let claims = [
            "\"iss\":" + JSONText.quoted(self.clientEmail),
            "\"scope\":\"\(GoogleScope.messaging)\"",
            // The audience is Google's constant even if the token comes from another endpoint, as
            // in Google's own libraries.
            "\"aud\":\"\(Self.googleTokenEndpoint)\"",
            "\"iat\":\(issued)",
            "\"exp\":\(issued + Self.assertionLifetime)",
        ]
        return try JSONWebSignature.compact(
            header: "{\"alg\":\"RS256\",\"typ\":\"JWT\"\(keyID)}",
            claims: "{" + claims.joined(separator: ",") + "}",
            sign: { try self.key.signature(for: $0, padding: .pkcs1v15) }
        )
    }

    private static func required(_ value: String?, _ field: String) throws(SenderSettingsError) -> String {
        guard let value, !value.isEmpty else { throw .missingField(field) }
        return value
    }
}
