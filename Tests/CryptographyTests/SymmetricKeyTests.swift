import Foundation
import Testing

@testable import Cryptography

@Suite struct SymmetricKeyTests {
    @Test(arguments: [SymmetricKeySize.bits128, .bits256])
    func newKeysAreRandom(size: SymmetricKeySize) {
        let keys = (0..<100).map { _ in SymmetricKey(size: size) }
        #expect(keys.allSatisfy { $0.bitCount == size.bitCount })
        #expect(Set(keys.map { $0.withUnsafeBytes { Data($0) } }).count == 100)
    }

    @Test func keysAreEqualByTheirBytes() {
        let bytes = Data((0..<32).map { UInt8($0) })
        let key = SymmetricKey(data: bytes)
        #expect(key == SymmetricKey(data: Array(bytes)))
        #expect(key != SymmetricKey(data: bytes.dropLast()))
        #expect(SymmetricKey(data: Data()) == SymmetricKey(data: [UInt8]()))
        for bit in 0..<256 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(key != SymmetricKey(data: changed))
        }
    }

    @Test func secretBytesLiveUntilTheCallEnds() {
        let copy = SecretBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(copy.count == 0)
        // The object is released right after this call, because the call has the only reference to
        // it.
        let bytes = SecretBytes(count: 32) { $0.initializeMemory(as: UInt8.self, repeating: 7) }
            .withUnsafeBytes { Data($0) }
        #expect(bytes == Data(repeating: 7, count: 32))
    }

    @Test func failedFillingThrows() {
        #expect(throws: CryptoKitError.invalidParameter) {
            try SecretBytes(count: 8) { _ in throw CryptoKitError.invalidParameter }
        }
    }

    @Test func eachThreadKeepsItsNumber() {
        #expect(ThreadNumber.current == ThreadNumber.current)
        let failures = Threads.run(8) { _ in
            let number = ThreadNumber.current
            return (0..<100).allSatisfy { _ in ThreadNumber.current == number }
        }
        #expect(failures == 0)
    }
}
