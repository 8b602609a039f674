/**
 * The service worker of Sealpost: fetches a push's notification, checks it, stores it for the
 * page, and shows it. If the fetch or a check fails, the worker shows a placeholder.
 *
 * Register the worker through `PushClient.register` or `startWorker`. An app with a worker of its
 * own imports this module at the top of that worker, and may change the texts:
 *
 * ```js
 * import {texts} from './sealpost/sealpost-worker.js';
 * texts.arrived = item => ({title: 'Clinic', body: item.payload.summary});
 * ```
 */

import {OWN_OPTIONS, PushClient, WORKER_CHANNEL, checkedOption, checkedOptions, pushedHint, pushedID} from './sealpost.js';

/**
 * Options of `PushClient.open` for this worker's clients. They are for values that a page cannot
 * store for the worker, such as a function that renews the token:
 *
 * ```js
 * options.token = ({account}) => fetch('/push-token', {method: 'POST'}).then(answer => answer.json());
 * ```
 *
 * `deadline` is the time limit for a push, in seconds: browsers stop a worker after about thirty.
 */
export const options = {deadline: 20};

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
   * The text if the payload could not be fetched, or the answer was not the server's own. Never
   * show that answer, or the reason of the failure.
   */
  unknown: settings => ({body: settings.placeholder}),
  /**
   * The text if the notification was recalled or dismissed, or has expired. Browsers require that
   * the worker shows something for each push.
   */
  gone: () => ({body: 'A message is no longer available.', silent: true}),
};

const TEXTS = {arrived: 'a function', unknown: 'a function', gone: 'a function'};

const opened = new Map();

/**
 * An account's client, with the settings that the page used last; null if no page has opened it.
 */
async function client(name) {
  if (!opened.has(name)) opened.set(name, PushClient.reopen(name, options));
  try {
    const push = await opened.get(name);
    // Since this worker started, the account may have signed out, or another account may have
    // signed in.
    if (push && !await push.isCurrent()) {
      // The old client stays open, because another push may be using it. It ends with the worker.
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
  // A push without a hint is for a registration that was made before accounts shared the
  // subscription.
  if (!isShared || pushedHint(message) === null) return all.length === 1 ? all[0] : null;
  for (const push of all) if (await push.isRecipient(message)) return push;
  return null;
}

/**
 * Shows a push in every case, with the placeholder after an error. For a `declared` push, Safari
 * shows the worker's notification only at the end of the event, and only if the notification has
 * an address to open.
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
    // An error of the app's hook must not stop a sign-out.
    console.warn(error);
  }
  // Other devices may have read what this worker has shown. The notification of this push stays
  // shown, because browsers require it.
  if (outcome === 'arrived' && !declared) await push.closeSeen(id).catch(error => console.warn(`the shown notifications were not checked: ${error.code ?? error.name}`));
  // If a sign-out has not reached the server yet, pushes still arrive.
  if (push?.account === null) await push.finishSignOuts();
}

async function countUnread(push) {
  const count = await push.cachedBadge();
  // Not every browser has badges, and Safari's promise never ends in the event of a declarative
  // push.
  navigator.setAppBadge?.(count)?.catch(() => {});
}

/**
 * Sends everything that waits for the server: sign-outs, changes to read, dismissals and messages.
 */
async function sendWaiting() {
  let isDone = true;
  for (const push of await clients()) {
    isDone = await push.finishSignOuts() && isDone;
    if (push.account !== null) await push.sync();
  }
  // The browser that woke this worker then retries later.
  if (!isDone) throw new Error('a sign-out has not reached the server');
}

/**
 * The address of the page that a click on a notification opens. If `page` has a hash or `{id}`, no
 * hash with the id is added.
 */
function addressOf({id, page}) {
  const named = page ?? self.registration.scope;
  return /#|\{id\}/.test(named) ? named.replaceAll('{id}', String(id ?? '')) : `${named}#${id ?? ''}`;
}

/**
 * Brings a window of the page to the front, and tells it which notification was clicked. If there
 * is no such window, opens one.
 */
async function open({id, name, page}) {
  const address = addressOf({id, page}), withoutQuery = url => url.split(/[?#]/)[0];
  const windows = await self.clients.matchAll({type: 'window', includeUncontrolled: true}).catch(() => []);
  for (const shown of windows.filter(({url}) => withoutQuery(url) === withoutQuery(address))) {
    try {
      await shown.focus();
      return shown.postMessage({sealpost: 'open', id, name});
    } catch {
      // Browsers also list windows that they have ended, and refuse to focus such windows.
    }
  }
  await self.clients.openWindow(address);
}

self.addEventListener('install', event => {
  // With a wrong option or text each push would show the placeholder. The browser keeps the worker
  // before this one, and hides the error from the page.
  event.waitUntil((async () => {
    try {
      checkedOptions(options, OWN_OPTIONS);
      checkedOptions(texts, TEXTS);
      for (const name of Object.keys(TEXTS)) checkedOption(name, texts[name], TEXTS[name]);
    } catch (error) {
      const channel = new BroadcastChannel(WORKER_CHANNEL);
      channel.postMessage({worker: location.href, message: error.message});
      channel.close();
      throw error;
    }
  })());
});

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
