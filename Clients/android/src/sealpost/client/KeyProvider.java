package sealpost.client;

import androidx.annotation.Nullable;
import javax.crypto.SecretKey;

/** Provides the key of a {@link Store}, and another one when the device has lost it. */
public interface KeyProvider {
    /**
     * An AES key of 256 bits. The store calls this at the start of a process, and up to three times
     * while it fails.
     *
     * <p>Whatever it throws becomes {@link PushClientException.Reason#STORAGE}, also a
     * {@link RuntimeException}: some devices' keystores throw undocumented ones.
     *
     * @param failure the reason why the last key could not be used; null at first. If the device has
     *     invalidated the key, return a new one: the store then removes all that it cannot read.
     */
    SecretKey key(@Nullable Exception failure) throws Exception;
}
