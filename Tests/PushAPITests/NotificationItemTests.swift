import Foundation
import PushAPI
import Testing

@Suite(.timeLimit(.minutes(5))) struct NotificationItemTests {
    private let item = NotificationItem(
        id: 7,
        payload: .string("a \"b\""),
        isRead: false,
        createdAt: Date(timeIntervalSince1970: 1_795_248_000.9),
        expiresAt: Date(timeIntervalSince1970: 1_797_840_000)
    )

    @Test func theTutorialsMembersComeFirst() {
        #expect(
            String(decoding: self.item.json.bytes, as: UTF8.self)
                == #"{"Id":7,"Payload":"a \"b\"","Read":false,"#
                + #""CreatedAt":"2026-11-21T08:00:00Z","ExpiresAt":"2026-12-21T08:00:00Z"}"#
        )
    }

    @Test func aPayloadIsReadAsAValueOfTheApp() throws {
        struct Visit: Decodable, Equatable { let place: String }
        func item(_ payload: JSONValue?) -> NotificationItem {
            NotificationItem(id: 7, payload: payload, isRead: false, createdAt: .now, expiresAt: .now)
        }
        let object = JSONValue.object([.init("place", .string("Room 7"))])
        #expect(try item(object).decode(Visit.self) == Visit(place: "Room 7"))
        #expect(try item(.string("a")).decode(String.self) == "a")
        #expect(throws: DecodingError.self) { try item(.string("a")).decode(Visit.self) }
        #expect(throws: DecodingError.self) { try item(nil).decode(Visit.self) }
    }

    @Test(
        arguments: [
            (JSONValue.string("Room 7"), false, "Room 7"), (.string("sealpost-e2e.1.1.s.m.1.c.k"), true, nil),
            (.string("sealpost-e2e"), false, "sealpost-e2e"), (.bool(true), false, nil), (nil, false, nil),
        ] as [(JSONValue?, Bool, String?)]
    )
    func theTextOfAnEndToEndPayloadIsHidden(payload: JSONValue?, isEndToEnd: Bool, text: String?) {
        let item = NotificationItem(id: 7, payload: payload, isRead: false, createdAt: .now, expiresAt: .now)
        #expect(item.isEndToEnd == isEndToEnd)
        #expect(item.text == text)
        #expect(item.payload == payload)
    }

    @Test func theWireFormIsReadBackToTheSecond() throws {
        let read = try #require(NotificationItem(self.item.json))
        #expect(read.id == 7)
        #expect(read.payload == .string("a \"b\""))
        #expect(read.createdAt == Date(timeIntervalSince1970: 1_795_248_000))
        #expect(read.expiresAt == self.item.expiresAt)
    }

    @Test(
        arguments: [
            nil, .null, .string("Grüße"), .string(#","Read":true"#), .string("sealpost-e2e.1.1.s.m.1.c.k"),
            .array([.number(digits: "1.50"), .object([])]),
            .object([.init("Payload", .bool(true)), .init("Payload", .null), .init("Read", .string("a"))]),
        ] as [JSONValue?],
        [false, true]
    )
    func storedNotificationIsReadBack(payload: JSONValue?, isReadOnce: Bool) throws {
        let item = NotificationItem(
            id: -7,
            payload: payload,
            isRead: true,
            createdAt: Date(timeIntervalSince1970: 1_795_248_000),
            expiresAt: self.item.expiresAt,
            isReadOnce: isReadOnce
        )
        let stored = try #require(NotificationItem(stored: Data(item.json.bytes)))
        #expect(stored == item)
        #expect(stored.hashValue == item.hashValue)
        #expect(stored.json == item.json)
        #expect((stored.payload, stored.text, stored.isEndToEnd) == (payload, item.text, item.isEndToEnd))
        #expect(stored.withoutPayload == item.withoutPayload)
        #expect(stored.read(false).json == item.read(false).json)
        guard let payload, let again = NotificationItem(stored: Data(item.json.bytes)) else { return }
        #expect(stored == again)
        #expect(stored != NotificationItem(stored: Data(self.item.json.bytes)))
        if let text = payload.text { #expect(try stored.decode(String.self) == text) }
    }

    /// To read the payloads would take most of the time of a page of the inbox.
    @Test func storedPayloadIsReadWhenItIsAskedFor() throws {
        let text = String(decoding: self.item.json.bytes, as: UTF8.self).replacing(#""a \"b\"""#, with: "no JSON")
        let item = try #require(NotificationItem(stored: Data(text.utf8)))
        #expect((item.id, item.payload) == (7, nil))
        #expect(NotificationItem(stored: Data(text.dropLast().utf8)) == nil)
    }

    @Test func readOnceMemberIsTheLast() throws {
        #expect(try !#require(NotificationItem(self.item.json)).isReadOnce)
        let text = String(decoding: self.item.json.bytes, as: UTF8.self).dropLast() + #","ReadOnce":true}"#
        let once = try #require(NotificationItem(JSONValue(reading: Array(text.utf8))))
        #expect(once.isReadOnce)
        #expect(String(decoding: once.json.bytes, as: UTF8.self) == text)
    }

    @Test func answerToAPostIsReadDespiteFurtherMembers() throws {
        let text =
            #"{"Id":7,"Read":false,"CreatedAt":"2026-11-21T08:00:00Z","ExpiresAt":"2026-12-21T08:00:00Z","#
            + #""To":["news"],"Platforms":null,"CollapseKey":null,"Store":"never","ReadOnce":false,"#
            + #""Recipients":null,"Pushes":null,"More":true}"#
        let item = try #require(NotificationItem(JSONValue(reading: Array(text.utf8))))
        #expect((item.id, item.payload, item.isReadOnce) == (7, nil, false))
        #expect(item.expiresAt == self.item.expiresAt)
    }

    @Test(arguments: [
        (0.0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
    ])
    func timesAreWrittenInRFC3339(seconds: Double, text: String) {
        #expect(Date(timeIntervalSince1970: seconds).rfc3339 == text)
        #expect(Date(rfc3339: text) == Date(timeIntervalSince1970: seconds))
    }
}
