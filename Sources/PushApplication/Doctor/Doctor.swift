package import Foundation
import Glibc
import HTTPSignatures
import Logging
import PushCore
import PushSenders
import PushServer
import PushStore
import Reactor

/// Checks everything that the server needs for its start. It changes nothing, so it may run while
/// the server runs.
package struct Doctor: Sendable {
    /// With less free space on the disk than this, the server may stop at any time.
    static let leastSpace: UInt64 = 100 << 20
    static let comfortableSpace: UInt64 = 1 << 30

    let configuration: Configuration
    let now: Date
    private let start = ContinuousClock.now

    package init(configuration: Configuration, now: Date = Date()) {
        self.configuration = configuration
        self.now = now
    }

    /// The findings of all checks. An operator should fix the faults in this order. With `online`,
    /// the checks also call the providers. If one check of a subject fails, the findings that all
    /// is well with this subject are left out.
    package func examine(online: Bool) async throws -> [Finding] {
        var findings = [self.clock, self.disk, self.keyring, self.signingKeys] + self.database + self.certificates
        if let dayKeys = self.dayKeys { findings.append(dayKeys) }
        findings += self.missingFiles
        findings += self.configuration.risks.map { risk in
            Finding(risk.grade == .refused ? .fail : .warn, risk.key, risk.reason)
        }
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let senders = self.configuration.senders.sorted { $0.key.description < $1.key.description }
        var checked = await senders.mapAtOnce { name, sender in
            // If the proxy's credentials are bad, the check of the sender's credentials reports
            // them.
            guard online, let egress = try? self.configuration.egress(of: name) else {
                return await self.credentials(of: sender, name: name, on: loop, online: false)
            }
            let reached = await sender.reachability(name: name, on: loop, through: egress.proxy, now: self.present)
            let isReached = reached.allSatisfy { $0.grade != .fail }
            return await self.credentials(of: sender, name: name, on: loop, online: isReached) + reached
        }.flatMap { $0 }
        checked += await self.eventWebhook(on: loop, online: online)
        checked += await self.issuer(on: loop, online: online)
        checked += await self.tracing(on: loop, online: online)
        // Each call reports the same fault of the clock, so only the first such finding is kept.
        findings += checked.filter { $0.subject != "clock" } + checked.filter { $0.subject == "clock" }.prefix(1)
        findings += await self.server()
        let failed = Set(findings.filter { $0.grade == .fail }.map(\.subject))
        return findings.filter { $0.grade != .ok || !failed.contains($0.subject) }
    }

    /// The present time. It differs from `now`, the time at which the checks began, since the
    /// checks may take minutes.
    var present: @Sendable () -> Date {
        let (now, start) = (self.now, self.start)
        return { now + (ContinuousClock.now - start).timeInterval }
    }

    /// The finding about a credential: a failure if it has expired, a warning if it expires soon.
    func judge(_ expiry: CredentialExpiry) -> Finding {
        let left = expiry.expiresAt.timeIntervalSince(self.now)
        let day = expiry.expiresAt.formatted(.iso8601.year().month().day())
        if left <= 0 { return Finding(.fail, expiry.name, "expired on \(day)") }
        let days = Int(left / 86_400).counted("day")
        return Finding(left < expiry.noticePeriod ? .warn : .ok, expiry.name, "valid until \(day), \(days)")
    }

    // MARK: - Private

    /// Checks this machine's clock: with a wrong clock, APNs and Google refuse every token. The
    /// database shows whether the clock is behind: the database's last write cannot be in the
    /// future.
    private var clock: Finding {
        if self.now < HeldClock.programDate {
            return Finding(.fail, "clock", "is wrong: it shows \(self.now.ISO8601Format())")
        }
        // Without a store, there is no last write, so the clock cannot be compared with it.
        if let last = self.configuration.storePlace.lastWrite, last.at > self.now + 60 {
            return Finding(
                .fail,
                "clock",
                "is behind: \(last.place) was written later, at \(last.at.ISO8601Format()); set the clock"
            )
        }
        do {
            let clock = try self.makeHeldClock()
            let shown = self.now.ISO8601Format()
            let remedy = "if that time is right, run sealpost clock accept"
            if let ahead = clock.held {
                let text = "shows \(shown), \(ClockService.text(ahead)) ahead, and is rejected; \(remedy)"
                return Finding(.fail, "clock", text)
            }
            if let behind = clock.behind {
                let text = "shows \(shown), \(ClockService.text(behind)) behind an earlier accepted time; \(remedy)"
                return Finding(.warn, "clock", text)
            }
            return Finding(.ok, "clock", shown)
        } catch {
            return Finding(.warn, "clock", "\(error)")
        }
    }

    /// The time that decides whether data has expired. If the clock's file is damaged, this is the
    /// machine's time.
    var dataTime: Date { (try? self.makeHeldClock())?.now() ?? self.now }

    private func makeHeldClock() throws -> HeldClock {
        let now = self.now
        return HeldClock(after: try self.configuration.clockFile.load(), wall: { now })
    }

    private var disk: Finding {
        // A file system becomes read-only after an error of the disk, and the server then cannot
        // start.
        if self.configuration.databaseFile != nil, self.configuration.storePlace.exists,
            let fault = RootFolder(ofExisting: self.configuration.database).writeFault
        {
            return Finding(.fail, "disk", fault)
        }
        do throws(StoreError) {
            guard let (free, place) = try self.configuration.storePlace.freeSpace() else {
                return Finding(.ok, "disk", "belongs to the database's server, which does not tell its free space")
            }
            let grade: Finding.Grade = free < Self.leastSpace ? .fail : free < Self.comfortableSpace ? .warn : .ok
            return Finding(grade, "disk", "\(free >> 20) MiB are free in \(place)")
        } catch {
            return Finding(.fail, "disk", "\(error)")
        }
    }

    private var keyring: Finding {
        let (path, place) = (self.configuration.keyring, self.configuration.storePlace)
        if let finding = self.firstStart(creates: path, subject: "keyring") { return finding }
        do {
            let keyring = try KeyringFile(path).loadOrCreate(beside: place)
            // The check of the database reports a store that cannot be read.
            let keys = (try? place.dataKeys()) ?? []
            try keys.check(keyring)
            if let key = keys.first(where: { $0.seals >= Keyring.maximumSeals / 2 }), key.number == keyring.sealing {
                return Finding(
                    .warn,
                    "keyring",
                    "key \(key.number) has encrypted \(key.seals) values; run sealpost keys rotate"
                )
            }
            let servers = (try? place.cluster?.serverKeys()) ?? []
            let lacking = servers.filter { $0.lacks(keyring.sealing, of: keyring) }.map(\.name)
            if !lacking.isEmpty {
                return Finding(
                    .warn,
                    "keyring",
                    """
                    key \(keyring.sealing) does not encrypt yet, as it is missing on \(lacking.joined(separator: " and ")): copy \
                    \(path) there and run sealpost keys reload
                    """
                )
            }
            return Finding(.ok, "keyring", "\(path) can be used")
        } catch {
            return Finding(.fail, "keyring", "\(error)")
        }
    }

    private var signingKeys: Finding {
        let path = self.configuration.signingKeys
        if let finding = self.firstStart(creates: path, subject: "signing-keys") { return finding }
        do {
            let first = try SigningKeyFile(path).loadOrCreate(beside: self.configuration.storePlace).keys[0].key
            return Finding(.ok, "signing-keys", "\(path) can be used; \(first.id) signs")
        } catch {
            return Finding(.fail, "signing-keys", "\(error)")
        }
    }

    /// The warning that a file of keys does not exist yet; `nil` if it exists, or if it is lost.
    private func firstStart(creates path: String, subject: String) -> Finding? {
        guard PrivateFile.isMissing(path) else { return nil }
        // The check of the database reports a store that cannot be read. That fault is not the
        // file's.
        let isMade = try? self.configuration.storePlace.isMade()
        if isMade == true { return nil }
        let condition = isMade == nil ? " if the database is new" : ""
        return Finding(.warn, subject, "\(path) does not exist; the first start creates it\(condition)")
    }

    /// Whether the next start can create the missing files, and use the admin socket.
    private var missingFiles: [Finding] {
        do throws(ConfigurationError) {
            try self.configuration.checkMissingFiles()
            try self.configuration.checkAdminSocket()
            return []
        } catch {
            guard let folder = self.configuration.missingRuntimeFolder, error.description.hasPrefix("admin.socket:")
            else {
                return [Finding(.fail, "files", "\(error)")]
            }
            let hint = "a unit of systemd with RuntimeDirectory makes \(folder) when the service starts"
            return [Finding(.warn, "files", "\(error); \(hint)")]
        }
    }

    /// Checks of the database, and of the pushes in it that no sender sends.
    private var database: [Finding] {
        let place = self.configuration.storePlace
        // If the database cannot be read, `inspect` below throws the reason.
        if let loss = try? self.configuration.lossOfStore() { return [Finding(.fail, "database", "\(loss)")] }
        guard place.exists else {
            let state =
                self.configuration.databaseFile == nil
                ? "has no tables; the first start creates them" : "does not exist; the first start creates it"
            return [Finding(.warn, "database", "\(place) \(state)")]
        }
        do throws(StoreError) {
            try place.cluster?.compare(TimelineFile(self.configuration.timeline))
            let inspection = try place.inspect()
            return [self.database(place, inspection)] + self.lanesWithoutSender(inspection.tallies)
        } catch {
            return [Finding(.fail, "database", "\(error)")]
        }
    }

    private func database(_ place: any StorePlace, _ inspection: StoreInspection) -> Finding {
        if let line = inspection.damage.first {
            return Finding(.fail, "database", "\(place) is damaged: \(line); restore an intact backup")
        }
        if let name = inspection.unknownMigration {
            return Finding(
                .fail,
                "database",
                "\(place) was written by a newer version, with the migration \(name); use that version"
            )
        }
        if let name = inspection.changedMigration {
            return Finding(
                .fail,
                "database",
                "\(place) has another migration \(name) than this version; use the version that wrote it"
            )
        }
        if let move = inspection.move { return Finding(.fail, "database", "\(place) \(move)") }
        if let name = inspection.missingMigrations.first {
            return Finding(.warn, "database", "\(place) needs the migration \(name); the next start applies it")
        }
        return Finding(.ok, "database", "\(place) is intact and up to date")
    }

    private var certificates: [Finding] {
        guard let tls = self.configuration.tls else { return [] }
        do {
            // The findings include the warnings that would go to the log, so nothing is logged.
            return try TLSSetup.inspect(tls, logger: .silent).map(self.judge)
        } catch {
            return [Finding(.fail, "server.tls", "\(error)")]
        }
    }

    /// Checks whether a sender's credentials can be used; with `online`, asks the provider.
    private func credentials(
        of sender: SenderConfiguration,
        name: Platform,
        on loop: EventLoop,
        online: Bool
    ) async -> [Finding] {
        do {
            let egress = try self.configuration.egress(of: name)
            let setup = try SenderSetup(
                sender,
                name: name,
                on: loop,
                streams: StreamHub(),
                egress: egress,
                tokens: APNsProviderTokens(),
                alerts: self.configuration.server.alerts
            )
            let tried = online ? await sender.trial(of: setup, name: name, now: self.present()) : []
            await setup.close()
            if case .webPush(let webPush) = sender, PrivateFile.isMissing(webPush.keyFile) {
                let text = "\(webPush.keyFile) does not exist; the first start creates it"
                return [Finding(.warn, "\(name.configurationKey).keyFile", text)]
            }
            let others = [sender.badgeFinding(name: name), setup.expiry.map(self.judge)].compactMap(\.self)
            return try sender.credentialFindings(name: name) + others + tried
        } catch {
            return [Finding(.fail, name.configurationKey, "\(error)")]
        }
    }
}
