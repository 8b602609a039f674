internal import CurlHTTP
internal import Foundation
internal import PushCore
internal import Reactor

/// The scopes of access tokens at Google.
enum GoogleScope {
    static let messaging = "https://www.googleapis.com/auth/firebase.messaging"
    /// The scope that a federated identity needs to request the token of a service account.
    static let impersonation = "https://www.googleapis.com/auth/cloud-platform"
}

/// Fetches the access tokens with which the server sends to FCM.
struct GoogleTokenSource: Sendable {
    private enum Kind: Sendable {
        case key(ServiceAccount, at: OutboundURL)
        case federation(ExternalAccount)
        case metadata(OutboundURL)
    }

    /// The project whose devices get the pushes.
    let projectID: String
    private let kind: Kind
    private let timeout: Duration

    /// Creates a source, and fetches nothing yet. Throws if the credentials are unusable.
    init(_ settings: FCMSettings) throws(SenderSettingsError) {
        var projectID: String?
        switch settings.credentials {
        case .file(let text) where text.isExternalAccount:
            let account = try Self.namingFile { () throws(SenderSettingsError) in
                try ExternalAccount(text, tokenEndpoint: settings.tokenEndpoint, allowedHosts: settings.allowedHosts)
            }
            self.kind = .federation(account)
        case .file(let text):
            let account = try Self.namingFile { () throws(SenderSettingsError) in
                try ServiceAccount(text, tokenEndpoint: settings.tokenEndpoint)
            }
            let url = try ConnectionSettings.endpoint(account.tokenEndpoint, field: "tokenEndpoint")
            projectID = account.projectID
            self.kind = .key(account, at: url)
        case .metadata: self.kind = .metadata(try MetadataServer.url(settings.tokenEndpoint))
        }
        // The project must be configured, unless the credentials are the key of a service account:
        // only such a key names a project.
        guard let projectID = settings.projectID ?? projectID else { throw .missingField("projectID") }
        self.projectID = try GoogleProject.checked(projectID, field: "projectID")
        self.timeout = settings.connection.timeout
    }

    /// Adds the configuration's key `serviceAccount`, which names the file, to errors about fields
    /// of the file. Errors about keys of the configuration stay as they are.
    private static func namingFile<Value>(
        _ read: () throws(SenderSettingsError) -> Value
    ) throws(SenderSettingsError) -> Value {
        do throws(SenderSettingsError) {
            return try read()
        } catch {
            let isKey = ["serviceAccount", "allowedHosts", "tokenEndpoint"].contains(error.field)
            throw isKey ? error : .inFile(key: "serviceAccount", error)
        }
    }

    /// Whether `fetch` calls a metadata server, so that its argument `metadata` must not be `nil`.
    var needsMetadata: Bool {
        switch self.kind {
        case .key: false
        case .federation(let account): account.source.isMetadata
        case .metadata: true
        }
    }

    /// Fetches a token. The client `metadata` calls metadata servers, and `client` calls all other
    /// servers.
    func fetch(by client: HTTPClient, metadata: HTTPClient?, now: Date) async throws(SendFailure) -> AccessToken {
        switch self.kind {
        case .key(let account, let url):
            let exchange = try FCMSender.exchange(account, at: url, timeout: self.timeout, now: now)
            return try await AccessToken.fetched(with: exchange, by: client, now: now)
        case .metadata(let url):
            return try await Self.step("metadata server") { () throws(SendFailure) in
                let request = MetadataServer.request(at: url, timeout: self.timeout)
                return try MetadataServer.token(try await (metadata ?? client).answer(to: request), now: now)
            }
        case .federation(let account):
            let source = account.source.isMetadata ? metadata ?? client : client
            let subject = try await Self.step("subject token") { () throws(SendFailure) in
                try await account.source.token(by: source, timeout: self.timeout, now: now)
            }
            let federated = try await Self.step("token exchange") { () throws(SendFailure) in
                let request = account.exchange(subject, timeout: self.timeout)
                return try AccessToken(try await client.answer(to: request), now: now)
            }
            guard let impersonation = account.impersonation else { return federated }
            return try await Self.step("impersonation") { () throws(SendFailure) in
                let request = impersonation.request(with: federated.text, timeout: self.timeout)
                return try impersonation.token(try await client.answer(to: request), now: now)
            }
        }
    }

    /// Runs one step of the fetch. If it fails, the reason begins with the step's name.
    private static func step<Value>(
        _ name: String,
        _ body: () async throws(SendFailure) -> Value
    ) async throws(SendFailure) -> Value {
        do throws(SendFailure) {
            return try await body()
        } catch {
            throw error.ofCredentials(from: name)
        }
    }
}

extension ExternalAccount {
    /// The request that exchanges the subject token for a token of Google (RFC 8693 section 2.1).
    func exchange(_ subject: Secret<String>, timeout: Duration) -> OutboundRequest {
        let form = FormText.encoded([
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", self.audience),
            ("scope", self.impersonation == nil ? GoogleScope.messaging : GoogleScope.impersonation),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token_type", self.subjectTokenType),
            ("subject_token", subject.exposed),
        ])
        let headers = [OutboundRequest.Header("content-type", "application/x-www-form-urlencoded")]
        return OutboundRequest(.post, self.tokenURL, headers: headers, body: Array(form.utf8), timeout: timeout)
    }
}

extension ExternalAccount.Impersonation {
    /// The request for a token of the service account:
    /// https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken
    func request(with token: Secret<String>, timeout: Duration) -> OutboundRequest {
        let headers = [
            OutboundRequest.Header("authorization", "Bearer " + token.exposed),
            .init("content-type", "application/json"),
        ]
        let body = "{\"scope\":[\"\(GoogleScope.messaging)\"],\"lifetime\":\"\(self.lifetime)s\"}"
        return OutboundRequest(.post, self.url, headers: headers, body: Array(body.utf8), timeout: timeout)
    }

    /// Reads the answer to `request`. The token's lifetime is the one in the request. `expireTime`
    /// in the answer is not used, because it refers to Google's clock, which may differ from this
    /// machine's.
    func token(_ response: OutboundResponse, now: Date) throws(SendFailure) -> AccessToken {
        guard response.status == 200 else { throw AccessToken.failure(response, now: now) }
        // If the body cannot be decoded, the answer does not come from this API.
        guard
            let text = try? JSONDecoder().decode(Answer.self, from: Data(response.body)).accessToken,
            let token = AccessToken(checking: text, lifetime: TimeInterval(self.lifetime), now: now)
        else { throw .unavailable(reason: "the response is not an access token") }
        return token
    }

    private struct Answer: Decodable {
        let accessToken: String
    }
}
