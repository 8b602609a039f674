/// Addresses that no client may call, in every spelling that some parser accepts, with additions
/// that may confuse parsers. A seed always gives the same addresses.
struct HostileEndpoints {
    /// The random number generator SplitMix64.
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var value = self.state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    private var random: Random

    init(seed: UInt64) {
        self.random = Random(state: seed)
    }

    /// The ranges that https://www.iana.org/assignments/iana-ipv4-special-registry does not call
    /// globally reachable, and multicast.
    private static let v4Ranges: [(network: UInt32, bits: UInt32)] = [
        (0, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
        (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16), (0xC612_0000, 15),
        (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4), (0xFFFF_FFFF, 32),
        // Single addresses at which clouds keep their credentials.
        (0xA9FE_A9FE, 32), (0x6464_64C8, 32), (0x7F00_0001, 32), (0, 32),
    ]

    /// The ranges of IPv6 addresses that are not globally reachable or not global unicast, by
    /// their first 32 bits.
    private static let v6Ranges: [(network: UInt32, bits: UInt32)] = [
        (0x0100_0000, 32), (0x2001_0000, 24), (0x2001_0DB8, 32), (0x2002_0000, 16), (0x3FFF_0000, 20),
        (0x5F00_0000, 16), (0xFC00_0000, 7), (0xFE80_0000, 10), (0xFEC0_0000, 10), (0xFF00_0000, 8), (0x0064_FF9B, 32),
        (0, 32), (0x4000_0000, 3), (0x8000_0000, 1),
    ]

    /// Returns an address as the host of a URL.
    mutating func host() -> String {
        Int.random(in: 0..<10, using: &self.random) < 7 ? self.v4Host() : "[\(self.v6Address())]"
    }

    /// Returns an endpoint as a device could name it. Some endpoints are not valid URLs.
    mutating func endpoint() -> String {
        let (host, friend) = (self.host(), "fcm.googleapis.com")
        let wide = String(
            String.UnicodeScalarView(
                host.unicodeScalars.map {
                    (0x30...0x39).contains($0.value) ? .init(UInt16($0.value + 0xFEE0)) ?? $0 : $0
                }
            )
        )
        let candidates = [
            "https://\(host)/", "https://\(host):443/x?y", "https://\(host):8443/", "HTTPS://\(host)/",
            "http://\(host)/",
            "https://\(host)./", "https://\(friend)@\(host)/", "https://\(friend):443@\(host)/",
            "https://\(host)#@\(friend)/", "https://\(host)\\@\(friend)/", "https://\(host)/@\(friend)/",
            "https://\(friend)\\@\(host)/", "https://\(friend).\(host)/", "https://\(host).\(friend).evil.example/",
            "https://\(host)%2f.\(friend)/", "https://\(host)%00.\(friend)/", "https://\(host)\r\n.\(friend)/",
            "https://\(host)/\r\nHost: \(friend)", "https://\(host) /", "\thttps://\(host)/", "https:///\(host)/",
            "https:\(host)/", "//\(host)/", "https://\(wide)/", "https://\(host.replacing(".", with: "。"))/",
            "https://\(host.replacing(".", with: "%2e"))/", "https://\(host.replacing("1", with: "%31"))/",
            "https://\(host)?.\(friend)/", "https://\(host):443:\(friend)/", "https://\(host.uppercased())/",
            "https://xn--\(host)/", "gopher://\(host)/", "file://\(host)/etc/passwd",
            "https://ⓕcm.googleapis.com@\(host)/",
        ]
        return candidates.randomElement(using: &self.random) ?? "https://\(host)/"
    }

    // MARK: - Private

    private mutating func number(in range: (network: UInt32, bits: UInt32)?) -> UInt32 {
        guard let range, range.bits < 32 else { return range?.network ?? 0 }
        return range.network | UInt32.random(in: 0 ... .max, using: &self.random) >> range.bits
    }

    private mutating func v4Host() -> String {
        let address = self.number(in: Self.v4Ranges.randomElement(using: &self.random))
        let bytes = [address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255]
        let dotted = bytes.map(String.init).joined(separator: ".")
        let pairs = "\(String(address >> 16, radix: 16)):\(String(address & 0xFFFF, radix: 16))"
        let spellings = [
            dotted, dotted, dotted + ".", String(address), "0x" + String(address, radix: 16),
            "0X" + String(address, radix: 16, uppercase: true), "0" + String(address, radix: 8),
            bytes.map { "0x" + String($0, radix: 16) }.joined(separator: "."),
            bytes.map { "0" + String($0, radix: 8) }.joined(separator: "."),
            bytes.map { "000" + String($0, radix: 8) }.joined(separator: "."),
            "\(bytes[0]).0x\(String(bytes[1], radix: 16)).0\(String(bytes[2], radix: 8)).\(bytes[3])",
            "\(bytes[0]).\(address & 0xFF_FFFF)", "0x\(String(bytes[0], radix: 16)).\(bytes[1]).\(address & 0xFFFF)",
            // The IPv4 address inside an IPv6 address: mapped, compatible, NAT64 of both kinds,
            // 6to4 and Teredo.
            "[::ffff:\(dotted)]", "[::ffff:\(pairs)]", "[0:0:0:0:0:ffff:\(pairs)]", "[::FFFF:\(dotted)]",
            "[::\(dotted)]",
            "[64:ff9b::\(pairs)]", "[64:ff9b::\(dotted)]", "[64:ff9b:1::\(pairs)]", "[2002:\(pairs)::]",
            "[2002:\(pairs)::1]", "[2001:0:\(pairs)::1]", "[2001::\(pairs)]", "[::ffff:0:\(pairs)]",
        ]
        return spellings.randomElement(using: &self.random) ?? dotted
    }

    private mutating func v6Address() -> String {
        var words = [self.number(in: Self.v6Ranges.randomElement(using: &self.random)), 0, 0, 0]
        for index in 1...3 where Bool.random(using: &self.random) {
            words[index] = .random(in: 0 ... .max, using: &self.random)
        }
        // A NAT64 address of a public IPv4 address would lead to the Internet, so the code takes
        // an address of the local-use range 64:ff9b:1::/48.
        if words[0] == 0x0064_FF9B { words[1] = 0x0001_0000 }
        let groups = words.flatMap { [$0 >> 16, $0 & 0xFFFF] }.map { String($0, radix: 16) }
        return Bool.random(using: &self.random)
            ? groups.joined(separator: ":").uppercased() : groups.joined(separator: ":")
    }
}
