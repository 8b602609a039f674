// A stub, as coroutines.kt.
package kotlinx.coroutines.flow

import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.channels.ProducerScope

interface Flow<out T>

fun <T> callbackFlow(block: suspend ProducerScope<T>.() -> Unit): Flow<T> = throw UnsupportedOperationException()

fun <T> Flow<T>.conflate(): Flow<T> = throw UnsupportedOperationException()

fun <T, R> Flow<T>.map(transform: suspend (value: T) -> R): Flow<R> = throw UnsupportedOperationException()

fun <T> Flow<T>.flowOn(context: CoroutineContext): Flow<T> = throw UnsupportedOperationException()
