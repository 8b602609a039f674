import Foundation
import PushCore
import Testing

@testable import PushStore

/// Decisions about confirmation codes and topics of devices, tested without a database.
@Suite(.timeLimit(.minutes(5))) struct ConfirmationDecisionTests {
    private typealias Step = RegistrationStep

    private let scene: DecisionScene
    private let claimKey: Data

    init() throws {
        self.scene = try DecisionScene()
        self.claimKey = self.scene.sealing.index.hash(self.scene.handle, on: DecisionScene.platform, claimedBy: 1)
    }

    /// The row of the device's unconfirmed registration of the handle `x`.
    private func claim() throws -> StoredDevice {
        self.scene.device(
            7,
            lane: Lane(DecisionScene.platform, part: "part"),
            handle: try self.scene.sealing.seal("x", in: .handle(7)),
            handleKey: self.claimKey,
            tags: try self.scene.sealing.seal([self.scene.tag], in: .tags(7))
        )
    }

    private func confirm(
        _ code: String? = nil,
        of last: PushStore.Confirmation,
        _ device: StoredDevice,
        claim: [StoredDevice]
    ) throws -> (step: Step, asked: [RegistrationQuestion]) {
        let facts = self.scene.facts(device: device, claim: claim, confirmation: [last])
        let right = self.scene.code(pushedAt: self.scene.now).code(self.claimKey, self.scene.sealing)?.exposed
        let sent = try #require(code ?? right)
        let decision = self.scene.decision()
        return try self.scene.follow(facts) { try decision.confirm(sent, for: self.scene.id, $0) }
    }

    @Test func rightCodeRegistersWhatWasClaimed() throws {
        let last = self.scene.code(pushedAt: self.scene.now)
        let (step, asked) = try self.confirm(of: last, self.scene.device(claim: 7), claim: [self.claim()])
        guard case .register(let plan) = step else { throw DecisionScene.Unexpected("\(step)") }
        #expect(plan.device == 1)
        #expect(plan.claim == 7)
        #expect(plan.usedCode == self.claimKey)
        #expect(plan.values.key == self.scene.key)
        #expect(plan.values.registration.handle == self.scene.handle)
        #expect(plan.values.registration.lane == Lane(DecisionScene.platform, part: "part"))
        #expect(plan.values.tags == [self.scene.tag, PushCore.Tag(of: self.scene.alice.name)])
        let search = HandleSearch(platform: DecisionScene.platform, key: self.scene.key, user: nil)
        let expected: [RegistrationQuestion] = [
            .device(self.scene.id, holders: nil), .claim(7, device: 1), .confirmation(claimKey: self.claimKey),
            .holders(search),
        ]
        #expect(asked == expected)
    }

    @Test(arguments: [
        // The seconds since the push of the code, the number of wrong attempts, whether the code
        // was used before, and whether the code still registers the handle.
        (0.0, Int64(0), false, true), (3599, 4, false, true), (3600, 0, false, false), (0, 5, false, false),
        (0, 0, true, false),
    ])
    func codeIsGoodForAnHourAndFiveAttempts(age: TimeInterval, failures: Int64, isUsed: Bool, isGood: Bool) throws {
        let last = self.scene.code(pushedAt: self.scene.now - age, isUsed: isUsed, failures: failures)
        let (step, _) = try self.confirm(of: last, self.scene.device(claim: 7), claim: [self.claim()])
        #expect((step == .countFailure(claimKey: self.claimKey, .refused)) == !isGood)
    }

    @Test func wrongCodeIsCounted() throws {
        let last = self.scene.code(pushedAt: self.scene.now)
        let (step, asked) = try self.confirm("wrong", of: last, self.scene.device(claim: 7), claim: [self.claim()])
        #expect(step == .countFailure(claimKey: self.claimKey, .refused))
        #expect(asked.count == 3, "the holders of the handle are not read")
    }

    @Test(arguments: [
        (nil, true, 3599.0, RegisterOutcome.registered(moved: 0)), (nil, true, 3600, .refused),
        (nil, false, 0, .refused),
        ("wrong", true, 0, .refused),
    ])
    func usedCodeConfirmsThePresentHandle(
        code: String?,
        isUsed: Bool,
        age: TimeInterval,
        outcome: RegisterOutcome
    ) throws {
        let handle = try self.scene.sealing.seal("x", in: .handle(1))
        let last = self.scene.code(pushedAt: self.scene.now - age, isUsed: isUsed)
        // The device's row refers to no claim (unconfirmed registration of a handle), or to a
        // claim that has ended since the store read the row.
        for claim in [nil, 7] as [Int64?] {
            let device = self.scene.device(lane: DecisionScene.lane, handle: handle, claim: claim)
            #expect(try self.confirm(code, of: last, device, claim: []).step == .end(outcome))
        }
    }

    @Test func deviceWithoutClaimAndHandleIsRefused() throws {
        let last = self.scene.code(pushedAt: self.scene.now)
        let (step, asked) = try self.confirm(of: last, self.scene.device(), claim: [])
        #expect(step == .end(.refused))
        #expect(asked.count == 1)
        // An earlier version retired claims together with the devices of an app, so a claim's row
        // may be empty.
        let emptied = self.scene.device(7)
        #expect(try self.confirm(of: last, self.scene.device(claim: 7), claim: [emptied]).step == .end(.refused))
    }

    @Test(arguments: [(nil, RegisterOutcome.missing), ("why", .gone(reason: "why"))])
    func endedDeviceConfirmsNothing(reason: String?, outcome: RegisterOutcome) throws {
        let facts = self.scene.facts(device: reason.map { self.scene.device(retiredReason: $0, claim: 7) })
        let decision = self.scene.decision()
        let end: (step: Step, asked: [RegistrationQuestion]) = try self.scene.follow(facts) {
            try decision.confirm("code", for: self.scene.id, $0)
        }
        #expect(end.step == .end(outcome))
    }

    // MARK: Topics

    private struct Changed: Equatable {
        let outcome: TopicOutcome
        let tags: Set<PushCore.Tag>?

        init(_ outcome: TopicOutcome, _ tags: Set<PushCore.Tag>?) {
            (self.outcome, self.tags) = (outcome, tags)
        }
    }

    private func change(_ change: TopicChange, _ tags: Set<PushCore.Tag>) throws -> Changed {
        let device = self.scene.device(
            lane: DecisionScene.lane,
            handle: Data(),
            tags: try self.scene.sealing.seal(tags, in: .tags(1))
        )
        let (outcome, plan) = try self.scene.decision().change(change, of: device)
        #expect((plan?.record?.action ?? .registerDevice) == .registerDevice)
        return Changed(outcome, plan?.tags)
    }

    @Test func topicChangesTheTagsOnce() throws {
        let (own, news, sport) = (
            PushCore.Tag(of: self.scene.alice.name), self.scene.tag, try #require(Tag("sport"))
        )
        #expect(try self.change(.join(sport), [own, news]) == Changed(.done, [own, news, sport]))
        #expect(try self.change(.leave(news), [own, news]) == Changed(.done, [own]))
        #expect(try self.change(.join(news), [own, news]) == Changed(.done, nil))
        #expect(try self.change(.leave(sport), [own, news]) == Changed(.done, nil))
        #expect(try self.change(.leave(own), [own, news]) == Changed(.done, nil))
    }

    @Test(arguments: [
        (PushCore.Tag.maximumPerDevice - 1, TopicOutcome.done), (PushCore.Tag.maximumPerDevice, .tooMany),
    ])
    func topicsAreLimitedWithoutTheTagOfTheUser(count: Int, outcome: TopicOutcome) throws {
        let tags = Set((0..<count).compactMap { PushCore.Tag("t\($0)") }).union([
            PushCore.Tag(of: self.scene.alice.name)
        ])
        #expect(try self.change(.join(self.scene.tag), tags).outcome == outcome)
        #expect(try self.change(.leave(#require(Tag("t0"))), tags).outcome == .done)
    }

    @Test func topicNeedsARegisteredDevice() throws {
        let decision = self.scene.decision()
        let gone = TopicOutcome.gone(reason: "the registration id was not issued to this user")
        #expect(try decision.change(.join(self.scene.tag), of: nil).outcome == gone)
        let retired = self.scene.device(retiredReason: "why")
        #expect(try decision.change(.join(self.scene.tag), of: retired).outcome == .gone(reason: "why"))
        #expect(try decision.change(.join(self.scene.tag), of: self.scene.device()).outcome == .unregistered)
    }
}
