import Foundation
import Testing

@testable import PushSimulators

/// The simulator's endpoints that give access tokens to servers without a key file.
@Suite(.timeLimit(.minutes(5))) struct GoogleTokenTests {
    private let pool: WorkloadIdentityPool

    init() throws {
        self.pool = try WorkloadIdentityPool(key: .p256())
    }

    private func subjectToken(issued: Date = Tokens.now, life: Int = 3600, _ claims: String? = nil) throws -> String {
        let claims = claims ?? self.pool.claims(issued: issued, life: life)
        return try Tokens.make(header: #"{"alg":"ES256"}"#, claims: claims) { try self.pool.key.signES256($0) }
    }

    private func exchange(_ change: (inout [String: String]) throws -> Void = { _ in }) throws -> PushVerdict {
        var fields = [
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "audience": self.pool.audience,
            "scope": "https://www.googleapis.com/auth/cloud-platform",
            "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "subject_token": try self.subjectToken(),
        ]
        try change(&fields)
        let body = fields.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        let request = SimulatedRequest(
            path: "/v1/token",
            headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(body.utf8)
        )
        return self.pool.judge(request, now: Tokens.now) { .json(["scope": String($0)]) }.verdict
    }

    @Test func exchangeWithAValidSubjectTokenIsAccepted() throws {
        #expect(try self.exchange() == .accepted)
    }

    @Test(arguments: [
        ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "unsupported_grant_type"),
        ("audience", "//iam.googleapis.com/projects/2", "invalid_target"),
        ("scope", "https://www.googleapis.com/auth/drive", "invalid_scope"), ("scope", "", "invalid_scope"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:jwt", "invalid_request"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token", "invalid_request"),
        ("subject_token", "a.b.c", "invalid_grant"),
    ])
    func exchangeWithAnotherFieldIsRefused(field: String, value: String, code: String) throws {
        let verdict = try self.exchange { $0[field] = value }
        #expect(verdict == .refused(status: 400, reason: code))
    }

    @Test(arguments: [
        (0.0, 3600, true), (-3599, 3600, true), (-3600, 3600, false), (1, 3600, false), (0, 86_400, true),
        (0, 86_401, false),
    ])
    func subjectTokenIsValidFromItsIssueToItsExpiry(age: TimeInterval, life: Int, isValid: Bool) throws {
        let verdict = try self.exchange {
            $0["subject_token"] = try self.subjectToken(issued: Tokens.now + age, life: life)
        }
        #expect(verdict.isAccepted == isValid)
    }

    @Test(arguments: ["https:", "identity.example", "system:"])
    func subjectTokenOfAnotherIssuerAudienceOrKeyIsRefused(part: String) throws {
        let claims = self.pool.claims(issued: Tokens.now)
        let other = claims.replacing(part, with: "other")
        // The pool checks all parts but the subject, so it accepts only the token with a wrong
        // subject.
        let isAccepted = try self.exchange { $0["subject_token"] = try self.subjectToken(other) }.isAccepted
        #expect(isAccepted == (part == "system:"))
        let stranger = try WorkloadIdentityPool(key: .p256())
        let foreign = try Tokens.make(header: #"{"alg":"ES256"}"#, claims: claims) { try stranger.key.signES256($0) }
        #expect(try !self.exchange { $0["subject_token"] = foreign }.isAccepted)
    }

    @Test(arguments: [
        (#"{"scope":["https://www.googleapis.com/auth/firebase.messaging"],"lifetime":"3600s"}"#, 3600 as Int?),
        (#"{"scope":["https://www.googleapis.com/auth/firebase.messaging"]}"#, 3600),
        (#"{"scope":["https://www.googleapis.com/auth/firebase.messaging"],"lifetime":"3601s"}"#, nil),
        (#"{"scope":["https://www.googleapis.com/auth/firebase.messaging"],"lifetime":"3600"}"#, nil),
        (#"{"scope":[]}"#, nil), ("{}", nil),
    ])
    func impersonationNeedsAScopeAndALifetimeOfAnHour(body: String, lifetime: Int?) throws {
        let request = SimulatedRequest(path: ImpersonationRules.path(of: "a@b.example"), body: Array(body.utf8))
        if let lifetime {
            #expect(try ImpersonationRules.lifetime(request) == lifetime)
        } else {
            #expect(throws: FCMRefusal.self) { try ImpersonationRules.lifetime(request) }
        }
    }

    @Test(arguments: [
        ("GET", MetadataRules.path, [MetadataRules.flavor], nil as Int?),
        ("GET", MetadataRules.path + "?scopes=a", [MetadataRules.flavor], nil),
        ("GET", MetadataRules.path, [], 403),
        ("GET", MetadataRules.path, [MetadataRules.flavor, HeaderField("X-Forwarded-For", "192.0.2.1")], 403),
        ("POST", MetadataRules.path, [MetadataRules.flavor], 404),
        ("GET", "/computeMetadata/v1/", [MetadataRules.flavor], 404),
    ])
    func metadataServerAnswersOnlyItsOwnClients(
        method: String,
        path: String,
        headers: [HeaderField],
        status: Int?
    ) {
        let refusal = MetadataRules.refusal(of: SimulatedRequest(method: method, path: path, headers: headers))
        #expect(refusal?.response.status == status)
    }
}
