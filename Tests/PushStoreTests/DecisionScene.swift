import Foundation
import PushCore
import Testing

@testable import PushStore

/// The user alice, who registers the handle `x`, and the facts that a store would read for this
/// registration.
struct DecisionScene {
    struct Unexpected: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    static let platform = Platform("apns")
    static let lane = Lane(Self.platform)
    static let otherLane = Lane(Self.platform, part: "sandbox")

    let now = Date(timeIntervalSince1970: 1_000_000)
    let sealing: Sealing
    let alice: User
    let id: RegistrationID
    let handle: DeviceHandle
    let tag: PushCore.Tag
    let notification: NotificationID
    let token: TokenPrefix

    init() throws {
        self.sealing = Sealing(Vault(try Keyring(text: Keyring.generateText())), IndexSecret())
        let name = try #require(Username("alice"))
        self.alice = User(id: 1, name: name, role: .device, passwordNumber: 1, isDisabled: false)
        self.id = try #require(RegistrationID("a-1"))
        self.handle = try #require(DeviceHandle("x"))
        self.tag = try #require(Tag("news"))
        self.notification = try #require(NotificationID(rawValue: 5))
        self.token = BearerToken.random().prefix
    }

    var key: Data { self.sealing.index.hash(self.handle) }

    func decision(
        within limit: Int? = nil,
        recorded: Bool = true,
        token: TokenPrefix? = nil
    ) -> RegistrationDecision {
        let actor = AuditRecord.Actor(name: self.alice.name, token: nil, client: "192.0.2.1", request: "r")
        return RegistrationDecision(
            self.alice,
            with: token,
            by: recorded ? AuditRecord(.registerDevice, of: self.id.description, by: actor, at: self.now) : nil,
            within: limit.flatMap { StorageBounds(devices: $0, notifications: 1, bytes: 1) },
            self.sealing,
            now: self.now
        )
    }

    /// Makes a row of the table `device`. Without a lane (queue of pushes), the device has no
    /// registered handle.
    func device(
        _ number: Int64 = 1,
        id: String = "a-1",
        of user: Int64 = 1,
        retiredReason: String? = nil,
        lane: Lane? = nil,
        handle: Data? = nil,
        handleKey: Data? = nil,
        tags: Data? = nil,
        environmentMoves: Int64 = 0,
        claim: Int64? = nil
    ) -> StoredDevice {
        StoredDevice(
            number: number,
            id: id,
            user: user,
            retiredReason: retiredReason,
            platform: lane.map { Platform(stored: $0.platform) },
            lane: lane?.description,
            handle: handle,
            handleKey: handleKey ?? lane.map { _ in self.key },
            tags: tags,
            isShared: false,
            environmentMoves: environmentMoves,
            claim: claim,
            createdAt: self.now,
            registeredAt: self.now,
            retiredAt: retiredReason.map { _ in self.now },
            key: nil
        )
    }

    func code(
        pushedAt: Date,
        isUsed: Bool = false,
        failures: Int64 = 0,
        seed: Int64? = 3
    ) -> PushStore.Confirmation {
        PushStore.Confirmation(pushedAt: pushedAt, isUsed: isUsed, notification: 4, failures: failures, seed: seed)
    }

    /// Makes all facts that a store could read for a decision.
    func facts(
        device: StoredDevice?,
        isSignedIn: Bool = true,
        isHeld: Bool = false,
        holders: [StoredDevice] = [],
        claim: [StoredDevice] = [],
        confirmation: [PushStore.Confirmation] = [],
        pushAtLimit: [Date] = [],
        deviceCount: Int = 0,
        names: [Int64: Data] = [:]
    ) -> RegistrationFacts {
        var facts = RegistrationFacts()
        facts.isSignedIn = isSignedIn
        facts.device = device.map { [$0] } ?? []
        facts.isHeld = isHeld
        facts.holders = holders
        facts.claim = claim
        facts.confirmation = confirmation
        facts.pushAtLimit = pushAtLimit
        facts.deviceCount = deviceCount
        facts.names = names
        return facts
    }

    /// Repeats a decision, and gives it each fact that it asks for, as a store does. Returns the
    /// decision's result, and the questions that it asked.
    func follow(
        _ all: RegistrationFacts,
        _ decide: (RegistrationFacts) throws -> RegistrationStep
    ) throws -> (step: RegistrationStep, asked: [RegistrationQuestion]) {
        var (facts, asked) = (RegistrationFacts(), [RegistrationQuestion]())
        while true {
            guard case .read(let question) = try decide(facts) else { return (try decide(facts), asked) }
            if asked.contains(question) { throw Unexpected("\(question) was asked twice") }
            asked.append(question)
            switch question {
            case .isSignedIn: facts.isSignedIn = all.isSignedIn
            case .device: facts.device = all.device
            case .isHeld: facts.isHeld = all.isHeld
            case .holders: facts.holders = all.holders
            case .claim: facts.claim = all.claim
            case .confirmation: facts.confirmation = all.confirmation
            case .pushAtLimit: facts.pushAtLimit = all.pushAtLimit
            case .deviceCount: facts.deviceCount = all.deviceCount
            case .names: facts.names = all.names
            }
        }
    }
}
