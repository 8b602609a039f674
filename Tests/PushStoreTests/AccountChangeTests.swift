import Foundation
import PushCore
import Testing

@testable import PushStore

/// Decisions about changes of users, tested without a database.
@Suite(.timeLimit(.minutes(5))) struct AccountChangeTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)
    private static let hash = PasswordHash(phc: "new")

    private let bank: AppName

    init() throws {
        self.bank = try #require(AppName("bank"))
    }

    private func account(_ role: Role? = .publisher, isDisabled: Bool = false, issued: IssuedAccount? = nil)
        -> StoredAccount
    {
        StoredAccount(
            id: 7,
            rights: role.map { AccountRights(role: $0, apps: [.usual]) },
            passwordNumber: 1,
            isDisabled: isDisabled,
            tags: nil,
            issued: issued
        )
    }

    private func plan(_ change: AccountChange, of account: StoredAccount) throws -> AccountPlan {
        let (outcome, decided) = change.decide(account, isLastAdministrator: false)
        let plan = try #require(decided)
        #expect(outcome == .done)
        #expect(plan.user == account.id && plan.change == change)
        return plan
    }

    private func issued(_ seconds: TimeInterval, owner: UInt8 = 1, role: Role? = nil) -> IssuedToken {
        IssuedToken(
            IssuedAccount(
                owner: Data([owner]),
                issuedAt: Self.now + seconds,
                rights: IssuedRights(role: role, apps: nil, scopes: nil)
            )
        )
    }

    /// When the user's rights grow, the user's sessions end: a token on an old phone must not gain
    /// rights.
    @Test(arguments: [
        (Role.device, Role?.some(.publisher), true), (.device, .device, false), (.publisher, .device, false),
        (.publisher, .admin, true), (.publisher, nil, false),
    ])
    func higherRoleEndsSessionsAndKeepsDevices(from old: Role, to new: Role?, isEnd: Bool) throws {
        let plan = try self.plan(AccountChange(role: new), of: self.account(old))
        #expect(plan.endsSessions == isEnd)
        #expect(!plan.retiresDevices && plan.isNews)
    }

    @Test func anotherAppEndsSessionsExceptOfAdministrators() throws {
        let change = AccountChange(apps: [.usual, self.bank])
        #expect(try self.plan(change, of: self.account()).endsSessions)
        #expect(try !self.plan(change, of: self.account(.admin)).endsSessions)
        #expect(try !self.plan(AccountChange(apps: []), of: self.account()).endsSessions)
    }

    @Test func unknownRoleCountsAsLower() throws {
        #expect(try self.plan(AccountChange(isDisabled: true), of: self.account(nil)).endsSessions)
    }

    @Test func newPasswordEndsSessionsWithTheirDevices() throws {
        let plan = try self.plan(AccountChange(password: Self.hash), of: self.account())
        #expect(plan.endsSessions && plan.retiresDevices)
    }

    @Test(arguments: [(7, 1, false, true), (8, 1, false, false), (7, 2, false, false), (7, 1, true, false)])
    func aUserReplacesOnlyThePasswordThatItHasPresented(id: Int64, number: Int64, isDisabled: Bool, isReplaced: Bool)
        throws
    {
        let name = try #require(Username("alice"))
        let user = User(id: id, name: name, role: .publisher, passwordNumber: number, isDisabled: false)
        let change = AccountChange(password: Self.hash, presenter: user)
        let (outcome, plan) = change.decide(self.account(isDisabled: isDisabled), isLastAdministrator: false)
        #expect(outcome == (isReplaced ? .done : .missing))
        #expect((plan != nil) == isReplaced)
    }

    @Test(arguments: [
        (Role?.none, Bool?.none, false), (.admin, nil, false), (.admin, false, false), (.publisher, nil, true),
        (.device, false, true), (nil, true, true), (.admin, true, true),
    ])
    func lastAdministratorIsReadIfTheUserWillNotBeOne(role: Role?, isDisabled: Bool?, isLosing: Bool) {
        let change = AccountChange(role: role, isDisabled: isDisabled)
        #expect(change.isLosing == isLosing)
    }

    @Test func lastAdministratorIsNeitherChangedNorDeleted() {
        let (change, account) = (AccountChange(role: .device, password: Self.hash), self.account(.admin))
        let refused = change.decide(account, isLastAdministrator: true)
        #expect(refused.outcome == .lastAdministrator && refused.plan == nil)
        #expect(change.decide(nil, isLastAdministrator: false).outcome == .missing)
        #expect(AccountChange.deletion(of: account, isLastAdministrator: true) == .lastAdministrator)
        #expect(AccountChange.deletion(of: account, isLastAdministrator: false) == .done)
        #expect(AccountChange.deletion(of: nil, isLastAdministrator: false) == .missing)
    }

    @Test func issuedTokenOfAnotherOwnerOrAnOlderOneIsRefused() {
        let stored = self.account(issued: self.issued(0).account)
        for token in [self.issued(1, owner: 2), self.issued(-1)] {
            // The decision checks the token before it protects the last administrator. The answer
            // to a refused token therefore reveals nothing else.
            let decided = AccountChange(role: .device, issued: token).decide(stored, isLastAdministrator: true)
            #expect(decided.outcome == .missing && decided.plan == nil)
        }
    }

    @Test func issuedTokenWithTheSameRightsEndsNothing() throws {
        let stored = self.account(issued: self.issued(0).account)
        let changes = [
            (AccountChange(issued: self.issued(1)), false),
            (AccountChange(issued: self.issued(1, role: .device)), true),
            (AccountChange(role: .publisher, issued: self.issued(1)), true),
            (AccountChange(isDisabled: false, issued: self.issued(1)), true),
        ]
        for (change, isNews) in changes {
            let plan = try self.plan(change, of: stored)
            #expect(plan.isNews == isNews)
            #expect(!plan.endsSessions)
        }
        let first = AccountChange(issued: self.issued(1))
        #expect(try self.plan(first, of: self.account()).isNews, "the account has an owner now")
        let unknown = self.account(nil, issued: self.issued(0).account)
        #expect(try !self.plan(first, of: unknown).endsSessions)
    }

    // MARK: Sessions

    @Test(arguments: [
        (Int64(1), false, Role.publisher, true, true), (2, false, .publisher, false, false),
        (1, true, .publisher, false, false), (1, false, .device, true, false), (1, false, .admin, true, false),
    ])
    func sessionBeginsIfPasswordStaysAndCodeIfRightsStayToo(
        password: Int64,
        isDisabled: Bool,
        role: Role,
        isSession: Bool,
        isCode: Bool
    ) throws {
        let name = try #require(Username("alice"))
        let user = User(id: 7, name: name, role: role, passwordNumber: password, isDisabled: false)
        let account = self.account(isDisabled: isDisabled)
        #expect(account.admits(user) == isSession)
        #expect(account.admitsCode(for: user) == isCode)
    }

    @Test func disabledAdministratorDoesNotCount() {
        #expect(self.account(.admin).isAdministrator && !self.account().isAdministrator)
        #expect(!self.account(.admin, isDisabled: true).isAdministrator && !self.account(nil).isAdministrator)
    }

    // MARK: Tags

    @Test(arguments: [
        (["board"], ["board", "crew"], "added crew"), (["board", "night"], ["board"], "removed night"),
        (["a", "b"], ["c", "d"], "added c, d; removed a, b"), ([], [], "unchanged"), (["a"], ["a"], "unchanged"),
    ])
    func recordNamesAddedAndRemovedTags(old: [String], new: [String], detail: String) throws {
        let sealing = try DecisionScene().sealing
        let tags = { (names: [String]) in Set(names.compactMap { PushCore.Tag($0) }) }
        let account = StoredAccount(
            id: 7,
            rights: AccountRights(role: .device, apps: [.usual]),
            passwordNumber: 1,
            isDisabled: false,
            tags: old.isEmpty ? nil : try sealing.seal(tags(old), in: .userTags(7)),
            issued: nil
        )
        let record = AuditRecord(.setTags, of: "alice", at: Self.now)
        let found = try UserTagPlan(tags(new), of: account, ifStill: account.rights, by: record, sealing)
        let plan = try #require(found)
        #expect(plan.record?.detail == detail)
        #expect(plan.keys.count == new.count && plan.isErasing == !old.isEmpty)
        #expect(try sealing.tags(plan.sealed, ofUser: 7).map(\.description) == new.sorted())
        let others = AccountRights(role: .publisher, apps: [.usual])
        #expect(try UserTagPlan([], of: account, ifStill: others, by: nil, sealing) == nil)
        #expect(try UserTagPlan([], of: nil, ifStill: nil, by: nil, sealing) == nil)
    }
}
