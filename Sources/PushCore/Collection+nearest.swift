extension Collection<String> {
    /// The name in the collection that a misspelt name probably means. The two names differ in at
    /// most two letters, or in only one if the misspelt name is short.
    ///
    /// `nil` if no name is so similar. The time grows with the product of the lengths of the
    /// compared names, so the caller must limit the length of a name that a client has sent.
    package func nearest(to name: String) -> String? {
        let limit = name.utf8.count <= 4 ? 1 : 2
        let found = self.map { (name: $0, distance: $0.distance(to: name)) }.min { $0.distance < $1.distance }
        guard let found, found.distance <= limit else { return nil }
        return found.name
    }
}

extension String {
    /// How many letters must be added, removed or replaced to turn one name into the other,
    /// ignoring case.
    fileprivate func distance(to other: String) -> Int {
        let (first, second) = (Array(self.lowercased().utf8), Array(other.lowercased().utf8))
        var row = Array(0...second.count)
        for (number, letter) in first.enumerated() {
            var diagonal = number
            row[0] = number + 1
            for index in second.indices {
                let replaced = diagonal + (letter == second[index] ? 0 : 1)
                diagonal = row[index + 1]
                row[index + 1] = Swift.min(replaced, Swift.min(row[index], row[index + 1]) + 1)
            }
        }
        return row[second.count]
    }
}
