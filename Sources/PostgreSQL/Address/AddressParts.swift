internal import Bytes

/// The decoded parts of a database's address.
struct AddressParts {
    let user: String?
    let hosts: [DatabaseHost]
    let database: String
    let options: [String: String]

    init(_ text: String) throws(AddressError) {
        guard
            let scheme = ["postgres://", "postgresql://"].first(where: { text.hasPrefix($0) })
        else { throw AddressError("it does not begin with postgres://, and a path may not have ://, @ or password=") }
        guard text.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "#") }) else {
            throw AddressError("it has a space, a # or another character that must be percent-encoded")
        }
        let rest = text.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/"), !rest[..<slash].contains("?") else {
            throw AddressError("the name of the database is missing after the hosts")
        }
        let target = rest[rest.index(after: slash)...].split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        self.database = try Self.decoded(target[0])
        guard !self.database.isEmpty, !target[0].contains("/"), !target[0].contains("@") else {
            throw AddressError("the name of one database, and nothing else, must follow the hosts")
        }
        (self.user, self.hosts) = try Self.authority(rest[..<slash])
        self.options = try target.count > 1 ? Self.options(target[1]) : [:]
    }

    /// Percent-encodes all characters except letters, digits and `-._~`.
    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: - Private

    private static func authority(_ text: Substring) throws(AddressError) -> (user: String?, hosts: [DatabaseHost]) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count <= 2, let places = parts.last else {
            throw AddressError("it has two @; one in the user's name must be written %40")
        }
        // The password must be in a file of its own. More users may read the configuration than a
        // secret file, and child processes inherit environment variables.
        guard parts.count < 2 || !parts[0].contains(":") else {
            throw AddressError(
                "it has a password; write the password into a file, and set passwordFile to the file's path"
            )
        }
        var hosts: [DatabaseHost] = []
        for place in places.isEmpty ? [] : places.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try self.host(place))
        }
        guard parts.count == 2 else { return (nil, hosts) }
        let user = try self.decoded(parts[0])
        guard !user.isEmpty else { throw AddressError("the user's name is empty") }
        return (user, hosts)
    }

    private static func host(_ text: Substring) throws(AddressError) -> DatabaseHost {
        let rest: Substring
        let name: String
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw AddressError("a bracket is not closed") }
            name = String(text[..<end].dropFirst())
            guard name.contains(":") else { throw AddressError("brackets are for IPv6 addresses") }
            rest = text[text.index(after: end)...]
        } else {
            let end = text.firstIndex(of: ":") ?? text.endIndex
            name = try self.decoded(text[..<end])
            rest = text[end...]
        }
        guard rest.isEmpty || rest.hasPrefix(":") else { throw AddressError("only a port may follow a host") }
        return try DatabaseHost(name: name, port: rest.isEmpty ? nil : String(rest.dropFirst()))
    }

    private static func options(_ text: Substring) throws(AddressError) -> [String: String] {
        var options: [String: String] = [:]
        for option in text.split(separator: "&", omittingEmptySubsequences: false) {
            let words = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // Later errors quote an option's name, so a name may contain only letters, digits and
            // underscores.
            guard words.count == 2, !words[1].isEmpty, words[0].utf8.allSatisfy({ $0.isLetterOrDigit || $0 == 0x5F })
            else {
                throw AddressError("an option is not a name, = and a value")
            }
            guard options.updateValue(try self.decoded(words[1]), forKey: String(words[0])) == nil else {
                throw AddressError("the option \(words[0]) is given twice")
            }
        }
        return options
    }

    private static func decoded(_ text: Substring) throws(AddressError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = Substring(rest.prefix(2))
            guard digits.utf8.count == 2, digits.utf8.allSatisfy(\.isHexDigit), let code = UInt8(digits, radix: 16),
                code > 0
            else { throw AddressError("a % is not followed by two hexadecimal digits, or stands for NUL") }
            bytes.append(code)
            rest = rest.dropFirst(2)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw AddressError("the percent-encoded bytes are not UTF-8")
        }
        return decoded
    }
}
