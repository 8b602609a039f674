internal import PushAPI
package import PushCore
package import PushStore

/// A user as one line of an export or import: a JSON object whose members have the same names as
/// in the API.
///
/// A member that a line leaves out keeps its value in an existing user, and gets the default in a
/// new user.
package struct UserLine: Sendable, Hashable {
    /// The longest line, in bytes.
    package static let maximumLength = 65_536
    /// Members that exports and lists have, but that an import ignores, because the server derives
    /// their values.
    private static let ignored: Set = ["HasPassword", "CreatedAt", "LastPush", "LastFetch"]
    private static let names = ["Name", "Role", "Apps", "Tags", "Disabled", "RequiresEncryption", "PasswordHash"]

    package let name: Username
    package var role: Role?
    package var apps: Set<AppName>?
    package var tags: Set<Tag>?
    package var isDisabled: Bool?
    package var requiresEncryption: Bool?
    /// The hash of the user's password; `nil` if the line has none.
    package var hash: PasswordHash?

    /// Reads a line; `known` are the configured apps.
    ///
    /// Throws a `UserLineError` for an invalid line. An unknown member is an error, too: a
    /// misspelt `Role` must not give somebody the default role `device`.
    package init(_ line: some Collection<UInt8>, apps known: Set<AppName>) throws(UserLineError) {
        guard line.count <= Self.maximumLength else {
            throw UserLineError("is longer than \(Self.maximumLength) bytes")
        }
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(reading: line)
        } catch {
            throw UserLineError("is not JSON: \(error)")
        }
        guard case .object(let members) = value else { throw UserLineError("is not a JSON object") }
        var values: [String: JSONValue] = [:]
        for member in members where !Self.ignored.contains(member.name) {
            guard Self.names.contains(member.name) else {
                throw UserLineError(
                    "\(member.name.prefix(40)) is not known; known are \(Self.names.joined(separator: ", "))"
                )
            }
            guard values.updateValue(member.value, forKey: member.name) == nil else {
                throw UserLineError("\(member.name) is there twice")
            }
        }
        guard let name = values["Name"]?.text.flatMap(Username.ofNewUser) else {
            throw UserLineError("Name must be \(Username.rule)")
        }
        self.name = name
        try self.read(values, apps: known)
    }

    private mutating func read(_ values: [String: JSONValue], apps known: Set<AppName>) throws(UserLineError) {
        if let value = values["Role"] {
            guard let role = value.text.flatMap(Role.init(rawValue:)) else {
                throw UserLineError("Role must be one of \(Role.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            self.role = role
        }
        self.apps = try Self.texts("Apps", of: values)?.map { (text) throws(UserLineError) in
            guard let app = AppName(text), known.contains(app) else {
                throw UserLineError("Apps: \(text.prefix(64)) is not configured")
            }
            return app
        }
        guard self.apps?.isEmpty != true else { throw UserLineError("Apps must have at least one app") }
        self.tags = try Self.texts("Tags", of: values)?.map { (text) throws(UserLineError) in
            guard let tag = Tag(text) else { throw UserLineError("Tags: \(text.prefix(64)) is not \(Tag.rule)") }
            guard !tag.isReserved else { throw UserLineError("Tags: only the server may assign \(tag)") }
            return tag
        }
        guard self.tags?.count ?? 0 <= Tag.maximumPerUser else {
            throw UserLineError("Tags has more than \(Tag.maximumPerUser) elements")
        }
        self.isDisabled = try Self.bool("Disabled", of: values)
        self.requiresEncryption = try Self.bool("RequiresEncryption", of: values)
        if let value = values["PasswordHash"] {
            // No password matches an unreadable hash. If the import accepted such a hash, the user
            // could not sign in, and nothing would say why.
            guard let hash = value.text.map(PasswordHash.init(phc:)), hash.parameters != nil, !hash.isNone else {
                throw UserLineError("PasswordHash must be Argon2id in the PHC string format, as an export has it")
            }
            self.hash = hash
        }
    }

    private static func bool(_ name: String, of values: [String: JSONValue]) throws(UserLineError) -> Bool? {
        guard let value = values[name] else { return nil }
        guard case .bool(let bool) = value else { throw UserLineError("\(name) must be true or false") }
        return bool
    }

    private static func texts(_ name: String, of values: [String: JSONValue]) throws(UserLineError) -> [String]? {
        guard let value = values[name] else { return nil }
        guard case .array(let elements) = value else { throw UserLineError("\(name) must be an array of strings") }
        let texts = elements.compactMap(\.text)
        guard texts.count == elements.count else { throw UserLineError("\(name) must be an array of strings") }
        return texts
    }

    /// The line of a user, without the line break; it includes `hash` only if `hash` is given.
    package static func text(of user: UserEntry, hash: PasswordHash?) -> [UInt8] {
        var members: [JSONValue.Member] = [
            .init("Name", .string(user.name.description)), .init("Role", .string(user.role.rawValue)),
            .init("Apps", .array(user.apps.sorted().map { .string($0.description) })),
            .init("Tags", .array(user.tags.map { .string($0.description) })),
            .init("Disabled", .bool(user.isDisabled)), .init("HasPassword", .bool(user.hasPassword)),
            .init("RequiresEncryption", .bool(user.requiresEncryption)),
            .init("CreatedAt", .string(user.createdAt.rfc3339)),
        ]
        if let hash, !hash.isNone { members.append(.init("PasswordHash", .string(hash.phc))) }
        return JSONValue.object(members).bytes
    }
}

extension [String] {
    /// The set of the values that `body` returns for the elements of the array.
    fileprivate func map<Value: Hashable>(
        _ body: (String) throws(UserLineError) -> Value
    ) throws(UserLineError) -> Set<Value> {
        var values: Set<Value> = []
        for text in self { values.insert(try body(text)) }
        return values
    }
}

/// The fault of a line, worded to follow the line's number in a message.
package struct UserLineError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
