// A stub, as coroutines.kt.
package kotlinx.coroutines.channels

class ChannelResult<out T>

interface SendChannel<in E> {
    fun trySend(element: E): ChannelResult<Unit>
}

interface ProducerScope<in E> : SendChannel<E>

suspend fun ProducerScope<*>.awaitClose(block: () -> Unit = {}): Unit = throw UnsupportedOperationException()
