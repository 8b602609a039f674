internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// An audience with the keyed hashes for its lookups, which are made before the writer runs.
struct HashedAudience {
    let audience: Audience
    /// The users that the audience names.
    let users: [(name: Username, key: Data)]
    /// The parts that together contain all devices and users of the audience: for each tag its devices, and then for
    /// each tag its users.
    ///
    /// Their number and order depend on nothing but the audience, since a running broadcast stores its position as an
    /// index.
    let branches: [AudienceBranch]
    /// Whether the only condition on a device or user is one tag.
    let isOneTag: Bool
    private let conditions: TagConditions

    init(_ audience: Audience, _ index: BlindIndex, _ policy: TagPolicy) {
        self.audience = audience
        self.conditions = TagConditions(index: index, policy: policy)
        self.users = audience.usernames.map { ($0, index.hash($0)) }
        if let tags = audience.branches {
            self.branches =
                tags.map { $0.isReserved || policy.isOpen($0) ? .devicesWith(tag: index.hash($0)) : .nothing }
                + tags.map { tag in
                    guard let name = tag.username else { return .usersWith(tag: index.hash(tag)) }
                    // Users who are named alone are recipients anyhow.
                    return audience.usernames.contains(name) ? .nothing : .user(key: index.hash(name))
                }
        } else {
            self.branches = [.devices]
        }
        if audience.platforms == nil, audience.expressions.count == 1, case .tag = audience.expressions[0] {
            self.isOneTag = true
        } else {
            self.isOneTag = false
        }
    }

    /// Whether the audience is one device of a user.
    var isOneDevice: Bool { if case .device = self.audience.aim { true } else { false } }

    /// Whether the audience may have more than `page` devices and users.
    func isLarger(than page: Int, _ db: Database) throws -> Bool {
        if self.isOneDevice { return false }
        var sum = 0
        for branch in self.branches where sum <= page { sum += try branch.count(db, atMost: page + 1) }
        return sum > page
    }

    /// The devices of the audience in a part of the table `device`, which is called `d`.
    func devices(where range: SQL, _ db: Database) throws -> [AudienceDevice] {
        let request: SQLRequest<Row> = """
            select d.number, d.user_id, d.lane, d.id from device d
            where \(range) and \(self.conditions.onDevice(self.audience))
            """
        return try request.fetchAll(db).map {
            AudienceDevice(number: try $0[0], user: try $0[1], lane: try $0[2], id: try $0[3])
        }
    }

    /// The users of the audience in a part of the table `user`, which is called `u`.
    func users(where range: SQL, _ db: Database) throws -> [Int64] {
        let request: SQLRequest<Int64> = """
            select u.id from user u where \(range) and \(self.conditions.onUser(self.audience))
            """
        return try request.fetchAll(db)
    }
}
