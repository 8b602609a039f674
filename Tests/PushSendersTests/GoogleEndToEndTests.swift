import Cryptography
import Foundation
import PushCore
import PushSimulators
import PushTesting
import Testing

@testable import PushSenders

/// Tests pushes with credentials other than a key file, with the simulator's endpoints for tokens.
@Suite(.timeLimit(.minutes(5))) struct GoogleEndToEndTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private var tokenFile: String { self.folder.file("token") }

    private static func subjectToken(of fcm: FCMSimulator, issued: Date = .now) throws -> String {
        let key = try P256.Signing.PrivateKey(pemRepresentation: fcm.pool.key.pem)
        return try JSONWebSignature.compact(
            header: #"{"alg":"ES256","kid":"k"}"#,
            claims: fcm.pool.claims(issued: issued)
        ) { try key.signature(for: $0).rawRepresentation }
    }

    /// Without `source`, the configuration names the file `tokenFile`, which has the token as
    /// plain text.
    private func withFCM<Result: Sendable>(
        source: String? = nil,
        impersonates: Bool = true,
        credentials: GoogleCredentials? = nil,
        _ body: @Sendable (FCMSender, FCMSimulator) async throws -> Result
    ) async throws -> Result {
        let source = source ?? #"{"file":"\#(self.tokenFile)"}"#
        return try await withProvider { authority, connection, loop in
            let fcm = try FCMSimulator(authority: authority)
            let account = fcm.externalAccount(
                source: source.replacing("<endpoint>", with: fcm.endpoint),
                impersonates: impersonates
            )
            let settings = FCMSettings(
                credentials: credentials ?? .file(Secret(account)),
                projectID: fcm.projectID,
                endpoint: fcm.endpoint,
                tokenEndpoint: credentials == nil ? nil : fcm.metadataEndpoint,
                allowedHosts: ["localhost:\(fcm.port)"],
                connection: connection
            )
            let sender = try FCMSender(settings, on: loop)
            return try await fcm.whileRunning { fcm in
                let result = try await body(sender, fcm)
                await sender.close()
                return result
            }
        }
    }

    private static func push() throws -> Push {
        try Samples.push(handle: "d:" + String(repeating: "x", count: 150))
    }

    @Test func pushIsAcceptedWithATokenOfTheImpersonatedAccount() async throws {
        let file = self.tokenFile
        let (accepted, paths) = try await self.withFCM { sender, fcm in
            try Self.subjectToken(of: fcm).appending("\n").write(toFile: file, atomically: true, encoding: .utf8)
            let accepted = try await sender.accepted(20) { _ in try Self.push() }
            return (accepted, fcm.tokenRequests.received.map(\.request.path))
        }
        #expect(accepted == 20)
        #expect(paths.count == 2)
        #expect(paths.first == "/v1/token")
        #expect(paths.last?.hasSuffix(":generateAccessToken") == true)
    }

    @Test(arguments: [true, false])
    func federatedIdentityItselfSendsIfItMay(maySend: Bool) async throws {
        let file = self.tokenFile
        let (outcome, exchanges) = try await self.withFCM(impersonates: false) { sender, fcm in
            fcm.setPrincipalMaySend(maySend)
            try Self.subjectToken(of: fcm).write(toFile: file, atomically: true, encoding: .utf8)
            return (await sender.outcome(of: try Self.push()), fcm.tokenRequests.acceptedCount)
        }
        #expect(exchanges == 1)
        if maySend {
            #expect(throws: Never.self) { try outcome.get() }
        } else {
            #expect(outcome == .failure(.misconfigured(reason: "PERMISSION_DENIED")))
        }
    }

    @Test func subjectTokenIsReadAgainForEachExchange() async throws {
        let file = self.tokenFile
        let source = #"{"file":"\#(file)","format":{"type":"json","subject_token_field_name":"t"}}"#
        let outcomes = try await self.withFCM(source: source) { sender, fcm in
            func write(_ token: String) throws {
                try #"{"t":"\#(token)"}"#.write(toFile: file, atomically: true, encoding: .utf8)
            }
            try write(Self.subjectToken(of: fcm, issued: .now - 7200))
            let expired = await sender.outcome(of: try Self.push())
            try write(Self.subjectToken(of: fcm))
            let accepted = await sender.outcome(of: try Self.push())
            try FileManager.default.removeItem(atPath: file)
            fcm.revokeAccessTokens()
            return [expired, accepted, await sender.outcome(of: try Self.push())]
        }
        #expect(outcomes[0] == .failure(.misconfigured(reason: "token exchange: invalid_grant")))
        #expect(throws: Never.self) { try outcomes[1].get() }
        let missing = "subject token: No such file or directory"
        #expect(outcomes[2] == .failure(.misconfigured(reason: missing)))
    }

    @Test func subjectTokenOfAURLIsFetchedWithItsHeaders() async throws {
        let source = #"{"url":"<endpoint>/token","headers":{"Metadata":"True"}}"#
        let (outcome, requests) = try await self.withFCM(source: source) { sender, fcm in
            fcm.tokenRequests.answerNext(status: 200, body: try Self.subjectToken(of: fcm))
            let outcome = await sender.outcome(of: try Self.push())
            return (outcome, fcm.tokenRequests.received.map(\.request))
        }
        #expect(throws: Never.self) { try outcome.get() }
        #expect(requests.count == 3)
        #expect(requests.first?.method == "GET")
        #expect(requests.first?.header("metadata") == "True")
    }

    @Test(arguments: [
        (1, 503, SendFailure.unavailable(reason: "subject token: HTTP 503")),
        (1, 404, .misconfigured(reason: "subject token: HTTP 404")),
        (2, 500, .unavailable(reason: "token exchange: HTTP 500")),
        (3, 429, .unavailable(reason: "impersonation: HTTP 429")),
        (3, 403, .misconfigured(reason: "impersonation: HTTP 403")),
    ])
    func failureNamesItsStep(step: Int, status: Int, expected: SendFailure) async throws {
        let source = #"{"url":"<endpoint>/token"}"#
        let outcome = try await self.withFCM(source: source) { sender, fcm in
            if step > 1 { fcm.tokenRequests.answerNext(status: 200, body: try Self.subjectToken(of: fcm)) }
            if step > 2 { fcm.tokenRequests.answerNext(status: 200, body: #"{"access_token":"t"}"#) }
            fcm.tokenRequests.answerNext(status: status)
            return await sender.outcome(of: try Self.push())
        }
        #expect(outcome == .failure(expected))
    }

    @Test func pushIsAcceptedWithATokenOfTheMetadataServer() async throws {
        let (outcome, requests) = try await self.withFCM(credentials: .metadata) { sender, fcm in
            (await sender.outcome(of: try Self.push()), fcm.tokenRequests.received.map(\.request))
        }
        #expect(throws: Never.self) { try outcome.get() }
        #expect(requests.map(\.path) == ["/computeMetadata/v1/instance/service-accounts/default/token"])
        #expect(requests.first?.header("metadata-flavor") == "Google")
    }

    @Test func machineWithoutAServiceAccountIsAMisconfiguration() async throws {
        let outcome = try await self.withFCM(credentials: .metadata) { sender, fcm in
            let flavor = HeaderField("Metadata-Flavor", "Google")
            fcm.tokenRequests.answerNext(status: 404, headers: [flavor], body: "Not Found")
            return await sender.outcome(of: try Self.push())
        }
        #expect(outcome == .failure(.misconfigured(reason: "metadata server: HTTP 404")))
    }

    @Test func projectMustBeConfiguredUnlessAKeyNamesIt() async throws {
        try await withProvider { authority, connection, loop in
            let fcm = try FCMSimulator(authority: authority)
            for (credentials, projectID, field) in [
                (GoogleCredentials.metadata, nil as String?, "projectID: missing"),
                (.metadata, "../p", "projectID: must be a project's identifier"),
                (.file(Secret(fcm.externalAccount(source: "{\"file\":\"t\"}"))), nil, "projectID: missing"),
            ] {
                let settings = FCMSettings(
                    credentials: credentials,
                    projectID: projectID,
                    allowedHosts: ["localhost:\(fcm.port)"],
                    connection: connection
                )
                let error = #expect(throws: SenderSettingsError.self) { try FCMSender(settings, on: loop) }
                #expect(error?.description == field)
            }
        }
    }
}
