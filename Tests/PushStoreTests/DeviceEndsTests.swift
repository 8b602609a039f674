import Foundation
import PushCore
import Testing

@testable import PushStore

/// Decisions about the devices that are unregistered when a session ends or a user leaves an app,
/// tested without a database.
@Suite(.timeLimit(.minutes(5))) struct DeviceEndsTests {
    private func device(_ number: Int64, app: AppName? = nil, isClaim: Bool = false) -> EndingDevice {
        EndingDevice(number: number, id: "d-\(number)", app: app, isClaim: isClaim)
    }

    @Test func devicesEndWithTheirSession() {
        let record = AuditRecord(.revokeToken, of: "alice", at: Date(timeIntervalSince1970: 1))
        let ends = DeviceEnds(ofSessions: [self.device(1), self.device(2)], by: record)
        #expect(ends.retired == [.init(reason: RegisteredDevice.sessionEnded, devices: [1, 2])])
        #expect(ends.records.map(\.action) == [.unregisterDevice, .unregisterDevice])
        #expect(ends.records.map(\.subject) == ["d-1", "d-2"])
        #expect(ends.records.map(\.detail) == ["with its session", "with its session"])
    }

    @Test func unrecordedEndIsNotAudited() {
        let ends = DeviceEnds(ofSessions: [self.device(1)], by: nil)
        #expect(ends.records.isEmpty && !ends.isEmpty)
        #expect(DeviceEnds(ofSessions: [], by: nil).isEmpty)
    }

    /// The store deletes claims (unconfirmed registrations of handles) and does not only retire
    /// them, because no client asks about an ended claim.
    @Test func leavingAnAppRetiresItsDevicesAndDeletesItsClaims() throws {
        let (bank, shop) = (try #require(AppName("bank")), try #require(AppName("shop")))
        let devices = [
            self.device(1, app: bank), self.device(2, app: .usual), self.device(3, app: bank, isClaim: true),
            self.device(4, app: shop), self.device(5, app: bank), self.device(6, app: .usual, isClaim: true),
            self.device(7),
        ]
        let ends = DeviceEnds(of: devices, outside: [.usual])
        #expect(ends.claims == [3])
        let retired = Dictionary(uniqueKeysWithValues: ends.retired.map { ($0.reason, $0.devices) })
        let expected: [String: [Int64]] = [
            "the user no longer belongs to the app bank": [1, 5],
            "the user no longer belongs to the app shop": [4],
        ]
        #expect(retired == expected)
        #expect(ends.records.isEmpty)
        #expect(DeviceEnds(of: devices, outside: [.usual, bank, shop]).isEmpty)
    }
}
