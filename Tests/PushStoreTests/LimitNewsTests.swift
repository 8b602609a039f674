import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct LimitNewsTests {
    private static let news: LimitNews = {
        var news = LimitNews()
        news.uses = [
            QuotaUse(user: .max, role: .admin, requests: 1),
            QuotaUse(user: 3, role: .device, kind: .changes, requests: 2),
            QuotaUse(user: -1, role: .device, requests: 70_000),
            QuotaUse(user: 4, role: .viewer, kind: .changes, requests: 3),
        ]
        var begun = SignInNews(.begun)
        (begun.account, begun.pair, begun.address) = (1, .max, 0)
        (begun.isNew, begun.isUnderAttack) = (true, true)
        begun.networks = [
            .init(width: 56, address: 2, pair: 3), .init(width: 48, address: 4, pair: 5),
        ]
        var refused = SignInNews(.refused)
        (refused.pair, refused.count) = (9, 65_535)
        var succeeded = SignInNews(.succeeded)
        (succeeded.isCounted, succeeded.isKnown) = (true, true)
        news.signIns = [begun, refused, succeeded]
        news.lanes = ["apns", "webpush/wörld.example", ""]
        return news
    }()

    @Test func writtenNewsIsReadBack() {
        #expect(LimitNews(bytes: Self.news.bytes) == Self.news)
        #expect(LimitNews(bytes: LimitNews().bytes) == LimitNews())
    }

    @Test func truncatedNewsIsRefused() {
        let bytes = Self.news.bytes
        for count in 0..<bytes.count { #expect(LimitNews(bytes: bytes.prefix(count)) == nil) }
        #expect(LimitNews(bytes: bytes.dropFirst()) == nil)
    }

    @Test func anotherVersionIsIgnored() {
        var bytes = Self.news.bytes
        bytes[0] = 2
        #expect(LimitNews(bytes: bytes) == nil)
    }

    @Test func anyBytesAreReadWithoutHarm() {
        var bytes = Self.news.bytes
        for index in bytes.indices.dropFirst() {
            let old = bytes[index]
            for value in [0, 0x7F, 0xFF] as [UInt8] {
                bytes[index] = value
                _ = LimitNews(bytes: bytes)
            }
            bytes[index] = old
        }
    }
}
