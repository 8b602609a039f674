package sealpost.client

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.awaitClose
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.callbackFlow
import kotlinx.coroutines.flow.conflate
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.runInterruptible

/**
 * The calls of a [PushClient] as suspending functions, on [Dispatchers.IO].
 *
 * If the coroutine is cancelled, its call is interrupted and ends at once.
 */
class SuspendingPushClient(val client: PushClient) {
    /** The cached inbox at the start, and again after each change that [client] has made. */
    val inboxes: Flow<Inbox> = callbackFlow<Unit> {
        val listener = Runnable { trySend(Unit) }
        client.addListener(listener)
        trySend(Unit)
        awaitClose { client.removeListener(listener) }
    }.conflate().map { client.cachedInbox() }.flowOn(Dispatchers.IO)

    suspend fun sync(): Fetched<Inbox> = call { client.sync() }

    suspend fun cachedInbox(): Inbox = call { client.cachedInbox() }

    suspend fun cachedNotification(id: Long): NotificationItem? = call { client.cachedNotification(id) }

    suspend fun notification(id: Long): Fetched<NotificationItem> = call { client.notification(id) }

    suspend fun preview(id: Long): NotificationItem? = call { client.preview(id) }

    suspend fun confirmTaken(id: Long) = call { client.confirmTaken(id) }

    /** Marks a notification at the server. [markReadLater] does not wait for the network. */
    suspend fun markRead(id: Long, isRead: Boolean): NotificationItem = call { client.markRead(id, isRead) }

    suspend fun markReadLater(id: Long, isRead: Boolean) = call { client.outbox().markRead(id, isRead) }

    suspend fun dismiss(id: Long) = call { client.dismiss(id) }

    suspend fun dismissLater(id: Long) = call { client.outbox().dismiss(id) }

    suspend fun send(payload: Json, key: String): NotificationItem = call { client.send(payload, key) }

    /** Stores a task that sends a payload, and returns the task's key. */
    suspend fun sendLater(payload: Json): String = call { client.outbox().send(payload) }

    suspend fun flush() = call { client.outbox().flush() }

    suspend fun changes(consumer: String): InboxChanges = call { client.changes(consumer) }

    suspend fun confirm(changes: InboxChanges) = call { client.confirm(changes) }

    suspend fun registerIfNeeded(platform: String, handle: String, tags: Collection<String> = emptyList()): String =
        call { client.registerIfNeeded(platform, handle, tags) }

    suspend fun isRecipient(push: PushMessage): Boolean = call { client.isRecipient(push) }

    suspend fun signIn(username: String, password: String): Session = call { client.signIn(username, password) }

    /** Signs out; returns whether the server has confirmed the end of session and device. */
    suspend fun signOut(): Boolean = call { client.signOut() }

    /** Makes any other call of the client, such as `call { devices().list() }`. */
    suspend fun <T> call(block: PushClient.() -> T): T = runInterruptible(Dispatchers.IO) { client.block() }
}
