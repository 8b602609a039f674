/// Ways to split bytes into portions. Each is the list of the portions' ends; the last end is the
/// end of the bytes.
///
/// They depend only on the bytes, so that a finding can be reproduced.
enum Portions: CaseIterable {
    case whole, single, mixed

    func ends(of bytes: [UInt8]) -> [Int] {
        switch self {
        case .whole: [bytes.count]
        case .single: Array(0...bytes.count)
        case .mixed: Self.mixedEnds(of: bytes)
        }
    }

    private static func mixedEnds(of bytes: [UInt8]) -> [Int] {
        // FNV-1a, for the seed of a linear congruential generator.
        var state = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var ends: [Int] = []
        var end = 0
        while end < bytes.count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            end = min(bytes.count, end + Int(state >> 33) % 24)
            ends.append(end)
        }
        return ends.isEmpty ? [0] : ends
    }
}
