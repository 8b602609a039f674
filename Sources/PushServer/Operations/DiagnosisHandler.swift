internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Explains the state of a user, a device or a notification: reads the stored data, and lets
/// `Diagnosis` find the reasons.
struct DiagnosisHandler: Handler {
    let reports: ReportReader
    let daemon: Daemon
    /// The names of the platforms that have a sender.
    let platforms: Set<String>
    /// The host that receives a platform's pushes, by the platform's name; only for platforms for
    /// which the operator has configured one host.
    let receivers: [String: String]
    let scope: AppScope
    /// The largest number of a user's devices that are read.
    private static let maximumDevices = 500
    /// The largest number of a notification's pushes that are read.
    private static let maximumPushes = 500
    /// The number of a user's latest changes among which the server searches for the newest
    /// notification.
    private static let latest = 20

    var routes: [Route] {
        [
            Route(.get, Paths.why("{id}"), .atLeast(.admin, .manage, seeing: .view), query: ["notification"]) {
                try await self.explain($0)
            }
        ]
    }

    private func explain(_ context: RequestContext) async throws -> Response {
        let subject = context.parameter
        let id = try Query(context.request.head.query)["notification"].map { text throws(Problem) in
            guard let id = NotificationID(text) else {
                throw Problem(.invalidParameter, "notification must be the number of a notification")
            }
            return id
        }
        let apps = self.scope.limit(of: try context.user)
        let diagnosis = Diagnosis(
            now: context.now,
            pauses: self.daemon.pauses(),
            platforms: self.platforms,
            receivers: self.receivers,
            isLimited: apps != nil
        )
        let found = try await self.reports.run { reader in
            try await Self.sentences(about: subject, id, diagnosis, Seen(apps: apps, reader: reader))
        }
        guard let (kind, sentences) = found else {
            // The text says "no stored notification", because the server cannot distinguish an
            // expired notification from one that never existed.
            let start = apps == nil ? "there is no" : "you see no"
            throw Problem(.notFound, "\(start) user, no device and no stored notification \(subject)")
        }
        return Response(
            uncached: .object([
                .init("Subject", .string(subject)), .init("Kind", .string(kind)),
                .init("Sentences", .array(sentences.map(\.json))),
            ])
        )
    }

    /// The explanation of a subject, which may be the name of a user or the id of a device or of a
    /// notification. The first of the three that exists is explained; `nil` if none exists.
    private static func sentences(
        about subject: String,
        _ notification: NotificationID?,
        _ diagnosis: Diagnosis,
        _ seen: Seen
    ) async throws -> (kind: String, sentences: [Diagnosis.Sentence])? {
        let reader = seen.reader
        if let name = Username(subject), let user = try await reader.user(named: name), seen.admits(user) {
            let all = try await reader.deviceEntries(of: name, after: nil, limit: Self.maximumDevices)
            let devices = all.filter { $0.isSeen(within: seen.apps, seesUser: true) }
            let sent = try await Self.sent(notification, to: user, seen)
            return ("user", try await Self.complete(diagnosis, for: user, seen).explain(user, devices, sent))
        }
        if let id = RegistrationID(subject), let device = try await reader.deviceEntry(id),
            let user = try await reader.user(named: device.username),
            device.isSeen(within: seen.apps, seesUser: seen.admits(user))
        {
            let sent = try await Self.sent(notification, to: user, seen)
            return ("device", try await Self.complete(diagnosis, for: user, seen).explain(user, [device], sent))
        }
        if let id = NotificationID(subject), notification == nil {
            var sent = try await Self.sent(id, seen)
            if sent.summary == nil { return nil }
            sent.recipient = try await reader.recipients(of: id, after: 0, limit: 1).first
            let pushes = try await reader.deliveries(of: id, after: 0, limit: Self.maximumPushes + 1)
            sent.pushes = Array(pushes.prefix(Self.maximumPushes))
            return ("notification", diagnosis.explain(sent, isWhole: pushes.count <= Self.maximumPushes))
        }
        return nil
    }

    /// The diagnosis, completed by the facts about a user.
    private static func complete(
        _ diagnosis: Diagnosis,
        for user: User,
        _ seen: Seen
    ) async throws -> Diagnosis {
        var diagnosis = diagnosis
        let claims = try await seen.reader.claims(ofUser: user.id).filter { seen.admits($0.push.platform.app) }
        diagnosis.codes = Dictionary(claims.map { ($0.device, $0.push) }) { first, _ in first }
        diagnosis.requiresEncryption = try await seen.reader.userEntry(named: user.name)?.requiresEncryption ?? false
        return diagnosis
    }

    /// The stored state, for one user, of the given notification or, if none is given, of the
    /// user's newest notification; `nil` if the user is not a recipient.
    private static func sent(
        _ notification: NotificationID?,
        to user: User,
        _ seen: Seen
    ) async throws -> Diagnosis.Sent? {
        let reader = seen.reader
        var id = notification
        if id == nil {
            let latest = try await reader.latestNotifications(ofUser: user.id, limit: Self.latest)
            id = latest.filter(seen.admits).max { $0.createdAt < $1.createdAt }?.id
        }
        guard let id else { return nil }
        var sent = try await Self.sent(id, seen)
        if sent.summary == nil { return sent }
        sent.recipient = try await reader.recipients(of: id, after: user.id - 1, limit: 1).first { $0.user == user.id }
        sent.pushes = try await reader.deliveries(of: id, toUser: user.id, limit: Self.maximumDevices)
        return sent
    }

    /// The stored state of a notification; it has no summary if the caller does not see the
    /// notification.
    private static func sent(_ id: NotificationID, _ seen: Seen) async throws -> Diagnosis.Sent {
        guard let summary = try await seen.reader.summary(of: id), seen.admits(summary) else {
            return Diagnosis.Sent(id: id, summary: nil)
        }
        return Diagnosis.Sent(
            id: id,
            summary: summary,
            sendAt: try await seen.reader.sendTime(of: id),
            isFindingDevices: try await seen.reader.isFanningOut(id)
        )
    }
}

/// Reads only the data that the caller may see.
private struct Seen {
    /// The apps whose data the caller may see; `nil` for all apps.
    let apps: Set<AppName>?
    let reader: any StoreReader

    func admits(_ user: User) -> Bool { AppScope.sees(user.apps, within: self.apps) }

    /// Whether the caller may see the notification: the caller sees all apps, or the
    /// notification's app is in `apps`.
    func admits(_ notification: NotificationSummary) -> Bool { self.admits(notification.app) }

    func admits(_ app: AppName) -> Bool { self.apps?.contains(app) ?? true }
}

extension Diagnosis.Sentence {
    fileprivate var json: JSONValue {
        .object([
            .init("Cause", .string(self.cause.rawValue)),
            .init("Device", self.device.map { .string($0.description) } ?? .null),
            .init("Text", .string(self.text)),
        ])
    }
}
