import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Administrators list and unregister the devices of all users.
@Suite(.timeLimit(.minutes(5))) struct DeviceAdministrationTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func list(_ query: String = "") async throws -> [JSONValue] {
        let response = try await self.fixture.send(.get, Paths.devices + query, user: "ada")
        guard case .array(let devices)? = try response.json["Devices"] else {
            throw StoreFixture.Missing(response.text)
        }
        return devices
    }

    private func add(_ handle: String, of user: String = "alice", tags: [String] = []) async throws -> RegistrationID {
        let owner = try await self.fixture.storage.user(user)
        return try await self.fixture.storage.addDevice(of: owner, handle: handle, tags: tags)
    }

    @Test func aDeviceIsShownWithItsUserAndAMaskedHandle() async throws {
        let id = try await self.add("0123456789abcdef", tags: ["News"])
        _ = try await self.fixture.post(#"{"Payload":1,"To":["news"]}"#)
        self.fixture.clock.advance(by: 60)
        let push = try #require(try await self.fixture.storage.lease().first)
        try await self.fixture.storage.settle(push, as: .accepted(providerID: nil))
        let response = try await self.fixture.send(.get, Paths.devices, user: "ada")
        #expect(response.fields[.cacheControl] == "no-store")
        let cursor = try #require(try response.json["Cursor"]?.text)
        #expect(
            response.text
                == #"{"Devices":[{"Id":"\#(id)","User":"alice","State":"registered","App":"default","Platform":"apns","#
                + #""Environment":"production","Handle":"0123…cdef","Tags":["news","username:alice"],"CreatedAt":"2027-01-15T08:00:00Z","#
                + #""RegisteredAt":"2027-01-15T08:00:00Z","LastPush":"2027-01-15T08:01:00Z","LastFetch":null,"RetiredAt":null,"#
                + #""Reason":null}],"Cursor":"\#(cursor)","More":false}"#
        )
    }

    @Test func requestedAndRetiredDevicesAreShown() async throws {
        let requested = try await self.fixture.requestRegistration()
        let retired = try await self.add("same")
        self.fixture.clock.advance(by: 1)
        let living = try await self.add("same", of: "bob")
        let devices = try await self.list()
        let states = devices.map { "\($0["Id"]?.text ?? "") \($0["State"]?.text ?? "")" }
        #expect(states == ["\(requested) requested", "\(retired) retired", "\(living) registered"])
        for (device, isRetired) in [(devices[0], false), (devices[1], true)] {
            #expect(device["Platform"] == .null)
            #expect(device["Handle"] == .null)
            #expect(device["Tags"] == .array([]))
            #expect(device["RetiredAt"] == (isRetired ? .string("2027-01-15T08:00:01Z") : .null))
            #expect(device["Reason"] == (isRetired ? .string("the handle was registered by another user") : .null))
            #expect(device["RegisteredAt"] == (isRetired ? .string("2027-01-15T08:00:00Z") : .null))
        }
    }

    @Test(arguments: [("alice", 2), ("ALICE", 2), ("bob", 1), ("paul", 0)])
    func theDevicesOfOneUserAreFound(user: String, count: Int) async throws {
        _ = (try await self.add("a1"), try await self.add("b1", of: "bob"), try await self.add("a2"))
        let devices = try await self.list("?user=\(user)")
        #expect(devices.count == count)
        #expect(devices.allSatisfy { $0["User"]?.text == user.lowercased() })
    }

    @Test func theDevicesOfAnUnknownUserAreNotFound() async throws {
        try await self.fixture.send(.get, "\(Paths.devices)?user=nobody", user: "ada")
            .expectProblem(.notFound, "there is no user nobody")
    }

    @Test(arguments: [
        ("user=a%20b", "user must be a user name"), ("user=", "user must be"), ("limit=0", "limit must be 1 to 500"),
        ("limit=501", "limit must be"), ("user=a&user=b", "user appears more than once"),
    ])
    func anInvalidParameterIsNamed(query: String, detail: String) async throws {
        try await self.fixture.send(.get, "\(Paths.devices)?\(query)", user: "ada")
            .expectProblem(.invalidParameter, detail)
    }

    @Test func unregisteringADeviceCancelsItsPushes() async throws {
        let (id, other) = (try await self.add("a1"), try await self.add("a2"))
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let response = try await self.fixture.send(.delete, Paths.device(id.description), user: "ada")
        #expect(response.status == .noContent)
        #expect(try await self.list().compactMap { $0["Id"]?.text } == [other.description])
        let report = try await self.fixture.send(.get, "\(path)/deliveries", user: "paul").json
        #expect(report["Counts"]?["cancelled"] == .number(1))
        #expect(report["Counts"]?["queued"] == .number(1))
        #expect(try await self.fixture.storage.lease().map(\.push.handle) == ["a2"])
        try await self.fixture.send(.delete, Paths.device(id.description), user: "ada").expectProblem(.notFound)
        // The user can register the device again, because the client may request a new
        // registration id.
        let body = #"{"Platform":"apns","Handle":"a1"}"#
        try await self.fixture.send(.put, Paths.registration(id.description), body: body)
            .expectProblem(.registrationGone)
        let new = try await self.fixture.requestRegistration()
        #expect(try await self.fixture.send(.put, Paths.registration(new), body: body).status == .ok)
    }

    @Test func tombstonesAndUnusedIDsCanBeDeleted() async throws {
        let requested = try await self.fixture.requestRegistration()
        let retired = try await self.add("same")
        _ = try await self.add("same", of: "bob")
        for id in [requested, retired.description] {
            #expect(try await self.fixture.send(.delete, Paths.device(id), user: "ada").status == .noContent)
        }
        #expect(try await self.list().count == 1)
    }

    @Test(arguments: ["none", "a%20b", "%FF", "-"])
    func anUnknownDeviceIsNotFound(id: String) async throws {
        try await self.fixture.send(.delete, "\(Paths.devices)/\(id)", user: "ada").expectProblem(.notFound)
        #expect(try await self.fixture.storage.reader.lastAuditNumber() == 0)
    }
}
