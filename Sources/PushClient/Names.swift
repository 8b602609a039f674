// The module has a type of its own name. So an app with its own type `Session` cannot name the
// module's as `PushClient.Session`. It can use these names.

/// ``Session`` for an app that has another type of that name.
public typealias PushSession = Session
/// ``Inbox`` for an app that has another type of that name.
public typealias PushInbox = Inbox
/// ``Outbox`` for an app that has another type of that name.
public typealias PushOutbox = Outbox
