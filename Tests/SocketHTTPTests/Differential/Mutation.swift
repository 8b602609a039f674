extension [UInt8] {
    /// Changes one place of the stream, preferably one that parsers examine: a separator, a line
    /// end or a digit.
    mutating func mutate(_ random: inout SeededRandom) {
        guard !self.isEmpty else { return }
        let index = self.placeToChange(&random)
        switch random.below(12) {
        case 0...2: self.insert(random.pick(Self.interesting), at: index)
        case 3: self[index] = random.pick(Self.interesting)
        case 4: self[index] = UInt8(truncatingIfNeeded: random.next())
        case 5, 6: self.remove(at: index)
        case 7: self[index] ^= 0x20
        case 8: self[index] = self[index] &+ (random.happens(50) ? 1 : 255)
        case 9: self.doubleLine(at: index)
        case 10: self.insert(contentsOf: random.pick(Self.sequences).utf8, at: index)
        default: self.removeLast(random.below(Swift.min(self.count, 20)))
        }
    }

    private func placeToChange(_ random: inout SeededRandom) -> Int {
        let index = random.below(self.count)
        guard random.happens(80) else { return index }
        return self[index...].firstIndex { !Self.isLetter($0) } ?? index
    }

    private mutating func doubleLine(at index: Int) {
        let start = self[..<index].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let end = self[index...].firstIndex(of: 0x0A).map { $0 + 1 } ?? self.count
        self.insert(contentsOf: Array(self[start..<end]), at: end)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26
    }

    private static let interesting =
        Array("\r\n\t :;,\"\\%/?*+-_0149aFxX(\u{0}\u{1}\u{b}\u{c}\u{7f}".utf8) + [0x80, 0x85, 0xA0, 0xFF]

    private static let sequences = [
        "\r\n", "\r\n\r\n", "\n\n", "\r\n ", "\r\n\t", "\r\r\n", " :", ": ", "0\r\n\r\n", ";a=b", ", ", "%00",
        "HTTP/1.1", "Host: h\r\n", "\r\nContent-Length: 0\r\n", "\r\nTransfer-Encoding: chunked\r\n",
    ]
}
