package sealpost.client;

import androidx.annotation.Nullable;
import javax.crypto.SecretKey;

/** Provides the key of a {@link Store}, and another key when the device has lost the first. */
public interface KeyProvider {
    /**
     * An AES key of 256 bits. The store calls this at the start of a process. If the call fails,
     * the store calls it up to three times.
     *
     * <p>All exceptions of this function become {@link PushClientException.Reason#STORAGE}, even a
     * {@link RuntimeException}, because some devices' keystores throw undocumented exceptions.
     *
     * @param failure the reason why the last key could not be used; null at first. If the device
     *     has invalidated the key, return a new key: the store then removes all files that it
     *     cannot read.
     */
    SecretKey key(@Nullable Exception failure) throws Exception;
}
