package example;

import android.app.Activity;
import android.app.AlertDialog;
import android.app.NotificationManager;
import android.content.Intent;
import android.os.Build;
import android.os.Bundle;
import android.text.InputType;
import android.view.View;
import android.view.ViewGroup;
import android.widget.BaseAdapter;
import android.widget.Button;
import android.widget.EditText;
import android.widget.LinearLayout;
import android.widget.ListView;
import android.widget.TextView;
import androidx.annotation.Nullable;
import java.util.Date;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import sealpost.client.*;

/** The inbox, or the form for signing in. A tap on a notification opens its message. */
public final class MessagesActivity extends Activity {
    /** The name of the extra that has the id of an intent's notification. */
    static final String ID = "id";

    /** The thread for the client's calls, which block. */
    private static final ExecutorService BACKGROUND = Executors.newSingleThreadExecutor();

    private interface Work {
        void run() throws PushClientException;
    }

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Screen.open(this);
        if (Build.VERSION.SDK_INT >= 33) requestPermissions(new String[] {"android.permission.POST_NOTIFICATIONS"}, 1);
        // After a rotation of the screen, the message was already shown.
        if (state == null) openMessage(getIntent());
    }

    @Override
    protected void onNewIntent(Intent intent) {
        super.onNewIntent(intent);
        setIntent(intent);
        openMessage(intent);
    }

    @Override
    protected void onResume() {
        super.onResume();
        load();
    }

    private void load() {
        run(() -> Push.open(this));
    }

    private void run(Work work) {
        BACKGROUND.execute(() -> {
            try {
                work.run();
            } catch (PushClientException error) {
                if (error.reason() == PushClientException.Reason.KEY_REPLACED) {
                    giveKeys();
                    return;
                }
                onScreen(() -> {
                    if (error.advice() == Advice.SIGN_IN) showSignIn();
                    // Before the first sign-in, the form says enough.
                    if (error.reason() != PushClientException.Reason.SIGNED_OUT) tell(error.advice().text());
                });
            }
        });
    }

    /** Tells the user, and gives this device's end-to-end keys to the server again. */
    private void giveKeys() {
        onScreen(() -> tell(getString(R.string.key_replaced)));
        run(() -> EndToEnd.setDeviceKey(Push.client(this), Push.store(this)));
    }

    private void onScreen(Runnable action) {
        runOnUiThread(() -> {
            if (!isDestroyed()) action.run();
        });
    }

    private void tell(String text) {
        new AlertDialog.Builder(this).setMessage(text).show();
    }

    /** Shows the message of a notification that was tapped, and then marks it as read. */
    private void openMessage(Intent intent) {
        long id = intent.getLongExtra(ID, -1);
        if (id >= 0) open(id);
    }

    private void open(long id) {
        run(() -> {
            PushClient client = Push.client(this);
            NotificationItem item = client.notification(id).value();
            String text = EndToEnd.text(client, Push.store(this), item);
            onScreen(() -> {
                tell(text == null ? getString(R.string.something_to_read) : text);
                // The user has not read a message whose payload cannot be opened.
                if (text != null) run(() -> markRead(client, item));
            });
        });
    }

    /** The server erases a read-once payload after this call, so the message must be on the screen. */
    private void markRead(PushClient client, NotificationItem item) throws PushClientException {
        getSystemService(NotificationManager.class).cancel(Long.toString(item.id()), 0);
        if (item.isReadOnce()) client.confirmTaken(item.id());
        else client.outbox().markRead(item.id(), true);
        client.sync();
    }

    private String text(NotificationItem item) {
        String text = EndToEnd.clearText(item);
        return text == null ? getString(R.string.something_to_read) : text;
    }

    /** Shows the inbox, from any thread. */
    void show(Inbox inbox, @Nullable Date date) {
        onScreen(() -> {
            LinearLayout page = new LinearLayout(this);
            page.setOrientation(LinearLayout.VERTICAL);
            TextView age = new TextView(this);
            age.setText(date == null ? getString(R.string.never) : getString(R.string.as_of) + " " + date);
            page.addView(age);
            Button signOut = new Button(this);
            signOut.setText(R.string.sign_out);
            signOut.setOnClickListener(view -> run(() -> {
                Push.signOut(this);
                onScreen(this::showSignIn);
            }));
            page.addView(signOut);
            ListView list = new ListView(this);
            list.setAdapter(new Messages(inbox.notifications()));
            page.addView(list);
            setContentView(page);
        });
    }

    private void showSignIn() {
        LinearLayout page = new LinearLayout(this);
        page.setOrientation(LinearLayout.VERTICAL);
        EditText name = new EditText(this);
        name.setHint(R.string.name);
        EditText password = new EditText(this);
        password.setHint(R.string.password);
        password.setInputType(InputType.TYPE_CLASS_TEXT | InputType.TYPE_TEXT_VARIATION_PASSWORD);
        Button button = new Button(this);
        button.setText(R.string.sign_in);
        button.setOnClickListener(view -> {
            String user = name.getText().toString();
            String secret = password.getText().toString();
            run(() -> {
                Push.signIn(this, user, secret);
                load();
            });
        });
        page.addView(name);
        page.addView(password);
        page.addView(button);
        setContentView(page);
    }

    /** The rows of the inbox, the newest first. */
    private final class Messages extends BaseAdapter {
        private final List<NotificationItem> items;

        Messages(List<NotificationItem> items) {
            this.items = items;
        }

        @Override
        public int getCount() {
            return items.size();
        }

        @Override
        public NotificationItem getItem(int position) {
            return items.get(items.size() - 1 - position);
        }

        @Override
        public long getItemId(int position) {
            return getItem(position).id();
        }

        @Override
        public View getView(int position, @Nullable View old, ViewGroup parent) {
            NotificationItem item = getItem(position);
            TextView row = old instanceof TextView ? (TextView) old : new TextView(MessagesActivity.this);
            row.setText((item.isRead() ? "" : "\u2022 ") + text(item));
            row.setOnClickListener(view -> open(item.id()));
            return row;
        }
    }
}
