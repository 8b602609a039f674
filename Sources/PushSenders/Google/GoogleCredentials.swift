internal import Bytes
internal import Foundation
package import PushCore

/// The credentials of the server at Google, as the operator has configured them.
package enum GoogleCredentials: Sendable {
    /// The content of a JSON file: the key of a service account, or the `external_account` that
    /// `gcloud iam workload-identity-pools create-cred-config` writes.
    case file(Secret<String>)
    /// The service account that Google's cloud has attached to this machine or container.
    case metadata

    private struct File: Decodable {
        struct Source: Decodable {
            let file: String?
        }

        let type: String?
        let clientEmail: String?
        let clientSecret: String?
        let tokenURL: String?
        let source: Source?

        private enum CodingKeys: String, CodingKey {
            case type
            case clientEmail = "client_email"
            case clientSecret = "client_secret"
            case tokenURL = "token_url"
            case source = "credential_source"
        }
    }

    /// Whether a file with this content has no secret, so that all users may read it: an
    /// `external_account` only says where tokens are.
    package static func isPublic(_ text: String) -> Bool {
        guard let file = self.decode(text) else { return false }
        return file.type == ExternalAccount.type && file.clientSecret == nil
    }

    /// The kind of credentials, for the operator; never contains a secret.
    package var kind: String {
        switch self {
        case .metadata: return "the service account of Google's metadata server"
        case .file(let text):
            let file = Self.decode(text.exposed)
            guard file?.type == ExternalAccount.type else {
                return "the key of the service account" + (file?.clientEmail.map { " \($0)" } ?? "")
            }
            let source = file?.source?.file.map { "in \($0)" } ?? "from a URL"
            return "the configuration of workload identity federation, with the subject token \(source),"
        }
    }

    /// The file with the subject token of a federation.
    package var subjectTokenFile: String? {
        guard case .file(let text) = self, let file = Self.decode(text.exposed) else { return nil }
        return file.type == ExternalAccount.type ? file.source?.file : nil
    }

    /// The endpoint that issues tokens; `configured`, if the operator has set it, replaces the
    /// usual endpoint.
    package func tokenEndpoint(_ configured: String?) -> String {
        if let configured { return configured }
        switch self {
        case .metadata: return MetadataServer.tokenURL
        case .file(let text):
            let file = Self.decode(text.exposed)
            guard file?.type == ExternalAccount.type else { return ServiceAccount.googleTokenEndpoint }
            return file?.tokenURL ?? ExternalAccount.googleTokenEndpoint
        }
    }

    fileprivate static func type(of text: String) -> String? { self.decode(text)?.type }

    /// Decodes a file; `nil` if it is not JSON. When the sender reads the same file, its error
    /// says what is wrong.
    private static func decode(_ text: String) -> File? {
        try? JSONDecoder().decode(File.self, from: Data(text.utf8))
    }
}

extension Secret<String> {
    /// Whether the file names the type of workload identity federation.
    var isExternalAccount: Bool { GoogleCredentials.type(of: self.exposed) == ExternalAccount.type }
}

/// A Google project's identifier.
enum GoogleProject {
    /// Throws if the text could change the path of a URL.
    static func checked(_ id: String, field: String) throws(SenderSettingsError) -> String {
        // Old projects are named `example.com:project`.
        let isGood = id.utf8.allSatisfy { $0.isLowercaseLetter || $0.isDigit || "-.:".utf8.contains($0) }
        guard !id.isEmpty, isGood else { throw .badValue(field: field, expected: "a project's identifier") }
        return id
    }
}
