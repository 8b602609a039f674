package com.google.firebase.messaging;

/** A stub for snippets. */
public abstract class FirebaseMessagingService extends android.content.Context {
    public void onMessageReceived(RemoteMessage message) {}

    public void onDeletedMessages() {}

    public void onNewToken(String token) {}
}
