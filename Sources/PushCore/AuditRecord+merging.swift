extension [AuditRecord] {
    /// The same actions, with one record for consecutive records that differ only in their
    /// subjects. That record names the subjects in their order, separated by blanks.
    package var merged: [AuditRecord] {
        var rest = self[...]
        var merged: [AuditRecord] = []
        while let first = rest.first {
            let alike = rest.prefix { $0.differsOnlyInSubject(from: first) }
            let subjects = alike.map(\.subject).joined(separator: " ")
            merged.append(first.another(first.action, of: subjects, detail: first.detail))
            rest = rest.dropFirst(alike.count)
        }
        return merged
    }
}

extension AuditRecord {
    fileprivate func differsOnlyInSubject(from other: AuditRecord) -> Bool {
        self.another(self.action, of: other.subject, detail: self.detail) == other
    }
}
