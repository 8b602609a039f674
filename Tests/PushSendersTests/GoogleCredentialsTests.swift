import CurlHTTP
import Foundation
import PushCore
import PushTesting
import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct ExternalAccountTests {
    /// A credential configuration as `gcloud iam workload-identity-pools create-cred-config`
    /// writes it.
    private static let good = """
        {"universe_domain":"googleapis.com","type":"external_account",
         "audience":"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b",
         "subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"https://sts.googleapis.com/v1/token",
         "credential_source":{"file":"/var/run/token","format":{"type":"text"}},"service_account_impersonation_url":
         "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.example:generateAccessToken"}
        """

    private func account(
        _ text: String,
        tokenEndpoint: String? = nil,
        allowedHosts: [String] = FCMSettings.usualHosts
    ) throws -> ExternalAccount {
        try ExternalAccount(Secret(text), tokenEndpoint: tokenEndpoint, allowedHosts: allowedHosts)
    }

    @Test func fileOfGcloudIsRead() throws {
        let account = try self.account(Self.good)
        #expect(account.tokenURL.text == "https://sts.googleapis.com/v1/token")
        #expect(account.impersonation?.url.host == "iamcredentials.googleapis.com")
        #expect(account.impersonation?.lifetime == 3600)
        #expect(account.source.place == .file("/var/run/token"))
        #expect(account.source.format == .text)
    }

    private static let source = #"{"file":"/var/run/token","format":{"type":"text"}}"#
    private static let metadata = #"{"url":"http://169.254.169.254/metadata?api-version=1&resource=a","headers":{}}"#
    private static let lifetime = #","service_account_impersonation":{"token_lifetime_seconds":43200}}"#

    @Test(arguments: [
        (source, metadata, nil as String?),
        (source, #"{"url":"https://a.googleapis.com/t","headers":{"Metadata":"True"}}"#, nil),
        (source, #"{"file":"t","format":{"type":"json","subject_token_field_name":"f"}}"#, nil),
        ("Token\"}", "Token\"" + lifetime, nil),
        (source, #"{"executable":{"command":"/bin/x"}}"#, "executable: must be left out: Sealpost starts"),
        (source, #"{"certificate":{"use_default_certificate_config":true}}"#, "credential_source.certificate: must"),
        (source, #"{"environment_id":"aws1","url":"http://169.254.169.254/a"}"#, "environment_id: must be left out"),
        (source, #"{"file":"a","url":"https://a.googleapis.com/"}"#, "credential_source: must be one with either"),
        (source, #"{"file":""}"#, "credential_source: must be one with either a file or a url"),
        (source, "{}", "credential_source: must be one with either a file or a url"),
        (source, #"{"file":"a","format":{"type":"json"}}"#, "format.subject_token_field_name: missing"),
        (source, #"{"file":"a","format":{"type":"xml"}}"#, "credential_source.format.type: must be text or json"),
        (source, #"{"url":"http://idp.googleapis.com/t"}"#, "credential_source.url: must be an https URL"),
        (source, #"{"url":"https://idp.example/t"}"#, "source.url: must be at a host of allowedHosts"),
        (source, #"{"url":"https://169.254.169.254/t"}"#, "source.url: must be at a host of allowedHosts"),
        (source, #"{"url":"http://169.254.169.254:8080/t"}"#, "credential_source.url: must be an https URL"),
        (source, #"{"url":"http://127.0.0.1/t"}"#, "credential_source.url: must be an https URL"),
        (source, #"{"url":"file:///etc/shadow"}"#, "credential_source.url: must be an https URL"),
        (source, #"{"url":"https://a.googleapis.com/","headers":{"A":"b\r\nC: d"}}"#, "source.headers: must be"),
        (source, #"{"url":"https://a.googleapis.com/","headers":{"A b":"c"}}"#, "source.headers: must be"),
        ("https://sts.googleapis.com/v1/token", "http://sts.googleapis.com/v1/token", "token_url: must be an https"),
        (
            "https://sts.googleapis.com/v1/token", "https://sts.googleapis.com.evil.example/",
            "token_url: must be at a host of allowedHosts, and not at sts.googleapis.com.evil.example"
        ),
        ("https://sts.googleapis.com/v1/token", "https://a@sts.googleapis.com/", "token_url: must be an https URL"),
        ("https://iamcredentials.googleapis.com", "https://evil.example", "impersonation_url: must be at a host"),
        (":generateAccessToken", ":signJwt", "impersonation_url: must be a URL that ends in :generateAccessToken"),
        ("Token\"}", "Token\"" + lifetime.replacing("43200", with: "43201"), "seconds: must be from 600 to 43200"),
        ("Token\"}", "Token\"" + lifetime.replacing("43200", with: "599"), "token_lifetime_seconds: must be from 600"),
        ("token-type:jwt", "token-type:mtls", "subject_token_type: must be one of urn:ietf:params:oauth"),
        ("/workloadIdentityPools/", "/workforcePools/", "audience: must be the provider of a workload"),
        (#""universe_domain""#, #""client_id":"a","universe_domain""#, "client_id: must be left out"),
        (#""audience""#, #""audience2""#, "audience: missing"),
        (#""token_url""#, #""token_uri""#, "token_url: missing"),
        (#""credential_source""#, #""source""#, "credential_source: missing"),
        (source, "5", "serviceAccount: must be the JSON file of a workload identity federation"),
    ])
    func changedFileIsAcceptedOrItsFieldIsNamed(part: String, other: String, message: String?) throws {
        #expect(Self.good.contains(part))
        let text = Self.good.replacing(part, with: other)
        guard let message else {
            _ = try self.account(text)
            return
        }
        let error = #expect(throws: SenderSettingsError.self) { try self.account(text) }
        #expect(error?.description.contains(message) == true, "\(String(describing: error))")
    }

    @Test func operatorMayAllowOtherHosts() throws {
        let text = Self.good.replacing("sts.googleapis.com", with: "sts.example")
        #expect(throws: SenderSettingsError.self) { try self.account(text) }
        let allowed = ["sts.example", "*.googleapis.com"]
        #expect(try self.account(text, allowedHosts: allowed).tokenURL.host == "sts.example")
        let own = try self.account(text, tokenEndpoint: "https://own.example/token")
        #expect(own.tokenURL.text == "https://own.example/token")
        let error = SenderSettingsError.badValue(field: "allowedHosts", expected: "hosts such as *.googleapis.com")
        #expect(throws: error) {
            try self.account(Self.good, allowedHosts: ["*"])
        }
    }

    @Test func exchangeIsThatOfRFC8693() throws {
        let request = try self.account(Self.good).exchange(Secret("a.b+c"), timeout: .seconds(3))
        #expect(
            request.bodyText == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&audience="
                + "%2F%2Fiam.googleapis.com%2Fprojects%2F1%2Flocations%2Fglobal%2FworkloadIdentityPools%2Fa%2Fproviders%2Fb"
                + "&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform"
                + "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
                + "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&subject_token=a.b%2Bc"
        )
        #expect(request.header("content-type") == "application/x-www-form-urlencoded")
        #expect(request.header("authorization") == nil)
    }

    @Test(arguments: [
        (SubjectTokenSource.Format.text, " a.b.c\r\n", "a.b.c" as String?), (.text, "", nil), (.text, "a b", nil),
        (.json(field: "t"), #"{"n":1,"t":"a.b.c\n"}"#, "a.b.c"), (.json(field: "t"), #"{"t":5}"#, nil),
        (.json(field: "t"), #"{"u":"a"}"#, nil), (.json(field: "t"), "a.b.c", nil), (.json(field: "t"), "[]", nil),
    ])
    func subjectTokenIsFoundInItsFormat(format: SubjectTokenSource.Format, text: String, token: String?) throws {
        let json =
            switch format {
            case .text: Self.source
            case .json(let field): #"{"file":"a","format":{"type":"json","subject_token_field_name":"\#(field)"}}"#
            }
        let source = try self.account(Self.good.replacing(Self.source, with: json)).source
        guard let token else {
            let failure = SendFailure.misconfigured(reason: "the source has no token")
            #expect(throws: failure) { try source.token(in: Array(text.utf8)) }
            return
        }
        #expect(try source.token(in: Array(text.utf8)).exposed == token)
    }

    @Test(arguments: [
        (200, #"{"accessToken":"t","expireTime":"2014-10-02T15:01:23Z"}"#, nil as SendFailure?),
        (200, #"{"access_token":"t"}"#, .unavailable(reason: "the response is not an access token")),
        (200, #"{"accessToken":"a\r\nb"}"#, .unavailable(reason: "the response is not an access token")),
        (
            403, #"{"error":{"code":403,"message":"m","status":"PERMISSION_DENIED"}}"#,
            .misconfigured(reason: "PERMISSION_DENIED")
        ),
        (404, "<html>", .misconfigured(reason: "HTTP 404")), (503, "", .unavailable(reason: "HTTP 503")),
        (429, #"{"error":{"status":"RESOURCE_EXHAUSTED"}}"#, .unavailable(reason: "RESOURCE_EXHAUSTED")),
    ])
    func impersonationAnswersATokenForAnHour(status: Int, body: String, failure: SendFailure?) throws {
        let impersonation = try #require(try self.account(Self.good).impersonation)
        let response = Samples.response(status, body)
        if let failure {
            #expect(throws: failure) { try impersonation.token(response, now: Samples.now) }
        } else {
            let token = try impersonation.token(response, now: Samples.now)
            #expect(token.text.exposed == "t")
            #expect(token.expiresAt == Samples.now + 3600)
        }
    }

    @Test func onlyAConfigurationWithoutASecretIsPublic() throws {
        #expect(GoogleCredentials.isPublic(Self.good))
        let secret = Self.good.replacing(#""audience""#, with: #""client_secret":"s","audience""#)
        #expect(!GoogleCredentials.isPublic(secret))
        #expect(!GoogleCredentials.isPublic(try Samples.json(Samples.serviceAccountFields).exposed))
        #expect(!GoogleCredentials.isPublic("external_account"))
    }

    @Test func kindOfCredentialsIsNamed() throws {
        let key = GoogleCredentials.file(try Samples.json(Samples.serviceAccountFields))
        #expect(key.kind == "the key of the service account push@sample-1.iam.gserviceaccount.com")
        let federation = GoogleCredentials.file(Secret(Self.good))
        #expect(federation.kind.contains("workload identity federation, with the subject token in /var/run/token"))
        #expect(GoogleCredentials.metadata.kind == "the service account of Google's metadata server")
        #expect(federation.tokenEndpoint(nil) == "https://sts.googleapis.com/v1/token")
        #expect(key.tokenEndpoint(nil) == "https://oauth2.googleapis.com/token")
        #expect(key.tokenEndpoint("https://a.example/") == "https://a.example/")
    }
}

@Suite(.timeLimit(.minutes(5))) struct MetadataServerTests {
    @Test(arguments: [
        (nil as String?, true), ("http://127.0.0.1:9/t", true), ("http://localhost:9/t", true),
        ("https://metadata.example/t", true), ("http://metadata.example/t", false),
        ("http://169.254.169.254:81/t", false), ("metadata", false),
    ])
    func plainHTTPIsUsedWithinTheMachineOnly(url: String?, isAllowed: Bool) throws {
        if isAllowed {
            #expect(try MetadataServer.url(url).text == url ?? MetadataServer.tokenURL)
        } else {
            #expect(throws: SenderSettingsError.self) { try MetadataServer.url(url) }
        }
    }

    @Test func answerOfAnotherServerIsRefused() throws {
        let body = #"{"access_token":"t","expires_in":300,"token_type":"Bearer"}"#
        let failure = SendFailure.unavailable(reason: "the answer is not the metadata server's")
        #expect(throws: failure) { try MetadataServer.token(Samples.response(200, body), now: Samples.now) }
        let response = Samples.response(200, body, ["metadata-flavor": "Google"])
        #expect(try MetadataServer.token(response, now: Samples.now).expiresAt == Samples.now + 300)
    }
}
