import PushCore

extension FuzzTarget {
    /// A tag expression: written with the fewest parentheses, it is read as the same expression,
    /// and no larger than promised.
    static func tag(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        // Most texts are not expressions, for reasons that do not matter here.
        guard let expression = try? TagExpression(text) else { return }
        let written = expression.text(within: .or)
        try require(try TagExpression(written) == expression, "\(written) is \(text)")
        try require(expression.tags.count <= 20, "\(text) has no more than 20 tags")
        for tag in expression.tags {
            try require(Tag(tag.description) == tag, "\(tag) is read as it is written")
            try require(tag.username.map { Tag(of: $0) == tag } ?? true, "\(tag) is its user's own")
        }
    }
}

extension TagExpression {
    /// How tightly an operator binds.
    fileprivate enum Level {
        case or, and, not
    }

    fileprivate var tags: [Tag] {
        switch self {
        case .tag(let tag): [tag]
        case .not(let expression): expression.tags
        case .and(let left, let right), .or(let left, let right): left.tags + right.tags
        }
    }

    /// Returns the text, in parentheses if it binds less tightly than `level`.
    fileprivate func text(within level: Level) -> String {
        switch self {
        case .tag(let tag):
            tag.description
        case .not(let expression):
            "!" + expression.text(within: .not)
        case .and(let left, let right):
            level == .not
                ? "(\(self.text(within: .or)))" : "\(left.text(within: .and)) && \(right.text(within: .not))"
        case .or(let left, let right):
            level == .or ? "\(left.text(within: .or))||\(right.text(within: .and))" : "(\(self.text(within: .or)))"
        }
    }
}
