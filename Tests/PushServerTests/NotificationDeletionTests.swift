import PushCore
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct NotificationDeletionTests {
    typealias Deletion = DeletionHandler.Deletion

    @Test(arguments: [
        (Role.device, true, [Deletion.dismiss, .cancelAsSender]),
        (.device, false, [.dismiss]),
        (.publisher, true, [.recallAsSender, .dismiss]),
        (.publisher, false, [.dismiss]),
        (.admin, true, [.recallAsSender, .dismiss, .recallAsAdministrator]),
        (.admin, false, [.dismiss]),
    ])
    func theRoleAndTheSendScopeDecideWhatADeleteTries(role: Role, maySend: Bool, expected: [Deletion]) {
        #expect(Deletion.candidates(for: role, maySend: maySend) == expected)
    }
}
