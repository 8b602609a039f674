/**
 * The service worker of Sealpost: fetches a push's notification, checks it, stores it for the page,
 * and shows it. If that fails, it shows a placeholder.
 *
 * Register it through `PushClient.register` or `startWorker`. An app with a worker of its own
 * imports this module at the top of it, and may change the texts:
 *
 * ```js
 * import {texts} from './sealpost/sealpost-worker.js';
 * texts.arrived = item => ({title: 'Clinic', body: item.payload.summary});
 * ```
 */

import {PushClient, pushedHint, pushedID} from './sealpost.js';

/**
 * Options of this worker's clients, as of `PushClient.open`, which a page cannot store, such as a
 * function that renews the token:
 *
 * ```js
 * options.token = ({account}) => fetch('/push-token', {method: 'POST'}).then(answer => answer.json());
 * ```
 *
 * `timeout` is that of a push, in seconds: browsers stop a worker after about thirty.
 */
export const options = {timeout: 20};

const parameters = new URL(location.href).searchParams;
/** Whether the accounts of this origin share the browser's subscription. */
const isShared = parameters.has('shared');

/**
 * The content of notifications. Each function returns `{title, body}`, and any other option of
 * `showNotification`; the page's settings supply missing values.
 */
export const texts = {
  /**
   * Shows a payload that is a text; for other payloads, and read-once ones, shows the placeholder.
   */
  arrived: (item, settings) => ({body: typeof item.payload === 'string' ? item.payload : settings.placeholder}),
  /**
   * The payload could not be fetched, or the answer was not the server's own. Never show that
   * answer, or the reason.
   */
  unknown: settings => ({body: settings.placeholder}),
  /**
   * The notification was recalled or dismissed, or has expired. Browsers demand that each push
   * shows something.
   */
  gone: () => ({body: 'A message was withdrawn.', silent: true}),
};

const opened = new Map();

/**
 * An account's client, with the settings that the page used last; null if no page has opened it.
 */
async function client(name) {
  if (!opened.has(name)) opened.set(name, PushClient.reopen(name, options));
  try {
    const push = await opened.get(name);
    // The account may have signed out, or another may have signed in, since this worker started.
    if (push && !await push.isCurrent()) {
      // The old client stays open: another push may be using it, and it ends with the worker.
      opened.set(name, PushClient.reopen(name, options));
      return await opened.get(name);
    }
    if (!push) opened.delete(name);
    return push;
  } catch (error) {
    opened.delete(name);
    throw error;
  }
}

/** The clients of all accounts that this worker is for. */
async function clients() {
  const names = isShared ? await PushClient.names() : [parameters.get('name') ?? ''];
  return (await Promise.all(names.map(client))).filter(Boolean);
}

/** The client of the account that a push is for; null if there is none. */
async function recipient(message) {
  const all = await clients();
  // A push without a hint is for a registration from before accounts shared the subscription.
  if (!isShared || pushedHint(message) === null) return all.length === 1 ? all[0] : null;
  for (const push of all) if (await push.isRecipient(message)) return push;
  return null;
}

/**
 * Shows a push in every case, with the placeholder after an error. For a `declared` push, Safari
 * shows the worker's notification only at the end of the event, and only if it has an address to
 * open.
 */
async function show(message, declared) {
  const id = pushedID(message), start = performance.now();
  let settings = {title: self.registration.scope.split('/')[2], icon: null, placeholder: 'New message. Open to read.', page: null};
  let shown = texts.unknown(settings), push = null, outcome = 'unknown';
  try {
    push = await recipient(message);
    if (push) {
      settings = push.settings;
      shown = texts.unknown(settings);
      if (id !== null && push.account !== null) {
        const item = await push.preview(id);
        shown = item ? texts.arrived(item, settings) : texts.gone(settings);
        outcome = item ? 'arrived' : 'gone';
        await countUnread(push);
      }
    }
  } catch (error) {
    // The log contains nothing of the answer, not even as an error: the opened page shows more.
    outcome = error.interference?.kind ?? error.code ?? 'error';
    console.warn(`a push could not be fetched: ${error.code ?? error.name} ${error.interference?.kind ?? ''}`);
  }
  const {title = settings.title, ...more} = shown;
  await self.registration.showNotification(title, {
    icon: settings.icon ?? undefined, tag: ['sealpost', push?.settings.name, id].filter(part => part || part === 0).join(' '),
    data: {id, name: push?.settings.name ?? '', page: settings.page}, ...declared && {navigate: addressOf({id, page: settings.page})}, ...more,
  });
  try {
    options.observe?.({kind: 'push', method: null, route: null, status: null, milliseconds: Math.round(performance.now() - start), outcome});
  } catch (error) {
    // A hook must not stop a sign-out.
    console.warn(error);
  }
  // Other devices may have read what this worker has shown. This push stays shown: browsers demand it.
  if (outcome === 'arrived' && !declared) await push.closeSeen(id).catch(error => console.warn(`the shown notifications were not checked: ${error.code ?? error.name}`));
  // Pushes still arrive if a sign-out has not reached the server yet.
  if (push?.account === null) await push.finishSignOuts();
}

async function countUnread(push) {
  const count = await push.cachedBadge();
  // Not every browser has badges, and the promise of Safari's never ends in the event of a declared push.
  navigator.setAppBadge?.(count)?.catch(() => {});
}

/** Sends everything that waits for the server: sign-outs, reads, dismissals and messages. */
async function sendWaiting() {
  let isDone = true;
  for (const push of await clients()) {
    isDone = await push.finishSignOuts() && isDone;
    if (push.account !== null) await push.sync();
  }
  // The browser that woke this worker then retries later.
  if (!isDone) throw new Error('a sign-out has not reached the server');
}

/** The address of a notification's page; a `page` with a hash or `{id}` stays as it is. */
function addressOf({id, page}) {
  const named = page ?? self.registration.scope;
  return /#|\{id\}/.test(named) ? named.replaceAll('{id}', String(id ?? '')) : `${named}#${id ?? ''}`;
}

/**
 * Brings a window of the page to the front and passes on which notification was clicked; without
 * such a window opens one.
 */
async function open({id, name, page}) {
  const address = addressOf({id, page}), withoutQuery = url => url.split(/[?#]/)[0];
  const windows = await self.clients.matchAll({type: 'window', includeUncontrolled: true}).catch(() => []);
  for (const shown of windows.filter(({url}) => withoutQuery(url) === withoutQuery(address))) {
    try {
      await shown.focus();
      return shown.postMessage({sealpost: 'open', id, name});
    } catch {
      // Browsers list windows that they have ended, and refuse to focus them.
    }
  }
  await self.clients.openWindow(address);
}

self.addEventListener('push', event => {
  // A declarative push, which Safari shows itself if this worker fails, has its data in the notification.
  const message = event.data?.text() ?? JSON.stringify(event.notification?.data ?? null);
  event.waitUntil(show(message, Boolean(event.notification)));
});

self.addEventListener('notificationclick', event => {
  event.notification.close();
  event.waitUntil(open(event.notification.data ?? {}));
});

self.addEventListener('pushsubscriptionchange', event => {
  event.waitUntil(clients().then(all => Promise.all(all.filter(push => push.account).map(push => push.registerIfNeeded()))));
});

self.addEventListener('sync', event => {
  if (event.tag === 'sealpost') event.waitUntil(sendWaiting());
});

self.addEventListener('activate', event => {
  event.waitUntil(self.clients.claim());
});
