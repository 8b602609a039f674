/// An expression of tags that selects the devices to which a notification goes, such as `news &&
/// !(beta || username:alice)`.
///
/// `!` binds tighter than `&&`, and `&&` tighter than `||`, as in Azure Notification Hubs' tag
/// expressions.
package indirect enum TagExpression: Sendable, Hashable {
    case tag(Tag)
    case not(TagExpression)
    case and(TagExpression, TagExpression)
    case or(TagExpression, TagExpression)

    /// Parses the text. Throws `Invalid`, which has the reason and the offset of the error.
    package init(_ text: String) throws(Invalid) {
        var reader = Reader(text: Array(text.utf8))
        self = try reader.readAll()
    }

    /// If the whole expression is the own tag of a user, that user's name; `nil` for any other
    /// expression.
    package var onlyUsername: Username? {
        if case .tag(let tag) = self { tag.username } else { nil }
    }

    package struct Invalid: Error, Hashable, CustomStringConvertible {
        package let reason: String
        package let offset: Int

        package var description: String { "\(self.reason) at character \(self.offset)" }
    }
}

extension TagExpression: CustomStringConvertible {
    /// A text that parses to the same expression. Its parentheses are nested no deeper than in the
    /// text from which the expression was parsed.
    package var description: String {
        switch self {
        case .tag(let tag): tag.description
        case .not(let expression): "!" + expression.term
        // Both operators are left-associative, so that an operand with the same operator needs
        // parentheses only on the right.
        case .and(let left, let right): (left.isAnd ? left.description : left.term) + " && " + right.term
        case .or(let left, let right): left.description + " || " + (right.isOr ? right.term : right.description)
        }
    }

    private var term: String {
        switch self {
        case .tag, .not: self.description
        case .and, .or: "(\(self.description))"
        }
    }

    private var isAnd: Bool { if case .and = self { true } else { false } }
    private var isOr: Bool { if case .or = self { true } else { false } }
}

private struct Reader {
    /// These limits bound the depth of the recursion, and the size of the resulting database
    /// query.
    static let maximumTags = 20
    static let maximumDepth = 20

    let text: [UInt8]
    var position = 0
    var tags = 0
    var depth = 0

    init(text: [UInt8]) {
        self.text = text
    }

    mutating func readAll() throws(TagExpression.Invalid) -> TagExpression {
        let expression = try self.readOr()
        guard self.position == self.text.count else { throw self.error("an operator is missing") }
        return expression
    }

    private mutating func readOr() throws(TagExpression.Invalid) -> TagExpression {
        var expression = try self.readAnd()
        while self.take("||") { expression = .or(expression, try self.readAnd()) }
        return expression
    }

    private mutating func readAnd() throws(TagExpression.Invalid) -> TagExpression {
        var expression = try self.readTerm()
        while self.take("&&") { expression = .and(expression, try self.readTerm()) }
        return expression
    }

    private mutating func readTerm() throws(TagExpression.Invalid) -> TagExpression {
        self.depth += 1
        defer { self.depth -= 1 }
        guard self.depth <= Self.maximumDepth else { throw self.error("more than \(Self.maximumDepth) levels") }
        if self.take("!") { return .not(try self.readTerm()) }
        if self.take("(") {
            let expression = try self.readOr()
            guard self.take(")") else { throw self.error("a closing parenthesis is missing") }
            return expression
        }
        return .tag(try self.readTag())
    }

    private mutating func readTag() throws(TagExpression.Invalid) -> Tag {
        self.skipBlanks()
        let start = self.position
        while self.position < self.text.count, Tag.isAllowed(self.text[self.position]) { self.position += 1 }
        guard let tag = Tag(String(decoding: self.text[start..<self.position], as: UTF8.self)) else {
            throw self.error("a tag is missing or too long")
        }
        self.tags += 1
        guard self.tags <= Self.maximumTags else { throw self.error("more than \(Self.maximumTags) tags") }
        self.skipBlanks()
        return tag
    }

    private mutating func take(_ symbol: String) -> Bool {
        self.skipBlanks()
        guard self.text[self.position...].starts(with: symbol.utf8) else { return false }
        self.position += symbol.utf8.count
        self.skipBlanks()
        return true
    }

    private mutating func skipBlanks() {
        while self.position < self.text.count, self.text[self.position] == UInt8(ascii: " ") { self.position += 1 }
    }

    private func error(_ reason: String) -> TagExpression.Invalid {
        TagExpression.Invalid(reason: reason, offset: self.position)
    }
}
