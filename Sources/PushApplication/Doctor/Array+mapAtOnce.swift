extension Array where Element: Sendable {
    /// Applies `transform` to all elements at the same time; returns the results in the order of
    /// the elements.
    func mapAtOnce<Value: Sendable>(
        _ transform: @escaping @Sendable (Element) async -> Value
    ) async -> [Value] {
        await withTaskGroup(of: (index: Int, value: Value).self) { group in
            for (index, element) in self.enumerated() { group.addTask { (index, await transform(element)) } }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.index < $1.index }.map(\.value)
        }
    }
}
