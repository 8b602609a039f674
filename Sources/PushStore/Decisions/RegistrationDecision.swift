package import Foundation
package import PushCore

/// Decides about a registration of a user's device. The result is a plan, which the store writes.
///
/// This type reads and writes nothing itself. It asks for the next fact that it needs, and the
/// store calls it again with that fact. So this type also determines the order of the reads.
package struct RegistrationDecision: Sendable {
    package let user: User
    package let sealing: Sealing
    package let now: Date
    /// The token that the user has presented; `nil` if the user has presented another credential.
    let token: TokenPrefix?
    /// The request and the registration, in the form for the audit.
    let record: AuditRecord?
    let bounds: StorageBounds?

    /// The reason for refusing an id. The text is the same whether another account has the id or
    /// nobody. So somebody who guesses an id learns nothing.
    static let notIssued = "the registration id was not issued to this user"
    static let registeredAgain = "the handle was registered again"
    /// How often a device may move to its platform's other environment before it registers again:
    /// there and back. The schemas check the same number.
    package static let maximumMoves: Int64 = 2

    package init(
        _ user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        _ sealing: Sealing,
        now: Date
    ) {
        (self.user, self.token, self.record, self.bounds) = (user, token, record, bounds)
        (self.sealing, self.now) = (sealing, now)
    }

    /// Decides about a registration. If other users could guess the handle and this user does not
    /// have it yet, the device only claims the handle. The user must then return a code.
    package func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        _ facts: RegistrationFacts
    ) -> RegistrationStep {
        if let step = self.signIn(facts) { return step }
        let search = self.search(registration)
        guard let found = facts.device else {
            return .read(.device(id, holders: registration.confirmation == nil ? search : nil))
        }
        guard let device = found.first else { return .end(.gone(reason: Self.notIssued)) }
        if let reason = device.retiredReason { return .end(.gone(reason: reason)) }
        if let notification = registration.confirmation {
            let own = HandleSearch(platform: search.platform, key: search.key, user: self.user.id)
            guard let isHeld = facts.isHeld else { return .read(.isHeld(own)) }
            if !isHeld { return self.claim(registration, for: device, notification, facts) }
        }
        return self.take(registration, for: device, usedCode: nil, facts)
    }

    /// Decides about a code that the user has returned. If it is the code that was pushed to the
    /// claimed handle, the handle is registered for the device.
    package func confirm(_ code: String, for id: RegistrationID, _ facts: RegistrationFacts) throws -> RegistrationStep
    {
        if let step = self.signIn(facts) { return step }
        guard let found = facts.device else { return .read(.device(id, holders: nil)) }
        guard let device = found.first else { return .end(.missing) }
        if let reason = device.retiredReason { return .end(.gone(reason: reason)) }
        if let number = device.claim {
            guard let claims = facts.claim else { return .read(.claim(number, device: device.number)) }
            if let claim = claims.first, let key = claim.handleKey, let wanted = try claim.registration(self.sealing) {
                guard let last = facts.confirmation else { return .read(.confirmation(claimKey: key)) }
                guard let last = last.first, last.isGood(self.now), self.matches(code, last, key) else {
                    return .countFailure(claimKey: key, .refused)
                }
                return self.take(wanted, for: device, usedCode: key, facts)
            }
        }
        // An earlier request with this code may have registered the device's present handle, and
        // its answer may have been lost.
        guard let platform = device.platform, let handle = try device.openHandle(self.sealing) else {
            return .end(.refused)
        }
        let key = self.claimKey(handle, platform)
        guard let last = facts.confirmation else { return .read(.confirmation(claimKey: key)) }
        guard let last = last.first, last.isUsed, !last.isExpired(self.now), self.matches(code, last, key) else {
            return .end(.refused)
        }
        return .end(.registered(moved: 0))
    }

    // MARK: - Private

    /// Registers the handle for the device, and retires the other devices with this handle.
    private func take(
        _ registration: DeviceRegistration,
        for device: StoredDevice,
        usedCode: Data?,
        _ facts: RegistrationFacts
    ) -> RegistrationStep {
        let search = self.search(registration)
        guard let found = facts.holders else { return .read(.holders(search)) }
        let holders = found.filter { $0.number != device.number }
        let replaced = holders.first { $0.user == self.user.id }
        if let step = self.limit(device, butFor: replaced?.number, facts) { return step }
        var records: [AuditRecord] = []
        if let record {
            let others = holders.filter { $0.user != self.user.id }
            guard let names = others.isEmpty ? [:] : facts.names else { return .read(.names(others.map(\.user))) }
            records = others.map { self.moveRecord(of: $0, names[$0.user], registration.platform, record) }
            records.append(self.recorded(.registerDevice, record, registration.platform))
        }
        let keptLane = self.keptLane(of: device, search.key, registration)
        var registration = registration
        if let keptLane { registration.lane = keptLane }
        let isNewLane = device.lane.map { $0 != registration.lane.description } ?? false
        return .register(
            RegistrationPlan(
                device: device.number,
                retired: holders.map { self.retirement(of: $0, registration.platform) },
                claim: device.claim,
                values: HandleValues(
                    registration: registration,
                    key: search.key,
                    tags: registration.tags.union([Tag(of: self.user.name)]),
                    at: self.now,
                    token: self.token,
                    isMovable: keptLane == nil
                ),
                records: records,
                // Pushes that were accepted at another address do not show that this address
                // works.
                forgetsPushes: isNewLane || device.lane != nil && device.handleKey != search.key,
                // Queued pushes move only to a new lane (a provider's queue). A device registers
                // often, but its lane rarely changes.
                movesPushes: isNewLane,
                usedCode: usedCode,
                isErasing: !holders.isEmpty || device.lane != nil || device.claim != nil
            )
        )
    }

    /// Stores the device's claim to the handle, and adds the push of a new code. If a code was
    /// pushed only a short time ago, no new code is pushed. This decision depends on no fact about
    /// other users' registrations.
    private func claim(
        _ registration: DeviceRegistration,
        for device: StoredDevice,
        _ notification: NotificationID,
        _ facts: RegistrationFacts
    ) -> RegistrationStep {
        let platform = registration.platform
        let key = self.claimKey(registration.handle, platform)
        guard let codes = facts.confirmation else { return .read(.confirmation(claimKey: key)) }
        let last = codes.first
        if last == nil {
            let lifetime = HandleClaim.lifetime.timeInterval
            guard let pushes = facts.pushAtLimit else {
                return .read(.pushAtLimit(since: self.now - lifetime, skipping: HandleClaim.handles - 1))
            }
            if let push = pushes.first { return .end(.tooManyClaims(until: push + lifetime)) }
        }
        if let step = self.limit(device, butFor: nil, facts) { return step }
        guard let claims = facts.holders else {
            return .read(.holders(HandleSearch(platform: platform, key: key, user: self.user.id)))
        }
        let earlier = claims.first?.number
        // If the earlier claim to the handle no longer exists, the push of its code was cancelled,
        // and the code may not have arrived.
        let isPushed = earlier != nil && last?.isJustPushed(self.now) == true && last?.isGood(self.now) == true
        let due = isPushed ? nil : last?.nextPush(self.now) ?? self.now
        let plan = ClaimPlan(
            push: due.map { ClaimPlan.CodePush(notification: notification, due: $0) },
            device: device.number,
            ended: device.claim == earlier ? nil : device.claim,
            earlier: earlier,
            values: HandleValues(
                registration: registration,
                key: key,
                tags: registration.tags,
                at: due ?? last?.pushedAt ?? self.now,
                token: nil,
                isMovable: true
            ),
            record: self.record.map { self.recorded(.claimDevice, $0, platform) }
        )
        return .claim(plan, .unconfirmed(hasWork: due != nil), or: .idTaken)
    }

    private func signIn(_ facts: RegistrationFacts) -> RegistrationStep? {
        guard let token else { return nil }
        guard let isSignedIn = facts.isSignedIn else { return .read(.isSignedIn(token)) }
        return isSignedIn ? nil : .end(.signedOut)
    }

    /// The step that results from the limit on a user's devices; `nil` if the device may have a
    /// handle. A device that is already registered does not increase the number of devices.
    private func limit(_ device: StoredDevice, butFor replaced: Int64?, _ facts: RegistrationFacts) -> RegistrationStep?
    {
        guard device.lane == nil, let limit = self.bounds?.devices else { return nil }
        guard let count = facts.deviceCount else { return .read(.deviceCount(butFor: replaced, limit: limit)) }
        return count >= limit ? .end(.tooMany) : nil
    }

    /// Searches for the devices that this registration replaces: devices of all users or, if
    /// several users may share the handle, only the user's own devices.
    private func search(_ registration: DeviceRegistration) -> HandleSearch {
        HandleSearch(
            platform: registration.platform,
            key: self.sealing.index.hash(registration.handle),
            user: registration.isShared ? self.user.id : nil
        )
    }

    private func claimKey(_ handle: DeviceHandle, _ platform: Platform) -> Data {
        self.sealing.index.hash(handle, on: platform, claimedBy: self.user.id)
    }

    private func matches(_ code: String, _ last: Confirmation, _ key: Data) -> Bool {
        last.code(key, self.sealing)?.matches(code) == true
    }

    /// The device's lane (a provider's queue), if the device was moved there since it first
    /// registered this handle; otherwise `nil`. A registration must not return it to the
    /// registered lane: the provider would refuse the next push, and the device would be moved
    /// again.
    private func keptLane(of device: StoredDevice, _ key: Data, _ registration: DeviceRegistration) -> Lane? {
        guard let other = registration.otherLane, device.lane == other.description else { return nil }
        return (1..<Self.maximumMoves).contains(device.environmentMoves) && device.handleKey == key ? other : nil
    }

    private func retirement(of holder: StoredDevice, _ platform: Platform) -> RegistrationPlan.Retirement {
        let isOwn = holder.user == self.user.id
        return RegistrationPlan.Retirement(
            device: holder.number,
            user: holder.user,
            reason: isOwn ? Self.registeredAgain : MovedDevice.reason,
            platform: isOwn ? nil : platform
        )
    }

    /// The audit's record that the handle has moved. If the name of the former owner is damaged,
    /// the record leaves it out: the damage must not prevent the registration.
    private func moveRecord(
        of holder: StoredDevice,
        _ name: Data?,
        _ platform: Platform,
        _ record: AuditRecord
    ) -> AuditRecord {
        let owner = name.flatMap { try? self.sealing.username($0, ofUser: holder.user) }
        let detail = owner.map { "\(platform), from \($0)" } ?? platform.description
        return record.another(.moveDevice, of: holder.id, detail: detail)
    }

    func recorded(_ action: AuditRecord.Action, _ record: AuditRecord, _ platform: Platform) -> AuditRecord {
        record.another(action, of: record.subject, detail: platform.description)
    }
}
