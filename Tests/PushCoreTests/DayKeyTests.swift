import Cryptography
import Foundation
import PushTesting
import Testing

@testable import PushCore

/// The keys of days, which are destroyed after their day.
@Suite(.timeLimit(.minutes(5))) struct DayKeyTests {
    private static let text = "# a comment\n2026-11-24 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"

    private func day(_ text: String) throws -> Day { try #require(Day(text)) }

    private func vault(_ chain: DayChain, isSealing: Bool = true) throws -> Vault {
        Vault(try Keyring(text: Keyring.generateText()), days: DayKeys(chain, isSealing: isSealing))
    }

    private func until(_ day: String) throws -> SealedUntil {
        SealedUntil(expiresAt: try self.day(day).end - 1, isReadOnce: false, now: .distantPast)
    }

    @Test func daysFollowUTC() throws {
        #expect(Day(of: Date(timeIntervalSince1970: 86_399.999)).number == 0)
        #expect(Day(of: Date(timeIntervalSince1970: 86_400)).number == 1)
        #expect(Day(of: Date(timeIntervalSince1970: -1)).number == 0)
        #expect(Day(of: .distantFuture) > Day(number: 20_000))
        #expect(try self.day("2026-11-24").number == 20_781)
        #expect("\(Day(number: 20_781))" == "2026-11-24")
        #expect(try self.day("2026-11-24").end == Date(timeIntervalSince1970: 20_782 * 86_400))
        for text in ["", "2026-11-31", "2026-11-24T", "1969-12-31", "24.11.2026"] { #expect(Day(text) == nil) }
        #expect(Day(number: .max).next == Day(number: .max))
    }

    /// Python's `hmac` and `hashlib` computed the expected values by RFC 5869.
    @Test func keysAreDerivedAsIsDocumented() throws {
        let chain = try DayChain(text: Self.text)
        func hexadecimal(_ key: SymmetricKey) -> String {
            key.withUnsafeBytes { $0.map { String(format: "%02x", $0) }.joined() }
        }
        #expect(hexadecimal(chain.key) == "3bc40b39b49fb0e22aa3b8a1b6e2bee9ef1603627e2d676eb605eadda3e5cdd2")
        let later = chain.advanced(to: try self.day("2026-11-26"))
        #expect(hexadecimal(later.key) == "0c4865092b889e44bb2f836171265d66d71b52f9e47ce0f5a443e1abfc627884")
        #expect(later.text.hasSuffix("\n2026-11-26 qtLAX0Eu5VGMLRlLfV72Rcqr4TFFrkb2JWZt6Ao2GmQ=\n"))
        let check = "8448006075d1dd52b4962afb4f549051"
        #expect(chain.checkValue(of: later.day)?.map { String(format: "%02x", $0) }.joined() == check)
        #expect(later.checkValue(of: later.day) == chain.checkValue(of: later.day))
        #expect(later.checkValue(of: chain.day) == nil)
        #expect(later.advanced(to: chain.day) == later)
    }

    @Test func aTextIsReadAsItWasWritten() throws {
        let chain = DayChain(from: try self.day("2026-11-24"))
        #expect(try DayChain(text: chain.text) == chain)
        for text in [
            "", "2026-11-24", "2026-11-24 AAEC\n", "20781 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            Self.text + Self.text,
        ] {
            #expect(throws: DayChainError.malformed) { try DayChain(text: text) }
        }
    }

    @Test func valueDecryptsUntilTheChainPassesItsDay() throws {
        let chain = DayChain(from: try self.day("2026-11-24"))
        let (vault, other) = (try self.vault(chain), try self.vault(chain))
        let place = SealedPlace.expressions(7)
        let sealed = try vault.seal(Data("secret".utf8), in: place, until: try self.until("2026-11-26"))
        #expect(sealed.prefix(5) == Data([2, 0, 0, 0x51, 0x2F]))
        // Another server derives the same key, even after its day keys have advanced by two days.
        other.days?.advance(to: chain.advanced(to: try self.day("2026-11-26")))
        #expect(try other.open(sealed, in: place) == Data("secret".utf8))
        #expect(throws: VaultError.unreadable) { try other.open(sealed, in: .expressions(8)) }
        #expect(throws: VaultError.keyMissing(20_783)) { try other.open(Data([1]) + sealed.dropFirst(), in: place) }
        #expect(try vault.renewed(sealed, in: place) == nil)
        other.days?.advance(to: chain.advanced(to: try self.day("2026-11-27")))
        #expect(throws: VaultError.dayKeyMissing(try self.day("2026-11-26"))) { try other.open(sealed, in: place) }
        #expect(try vault.open(sealed, in: place) == Data("secret".utf8))
    }

    @Test func advancingTheChainDropsDerivedKeys() throws {
        let days = DayKeys(DayChain(from: Day(number: 100)), isSealing: true)
        let keys = try (100..<110).map { try #require(days.key(of: Day(number: $0))) }
        days.advance(to: days.chain.advanced(to: Day(number: 104)))
        #expect((100..<104).allSatisfy { days.key(of: Day(number: $0)) == nil })
        #expect((104..<110).allSatisfy { days.key(of: Day(number: $0)) == keys[Int($0) - 100] })
        days.advance(to: days.chain.advanced(to: Day(number: 120)))
        #expect(days.key(of: Day(number: 119)) == nil)
        #expect(days.key(of: Day(number: 120)) != nil)
        #expect(days.key(of: Day(number: 120 + DayKeys.reach)) != nil)
        #expect(days.key(of: Day(number: 121 + DayKeys.reach)) == nil)
        #expect(days.key(of: Day(number: .max)) == nil)
    }

    @Test func keyringEncryptsWithoutADayKey() throws {
        let vault = try self.vault(DayChain(from: try self.day("2026-11-24")), isSealing: false)
        func format(_ day: String) throws -> UInt8? {
            try vault.seal(Data("secret".utf8), in: .expressions(7), until: try self.until(day)).first
        }
        #expect(try format("2026-11-26") == Vault.format)
        vault.days?.beginSealing()
        #expect(try format("2026-11-26") == Vault.dayFormat)
        // For a past day, or a day that is too far away, there is no day key. The value is then
        // encrypted with the keyring.
        #expect(try format("2026-11-23") == Vault.format)
        #expect(try format("2036-11-23") == Vault.format)
    }

    @Test func readOncePayloadIsEncryptedUntilTomorrow() throws {
        let now = try self.day("2026-11-24").end - 1
        func day(_ seconds: TimeInterval, isReadOnce: Bool) -> String {
            "\(SealedUntil(expiresAt: now + seconds, isReadOnce: isReadOnce, now: now).day)"
        }
        #expect(day(864_000, isReadOnce: false) == "2026-12-04")
        #expect(day(864_000, isReadOnce: true) == "2026-11-25")
        #expect(day(0, isReadOnce: true) == "2026-11-24")
    }
}
