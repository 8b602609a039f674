// The module has a type of its own name, so an app that has its own `Session` cannot write
// `PushClient.Session`. It can use these names.

/// ``Session`` for an app that has another type of that name.
public typealias PushSession = Session
/// ``Inbox`` for an app that has another type of that name.
public typealias PushInbox = Inbox
/// ``Outbox`` for an app that has another type of that name.
public typealias PushOutbox = Outbox
