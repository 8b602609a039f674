internal import PushAPI

/// What became of each element of a batch.
struct BatchOutcomes {
    private var results: [Result<SentNotification, Problem>]

    /// `problem` is the outcome of elements that are neither stored nor refused.
    init(_ count: Int, before problem: Problem) {
        self.results = Array(repeating: .failure(problem), count: count)
    }

    subscript(number: Int) -> Result<SentNotification, Problem> {
        get { self.results[number] }
        set { self.results[number] = newValue }
    }

    /// The body of the answer to a request.
    func json(in request: RequestID) -> JSONValue {
        let values = self.results.map { result -> JSONValue in
            switch result {
            case .success(let sent):
                return .object([.init("Status", .number(201))] + sent.members)
            case .failure(var problem):
                problem.instance = request.description
                return .object([.init("Status", .number(problem.status)), .init("Problem", problem.json)])
            }
        }
        return .object([.init("Outcomes", .array(values))])
    }
}
