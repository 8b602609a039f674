import Bytes
import PushCore

extension FuzzTarget {
    /// An end-to-end payload: a cut leaves the front, and the wrapped key of one device or none.
    /// The same bytes are read as a device key.
    static func payload(_ bytes: [UInt8]) throws {
        // The corpus has a device key of this account.
        let account = "K9gGyX8OAK8aH8Myj6djqQ"
        let isKey = DeviceKeyText.fault(in: String(decoding: bytes, as: UTF8.self), ofAccount: account) == nil
        let isPlain = bytes.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
        try require(isPlain || !isKey, "a device key has letters, digits, -, _ and . only")
        var cut = bytes
        EndToEndPayload.cut(&cut, for: nil)
        var again = cut
        EndToEndPayload.cut(&again, for: nil)
        try require(again == cut, "a second cut changes nothing")
        guard let length = EndToEndPayload.lengthForOneDevice(bytes) else { return }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let keys = parts.last?.dropLast() ?? []
        let front = Array(bytes.dropLast(keys.count + 1))
        let quote = UInt8(ascii: "\"")
        try require(EndToEndPayload.isClaimed(by: bytes) && parts.count == 8, "it has eight parts")
        try require(cut == front + [quote], "no wrapped key is left")
        for start in stride(from: 0, to: keys.count, by: 152) {
            let entry = keys.dropFirst(start).prefix(152)
            var own = bytes
            EndToEndPayload.cut(&own, for: Array(entry.prefix(EndToEndPayload.idLength)))
            try require(own == front + entry + [quote], "the device's wrapped key is left")
            try require(own.count == length && EndToEndPayload.lengthForOneDevice(own) == length, "the length is right")
        }
    }
}
