import Foundation
import PushCore
import Testing

@testable import PushStore

/// Decisions about registrations and about claims (unconfirmed registrations of handles), tested
/// without a database.
@Suite(.timeLimit(.minutes(5))) struct RegistrationDecisionTests {
    private typealias Step = RegistrationStep

    private let scene: DecisionScene

    init() throws {
        self.scene = try DecisionScene()
    }

    /// Registers the handle `x`. With `confirmation`, the id for the push of a code, `x` counts as
    /// a handle that can be guessed.
    private func register(
        _ facts: RegistrationFacts,
        lane: Lane = DecisionScene.lane,
        isShared: Bool = false,
        confirmation: NotificationID? = nil,
        within limit: Int? = nil,
        recorded: Bool = true,
        token: TokenPrefix? = nil
    ) throws -> (step: Step, asked: [RegistrationQuestion]) {
        let registration = DeviceRegistration(
            platform: DecisionScene.platform,
            lane: lane,
            otherLane: DecisionScene.otherLane,
            handle: self.scene.handle,
            tags: [self.scene.tag],
            isShared: isShared,
            confirmation: confirmation
        )
        let decision = self.scene.decision(within: limit, recorded: recorded, token: token)
        return try self.scene.follow(facts) { decision.register(registration, as: self.scene.id, $0) }
    }

    private func plan(_ step: Step) throws -> RegistrationPlan {
        guard case .register(let plan) = step else { throw DecisionScene.Unexpected("\(step)") }
        return plan
    }

    private func claim(_ step: Step) throws -> ClaimPlan {
        guard case .claim(let plan, .unconfirmed, or: .idTaken) = step else {
            throw DecisionScene.Unexpected("\(step)")
        }
        return plan
    }

    // MARK: Registration

    @Test func newDeviceIsRegisteredWithTheTagOfItsUser() throws {
        let (step, asked) = try self.register(self.scene.facts(device: self.scene.device()))
        let plan = try self.plan(step)
        #expect(plan.device == 1)
        #expect(plan.values.tags == [self.scene.tag, PushCore.Tag(of: self.scene.alice.name)])
        #expect(plan.values.at == self.scene.now)
        #expect(plan.records.map(\.action) == [.registerDevice])
        #expect(plan.records.map(\.detail) == ["apns"])
        #expect(plan.retired.isEmpty)
        #expect(!plan.isErasing && !plan.forgetsPushes && !plan.movesPushes)
        let search = HandleSearch(platform: DecisionScene.platform, key: self.scene.key, user: nil)
        #expect(asked == [.device(self.scene.id, holders: search), .holders(search)])
    }

    /// The store reads facts in the order of the possible refusals, and reads no further facts for
    /// a caller whom it has refused.
    @Test(arguments: [
        (false, nil, RegisterOutcome.signedOut, 1),
        (true, nil, .gone(reason: "the registration id was not issued to this user"), 2),
        (true, "why", .gone(reason: "why"), 2),
    ])
    func refusalEndsTheReads(isSignedIn: Bool, retired: String?, outcome: RegisterOutcome, reads: Int) throws {
        let device = retired.map { self.scene.device(retiredReason: $0) }
        let facts = self.scene.facts(device: device, isSignedIn: isSignedIn)
        let (step, asked) = try self.register(facts, token: self.scene.token)
        #expect(step == .end(outcome))
        #expect(asked.count == reads)
    }

    @Test(arguments: [(4, true), (5, false), (6, false)])
    func deviceLimitConcernsNewDevices(count: Int, isRegistered: Bool) throws {
        let new = self.scene.facts(device: self.scene.device(), deviceCount: count)
        let (step, asked) = try self.register(new, within: 5)
        #expect((step == .end(.tooMany)) == !isRegistered)
        #expect(asked.last == .deviceCount(butFor: nil, limit: 5))
        let known = self.scene.facts(device: self.scene.device(lane: DecisionScene.lane), deviceCount: count)
        _ = try self.plan(self.register(known, within: 5).step)
    }

    /// A registration that replaces another device of the user does not change the user's number
    /// of devices.
    @Test func replacedDeviceIsNotCounted() throws {
        let own = self.scene.device(2, lane: DecisionScene.lane)
        let facts = self.scene.facts(device: self.scene.device(), holders: [own], deviceCount: 4)
        let (step, asked) = try self.register(facts, within: 5)
        #expect(asked.last == .deviceCount(butFor: 2, limit: 5))
        let retired = try self.plan(step).retired
        #expect(retired == [.init(device: 2, user: 1, reason: "the handle was registered again", platform: nil)])
    }

    @Test(arguments: [(true, "apns, from bob"), (false, "apns")])
    func handleOfAnotherUserIsTakenAndRecorded(isReadable: Bool, detail: String) throws {
        let other = self.scene.device(2, id: "other", of: 2, lane: DecisionScene.lane)
        let name = isReadable ? try self.scene.sealing.seal("bob", in: .username(2)) : Data([1])
        let facts = self.scene.facts(device: self.scene.device(), holders: [other], names: [2: name])
        let plan = try self.plan(self.register(facts).step)
        let (reason, platform) = (MovedDevice.reason, DecisionScene.platform)
        #expect(plan.retired == [.init(device: 2, user: 2, reason: reason, platform: platform)])
        #expect(plan.records.map(\.action) == [.moveDevice, .registerDevice])
        #expect(plan.records.map(\.subject) == ["other", self.scene.id.description])
        #expect(plan.records.first?.detail == detail)
        #expect(plan.isErasing)
    }

    @Test func namesAreReadOnlyForTheAudit() throws {
        let other = self.scene.device(2, of: 2, lane: DecisionScene.lane)
        let facts = self.scene.facts(device: self.scene.device(), holders: [other])
        let (step, asked) = try self.register(facts, recorded: false)
        #expect(try self.plan(step).records.isEmpty)
        #expect(asked.count == 2)
    }

    @Test(arguments: [(true, Int64(1)), (false, nil)])
    func sharedRegistrationSearchesOnlyDevicesOfItsUser(isShared: Bool, user: Int64?) throws {
        let (_, asked) = try self.register(self.scene.facts(device: self.scene.device()), isShared: isShared)
        #expect(asked.last == .holders(HandleSearch(platform: DecisionScene.platform, key: self.scene.key, user: user)))
    }

    @Test(arguments: [
        // The device's lane (provider and environment), its number of moves, whether the handle is
        // the same, and the lane after the registration.
        (DecisionScene.otherLane, Int64(1), true, DecisionScene.otherLane),
        (DecisionScene.otherLane, 0, true, DecisionScene.lane), (DecisionScene.otherLane, 2, true, DecisionScene.lane),
        (DecisionScene.otherLane, 1, false, DecisionScene.lane), (DecisionScene.lane, 1, true, DecisionScene.lane),
    ])
    func movedDeviceKeepsItsLane(lane: Lane, moves: Int64, isSame: Bool, kept: Lane) throws {
        let key = isSame ? self.scene.key : Data([1])
        let device = self.scene.device(lane: lane, handleKey: key, environmentMoves: moves)
        let plan = try self.plan(self.register(self.scene.facts(device: device)).step)
        #expect(plan.values.registration.lane == kept)
        #expect(plan.values.isMovable == (kept == DecisionScene.lane))
        #expect(plan.movesPushes == (lane != kept))
    }

    @Test(arguments: [
        // Whether the handle and the lane are new, whether the store forgets the accepted pushes,
        // and whether it moves the queued pushes.
        (false, false, false, false), (true, false, true, false), (false, true, true, true), (true, true, true, true),
    ])
    func newAddressForgetsAcceptedPushes(isNewHandle: Bool, isNewLane: Bool, forgets: Bool, moves: Bool) throws {
        let lane = isNewLane ? Lane(Platform("fcm")) : DecisionScene.lane
        let device = self.scene.device(lane: lane, handleKey: isNewHandle ? Data([1]) : self.scene.key, claim: 9)
        let plan = try self.plan(self.register(self.scene.facts(device: device)).step)
        #expect(plan.forgetsPushes == forgets)
        #expect(plan.movesPushes == moves)
        #expect(plan.claim == 9)
        #expect(plan.isErasing)
    }

    @Test func deviceIsNotItsOwnPredecessor() throws {
        let device = self.scene.device(lane: DecisionScene.lane)
        let plan = try self.plan(self.register(self.scene.facts(device: device, holders: [device])).step)
        #expect(plan.retired.isEmpty)
    }

    // MARK: Claims

    /// A claim (unconfirmed registration) must not read other users' rows. Otherwise its duration
    /// would reveal whether others have the handle.
    @Test(arguments: [nil, -10, -100, -4000] as [TimeInterval?], [true, false])
    func claimReadsNoRowsOfOtherUsers(pushed: TimeInterval?, isRegistered: Bool) throws {
        let device = self.scene.device(lane: isRegistered ? DecisionScene.lane : nil)
        let codes = pushed.map { [self.scene.code(pushedAt: self.scene.now + $0)] } ?? []
        for earlier in [[], [self.scene.device(7)]] {
            let facts = self.scene.facts(device: device, isHeld: false, holders: earlier, confirmation: codes)
            let (step, asked) = try self.register(facts, confirmation: self.scene.notification, within: 5)
            _ = try self.claim(step)
            for question in asked {
                switch question {
                case .holders(let search), .isHeld(let search): #expect(search.user == 1)
                case .device(_, let search): #expect(search == nil)
                case .names: Issue.record("names were read")
                default: break
                }
            }
        }
    }

    @Test func heldHandleNeedsNoCode() throws {
        let facts = self.scene.facts(device: self.scene.device(lane: DecisionScene.lane), isHeld: true)
        let (step, _) = try self.register(facts, confirmation: self.scene.notification)
        #expect(try self.plan(step).usedCode == nil)
    }

    @Test(
        arguments: [
            // The time of the last code's push in seconds from now, whether the claim (unconfirmed
            // registration) exists, and when the next code is due.
            (nil, false, 0.0), (-59, true, nil), (-60, true, 0), (-59, false, 1), (30, false, 30), (30, true, nil),
            (-4000, true, 0),
        ] as [(TimeInterval?, Bool, TimeInterval?)]
    )
    func codeIsPushedAtMostOnceAMinute(last: TimeInterval?, isClaimed: Bool, due: TimeInterval?) throws {
        let codes = last.map { [self.scene.code(pushedAt: self.scene.now + $0)] } ?? []
        let earlier = isClaimed ? [self.scene.device(7)] : []
        let facts = self.scene.facts(device: self.scene.device(), isHeld: false, holders: earlier, confirmation: codes)
        let plan = try self.claim(self.register(facts, confirmation: self.scene.notification).step)
        #expect(plan.push?.due == due.map { self.scene.now + $0 })
        #expect(plan.earlier == (isClaimed ? 7 : nil))
        #expect(plan.values.tags == [self.scene.tag])
        #expect(plan.record?.action == .claimDevice)
    }

    /// A code that can no longer register the handle is replaced at once or, if it was pushed
    /// within the last minute, after that minute.
    @Test func spentCodeIsReplaced() throws {
        let spent = [
            self.scene.code(pushedAt: self.scene.now, isUsed: true),
            self.scene.code(pushedAt: self.scene.now, failures: 5),
            self.scene.code(pushedAt: self.scene.now, seed: nil),
        ]
        for code in spent {
            let device = self.scene.device()
            let facts = self.scene.facts(device: device, isHeld: false, holders: [device], confirmation: [code])
            let plan = try self.claim(self.register(facts, confirmation: self.scene.notification).step)
            #expect(plan.push?.due == self.scene.now + 60)
        }
    }

    @Test(arguments: [(nil, nil, nil), (8, nil, 8), (8, 7, 8), (7, 7, nil)] as [(Int64?, Int64?, Int64?)])
    func otherClaimOfTheDeviceEnds(claim: Int64?, earlier: Int64?, ended: Int64?) throws {
        let holders = earlier.map { [self.scene.device($0)] } ?? []
        let facts = self.scene.facts(device: self.scene.device(claim: claim), isHeld: false, holders: holders)
        let plan = try self.claim(self.register(facts, confirmation: self.scene.notification).step)
        #expect(plan.ended == ended)
    }

    /// The limit counts different handles: a repeated claim of the same handle does not count
    /// again.
    @Test func handlesOfAnHourAreLimited() throws {
        let (device, oldest) = (self.scene.device(), self.scene.now - 600)
        let new = self.scene.facts(device: device, isHeld: false, pushAtLimit: [oldest])
        let (step, asked) = try self.register(new, confirmation: self.scene.notification)
        #expect(step == .end(.tooManyClaims(until: oldest + 3600)))
        #expect(asked.last == .pushAtLimit(since: self.scene.now - 3600, skipping: 19))
        let codes = [self.scene.code(pushedAt: oldest)]
        let again = self.scene.facts(device: device, isHeld: false, confirmation: codes, pushAtLimit: [oldest])
        _ = try self.claim(self.register(again, confirmation: self.scene.notification).step)
    }

    // MARK: Rows

    @Test(arguments: [
        (ChangeColumn.senderID, "n.sender_id"), (.isStoredByClients, "n.is_stored_by_clients"), (.mac, "r.mac"),
        (.isFetched, "r.fetched_at is not null"),
    ])
    func aColumnHasTheNameOfItsCaseUnlessItIsComputed(column: ChangeColumn, sql: String) {
        #expect(column.sql == sql)
    }

    @Test func listedColumnsFollowTheColumnsOfADevice() {
        #expect(StoredDevice.Column.allCases.map(\.rawValue) == Array(0..<ListedColumn.pushedAt.rawValue))
    }

    /// A decision whose question gets no answer must fail. Otherwise the store would ask forever.
    @Test func unansweredQuestionEndsWithAnError() throws {
        let decision = self.scene.decision(token: self.scene.token)
        var (facts, rounds) = (RegistrationFacts(), 0)
        #expect(throws: StoreError.self) {
            while case .read = try facts.next({ try decision.confirm("1", for: self.scene.id, $0) }) { rounds += 1 }
        }
        #expect(rounds == 10)
    }
}
