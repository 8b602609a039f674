import Foundation
import PushSimulators
import PushTesting
import Testing

@testable import sealpost_demo

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The three apps of the published tutorial, call by call as in their sources.
@Suite(.timeLimit(.minutes(5))) struct TutorialClientTests {
    /// Returns the body of `POST /api/register` without its quotes, as all three apps do.
    private func cutQuotes(_ text: String) -> String {
        String(text.dropFirst().dropLast())
    }

    @Test func theIPhoneAppRegistersIsWokenAndCollects() async throws {
        try await Stack.run { stack in
            // `[deviceToken description]` without brackets and blanks, in upper case.
            let handle = String(repeating: "0123456789ABCDEF", count: 4)
            let first = try await stack.send(stack.request("POST", "/api/register?handle=\(handle)"))
            #expect(first.status == 200)
            #expect(first.text.wholeMatch(of: /"[^"\/]+"/) != nil)
            let id = cutQuotes(first.text)
            let body = #"{"Platform":"apns","Handle":"\#(handle)","Tags":["news"]}"#
            let put = try await stack.send(stack.request("PUT", "/api/register/\(id)", body: body))
            #expect(put.status == 200)
            #expect(put.text.isEmpty)

            let button = try await stack.send(stack.request("POST", "/api/notifications"))
            #expect(button.status == 200)
            let push = try await stack.providers.apns.pushes.acceptedPush(1)
            #expect(push.request.path == "/3/device/\(handle.lowercased())")
            // `[[userInfo objectForKey:@"secureId"] intValue]`, formatted with `%d`.
            let json = try #require(try JSONSerialization.jsonObject(with: Data(push.request.body)) as? [String: Any])
            let text = try #require(json["secureId"] as? String)
            let secureID = try #require(Int32(text))
            let payload = try await stack.send(stack.request("GET", "/api/notifications/\(secureID)"))
            #expect(payload.status == 200)
            #expect(try payload.member("Payload") as? String == "Secure confirmation.")

            // At the app's next start, the same handle gets the same registration id, even with
            // its letters in another case.
            let again = try await stack.send(stack.request("POST", "/api/register?handle=\(handle.lowercased())"))
            #expect(again.text == first.text)
        }
    }

    @Test func theAndroidAppRegistersAsGCMAndIsSentTo() async throws {
        try await Stack.run { stack in
            let handle = "APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx"
            let id = cutQuotes(try await stack.send(stack.request("POST", "/api/register?handle=\(handle)")).text)
            let body = #"{"Platform":"gcm","Handle":"\#(handle)","Tags":[]}"#
            #expect(try await stack.send(stack.request("PUT", "/api/register/\(id)", body: body)).status == 200)
            let text = #""<b>\"quoted\"</b>\n\u2603 😀""#
            let sent = try await stack.send(
                stack.request("POST", "/api/notifications?pns=gcm&to_tag=alice", as: "boss", body: text)
            )
            #expect(sent.status == 200)
            let push = try await stack.providers.fcm.pushes.acceptedPush(1)
            let json = try JSONSerialization.jsonObject(with: Data(push.request.body)) as? [String: Any]
            let message = try #require(json?["message"] as? [String: Any])
            #expect(message["token"] as? String == handle)
            let secureID = try #require((message["data"] as? [String: String])?["secureId"])
            let payload = try await stack.send(stack.request("GET", "/api/notifications/\(secureID)"))
            #expect(try payload.member("Payload") as? String == "<b>\"quoted\"</b>\n☃ 😀")
        }
    }

    @Test func theWindowsAppRegistersWithAnEmptyTextAndIsSentARawPush() async throws {
        try await Stack.run { stack in
            let new = try stack.request("POST", "/api/register", body: "", contentType: "text/plain; charset=utf-8")
            let id = cutQuotes(try await stack.send(new).text)
            let channel = stack.providers.wns.makeChannel()
            let body = try JSONSerialization.data(withJSONObject: ["Platform": "wns", "Handle": channel])
            let put = try await stack.send(
                stack.request("PUT", "/api/register/\(id)", body: String(decoding: body, as: UTF8.self))
            )
            #expect(put.status == 200)
            _ = try await stack.send(stack.request("POST", "/api/notifications", body: #""hello""#))
            let push = try await stack.providers.wns.pushes.acceptedPush(1)
            #expect(push.request.header("x-wns-type") == "wns/raw")
            let payload = try await stack.send(stack.request("GET", "/api/notifications/\(push.text)"))
            #expect(try payload.member("Payload") as? String == "hello")
        }
    }

    @Test func aGoneDeviceIsRetiredAndRegistersUnderAnotherID() async throws {
        try await Stack.run { stack in
            let handle = String(repeating: "ab", count: 32)
            let body = #"{"Platform":"apns","Handle":"\#(handle)"}"#
            let id = cutQuotes(try await stack.send(stack.request("POST", "/api/register?handle=\(handle)")).text)
            _ = try await stack.send(stack.request("PUT", "/api/register/\(id)", body: body))
            stack.providers.apns.retire(handle, at: Date() + 1)
            _ = try await stack.send(stack.request("POST", "/api/notifications"))
            try await eventually {
                try await stack.send(stack.request("GET", "/api/register")).text == "[]"
            }
            let gone = try await stack.send(stack.request("PUT", "/api/register/\(id)", body: body))
            #expect(gone.status == 410)
            #expect(gone.text.contains("Unregistered"))
            // After the answer 410, the tutorial's apps for Windows and Android request a new id,
            // and register the same handle under it.
            let newID = cutQuotes(try await stack.send(stack.request("POST", "/api/register?handle=\(handle)")).text)
            #expect(newID != id)
            #expect(try await stack.send(stack.request("PUT", "/api/register/\(newID)", body: body)).status == 200)
        }
    }
}
