import Foundation
import PushCore
import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct WebPushPlaceholderTests {
    private func placeholder(_ page: String = "https://page.example/#/messages/{id}") throws -> WebPushPlaceholder {
        try WebPushPlaceholder(page: page, title: "The \"Clinic\"", body: "New message")
    }

    private func text(_ push: Push, _ alerts: AlertPolicy = AlertPolicy()) throws -> String {
        String(decoding: WebPushContent(alerts, placeholder: try self.placeholder()).text(of: push), as: UTF8.self)
    }

    /// A declarative push message, as the W3C Push API defines it.
    @Test func aMessageHasConstantsAndTheIDAndNothingElse() throws {
        #expect(
            try self.text(Samples.push())
                == #"{"secureId":"7","web_push":8030,"mutable":true,"notification":{"title":"The \"Clinic\"","#
                + #""body":"New message","navigate":"https://page.example/#/messages/7","tag":"sealpost 7","#
                + #""mutable":true,"data":{"secureId":"7"}}}"#
        )
    }

    @Test func theWorkerGetsHintAndAlertInBothPlaces() throws {
        let push = try Samples.push(alert: AlertSamples.badge, sharedBy: .random())
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(self.text(push, AlertSamples.policy).utf8)) as? [String: Any]
        )
        let notification = try #require(json["notification"] as? [String: Any])
        for data in [json, try #require(notification["data"] as? [String: Any])] {
            #expect(data["secureId"] as? String == "7")
            #expect(data["accountHint"] as? String == push.accountHint.map { "\($0)" })
            #expect((data["alert"] as? [String: Any])?["badge"] as? Int == 3)
        }
    }

    @Test(arguments: [AlertPolicy(), AlertSamples.policy])
    func everyMessageHasTheSameLength(alerts: AlertPolicy) throws {
        let content = WebPushContent(alerts, placeholder: try self.placeholder("https://page.example/{id}/{id}"))
        let longest = try Samples.push(
            id: .max,
            alert: alerts == AlertPolicy() ? nil : AlertSamples.appointment,
            sharedBy: .random()
        )
        let text = content.text(of: longest)
        #expect(String(decoding: text, as: UTF8.self).contains("APPOINTMENT_BODY") == (alerts != AlertPolicy()))
        // The padded size includes the name of the alert member, even if no alert is allowed. The
        // sample's badge has one digit, and the policy allows four. The name and the badge each
        // occur twice in a message.
        let room = alerts == AlertPolicy() ? 2 * #","alert":"#.utf8.count : 2 * 3
        #expect(content.paddedSize - text.count == room)
    }

    /// Each row has a page, and a part of the error; `nil` if the page is valid.
    @Test(arguments: [
        ("https://page.example", nil), ("https://page.example:8443/a?b={id}&c=d", nil),
        ("https://page.example/#/messages/{id}", nil), ("https://page.example/#m{id}", nil),
        ("http://page.example/", "an https URL, and not http"), ("/messages", "an https URL with a host"),
        ("", "an https URL with a host"), ("https://", "an https URL with a host"),
        ("https://page.example/{name}", "an https URL with a host"),
        ("https://{id}@page.example/", "an https URL with a host"),
        ("https://page.example/#\n", "ASCII without blanks"), ("https://page.example/\u{E9}", "ASCII without blanks"),
        ("https://page.example/" + String(repeating: "a", count: WebPushPlaceholder.longestPage - 21), nil),
        (
            "https://page.example/" + String(repeating: "a", count: WebPushPlaceholder.longestPage - 20),
            "at most 500 bytes long, and has 501"
        ),
    ])
    func thePageIsAnAddressOverHTTPS(page: String, fault: String?) throws {
        guard let fault else {
            _ = try WebPushPlaceholder(page: page)
            return
        }
        #expect {
            try WebPushPlaceholder(page: page)
        } throws: {
            "\($0)".hasPrefix("page: must be \(fault)")
        }
    }

    @Test func theTitleIsThePagesHostByDefault() throws {
        let message = try WebPushPlaceholder(page: "https://page.example/a").message(id: "7", members: "")
        #expect(message.contains(#""title":"page.example","body":"New message. Open to read.","#))
    }
}
