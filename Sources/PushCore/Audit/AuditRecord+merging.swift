extension [AuditRecord] {
    /// The same records, but with one record in place of consecutive records that differ only in
    /// their subjects. This record names the subjects of all these records in their order,
    /// separated by blanks.
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
