internal import Foundation

/// The rules of `generateAccessToken`:
/// https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken
enum ImpersonationRules {
    private struct Body: Decodable {
        let scope: [String]
        let lifetime: String?
    }

    static func path(of email: String) -> String {
        "/v1/projects/-/serviceAccounts/\(email):generateAccessToken"
    }

    /// The requested lifetime of the token in seconds, at most an hour. Throws a refusal if the
    /// request is not valid.
    static func lifetime(_ request: SimulatedRequest) throws(FCMRefusal) -> Int {
        guard request.method == "POST", let body = try? JSONDecoder().decode(Body.self, from: Data(request.body)) else {
            throw .invalid(nil, "Invalid JSON payload received.")
        }
        guard body.scope == ["https://www.googleapis.com/auth/firebase.messaging"] else {
            throw .invalid("scope", "The scope must be that of Firebase Cloud Messaging.")
        }
        let text = body.lifetime ?? "3600s"
        guard text.hasSuffix("s"), let seconds = Int(text.dropLast()), (1...3600).contains(seconds) else {
            throw .invalid("lifetime", "The lifetime must be at most 3600s.")
        }
        return seconds
    }
}

/// The rules of the metadata server:
/// https://cloud.google.com/compute/docs/metadata/querying-metadata
enum MetadataRules {
    static let path = "/computeMetadata/v1/instance/service-accounts/default/token"
    static let flavor = HeaderField("Metadata-Flavor", "Google")

    /// The refusal of a request; `nil` if it is a valid request for a token.
    static func refusal(of request: SimulatedRequest) -> Judgement? {
        // Both conditions keep web pages and proxies from requesting a token.
        guard request.header("metadata-flavor") == "Google", request.header("x-forwarded-for") == nil else {
            return self.refusal(status: 403, "Missing Metadata-Flavor:Google header.")
        }
        guard request.method == "GET", request.path.prefix(while: { $0 != "?" }) == self.path else {
            return self.refusal(status: 404, "Not found.")
        }
        return nil
    }

    private static func refusal(status: Int, _ text: String) -> Judgement {
        let response = SimulatedResponse(status: status, headers: [self.flavor], body: Array(text.utf8))
        return .refused(response, reason: text)
    }
}
