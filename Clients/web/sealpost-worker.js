/**
 * The service worker of Sealpost: fetches what a push names, checks it, keeps it for the page, and shows it; a placeholder if it cannot.
 *
 * Register it through `Sealpost.enablePush` or `startWorker`. An app with a worker of its own imports this module there, at its top, and
 * may change what is shown:
 *
 * ```js
 * import {texts} from './sealpost/sealpost-worker.js';
 * texts.arrived = item => ({title: 'Clinic', body: item.payload.summary});
 * ```
 */

import {Sealpost, pushedHint, pushedID} from './sealpost.js';

const parameters = new URL(location.href).searchParams;
/** Whether the accounts of this origin share the browser's subscription. */
const isShared = parameters.has('shared');

/** How long a push may take, in seconds. Browsers stop a worker that takes longer than about thirty. */
const TIMEOUT = 20;

/**
 * What notifications show. Each function gives `{title, body}`, and any other option of `showNotification`; what it leaves out is taken
 * from the settings of the page.
 */
export const texts = {
  /** A payload that is a text is shown; of any other, and of one that may be read once, that there is one. */
  arrived: (item, settings) => ({body: typeof item.payload === 'string' ? item.payload : settings.placeholder}),
  /** The payload could not be fetched, or what came was not the server's own. Never show what came, or why. */
  unknown: settings => ({body: settings.placeholder}),
  /** It was recalled or dismissed, or has expired. Browsers demand that each push shows something. */
  gone: () => ({body: 'A message was withdrawn.', silent: true}),
};

const opened = new Map();

/** An account's client, with what the page has last opened it with; null if no page has. */
async function client(name) {
  if (!opened.has(name)) opened.set(name, Sealpost.reopen(name, {timeout: TIMEOUT}));
  try {
    const push = await opened.get(name);
    // The account may have signed out, or another may have signed in, since this worker was started.
    if (push && !await push.isCurrent()) {
      // It is not closed: another push may be using it, and it ends with the worker.
      opened.set(name, Sealpost.reopen(name, {timeout: TIMEOUT}));
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
  const names = isShared ? await Sealpost.names() : [parameters.get('name') ?? ''];
  return (await Promise.all(names.map(client))).filter(Boolean);
}

/** The client of the account that a push is for; null if it is for none of them. */
async function recipient(message) {
  const all = await clients();
  // Without a hint it is of a registration from before accounts shared the subscription.
  if (!isShared || pushedHint(message) === null) return all.length === 1 ? all[0] : null;
  for (const push of all) if (await push.isRecipient(message)) return push;
  return null;
}

/** Shows a push, whatever happens. */
async function show(message) {
  const id = pushedID(message);
  let settings = {title: self.registration.scope.split('/')[2], icon: null, placeholder: 'New message. Open to read.', page: null};
  let shown = texts.unknown(settings), push = null;
  try {
    push = await recipient(message);
    if (push) {
      settings = push.settings;
      shown = texts.unknown(settings);
      if (id !== null && push.account !== null) {
        const item = await push.collect(id);
        shown = item ? texts.arrived(item, settings) : texts.gone(settings);
        await countUnread(push);
      }
    }
  } catch (error) {
    // Nothing that was sent on the way is shown, not even as an error: the page tells more when it is opened.
    console.warn(`a push could not be collected: ${error.code ?? error.name} ${error.interference?.kind ?? ''}`);
  }
  const {title = settings.title, ...options} = shown;
  await self.registration.showNotification(title, {
    icon: settings.icon ?? undefined, tag: ['sealpost', push?.settings.name, id].filter(part => part || part === 0).join(' '),
    data: {id, name: push?.settings.name ?? '', page: settings.page}, ...options,
  });
  // Pushes still come when a sign-out could not be told.
  if (push?.account === null) await push.finishSigningOut();
}

async function countUnread(push) {
  // Not every browser has badges.
  await navigator.setAppBadge?.((await push.kept()).unreadCount).catch(() => {});
}

/** Tells the server what waits: a sign-out, what was read and dismissed, messages. */
async function tellWhatWaits() {
  let isDone = true;
  for (const push of await clients()) {
    isDone = await push.finishSigningOut() && isDone;
    if (push.account !== null) await push.sync();
  }
  // A browser that woke this worker tries again later.
  if (!isDone) throw new Error('the server could not be told of a sign-out');
}

/** Brings the page to the front, or opens it, and tells it what was clicked. */
async function open({id, name, page}) {
  const pages = await self.clients.matchAll({type: 'window', includeUncontrolled: true});
  const shown = pages.find(({url}) => !page || url.split('#')[0] === page.split('#')[0]) ?? pages[0];
  if (shown) {
    await shown.focus();
    shown.postMessage({sealpost: 'open', id, name});
  } else if (page) {
    await self.clients.openWindow(`${page.split('#')[0]}#${id ?? ''}`);
  }
}

self.addEventListener('push', event => {
  const message = event.data?.text() ?? '';
  event.waitUntil(show(message));
});

self.addEventListener('notificationclick', event => {
  event.notification.close();
  event.waitUntil(open(event.notification.data ?? {}));
});

self.addEventListener('pushsubscriptionchange', event => {
  event.waitUntil(clients().then(all => Promise.all(all.filter(push => push.account).map(push => push.refresh()))));
});

self.addEventListener('sync', event => {
  if (event.tag === 'sealpost') event.waitUntil(tellWhatWaits());
});

self.addEventListener('activate', event => {
  event.waitUntil(self.clients.claim());
});
