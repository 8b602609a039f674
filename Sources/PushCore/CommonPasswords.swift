internal import CResources

/// The passwords that attackers guess first, from `CommonPasswords.txt`.
enum CommonPasswords {
    /// All of them, in lower case.
    static var all: [ArraySlice<UInt8>] {
        Array(common_passwords).split(separator: UInt8(ascii: "\n"))
            .filter { $0.first != UInt8(ascii: "#") }
            .flatMap { $0.split(separator: UInt8(ascii: " ")) }
    }

    /// Whether it is one of them; `password` is in lower case.
    ///
    /// Scans the list from its beginning, which takes a moment; passwords are seldom set.
    static func contains(_ password: String) -> Bool {
        Self.all.contains { $0.elementsEqual(password.utf8) }
    }
}
