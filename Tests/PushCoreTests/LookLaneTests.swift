import Foundation
import PushCore
import Testing

/// The lanes (queues) and the settlements (stored outcomes) of looks. A look is a push that shows
/// nothing and tells a device to sync.
struct LookLaneTests {
    @Test(arguments: ["apns", "apns/sandbox", "bank:fcm", "stream"]) func aLaneHasALaneOfLooks(name: String) {
        let lane = Lane(stored: name)
        let looks = lane.ofLooks
        #expect(looks.description == "\(name)/look")
        #expect(looks.isOfLooks && !lane.isOfLooks)
        #expect(looks.ofDevices == lane && lane.ofDevices == lane && looks.ofLooks == looks)
        #expect(looks.platform == lane.platform)
    }

    @Test func aLookIsRetriedTwiceAndWaitsForNoDevice() {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let retried = Settlement.retried(at: now, reason: "busy")
        for (attempts, settlement, wanted) in [
            (1, retried, retried), (2, retried, retried), (3, retried, .failed(reason: "busy")),
            (1, .away(reason: "no stream"), .expired), (9, .accepted(providerID: nil), .accepted(providerID: nil)),
            (9, .released, .released),
        ] as [(Int, Settlement, Settlement)] {
            let state = DeliveryState(attempts: attempts, expiresAt: now)
            #expect(state.settlementOfLook(settlement) == wanted)
        }
    }
}
