import Foundation
import PushCore
import Testing

@testable import PushStore

/// Decisions about whether and how posts are stored, tested without a database.
@Suite(.timeLimit(.minutes(5))) struct PostingTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)

    /// The facts about stored data that a decision may read. `questions` records which facts the
    /// decision has read.
    private struct Facts: PostFacts {
        var requests: [Data: StoredRequest] = [:]
        var usage = Usage()
        var users: [Data: NamedUser] = [:]
        var ids: Set<Int64> = []
        var questions: [String] = []

        mutating func earlier(_ request: IdempotentRequest) -> StoredRequest? {
            self.questions.append("request")
            return self.requests[request.key]
        }

        mutating func usage(of sender: Int64) -> Usage {
            self.questions.append("usage")
            return self.usage
        }

        mutating func user(withKey key: Data) -> NamedUser? {
            self.questions.append("user")
            return self.users[key]
        }

        func isTaken(_ id: NotificationID) -> Bool { self.ids.contains(id.rawValue) }
    }

    private let index = BlindIndex(IndexSecret())
    private var facts = Facts()

    init() throws {
        for (name, id) in [("alice", Int64(1)), ("bob", 2)] {
            let key = self.index.hash(try #require(Username(name)))
            self.facts.users[key] = NamedUser(id: id, apps: id == 1 ? [.usual] : [], requiresEncryption: false)
        }
    }

    private func post(
        _ number: Int64,
        to users: String...,
        once request: IdempotentRequest? = nil,
        sendAt: Date? = nil
    ) throws -> NewNotification {
        let audience = Audience(try users.map { try TagExpression("username:\($0)") })
        return NewNotification(
            id: try #require(NotificationID(rawValue: number)),
            sender: 1,
            sealedPayload: Data(count: 10),
            audience: HashedAudience(audience, self.index, TagPolicy()),
            createdAt: Self.now,
            expiresAt: Self.now + 60,
            options: NotificationOptions {
                $0.sendAt = sendAt
                $0.request = request
            }
        )
    }

    private func request(_ key: UInt8, _ request: UInt8 = 0) -> IdempotentRequest {
        IdempotentRequest(key: Data([key]), request: Data([request]))
    }

    private func stored(_ request: IdempotentRequest, by post: NewNotification) -> StoredRequest {
        StoredRequest(request, of: post, Reach(recipients: 1, pushes: 1))
    }

    /// Plans all posts. Each post counts as stored, except those whose ids are in `taken`.
    private func decide(
        _ posting: inout Posting,
        _ facts: inout Facts,
        taken: Set<Int64> = []
    ) throws -> [PostPlan] {
        var plans: [PostPlan] = []
        while let plan = try posting.next(&facts) {
            plans.append(plan)
            let isTaken = taken.contains(plan.post.id.rawValue)
            posting.end(plan, isTaken ? nil : (Reach(recipients: plan.recipients.count, pushes: 0), true))
        }
        return plans
    }

    @Test func postIsWrittenForTheUsersWhomItNames() throws {
        let once = self.request(1)
        var (facts, posting) = (self.facts, Posting(PostRequest([try self.post(1, to: "alice", once: once)])))
        let plans = try self.decide(&posting, &facts)
        #expect(plans.map(\.recipients) == [[1]])
        #expect(plans.map(\.requests) == [[once]])
        #expect(posting.outcomes == [.stored(Reach(recipients: 1, pushes: 0))])
        // Without storage limits, the decision does not read the sender's usage.
        #expect(facts.questions == ["request", "user"])
    }

    @Test func scheduledPostHasNoRecipientsYet() throws {
        let post = try self.post(1, to: "alice", sendAt: Self.now + 60)
        var (facts, posting) = (self.facts, Posting(PostRequest([post])))
        #expect(try self.decide(&posting, &facts).map(\.recipients) == [[]])
    }

    @Test(arguments: ["bob", "carol"]) func userOutsideTheAppIsUnknown(name: String) throws {
        var (facts, posting) = (self.facts, Posting(PostRequest([try self.post(1, to: "alice", name)])))
        #expect(try self.decide(&posting, &facts).isEmpty)
        #expect(posting.outcomes == [.unknownUser(try #require(Username(name)))])
    }

    @Test(arguments: [
        (Usage(notifications: 1, bytes: 90), StorageExcess?.none), (Usage(notifications: 1, bytes: 91), .bytes),
        (Usage(notifications: 2, bytes: 0), .notifications),
    ])
    func senderKeepsItsBounds(usage: Usage, excess: StorageExcess?) throws {
        let bounds = try #require(StorageBounds(devices: 1, notifications: 2, bytes: 100))
        var (facts, posting) = (self.facts, Posting(PostRequest([try self.post(1, to: "alice")], within: bounds)))
        facts.usage = usage
        #expect(try self.decide(&posting, &facts).isEmpty == (excess != nil))
        #expect(posting.outcomes == [excess.map { .tooMuch($0) } ?? .stored(Reach(recipients: 1, pushes: 0))])
        // For a post that exceeds its sender's limits, the decision reads no recipient.
        #expect(facts.questions.contains("user") == (excess == nil))
    }

    @Test func repeatedRequestReadsNothingElse() throws {
        let (once, first) = (self.request(1), try self.post(1, to: "alice"))
        let bounds = try #require(StorageBounds(devices: 1, notifications: 1, bytes: 1))
        for (request, isSame) in [(once, true), (self.request(1, 9), false)] {
            var posting = Posting(PostRequest([try self.post(2, to: "alice", once: request)], within: bounds))
            var facts = self.facts
            facts.requests[once.key] = self.stored(once, by: first)
            #expect(try self.decide(&posting, &facts).isEmpty)
            let repeated = PostOutcome.repeated(
                first.id,
                createdAt: Self.now,
                expiresAt: Self.now + 60,
                reach: Reach(recipients: 1, pushes: 1)
            )
            #expect(posting.outcomes == [isSame ? repeated : .keyReused])
            #expect(facts.questions == ["request"])
        }
    }

    // MARK: Batches

    @Test func batchIsStoredWithItsFirstPost() throws {
        let batch = self.request(1)
        let posts = [try self.post(1, to: "carol"), try self.post(2, to: "alice"), try self.post(3, to: "alice")]
        var (facts, posting) = (self.facts, Posting(PostRequest(posts, of: batch)))
        let plans = try self.decide(&posting, &facts)
        #expect(plans.map(\.index) == [1, 2])
        #expect(plans.map(\.requests) == [[batch], []])
    }

    @Test func batchGoesOnAfterItsRequestWasStored() throws {
        let (batch, post) = (self.request(1), try self.post(1, to: "alice"))
        var (facts, posting) = (self.facts, Posting(PostRequest([try self.post(2, to: "alice")], of: batch)))
        facts.requests[batch.key] = self.stored(batch, by: post)
        #expect(try self.decide(&posting, &facts).map(\.requests) == [[]])
    }

    @Test func batchWithTheKeyOfAnotherRequestIsRefused() throws {
        let posts = [try self.post(1, to: "alice"), try self.post(2, to: "alice")]
        var (facts, posting) = (self.facts, Posting(PostRequest(posts, of: self.request(1))))
        facts.requests[Data([1])] = self.stored(self.request(1, 9), by: posts[0])
        #expect(try self.decide(&posting, &facts).isEmpty)
        #expect(posting.outcomes == [.keyReused, .keyReused])
    }

    /// The posts after a taken id are not stored. The caller posts them again, in their order.
    @Test(arguments: [true, false]) func nothingIsStoredAfterATakenID(isKnown: Bool) throws {
        let posts = try [1, 2, 3].map { try self.post($0, to: "alice") }
        var (facts, posting) = (self.facts, Posting(PostRequest(posts)))
        if isKnown { facts.ids = [2] }
        let plans = try self.decide(&posting, &facts, taken: isKnown ? [] : [2])
        #expect(plans.count == (isKnown ? 1 : 2))
        #expect(posting.outcomes == [.stored(Reach(recipients: 1, pushes: 0)), .idTaken, .idTaken])
    }

    @Test(arguments: [(Int64(5), Int64(1), Bool?.none), (4, 9, true), (4, 1, true), (4, 10, false)])
    func deviceGetsTheNewestNotificationOfACollapseKey(last: Int64, sequence: Int64, replaces: Bool?) throws {
        let target = PushTarget(try self.post(5, to: "alice"), sequence: 9)
        #expect(target.replaces(last, sequence: sequence) == replaces)
    }

    // MARK: Releases

    @Test(arguments: [
        ("admin", true, true), ("publisher", true, false), ("device", false, false), ("viewer", false, false),
        ("later", false, false),
    ])
    func releaseNeedsTheRightOfTheSender(role: String, isForOthers: Bool, isForOtherApps: Bool) throws {
        let key = self.index.hash(try #require(Username("alice")))
        let right = SenderRight(role: role, key: key, apps: [.usual])
        let (own, others) = (try self.post(1, to: "alice").audience, try self.post(2, to: "alice", "bob").audience)
        #expect(right.covers(own) == (role != "later"))
        #expect(right.covers(others) == isForOthers)
        let other = Audience(own.audience.expressions, of: try #require(AppName("other")))
        #expect(right.covers(HashedAudience(other, self.index, TagPolicy())) == isForOtherApps)
    }
}
