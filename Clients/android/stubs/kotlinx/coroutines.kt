// A stub: the declarations of kotlinx.coroutines 1.6 that the Kotlin classes use. Debian has version
// 1.0, which lacks Flow.
package kotlinx.coroutines

import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext

abstract class CoroutineDispatcher : CoroutineContext

object Dispatchers {
    val IO: CoroutineDispatcher get() = throw UnsupportedOperationException()
}

suspend fun <T> runInterruptible(context: CoroutineContext = EmptyCoroutineContext, block: () -> T): T =
    throw UnsupportedOperationException()
