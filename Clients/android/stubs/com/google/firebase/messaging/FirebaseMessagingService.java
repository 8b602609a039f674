package com.google.firebase.messaging;

/** A stub for snippets. */
public abstract class FirebaseMessagingService extends android.content.Context {
    @Override
    public java.io.File getNoBackupFilesDir() {
        throw new UnsupportedOperationException();
    }

    @Override
    public android.content.Context getApplicationContext() {
        throw new UnsupportedOperationException();
    }

    @Override
    public String getString(int id) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> T getSystemService(Class<T> type) {
        throw new UnsupportedOperationException();
    }

    public void onMessageReceived(RemoteMessage message) {}

    public void onDeletedMessages() {}

    public void onNewToken(String token) {}
}
