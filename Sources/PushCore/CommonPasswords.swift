internal import CResources

/// The passwords that attackers guess first, from `CommonPasswords.txt`.
enum CommonPasswords {
    /// The passwords of the file, in lower case.
    static var all: [ArraySlice<UInt8>] {
        Array(common_passwords).split(separator: UInt8(ascii: "\n"))
            .filter { $0.first != UInt8(ascii: "#") }
            .flatMap { $0.split(separator: UInt8(ascii: " ")) }
    }

    /// Whether the list contains `password`, which must be in lower case.
    ///
    /// The search reads the list from its beginning. That is slow, but passwords are seldom set.
    static func contains(_ password: String) -> Bool {
        Self.all.contains { $0.elementsEqual(password.utf8) }
    }
}
