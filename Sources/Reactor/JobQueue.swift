/// A first-in, first-out queue; elements are moved in memory at most once, many at a time.
struct JobQueue<Element> {
    private var incoming: [Element] = []
    private var outgoing: [Element] = []
    private var next = 0

    var isEmpty: Bool { self.count == 0 }
    var count: Int { self.incoming.count + self.outgoing.count - self.next }

    mutating func append(_ element: Element) {
        self.incoming.append(element)
    }

    mutating func append(contentsOf elements: [Element]) {
        self.incoming.append(contentsOf: elements)
    }

    mutating func popFirst() -> Element? {
        if self.next == self.outgoing.count {
            guard !self.incoming.isEmpty else { return nil }
            self.outgoing.removeAll(keepingCapacity: true)
            self.next = 0
            swap(&self.incoming, &self.outgoing)
        }
        defer { self.next += 1 }
        return self.outgoing[self.next]
    }
}
