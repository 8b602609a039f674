internal import CPostgreSQL

extension Session {
    /// The results of one group of statements, which succeeds or fails as a whole.
    struct Group {
        /// The results that the callers get only when the group is stored.
        var held: [(request: Request, rows: Rows)] = []
        /// The reason why a statement of the group could not be prepared. The request that
        /// executes this statement fails with it.
        var prepareFailure: DatabaseError?
        var hasFailed = false
        /// Whether the session belongs to other clients, too, and must be left.
        var isOfSharedSession = false
        /// The failure of the group's implicit commit, such as a violated deferred constraint.
        var failureOfEnd: DatabaseError?
        /// Whether the first item in flight has had its result. If so, libpq next reports that
        /// this item has no further result.
        var hasResult = false
        /// The number of times that libpq returned no result although one was due.
        var silences = 0
    }

    /// Reads the results that have arrived from the server.
    func readAnswers() {
        while let connection = self.connection, let item = self.inFlight.first, PQisBusy(connection) == 0 {
            if let result = PQgetResult(connection) {
                self.group.silences = 0
                self.take(result, of: item)
            } else if self.group.hasResult {
                self.group.hasResult = false
                _ = self.inFlight.popFirst()
            } else {
                self.group.silences += 1
                if self.group.silences > 2 { self.fail("libpq has lost count of the results") }
            }
        }
    }

    // MARK: - Private

    private func take(_ result: OpaquePointer, of item: Item) {
        let status = PQresultStatus(result)
        switch item {
        case .execute(let request) where status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK:
            self.group.hasResult = true
            let rows = Rows(result)
            if request.countsAtSync {
                self.group.held.append((request, rows))
            } else {
                self.answer(request, .rows(rows))
            }
            return
        case .prepare where status == PGRES_COMMAND_OK:
            self.group.hasResult = true
        case .sync where status == PGRES_PIPELINE_SYNC:
            _ = self.inFlight.popFirst()
            self.endGroup()
        case .execute(let request) where status == PGRES_PIPELINE_ABORTED:
            self.group.hasResult = true
            let failure = self.group.prepareFailure.take()
            self.answer(request, failure.map { .failed($0) } ?? .undone)
        case .prepare(let key) where status == PGRES_PIPELINE_ABORTED:
            self.group.hasResult = true
            self.forget(key)
        default:
            self.takeFailure(result, of: item)
        }
        PQclear(result)
    }

    private func takeFailure(_ result: OpaquePointer, of item: Item) {
        guard PQresultStatus(result) == PGRES_FATAL_ERROR else {
            return self.fail("the server answered with \(String(cString: PQresStatus(PQresultStatus(result))))")
        }
        let report = ServerReport(result)
        guard !report.endsConnection else { return self.fail(report.message) }
        self.group.hasFailed = true
        if report.isOfSharedSession { self.group.isOfSharedSession = true }
        switch item {
        case .prepare(let key):
            self.group.hasResult = true
            self.group.prepareFailure = report.error
            self.forget(key)
        case .execute(let request):
            self.group.hasResult = true
            if report.error.isStalePlan { self.forget(request.statement.key) }
            self.answer(request, .failed(report.error))
        case .sync:
            self.group.failureOfEnd = report.error
        }
    }

    private func endGroup() {
        let ended = self.group
        self.group = Group()
        let warning = self.warning.take()
        for (request, rows) in ended.held {
            if let warning, !ended.hasFailed {
                // The warning says that the server has stored the statement's changes, but perhaps
                // no replica has stored them.
                self.answer(request, .failed(.unknownOutcome(reason: warning)))
            } else if let failure = ended.failureOfEnd, ended.held.count == 1 {
                self.answer(request, .failed(failure))
            } else {
                self.answer(request, ended.hasFailed ? .undone : .rows(rows))
            }
        }
        if ended.isOfSharedSession { self.fail(GivenSession.sharedReason) }
    }

    private func answer(_ request: Request, _ answer: Answer) {
        self.hasAnswered = true
        self.owner?.session(self, answered: request, with: answer)
    }
}
