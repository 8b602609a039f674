import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// A sender may use only those values of alert members that the operator lists in the
/// configuration.
@Suite(.timeLimit(.minutes(5))) struct AlertTests {
    /// Each list of allowed values has one value. The template uses values that the lists do not
    /// contain.
    private static let policy: AlertPolicy = {
        var policy = AlertPolicy()
        policy.allowed = [
            .titleKey: ["TITLE"], .bodyKey: ["BODY"], .category: ["LETTER"], .thread: ["letters"], .sound: ["ping.caf"],
            .channel: ["urgent"], .interruptionLevel: ["passive"],
        ]
        policy.largestBadge = 99
        var template = PushAlert()
        template[.titleKey] = "VISIT_TITLE"
        template[.sound] = "bell.caf"
        template.toastText = "A visit"
        policy.templates = ["visit": template]
        return policy
    }()

    private static func fixture(_ policy: AlertPolicy = Self.policy) async throws -> ServerFixture {
        let fixture = try await ServerFixture(settings: .forTests(\.alerts, policy))
        for name in ["alice", "paul"] {
            try await fixture.storage.addDevice(of: fixture.storage.user(name), handle: "aa\(name)")
        }
        return fixture
    }

    private static func post(_ alert: String, user: String = "paul", _ fixture: ServerFixture) async throws -> Response
    {
        try await fixture.send(
            .post,
            Paths.notifications,
            user: user,
            body: #"{"Payload":"a secret","Alert":\#(alert)}"#
        )
    }

    // MARK: Accepted

    /// Each row has the alert in a request, the member `Alert` of the answer, and the alert of the
    /// push.
    @Test(arguments: [
        (
            #"{"titlekey":"TITLE","BodyKey":"BODY","Category":"LETTER","Thread":"letters","Sound":"ping.caf","#
                + #""Channel":"urgent","InterruptionLevel":"passive","Badge":99}"#,
            #"{"TitleKey":"TITLE","BodyKey":"BODY","Category":"LETTER","Thread":"letters","Sound":"ping.caf","#
                + #""Channel":"urgent","InterruptionLevel":"passive","Badge":99}"#,
            "BODY LETTER TITLE letters passive ping.caf urgent 99 -"
        ),
        (#"{"Badge":0}"#, #"{"Badge":0}"#, "0 -"), (#"{"Badge":3.0}"#, #"{"Badge":3}"#, "3 -"),
        (#"{"BodyKey":"BODY","Sound":null}"#, #"{"BodyKey":"BODY"}"#, "BODY - -"),
        (#""visit""#, #""visit""#, "VISIT_TITLE bell.caf - A visit"),
        (#"{"Template":"visit"}"#, #"{"Template":"visit"}"#, "VISIT_TITLE bell.caf - A visit"),
        (
            #"{"Sound":"ping.caf","Badge":1,"Template":"visit"}"#,
            #"{"Template":"visit","Sound":"ping.caf","Badge":1}"#,
            "VISIT_TITLE ping.caf 1 A visit"
        ),
        ("null", "null", "nil"),
    ])
    func anAlertIsPushedAndReturned(alert: String, told: String, pushed: String) async throws {
        let fixture = try await Self.fixture()
        let response = try await Self.post(alert, fixture)
        try #require(response.status == .created, "\(response.text)")
        #expect(String(decoding: (try response.json["Alert"] ?? .bool(false)).bytes, as: UTF8.self) == told)
        let push = try #require(try await fixture.storage.lease().first).push
        let texts = push.alert.map { alert in
            (alert.texts.values.sorted() + [alert.badge.map(String.init) ?? "-", alert.toastText ?? "-"])
                .joined(separator: " ")
        }
        #expect(texts ?? "nil" == pushed)
    }

    @Test func theAlertRulesApplyToDevicesToo() async throws {
        let fixture = try await Self.fixture()
        #expect(try await Self.post(#"{"Badge":1}"#, user: "alice", fixture).status == .created)
        try await Self.post(#"{"BodyKey":"a secret"}"#, user: "alice", fixture).expectProblem(.alertNotAllowed)
    }

    @Test func theShortFormsShowTheConstants() async throws {
        let fixture = try await Self.fixture()
        for body in ["", #""text""#] {
            #expect(try await fixture.send(.post, Paths.notifications, user: "paul", body: body).status == .ok)
        }
        #expect(try await fixture.storage.lease().map(\.push.alert) == [nil, nil])
    }

    @Test func aRepeatedRequestGetsTheSameAnswerAndOnePush() async throws {
        let fixture = try await Self.fixture()
        let body = #"{"Payload":1,"Alert":{"Template":"visit","Badge":4}}"#
        let headers = [("Idempotency-Key", "k")]
        let first = try await fixture.send(.post, Paths.notifications, user: "paul", headers: headers, body: body)
        let again = try await fixture.send(.post, Paths.notifications, user: "paul", headers: headers, body: body)
        #expect(first.status == .created)
        #expect(first.body == again.body)
        #expect(try await fixture.storage.lease().count == 1)
    }

    /// Three requests for a critical alert: by a value, by a template, and by a member that
    /// replaces the template's value. Only senders that the configuration lists may send such
    /// requests.
    @Test(arguments: [
        #"{"InterruptionLevel":"critical"}"#, #""alarm""#, #"{"Template":"visit","InterruptionLevel":"critical"}"#,
    ])
    func onlyListedPublishersSendCriticalAlerts(alert: String) async throws {
        var policy = Self.policy
        policy.allowed[.interruptionLevel] = ["passive", "critical"]
        policy.templates["alarm"] = PushAlert()
        policy.templates["alarm"]?[.interruptionLevel] = "critical"
        policy.criticalPublishers = [try #require(Username("paul"))]
        let fixture = try await Self.fixture(policy)
        let refusal = "Alert is critical, and alerts.criticalPublishers does not list the sender"
        for user in ["alice", "ada"] {
            try await Self.post(alert, user: user, fixture).expectProblem(.alertNotAllowed, refusal)
        }
        #expect(try await fixture.storage.lease().isEmpty)
        #expect(try await Self.post(alert, fixture).status == .created)
        let push = try #require(try await fixture.storage.lease().first).push
        #expect(push.alert?[.interruptionLevel] == "critical")
        // A sender that `alerts.criticalPublishers` does not list may still use the other allowed
        // values.
        #expect(try await Self.post(#"{"InterruptionLevel":"passive"}"#, user: "alice", fixture).status == .created)
    }

    // MARK: Refused

    /// The server refuses a value that the configuration does not list for the member. The error
    /// names the configuration key with the list.
    @Test(arguments: [
        (#"{"TitleKey":"title"}"#, "Alert.TitleKey has a value that alerts.allowed.titleKeys does not list"),
        (#"{"BodyKey":"TITLE"}"#, "alerts.allowed.bodyKeys"), (#"{"Category":""}"#, "alerts.allowed.categories"),
        (#"{"Thread":"Lettérs"}"#, "alerts.allowed.threads"), (#"{"Sound":"default"}"#, "alerts.allowed.sounds"),
        (#"{"Channel":"urgent "}"#, "alerts.allowed.channels"),
        (#"{"InterruptionLevel":"active"}"#, "alerts.allowed.interruptionLevels"),
        (#"{"InterruptionLevel":"critical"}"#, "alerts.allowed.interruptionLevels"),
        // This value is in a template, but in no list of allowed values. A request may use it only
        // through the template.
        (#"{"TitleKey":"VISIT_TITLE"}"#, "alerts.allowed.titleKeys"),
        (#"{"Badge":100}"#, "Alert.Badge is larger than alerts.allowed.badge"),
        (#""Visit""#, "alerts.templates"), (#"{"Template":"a secret"}"#, "alerts.templates"),
        (#""""#, "alerts.templates"),
    ])
    func aValueThatIsNotListedIsRefused(alert: String, detail: String) async throws {
        try await self.expectRefusal(of: alert, .alertNotAllowed, detail)
    }

    @Test(arguments: [
        ("{}", "Alert has no member"), (#"{"Badge":null}"#, "Alert has no member"),
        ("[]", "Alert must be an object or the name of a template, not an array"), ("3", "not a number"),
        (#"{"Title":"a secret"}"#, "Alert has an unknown member; known are Template, TitleKey"),
        (#"{"BodyKey":"BODY","Body":"a secret"}"#, "Alert has an unknown member"),
        (#"{"toastText":"a secret"}"#, "Alert has an unknown member"),
        (#"{"BodyKey":["BODY"]}"#, "Alert.BodyKey must be a string, not an array"),
        (#"{"Template":1}"#, "Alert.Template must be a string, not a number"),
        (#"{"Badge":-1}"#, "Alert.Badge must be an integer from 0 to 9999"), (#"{"Badge":10000}"#, "Alert.Badge must"),
        (#"{"Badge":99999999999999999999}"#, "Alert.Badge must"), (#"{"Badge":1.5}"#, "Alert.Badge must"),
        (#"{"Badge":"1"}"#, "Alert.Badge must"), (#"{"Badge":true}"#, "Alert.Badge must"),
    ])
    func aMalformedAlertIsRefused(alert: String, detail: String) async throws {
        try await self.expectRefusal(of: alert, .invalidMember, detail)
    }

    @Test(arguments: [
        #"{"TitleKey":"TITLE"}"#, #"{"Badge":0}"#, #""visit""#, #"{"Sound":"default"}"#,
        #"{"InterruptionLevel":"passive"}"#,
    ])
    func everyAlertIsRefusedWithoutConfiguration(alert: String) async throws {
        let fixture = try await Self.fixture(AlertPolicy())
        try await Self.post(alert, fixture).expectProblem(.alertNotAllowed)
        #expect(try await fixture.storage.lease().isEmpty)
    }

    private func expectRefusal(of alert: String, _ code: ProblemCode, _ detail: String) async throws {
        let fixture = try await Self.fixture()
        let response = try await Self.post(alert, fixture)
        try response.expectProblem(code, detail)
        #expect(!response.text.contains("secret"), "what was refused is not repeated")
        #expect(try await fixture.storage.lease().isEmpty)
    }
}
