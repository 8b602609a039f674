import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Payloads that are encrypted for the recipients' devices, so that the server cannot read them.
/// Each device gets the wrapped key that was made for it.
@Suite(.timeLimit(.minutes(5))) struct EndToEndPayloadTests {
    private static let sender = String(repeating: "s", count: 22)
    private static let front = "sealpost-e2e.1.1.\(Self.sender).\(Self.sender).1795000000.Y29udGVudA"

    /// Returns the key id of the device with this number.
    private static func id(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 22 - digits.count) + digits
    }

    private static func entry(_ number: Int) -> String {
        Self.id(number) + String(repeating: "k", count: 130)
    }

    private static func payload(_ devices: some Sequence<Int>, front: String = Self.front) -> String {
        "\(front).\(devices.map(Self.entry).joined())"
    }

    private static func order(_ payload: String, _ more: String = "") -> String {
        #"{"Payload":"\#(payload)","To":["username:bob"]\#(more)}"#
    }

    private func fetch(_ target: String, user: String = "bob", _ fixture: ServerFixture) async throws -> String? {
        let response = try await fixture.send(.get, target, user: user)
        #expect(response.status == .ok, "\(response.text)")
        return try response.json["Payload"]?.text
    }

    private static func elements(_ list: JSONValue?) throws -> [JSONValue] {
        guard case .array(let elements)? = list else { throw StoreFixture.Missing("a list") }
        return elements
    }

    @Test func eachDeviceGetsItsOwnWrappedKeyOnly() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(Self.order(Self.payload(1...1000)))
        // An event loop may answer its second fetch of a notification from its cache.
        for number in [1, 2, 500, 999, 1000, 500, 500] {
            #expect(
                try await self.fetch("\(path)?key=\(Self.id(number))", fixture) == Self.payload([number]),
                "\(number)"
            )
        }
        for key in ["", "?key=", "?key=\(Self.id(1001))", "?key=x", "?key=\(Self.id(1))0"] {
            #expect(try await self.fetch(path + key, fixture) == "\(Self.front).", "\(key)")
        }
        #expect(try await self.fetch(path, user: "paul", fixture) == "\(Self.front).", "the sender")
        let target = "\(path)?key=\(Self.id(7))"
        let marked = try await fixture.send(.patch, target, user: "bob", body: #"{"Read":true}"#).json
        #expect(marked["Payload"]?.text == Self.payload([7]))
    }

    /// A cache compares only the entity tags of answers. If two devices got the same tag, the
    /// cache could give one device the wrapped key of the other.
    @Test func theEntityTagDiffersByDeviceKey() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(Self.order(Self.payload(1...2)))
        let number = path.split(separator: "/").last ?? ""
        for target in ["\(path)?", "\(Paths.notifications)?limit=10&", "\(Paths.notifications)?ids=\(number)&"] {
            let targets = ["\(target)key=\(Self.id(1))", "\(target)key=\(Self.id(2))", "\(target)key=x", target]
            var tags: [String] = []
            for target in targets {
                let response = try await fixture.send(.get, target, user: "bob")
                tags.append(try #require(response.fields[.eTag], "\(response.text)"))
            }
            // Without the parameter `key`, or with a value that is not a key id, the answer
            // contains no wrapped key.
            #expect(Set(tags).count == 3 && tags[2] == tags[3], "\(tags)")
            for (index, target) in targets.enumerated() {
                for (other, tag) in tags.enumerated() {
                    let response = try await fixture.send(.get, target, user: "bob", headers: [("If-None-Match", tag)])
                    let isSame = tags[index] == tags[other]
                    #expect(response.status == (isSame ? .notModified : .ok), "\(target) \(tag)")
                }
            }
        }
    }

    @Test func aChangeExpectsTheTagOfItsDeviceKey() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(Self.order(Self.payload(1...2)))
        let own = "\(path)?key=\(Self.id(1))"
        func change(_ method: HTTPRequest.Method, _ target: String, _ tag: String) async throws -> Response {
            let body = method == .patch ? #"{"Read":true}"# : ""
            return try await fixture.send(method, target, user: "bob", headers: [("If-Match", tag)], body: body)
        }
        let tag = try #require(try await fixture.send(.get, own, user: "bob").fields[.eTag])
        try await change(.patch, path, tag).expectProblem(.preconditionFailed)
        let next = try #require(try await change(.patch, own, tag).fields[.eTag])
        try await change(.delete, own, tag).expectProblem(.preconditionFailed)
        #expect(try await change(.delete, own, next).status == .noContent)
    }

    @Test func listsAndReadOncePayloadsAreCutToo() async throws {
        let fixture = try await ServerFixture()
        let clear = #"sealpost-e2e, "quoted""#
        _ = try await fixture.post(Self.order(clear.replacing("\"", with: #"\""#)))
        let path = try await fixture.post(Self.order(Self.payload(1...3)))
        func listed(_ query: String) async throws -> [String?] {
            let list = try await fixture.send(.get, "\(Paths.notifications)?\(query)", user: "bob").json
            return try Self.elements(list["Notifications"]).map { $0["Payload"]?.text }
        }
        #expect(try await listed("key=\(Self.id(2))") == [clear, Self.payload([2])])
        #expect(try await listed("limit=10") == [clear, "\(Self.front)."])
        let number = path.split(separator: "/").last ?? ""
        #expect(try await listed("ids=\(number)&key=\(Self.id(3))") == [Self.payload([3])])
        let once = try await fixture.post(Self.order(Self.payload(1...3), #","ReadOnce":true"#))
        #expect(try await self.fetch("\(once)?key=\(Self.id(1))", fixture) == Self.payload([1]))
    }

    @Test(arguments: [60, nil] as [TimeInterval?], ["username:bob", "news"])
    func aScheduledPayloadAndABroadcastAreCutToo(delay: TimeInterval?, audience: String) async throws {
        let fixture = try await ServerFixture()
        try await fixture.storage.addDevice(of: fixture.storage.user("bob"), handle: "bb", tags: ["news"])
        let schedule = delay.map { #","SendAt":"\#((fixture.clock.now + $0).rfc3339)""# } ?? ""
        let order = #"{"Payload":"\#(Self.payload(1...3))","To":["\#(audience)"]\#(schedule)}"#
        let path = try await fixture.post(order)
        if let delay {
            try await fixture.send(.get, "\(path)?key=\(Self.id(2))", user: "bob").expectProblem(.notFound)
            fixture.clock.advance(by: delay)
            _ = try await fixture.storage.store.releaseScheduled(now: fixture.clock.now)
        }
        while try await fixture.storage.store.expandFanout(page: nil, now: fixture.clock.now) != nil {}
        #expect(try await self.fetch("\(path)?key=\(Self.id(2))", fixture) == Self.payload([2]))
        #expect(try await self.fetch(path, fixture) == "\(Self.front).")
    }

    /// A device without a wrapped key cannot read the payload. A lease to such a device would
    /// therefore lose the payload, because the end of a lease deletes the payload.
    @Test func aDeviceWithoutAWrappedKeyLeasesNoReadOncePayload() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(Self.order(Self.payload([1]), #","ReadOnce":true"#))
        for target in ["\(path)?key=\(Self.id(2))", path] {
            #expect(try await self.fetch(target, fixture) == "\(Self.front).")
        }
        fixture.clock.advance(by: 3600)
        #expect(try await self.fetch("\(path)?key=\(Self.id(1))", fixture) == Self.payload([1]))
        fixture.clock.advance(by: 3600)
        try await fixture.send(.get, "\(path)?key=\(Self.id(1))", user: "bob").expectProblem(.notFound)
    }

    @Test func wrappedKeysDoNotCountForTheLongestPayload() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.maximumPayload, 400))
        _ = try await fixture.post(Self.order(Self.payload(1...1000)))
        let long = Self.front + String(repeating: "A", count: 400)
        try await fixture.send(
            .post,
            Paths.notifications,
            user: "paul",
            body: Self.order(Self.payload([1], front: long))
        ).expectProblem(.payloadTooLarge, "400 bytes")
    }

    @Test(arguments: [
        "sealpost-e2e.", "sealpost-e2e.1", "\(Self.front).", Self.front, Self.payload(1...1001), Self.payload([2, 1]),
        Self.payload([1, 1]), "\(Self.payload([1]))x", Self.payload([1]).replacing("kk", with: "k+"),
        Self.payload([1], front: Self.front.replacing("1795000000", with: "later")),
        Self.payload([1], front: Self.front.replacing("1795000000", with: "17950000000")),
        Self.payload([1], front: Self.front.replacing("1795000000", with: "0795000000")),
        Self.payload([1], front: Self.front.replacing(".Y29", with: "..Y29")),
        Self.payload([1], front: Self.front.replacing(Self.sender, with: "s")),
        Self.payload([1], front: Self.front.replacing("Y29", with: "Y 9")),
    ])
    func aMalformedPayloadIsRefused(payload: String) async throws {
        let fixture = try await ServerFixture()
        try await fixture.send(.post, Paths.notifications, user: "paul", body: Self.order(payload))
            .expectProblem(.invalidMember, "end-to-end payload")
    }

    @Test func anAppThatRequiresEncryptionRefusesOtherPayloads() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.endToEndApps, [.usual]))
        for body in [#"{"Payload":"clear"}"#, #"{"Payload":{"a":1}}"#, #""clear""#, ""] {
            try await fixture.send(.post, Paths.notifications, user: "paul", body: body)
                .expectProblem(.encryptionRequired, "default")
        }
        _ = try await fixture.post(Self.order(Self.payload([1])))
        let batch = #"{"Notifications":[{"Payload":1},\#(Self.order(Self.payload([1])))]}"#
        let outcomes = try await fixture.send(.post, "\(Paths.notifications)/batch", user: "paul", body: batch).json
        let statuses = try Self.elements(outcomes["Outcomes"]).map { $0["Status"]?.integer }
        #expect(statuses == [400, 201])
    }

    @Test func aUserWhoRequiresEncryptionGetsNoOtherPayload() async throws {
        let fixture = try await ServerFixture()
        func require(_ isRequired: Bool, by user: String) async throws -> Response {
            let body = #"{"RequiresEncryption":\#(isRequired)}"#
            return try await fixture.send(.patch, Paths.user("bob"), user: user, body: body)
        }
        try await require(true, by: "paul").expectProblem(.forbidden)
        #expect(try await require(true, by: "ada").status == .noContent)
        let clear = #"{"Payload":"clear","To":["username:bob"]}"#
        for (target, body) in [("", clear), ("?to_tag=bob", #""clear""#)] {
            try await fixture.send(.post, Paths.notifications + target, user: "paul", body: body)
                .expectProblem(.encryptionRequired, "bob")
        }
        try await fixture.send(.post, Paths.notifications, user: "bob", body: #""clear""#)
            .expectProblem(.encryptionRequired, "bob")
        let batch = #"{"Notifications":[\#(clear),\#(Self.order(Self.payload([1])))]}"#
        let outcomes = try await fixture.send(.post, "\(Paths.notifications)/batch", user: "paul", body: batch).json
        let elements = try Self.elements(outcomes["Outcomes"])
        #expect(elements.map { $0["Status"]?.integer } == [400, 201])
        #expect(elements[0]["Problem"]?["type"]?.text == "urn:sealpost:problem:encryption-required")
        #expect(try await require(false, by: "ada").status == .noContent)
        _ = try await fixture.post(clear)
    }

    @Test(arguments: StoreKind.all)
    func theRequirementExplainsAMissingClearPayload(kind: StoreKind) async throws {
        let fixture = try await StoreKind.$current.withValue(kind) { try await ServerFixture() }
        try await fixture.storage.addDevice(of: fixture.storage.user("bob"), handle: "bb", tags: ["news"])
        let body = #"{"RequiresEncryption":true}"#
        #expect(try await fixture.send(.patch, Paths.user("bob"), user: "ada", body: body).status == .noContent)
        let path = try await fixture.post(#"{"Payload":"clear","To":["news"]}"#)
        let id = try #require(path.split(separator: "/").last)
        let answer = try await fixture.send(.get, "\(Paths.why("bob"))?notification=\(id)", user: "ada")
        let text =
            "bob is not a recipient of notification \(id): its payload is clear, and bob requires end-to-end encryption."
        #expect(answer.text.contains(text), "\(answer.text)")
        let newest = try await fixture.send(.get, Paths.why("bob"), user: "ada")
        #expect(newest.text.contains("none with end-to-end encryption was sent"), "\(newest.text)")
    }

    // MARK: Keys

    @Test func aDeviceSetsItsKeyAndASenderGetsIt() async throws {
        let fixture = try await ServerFixture()
        let alice = try await fixture.storage.user("alice")
        let device = try await fixture.storage.addDevice(of: alice, handle: "aa", tags: ["news"])
        let path = Paths.deviceKey(device.description)
        let body = try await fixture.deviceKeyBody(of: "alice")
        let key = try #require(try JSONValue(reading: body.utf8)["Key"]?.text)
        let response = try await fixture.send(.put, path, body: body)
        #expect(response.status == .noContent)
        let session = try await fixture.send(.get, Paths.currentSession).json
        let account = try #require(session["Account"]?.text)
        let devices = #"[{"Id":"\#(device)","Key":"\#(key)"}]"#
        let expected = #"{"Users":[{"Name":"alice","Account":"\#(account)","Devices":\#(devices)}]}"#
        for expression in ["username:alice", "news", "news%20%26%26%20!beta"] {
            #expect(try await fixture.send(.get, "\(Paths.keys)?to=\(expression)", user: "paul").text == expected)
        }
        #expect(try await fixture.send(.get, Paths.keys, user: "paul").text == #"{"Users":[]}"#)
        #expect(try await fixture.send(.get, Paths.register).text.contains(#""Key":"\#(key)""#))
    }

    /// Adds a device of alice, and sends `body` as this device's key.
    private func put(_ body: String, _ fixture: ServerFixture) async throws -> Response {
        let device = try await fixture.storage.addDevice(of: fixture.storage.user("alice"), handle: "aa")
        return try await fixture.send(.put, Paths.deviceKey(device.description), body: body)
    }

    @Test(arguments: [
        "{}", #"{"Key":null}"#, #"{"Key":7}"#, #"{"Key":"x"}"#, #"{"Key":"sealpost-key.1\u0000"}"#,
        #"{"Key":"sealpost-key.ä"}"#, #"{"Key":"sealpost-key.1.......\#(String(repeating: "x", count: 2036))"}"#,
    ])
    func anotherKeyIsRefused(body: String) async throws {
        let fixture = try await ServerFixture()
        try await self.put(body, fixture).expectProblem(.invalidMember, "Key")
    }

    /// Malformed device keys. Each has a valid signature, so that only the named part is wrong.
    private static let malformed: [(part: String, key: DeviceKeyFixture, fault: String)] = {
        let point = DeviceKeyFixture.point
        let spare = "\(point.dropLast())B"
        // A point that is not on the curve: one of its last characters is changed.
        let off = "\(point.prefix(85))\(point.dropFirst(85).first == "A" ? "B" : "A")\(point.suffix(1))"
        let zeros = String(repeating: "A", count: 87)
        let form = "form"
        return [
            ("a later version", DeviceKeyFixture(start: "sealpost-key.2"), form),
            ("a short account", DeviceKeyFixture(account: "A"), form),
            (
                "an account with another character", DeviceKeyFixture(account: String(repeating: "A", count: 21) + "+"),
                form
            ),
            ("a short signing key", DeviceKeyFixture(signing: String(point.dropLast(2))), form),
            ("an agreement key with unused bits", DeviceKeyFixture(agreement: spare), form),
            ("a signing key that is not on the curve", DeviceKeyFixture(signing: off), "curve"),
            ("an agreement key that is not on the curve", DeviceKeyFixture(agreement: off), "curve"),
            ("a point of zeros", DeviceKeyFixture(agreement: zeros), "curve"),
            ("a time with a leading zero", DeviceKeyFixture(time: "0795000000"), form),
            ("a time with eleven digits", DeviceKeyFixture(time: "17950000000"), form),
            ("a time that is not decimal", DeviceKeyFixture(time: "1e9"), form),
            ("a part too many", DeviceKeyFixture(approvals: "."), form),
            ("a cut approval", DeviceKeyFixture(approvals: String(repeating: "A", count: 107)), form),
            (
                "an approval with another character",
                DeviceKeyFixture(approvals: String(repeating: "A", count: 107) + "+"), form
            ),
            ("too many approvals", DeviceKeyFixture(approvals: String(repeating: "A", count: 108 * 17)), form),
        ]
    }()

    @Test(arguments: malformed.indices)
    func aMalformedKeyIsRefused(index: Int) async throws {
        let fixture = try await ServerFixture()
        let (part, key, fault) = Self.malformed[index]
        let response = try await self.put(#"{"Key":"\#(key.signed())"}"#, fixture)
        #expect(response.status == .badRequest, "\(part)")
        try response.expectProblem(.invalidMember, fault)
    }

    @Test func aKeyWithAnotherKeysSignatureIsRefused() async throws {
        let fixture = try await ServerFixture()
        let (key, other) = (try DeviceKeyFixture().signed(), try DeviceKeyFixture(time: "1").signed())
        let parts = key.split(separator: ".", omittingEmptySubsequences: false)
        let swapped = (parts[..<6] + [other.split(separator: ".", omittingEmptySubsequences: false)[6], ""]).joined(
            separator: "."
        )
        try await self.put(#"{"Key":"\#(swapped)"}"#, fixture).expectProblem(.invalidMember, "signature")
        let approvals = String(repeating: "A", count: 108 * 2)
        let approved = try await fixture.deviceKeyBody(of: "alice").replacing(#""}"#, with: #"\#(approvals)"}"#)
        #expect(try await self.put(approved, fixture).status == .noContent)
    }

    @Test(arguments: ["bob", "ada"])
    func aKeyOfAnotherAccountIsRefused(user: String) async throws {
        let fixture = try await ServerFixture()
        try await self.put(fixture.deviceKeyBody(of: user), fixture).expectProblem(.invalidMember, "another account")
        #expect(try await self.put(fixture.deviceKeyBody(of: "alice"), fixture).status == .noContent)
    }

    @Test func anAudienceOfMoreThanAThousandDevicesIsRefusedWithWords() async throws {
        let fixture = try await ServerFixture()
        let alice = try await fixture.storage.user("alice")
        for number in 0...1000 { try await fixture.storage.addDevice(of: alice, handle: "a\(number)", tags: ["all"]) }
        try await fixture.send(.get, "\(Paths.keys)?to=all", user: "paul")
            .expectProblem(.audienceTooLarge, "more than 1000 devices")
        try await fixture.send(.get, "\(Paths.keys)?to=%26", user: "paul").expectProblem(
            .invalidParameter,
            "expression"
        )
        try await fixture.send(.get, "\(Paths.keys)?to=username:nora", user: "paul").expectProblem(.unknownUser, "nora")
    }
}
