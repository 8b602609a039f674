import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Tokens with the claims that the documentation of each issuer shows, under the rules of
/// docs/operate/issuers.md. The test rotates the issuer's keys between the tokens.
@Suite(.timeLimit(.minutes(5))) struct IssuerExampleTests {
    typealias Claims = [String: JSONValue?]

    /// An issuer's rules and claims, with three tokens that the server accepts and three that it
    /// refuses.
    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var algorithms: (old: TokenAlgorithm, new: TokenAlgorithm) = (.rs256, .rs256)
        var header: Claims = ["typ": .string("JWT")]
        var rules: IssuerRules
        let claims: Claims
        /// The changes of the issuer's usual claims, and the resulting name and role of the user.
        let accepted: [(Claims, name: String, role: String)]
        /// The changes of the issuer's usual claims, the code of the problem, and a part of its
        /// reason.
        let refused: [(Claims, ProblemCode, reason: String)]

        init(
            _ name: String,
            algorithms: (old: TokenAlgorithm, new: TokenAlgorithm) = (.rs256, .rs256),
            header: Claims = ["typ": .string("JWT")],
            issuer: String,
            audience: String,
            _ change: (inout IssuerRules) -> Void = { _ in },
            claims: Claims,
            accepted: [(Claims, name: String, role: String)],
            refused: [(Claims, ProblemCode, reason: String)]
        ) {
            self.testDescription = name
            self.algorithms = algorithms
            self.header = header
            var rules = IssuerRules(issuer: issuer, audiences: [audience])
            rules.createsUsers = true
            change(&rules)
            self.rules = rules
            self.claims = claims.merging(["iss": .string(issuer)]) { $1 }
            self.accepted = accepted
            self.refused = refused
        }
    }

    @Test func eightIssuersHave48Tokens() {
        var count = 0
        for shape in Self.shapes { count += shape.accepted.count + shape.refused.count }
        #expect(Self.shapes.count == 8)
        #expect(count == 48)
    }

    @Test(arguments: shapes) func documentedTokensAreAcceptedOrRefused(shape: Shape) async throws {
        let storage = try StoreFixture(options: .withEvents)
        let (old, new) = try (TestIssuer(storage.clock), TestIssuer(storage.clock, isRotated: true))
        let known = Issuer(rules: shape.rules, keys: IssuerKeys(kept: 3600)) { storage.clock.now }
        let fixture = try await ServerFixture(storage: storage, issuer: known)
        let oldKey = old.key(shape.algorithms.old, ["kid": .string("old")])
        let newKey = new.key(shape.algorithms.new, ["kid": .string("new")])
        // A key for encryption, which Keycloak publishes by default.
        let other = old.key(.rs256, ["kid": .string("enc"), "use": .string("enc"), "alg": .string("RSA-OAEP")])
        func publish(_ keys: [JSONValue]) throws {
            known.keys.end(known.keys.begin(), with: try TestIssuer.keySet(keys + [other]), now: storage.clock.now)
        }
        func token(_ changes: Claims, isNew: Bool) throws -> String {
            let kid = JSONValue.string(isNew ? "new" : "old")
            return try (isNew ? new : old).token(
                isNew ? shape.algorithms.new : shape.algorithms.old,
                header: shape.header.merging(["kid": kid]) { $1 },
                shape.claims.merging(changes) { $1 }
            )
        }
        #expect(shape.accepted.count == 3 && shape.refused.count == 3)
        // The published keys before the rotation, during it and after it, and whether the token is
        // signed with the new key.
        let stages = [([oldKey], false), ([oldKey, newKey], true), ([newKey], true)]
        for (stage, (keys, isNew)) in stages.enumerated() {
            storage.clock.advance(by: 1)
            try publish(keys)
            let (claims, name, role) = shape.accepted[stage]
            let answer = try await fixture.send(bearing: token(claims, isNew: isNew))
            #expect(answer.status == .ok, "\(answer.text)")
            #expect(try answer.json["Name"] == .string(name) && answer.json["Role"] == .string(role), "\(answer.text)")
            let (badClaims, code, reason) = shape.refused[stage]
            let refusal = try await fixture.send(bearing: token(badClaims, isNew: isNew))
            try refusal.expectProblem(code, reason)
        }
        let stale = try token(shape.accepted[0].0, isNew: false)
        async let answer = fixture.send(bearing: stale)
        await known.keys.wanted.wait(atMost: .seconds(60))
        try publish([newKey])
        try await answer.expectProblem(.invalidBearerToken, "no such key")
    }

    // MARK: - Issuers

    private static func list(_ texts: String...) -> JSONValue { .array(texts.map { .string($0) }) }

    private static let shapes = [keycloak, auth0, entra, okta, cognito, google, dex, logto]

    /// A mapper in Keycloak adds the audience `sealpost`. Keycloak adds the audience `account`
    /// because of the user's roles.
    private static let keycloak = Shape(
        "Keycloak",
        issuer: "https://id.example.com/realms/staff",
        audience: "sealpost",
        { rules in
            rules.authorizedParties = ["app"]
            rules.roles = .init(claim: "realm_access.roles", values: [.publisher: ["push-senders"]])
            rules.otherRole = .device
        },
        claims: [
            "aud": list("sealpost", "account"), "azp": .string("app"), "typ": .string("Bearer"),
            "sub": .string("0f2c9c1e-7d0c-4b62-8a55-1f8c6f1d9a10"), "sid": .string("c1a5"), "acr": .string("1"),
            "scope": .string("openid email profile"), "preferred_username": .string("alina"),
            "realm_access": .object([.init("roles", list("offline_access", "default-roles-staff"))]),
        ],
        accepted: [
            ([:], "0f2c9c1e-7d0c-4b62-8a55-1f8c6f1d9a10", "device"),
            (
                ["sub": .string("f:5e0c1b7a-3d5e-4f0a-9a51-0f5b3a1c2d3e:alina")],
                "f#3a5e0c1b7a-3d5e-4f0a-9a51-0f5b3a1c2d3e#3aalina", "device"
            ),
            (
                ["realm_access": .object([.init("roles", list("push-senders"))])],
                "0f2c9c1e-7d0c-4b62-8a55-1f8c6f1d9a10", "publisher"
            ),
        ],
        refused: [
            (["aud": .string("account")], .invalidBearerToken, "aud is not for this server"),
            (["azp": .string("another-app")], .invalidBearerToken, "authorizedParties"),
            // A token for a client without the scope `basic`.
            (["sub": nil], .invalidBearerToken, "sub is missing"),
        ]
    )

    /// If the client requests the scope `openid`, the token has the issuer's own service as a
    /// second audience.
    private static let auth0 = Shape(
        "Auth0",
        issuer: "https://my-domain.auth0.com/",
        audience: "https://push.example.com/",
        { $0.authorizedParties = ["my_client_id"] },
        claims: [
            "aud": list("https://push.example.com/", "https://my-domain.auth0.com/userinfo"),
            "azp": .string("my_client_id"), "sub": .string("auth0|5f7c8ec7c33c6c004bbafe82"),
            "scope": .string("openid profile"), "gty": .string("password"),
        ],
        accepted: [
            ([:], "auth0#7c5f7c8ec7c33c6c004bbafe82", "device"),
            (
                ["sub": .string("google-oauth2|104527383012345678901")],
                "google-oauth2#7c104527383012345678901", "device"
            ),
            // A token of an application that signs in by its own credentials, in the profile of
            // RFC 9068.
            (
                ["azp": nil, "client_id": .string("my_client_id"), "sub": .string("my_client_id@clients")],
                "my_client_id@clients", "device"
            ),
        ],
        refused: [
            (["iss": .string("https://my-domain.auth0.com")], .invalidBearerToken, "iss"),
            (["aud": .string("https://my-domain.auth0.com/userinfo")], .invalidBearerToken, "aud is not"),
            (["azp": .string("another_client_id")], .invalidBearerToken, "authorizedParties"),
        ]
    )

    /// Microsoft Entra gives a user a different `sub` in each application, but the same `oid` in
    /// all of them.
    private static let entra = Shape(
        "Microsoft Entra",
        issuer: "https://login.microsoftonline.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/v2.0",
        audience: "00001111-aaaa-2222-bbbb-3333cccc4444",
        { rules in
            rules.nameClaim = "oid"
            rules.roles = .init(claim: "roles", values: [.publisher: ["Push.Send"]])
            rules.otherRole = .device
        },
        claims: [
            "aud": .string("00001111-aaaa-2222-bbbb-3333cccc4444"), "ver": .string("2.0"),
            "azp": .string("11112222-bbbb-3333-cccc-4444dddd5555"), "azpacr": .string("0"), "aio": .string("AXQAi/8"),
            "nbf": .number(1_800_000_000), "oid": .string("22223333-cccc-4444-dddd-5555eeee6666"),
            "sub": .string("AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ"), "uti": .string("fqiBqXLPj0eQa82S-IYFAA"),
            "tid": .string("aaaabbbb-0000-cccc-1111-dddd2222eeee"), "scp": .string("Push.Fetch"),
            "preferred_username": .string("alina@example.com"),
        ],
        accepted: [
            ([:], "22223333-cccc-4444-dddd-5555eeee6666", "device"),
            (["roles": list("Push.Send", "Other")], "22223333-cccc-4444-dddd-5555eeee6666", "publisher"),
            // A token of an application that signs in by its own credentials.
            (
                [
                    "scp": nil, "roles": list("Push.Send"), "preferred_username": nil, "azpacr": .string("1"),
                    "oid": .string("33334444-dddd-5555-eeee-6666ffff7777"),
                    "sub": .string("33334444-dddd-5555-eeee-6666ffff7777"),
                ], "33334444-dddd-5555-eeee-6666ffff7777", "publisher"
            ),
        ],
        refused: [
            // A token of version 1.0, which an application gets unless its manifest requests
            // version 2.
            (
                ["iss": .string("https://sts.windows.net/aaaabbbb-0000-cccc-1111-dddd2222eeee/")], .invalidBearerToken,
                "iss"
            ),
            (["aud": .string("api://00001111-aaaa-2222-bbbb-3333cccc4444")], .invalidBearerToken, "aud is not"),
            (["oid": nil], .invalidBearerToken, "oid is missing"),
        ]
    )

    /// In Okta's tokens, `sub` is the user's login.
    private static let okta = Shape(
        "Okta",
        issuer: "https://dev-123456.okta.com/oauth2/default",
        audience: "api://default",
        { rules in
            rules.roles = .init(claim: "groups", values: [.admin: ["Push operators"]])
            rules.otherRole = .device
        },
        claims: [
            "ver": .number(1), "jti": .string("AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE"),
            "aud": .string("api://default"), "cid": .string("0oabskvc6442nkvQO0h7"), "scp": list("openid", "push"),
            "uid": .string("00ub0oNGTSWTBKOLGLNR"), "sub": .string("alina@example.com"),
            "auth_time": .number(1_799_999_000),
        ],
        accepted: [
            ([:], "alina@example.com", "device"),
            (
                ["sub": .string("o'brien+push@example.com"), "uid": .string("00ub0oNGTSWTBKOLGLNS")],
                "o#27brien+push@example.com", "device"
            ),
            // Names of groups may contain blanks. The elements of a list are not split at them.
            (["groups": list("Everyone", "Push operators")], "alina@example.com", "admin"),
        ],
        refused: [
            // A token of Okta's org authorization server.
            (
                ["iss": .string("https://dev-123456.okta.com"), "aud": .string("https://dev-123456.okta.com")],
                .invalidBearerToken, "iss"
            ),
            (["aud": .string("api://other")], .invalidBearerToken, "aud is not"),
            (["exp": .number(1_799_999_900), "iat": .number(1_799_996_300)], .tokenExpired, "new token"),
        ]
    )

    /// An access token of Amazon Cognito has no audience; its `client_id` takes the place of one.
    private static let cognito = Shape(
        "Amazon Cognito",
        issuer: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_EXAMPLE",
        audience: "1example23456789",
        { rules in
            rules.audienceClaim = "client_id"
            rules.roles = .init(claim: "cognito:groups", values: [.publisher: ["push-senders"]])
            rules.otherRole = .device
        },
        claims: [
            "aud": nil, "client_id": .string("1example23456789"), "token_use": .string("access"),
            "version": .number(2), "scope": .string("openid email"), "auth_time": .number(1_800_000_000),
            "sub": .string("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"), "username": .string("alina"),
            "origin_jti": .string("aaaaaaaa"), "event_id": .string("bbbbbbbb"),
        ],
        accepted: [
            ([:], "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "device"),
            (["cognito:groups": list("push-senders")], "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "publisher"),
            // An ID token in place of an access token.
            (
                [
                    "aud": .string("1example23456789"), "client_id": nil, "token_use": .string("id"), "username": nil,
                    "cognito:username": .string("alina"), "scope": nil, "version": nil,
                ], "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "device"
            ),
        ],
        refused: [
            (["client_id": .string("2example23456789")], .invalidBearerToken, "client_id is not"),
            (["client_id": nil], .invalidBearerToken, "aud is missing, and so is client_id"),
            // A token that the issuer made for another resource server.
            (["aud": .string("https://other.example.com")], .invalidBearerToken, "aud is not"),
        ]
    )

    /// The server accepts only Google's ID tokens, because Google's access tokens are not signed.
    private static let google = Shape(
        "Google",
        issuer: "https://accounts.google.com",
        audience: "1234987819200.apps.googleusercontent.com",
        { $0.namePrefix = "google." },
        claims: [
            "azp": .string("1234987819200.apps.googleusercontent.com"),
            "aud": .string("1234987819200.apps.googleusercontent.com"), "sub": .string("110169484474386276334"),
            "email": .string("alina@example.com"), "email_verified": .bool(true), "name": .string("Alina A."),
        ],
        accepted: [
            ([:], "google.110169484474386276334", "device"),
            // A token that an Android app requested for the backend.
            (
                ["azp": .string("1234987819200-android.apps.googleusercontent.com")], "google.110169484474386276334",
                "device"
            ),
            (
                ["sub": .string("110169484474386276335"), "hd": .string("example.com")],
                "google.110169484474386276335", "device"
            ),
        ],
        refused: [
            (["iss": .string("accounts.google.com")], .invalidBearerToken, "iss"),
            (
                ["aud": .string("1234987819200-android.apps.googleusercontent.com")], .invalidBearerToken,
                "aud is not"
            ),
            (["exp": .number(1_799_999_000), "iat": .number(1_799_995_400)], .tokenExpired, "new token"),
        ]
    )

    /// Dex encodes the ids of the user and the connector as base64url in `sub`.
    private static let dex = Shape(
        "Dex",
        algorithms: (.rs256, .es256),
        header: ["typ": nil],
        issuer: "https://dex.example.com",
        audience: "sealpost",
        { rules in
            rules.roles = .init(claim: "groups", values: [.publisher: ["acme:senders"]])
            rules.otherRole = .device
        },
        claims: [
            "aud": .string("sealpost"), "sub": .string("CgcyMzQyNzQ5EgZnaXRodWI"), "at_hash": .string("pZl0"),
            "email": .string("alina@example.com"), "email_verified": .bool(true), "name": .string("Alina"),
        ],
        accepted: [
            ([:], "CgcyMzQyNzQ5EgZnaXRodWI", "device"),
            // A token that another client requested for the server's audience.
            (["azp": .string("cli")], "CgcyMzQyNzQ5EgZnaXRodWI", "device"),
            (["groups": list("acme:senders", "acme")], "CgcyMzQyNzQ5EgZnaXRodWI", "publisher"),
        ],
        refused: [
            (["aud": .string("cli")], .invalidBearerToken, "aud is not"),
            (["sub": .string("cgcymzqynzq5egznaxrodwi")], .accountRefused, "upper or lower case"),
            (["aud": list("sealpost", "cli"), "azp": .string("cli")], .invalidBearerToken, "authorizedParties"),
        ]
    )

    /// Logto's keys are on the curve P-384 by default. Here an operator rotates to an RSA key.
    private static let logto = Shape(
        "Logto",
        algorithms: (.es384, .rs256),
        header: ["typ": .string("at+jwt")],
        issuer: "https://tenant-id.logto.app/oidc",
        audience: "https://push.example.com/api",
        { $0.scopes = .init(claim: "scope", values: [.fetch: ["push:read"], .register: ["push:read"]]) },
        claims: [
            "aud": .string("https://push.example.com/api"), "client_id": .string("s6BhdRkqt3"),
            "sub": .string("rkxl21ri2gps"), "scope": .string("push:read"), "jti": .string("pVVbaOFPqJ"),
        ],
        accepted: [
            ([:], "rkxl21ri2gps", "device"),
            (["sub": .string("qa3n5l8mp0zt")], "qa3n5l8mp0zt", "device"),
            // A token of an application that signs in by its own credentials.
            (["sub": .string("s6BhdRkqt3")], "s6BhdRkqt3", "device"),
        ],
        refused: [
            // An ID token, whose audience is the client.
            (["aud": .string("s6BhdRkqt3")], .invalidBearerToken, "aud is not"),
            (["iss": .string("https://tenant-id.logto.app")], .invalidBearerToken, "iss"),
            (["sub": .string("another"), "scope": .string("")], .accountRefused, "no scope"),
        ]
    )
}
