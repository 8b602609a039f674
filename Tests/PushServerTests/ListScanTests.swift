import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushCore
@testable import PushServer

/// A search reads a list, here the audit, in bounded steps. A long list therefore does not block
/// other work.
@Suite(.timeLimit(.minutes(5))) struct ListScanTests {
    private static let now = Date(timeIntervalSince1970: 7200)

    /// Makes entries numbered from `count` down to 1. Every hundredth entry is about bob; the
    /// other entries are about `subject`.
    private func audit(_ count: Int, subject: String = "7") -> [AuditEntry] {
        (1...count).reversed().map { number in
            AuditEntry(
                number: Int64(number),
                at: Date(timeIntervalSince1970: 0),
                action: number.isMultiple(of: 2) ? "user.add" : "notification.send",
                subject: number.isMultiple(of: 100) ? "Bob.Miller" : subject,
                detail: "",
                actor: "ada",
                token: "",
                client: "192.0.2.1",
                request: "r\(number)"
            )
        }
    }

    private typealias Scan = ListScan<AuditEntry, Int64>

    private func scan(_ query: String, before: Int64? = nil, limit: Int = 100) throws -> Scan {
        try #require(try AuditFilter(Query(query), now: Self.now)).scan(before: before, limit: limit)
    }

    /// Runs one request's scan over `audit`. Returns the number of entries that each read got.
    private func run(_ scan: inout Scan, _ audit: [AuditEntry]) async throws -> [Int] {
        var reads: [Int] = []
        try await scan.run { last, count in
            let page = Array(audit.drop { $0.number >= last ?? .max }.prefix(count))
            reads.append(page.count)
            return page
        }
        return reads
    }

    @Test func aSearchReadsALimitedNumberOfEntriesInShortReads() async throws {
        var scan = try self.scan("words=nobody")
        let reads = try await self.run(&scan, self.audit(ListScanLimits.maximumSearched + 1))
        #expect(
            reads
                == Array(
                    repeating: ListScanLimits.step + 1,
                    count: ListScanLimits.maximumSearched / ListScanLimits.step
                )
        )
        #expect(scan.searched == ListScanLimits.maximumSearched && scan.found.isEmpty)
        #expect(scan.hasMore && scan.last == 2)
    }

    @Test func aSearchReadsFewerEntriesIfTheyNameManyNotifications() async throws {
        let batch = Array(repeating: "1234567890123456789", count: 500).joined(separator: " ")
        var scan = try self.scan("words=nobody")
        let reads = try await self.run(&scan, self.audit(ListScanLimits.maximumSearched, subject: batch))
        #expect(reads == [ListScanLimits.step + 1] && scan.searched == ListScanLimits.step && scan.hasMore)
    }

    /// The older entries of a long audit are not read.
    @Test func aSearchEndsBeforeItsPeriod() async throws {
        var scan = try self.scan("since=10s&user=bob")
        let reads = try await self.run(&scan, self.audit(5000))
        #expect(reads == [ListScanLimits.step + 1] && scan.searched == 0 && scan.found.isEmpty && !scan.hasMore)
    }

    /// The last words of the detail name the owner of a device that another user has changed.
    @Test(arguments: [
        ("user.add", "alice", "device", true), ("session.begin", "Alice", "", true), ("token.add", "alice", "", true),
        ("device.unregister", "7", "of alice", true), ("device.move", "7", "apns, from alice", true),
        ("device.test", "7", "alice", true), ("device.register", "7", "alice", false),
        ("notification.send", "alice", "", false),
    ])
    func aUsersEntriesAreThoseAboutTheUser(action: String, subject: String, detail: String, fits: Bool) throws {
        let entry = AuditEntry(
            number: 1,
            at: Self.now,
            action: action,
            subject: subject,
            detail: detail,
            actor: "ada",
            token: "",
            client: "",
            request: ""
        )
        #expect(try #require(try AuditFilter(Query("user=alice"), now: Self.now)).admits(entry) == fits)
    }

    @Test func theNextSearchContinuesWhereTheLastOneStopped() async throws {
        let audit = self.audit(ListScanLimits.maximumSearched + 150)
        var first = try self.scan("words=bob", limit: 500)
        _ = try await self.run(&first, audit)
        var second = try self.scan("words=bob", before: first.last, limit: 500)
        _ = try await self.run(&second, audit)
        #expect(first.hasMore && !second.hasMore)
        #expect(second.searched == 150 && second.last == 1)
        let found = (first.found + second.found).map(\.number)
        #expect(found == audit.map(\.number).filter { $0.isMultiple(of: 100) })
    }

    /// The cases include an empty audit, audits of slightly more than two reads, and matches at
    /// the end of a read.
    @Test(arguments: [0, 1, 99, 100, 101, 499, 500, 501, 1000, 1001], [1, 2, 5])
    func pagesNeitherRepeatNorMissAnEntry(count: Int, limit: Int) async throws {
        let audit = count == 0 ? [] : self.audit(count)
        var (found, last, rounds): ([Int64], Int64?, Int) = ([], nil, 0)
        while true {
            var scan = try self.scan("words=bob", before: last, limit: limit)
            _ = try await self.run(&scan, audit)
            found += scan.found.map(\.number)
            #expect(scan.found.count <= limit)
            // The scan knows whether there are more matches even if a read ended exactly at the
            // last match.
            #expect(scan.hasMore == (scan.last ?? 0 > 1))
            rounds += 1
            guard scan.hasMore, rounds < 20 else { break }
            last = scan.last
        }
        #expect(found == audit.map(\.number).filter { $0.isMultiple(of: 100) })
    }

    @Test(arguments: [
        ("words=BOB", true), ("words=miller+ada", true), ("words=miller%20%20192.0.2", true), ("words=r100", true),
        ("words=bob+carol", false), ("words=bobmiller", false), ("words=user.add", true), ("words=ada%09bob", true),
        ("action=user.add", true), ("action=user", true), ("action=notification", false), ("action=user.change", false),
        ("action=user&words=bob", true), ("action=device&words=bob", false), ("words=bob.millerada", false),
        ("user=ADA", true), ("user=bob.miller", true), ("user=bob", false), ("user=ada&words=carol", false),
        ("since=2h", true), ("since=1970-01-01T00:00:00Z", true), ("since=1970-01-01T00:00:01Z", false),
        ("since=7199s&user=ada", false),
    ])
    func anEntryMatchesIfAllPartsOfTheFilterMatch(query: String, fits: Bool) throws {
        let entry = try #require(self.audit(100).first)
        #expect(try #require(try AuditFilter(Query(query), now: Self.now)).admits(entry) == fits)
    }

    @Test(arguments: [
        "words=", "words=%20", "words=\(String(repeating: "x", count: 201))", "action=", "action=user.", "action=use",
        "action=user.add.x", "action=User", "words=a&words=b", "user=", "user=a%20b", "since=", "since=5", "since=x",
    ])
    func anInvalidSearchIsRefused(query: String) throws {
        #expect(throws: Problem.self) { _ = try AuditFilter(Query(query), now: Self.now) }
        #expect(try AuditFilter(Query("words=\(String(repeating: "x", count: 200))"), now: Self.now) != nil)
        #expect(try AuditFilter(Query("limit=5"), now: Self.now) == nil)
    }
}
