package com.google.firebase.messaging;

import com.google.android.gms.tasks.Task;

/** A stub for snippets. */
public class FirebaseMessaging {
    public static FirebaseMessaging getInstance() {
        return new FirebaseMessaging();
    }

    public Task<String> getToken() {
        return new Task<String>("token") {};
    }
}
