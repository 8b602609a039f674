import Foundation
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct FCMRulesTests {
    private func refusal(of body: String, type: String = "application/json") -> FCMRefusal? {
        var rules = FCMRules(projectID: "p")
        rules.retired = ["dead"]
        let request = SimulatedRequest(
            path: "/v1/projects/p/messages:send",
            headers: [HeaderField("Content-Type", type)],
            body: Array(body.utf8)
        )
        do throws(FCMRefusal) {
            try rules.checkTarget(request)
            try rules.checkMessage(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        #"{"message":{"token":"t"}}"#, #"{"message":{"fid":"f"}}"#, #"{"message":{"topic":"t"}}"#,
        #"{"message":{"condition":"'a' in topics"}}"#,
        #"{"validate_only":true,"message":{"token":"t","data":{"id":"42"}}}"#,
        #"{"message":{"token":"t","android":{"priority":"normal","ttl":"0s"}}}"#,
        #"{"message":{"token":"t","android":{"priority":"HIGH","ttl":"2419200s","collapse_key":"sync"}}}"#,
        #"{"message":{"token":"t","android":{"ttl":"3.5s","restricted_package_name":"a.b"}}}"#,
        #"{"message":{"token":"t","android":{"data":{"badge":"3"}}}}"#,
        #"{"message":{"token":"t","android":{"notification":{"title_loc_key":"T","body_loc_key":"B","channel_id":"c","#
            + #""sound":"default","tag":"t","notification_count":3}}}}"#,
        #"{"message":{"token":"t","apns":{"headers":{"apns-push-type":"alert"},"payload":{"aps":{"badge":3}}}}}"#,
        #"{"message":{"token":"t","apns":{"payload":{"aps":{"content-available":1}}}}}"#,
    ])
    func aValidRequestIsAccepted(body: String) {
        #expect(self.refusal(of: body) == nil)
    }

    @Test(arguments: [
        ("", nil), ("[]", nil), ("{", nil), ("{}", "message"), (#"{"message":{}}"#, "message"),
        (#"{"message":{"token":"t","topic":"t"}}"#, "message"),
        (#"{"message":{"token":""}}"#, "message.token"), (#"{"message":{"token":1}}"#, "message.token"),
        (#"{"message":{"token":"t","to":"x"}}"#, "message.to"), (#"{"to":"x","message":{"token":"t"}}"#, "to"),
        (#"{"message":{"token":"t","data":{"id":42}}}"#, "message.data"),
        (#"{"message":{"token":"t","data":{"id":true}}}"#, "message.data"),
        (#"{"message":{"token":"t","data":{"id":null}}}"#, "message.data"),
        (#"{"message":{"token":"t","data":{"id":{}}}}"#, "message.data"),
        (#"{"message":{"token":"t","data":{"from":"x"}}}"#, "message.data"),
        (#"{"message":{"token":"t","data":{"google.x":"x"}}}"#, "message.data"),
        (#"{"message":{"token":"t","android":{"priority":"10"}}}"#, "message.android.priority"),
        (#"{"message":{"token":"t","android":{"ttl":60}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"t","android":{"ttl":"60"}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"t","android":{"ttl":"-1s"}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"t","android":{"ttl":"2419201s"}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"t","android":{"collapse_key":1}}}"#, "message.android.collapse_key"),
        (#"{"message":{"token":"t","android":{"time_to_live":1}}}"#, "message.android.time_to_live"),
        (#"{"message":{"token":"t","android":{"data":{"badge":3}}}}"#, "message.android.data"),
        (#"{"message":{"token":"t","android":{"notification":"x"}}}"#, "message.android.notification"),
        (
            #"{"message":{"token":"t","android":{"notification":{"badge":3}}}}"#,
            "message.android.notification.badge"
        ),
        (
            #"{"message":{"token":"t","android":{"notification":{"notification_count":"3"}}}}"#,
            "message.android.notification.notification_count"
        ),
        (
            #"{"message":{"token":"t","android":{"notification":{"title_loc_key":1}}}}"#,
            "message.android.notification.title_loc_key"
        ),
        (
            #"{"message":{"token":"t","android":{"notification":{"body_loc_args":["a",1]}}}}"#,
            "message.android.notification.body_loc_args"
        ),
        (#"{"message":{"token":"t","apns":{"aps":{}}}}"#, "message.apns.aps"),
        (#"{"message":{"token":"t","apns":{"headers":{"apns-priority":5}}}}"#, "message.apns.headers"),
        (#"{"message":{"token":"t","apns":{"payload":"x"}}}"#, "message.apns.payload"),
        (#"{"message":{"token":"t","apns":{"payload":{"aps":{"badge":"3"}}}}}"#, "message.apns.payload.aps"),
        (
            #"{"message":{"token":"t","apns":{"headers":{"apns-push-type":"background"},"#
                + #""payload":{"aps":{"content-available":1,"badge":3}}}}}"#,
            "message.apns.headers.apns-push-type"
        ),
    ])
    func anInvalidArgumentIsRefusedAndItsFieldNamed(body: String, field: String?) {
        let refusal = self.refusal(of: body)
        #expect(refusal?.status == 400)
        #expect(refusal?.canonical == "INVALID_ARGUMENT")
        #expect(refusal?.field == field)
    }

    @Test(arguments: [("token", 4096, true), ("token", 4097, false), ("topic", 2048, true), ("topic", 2049, false)])
    func theDatasSizeIsLimited(target: String, size: Int, fits: Bool) {
        let value = String(repeating: "x", count: size - 2)
        let refusal = self.refusal(of: #"{"message":{"\#(target)":"t","data":{"id":"\#(value)"}}}"#)
        #expect((refusal == nil) == fits)
    }

    @Test func aRetiredTokenIsUnregistered() {
        #expect(self.refusal(of: #"{"message":{"token":"dead"}}"#)?.errorCode == "UNREGISTERED")
    }

    @Test func anotherContentTypeIsRefused() {
        #expect(self.refusal(of: #"{"message":{"token":"t"}}"#, type: "text/plain")?.status == 400)
        #expect(self.refusal(of: #"{"message":{"token":"t"}}"#, type: "application/json; charset=utf-8") == nil)
    }

    @Test(arguments: [
        ("GET", "/v1/projects/p/messages:send"), ("POST", "/v1/projects/q/messages:send"), ("POST", "/fcm/send"),
    ])
    func anotherMethodProjectOrPathIsNotFoundWithoutAnErrorCode(method: String, path: String) {
        #expect(throws: FCMRefusal.notFound) {
            try FCMRules(projectID: "p").checkTarget(SimulatedRequest(method: method, path: path))
        }
        #expect(FCMRefusal.notFound.errorCode == nil)
    }

    @Test func aRefusalIsWrittenAsGoogleDoes() throws {
        let refusal = FCMRefusal.invalid("message.token", "text", errorCode: "INVALID_ARGUMENT")
        let json = String(decoding: SimulatedResponse.json(["error": refusal], status: 400).body, as: UTF8.self)
        #expect(
            json == #"{"error":{"code":400,"details":["#
                + #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},"#
                + #"{"@type":"type.googleapis.com/google.rpc.BadRequest","#
                + #""fieldViolations":[{"description":"text","field":"message.token"}]}],"#
                + #""message":"text","status":"INVALID_ARGUMENT"}}"#
        )
    }
}
