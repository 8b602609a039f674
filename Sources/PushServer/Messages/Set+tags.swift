internal import PushAPI
internal import PushCore

extension Set<Tag> {
    /// The member `Tags` of a body; empty if absent.
    ///
    /// Throws an `invalid-member` problem for a text that is not a tag and for more than `limit`
    /// tags. Rethrows the problems of `check`, which runs for each tag.
    init(_ body: JSONBody, atMost limit: Int, _ check: (Tag) throws(Problem) -> Void) throws(Problem) {
        let texts = try body.strings("Tags") ?? []
        guard texts.count <= limit else { throw Problem(.invalidMember, "Tags has more than \(limit) elements") }
        self = []
        for text in texts {
            guard let tag = Tag(text) else {
                throw Problem(.invalidMember, "Tags has an element that is not \(Tag.rule)")
            }
            try check(tag)
            self.insert(tag)
        }
    }
}
