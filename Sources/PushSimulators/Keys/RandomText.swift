/// Random identifiers and secrets.
enum RandomText {
    /// Makes a random text of `count` upper-case letters and digits.
    static func make(_ count: Int) -> String {
        String((0..<count).compactMap { _ in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".randomElement() })
    }
}
