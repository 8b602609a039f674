// A page of messages: it shows the cached inbox at once, then the server's, and gets pushes while it is closed.

import {ADVICE, PushClient, PushClientError, isPushAvailable} from './sealpost/sealpost.js';
import settings from './settings.js';

const by = id => document.getElementById(id);
const {senders = [], ...others} = settings, endToEnd = senders.length > 0 ? {senders, isRequired: true} : null;
const push = await PushClient.open({...others, endToEnd, worker: 'worker.js', icon: 'icon.svg', page: './#m{id}'});

// MARK: View

/** The account that the page shows. */
let shown = null;

/** Shows the inbox. */
function show(inbox) {
  const isIn = push.account !== null;
  if (push.account !== shown) forget();
  shown = push.account;
  by('entry').hidden = isIn;
  by('inbox').hidden = by('sign-out').hidden = !isIn;
  by('who').textContent = push.account ?? '';
  by('count').hidden = inbox.unreadCount === 0;
  by('count').textContent = `${inbox.unreadCount} new`;
  document.title = inbox.unreadCount > 0 ? `(${inbox.unreadCount}) Messages` : 'Messages';
  navigator.setAppBadge?.(inbox.unreadCount).catch(() => {});
  keepingFocus(() => by('list').replaceChildren(...[...inbox.notifications].reverse().map(elementOf)));
  by('empty').hidden = inbox.notifications.length > 0 || inbox.syncedAt === null;
}

/** Removes all that the page shows of the former user, besides the list. */
function forget() {
  opened.clear();
  by('keys').open = false;
  by('devices').replaceChildren();
  by('offer').hidden = by('notice').hidden = true;
  by('said').textContent = '';
  showAge({syncedAt: null, failure: null});
}

/**
 * Redraws the list and restores the focus to the same message's button. If that message is gone,
 * the next message's button gets the focus.
 */
function keepingFocus(draw) {
  const focused = document.activeElement, item = focused?.closest('.item');
  const place = item ? [...by('list').children].indexOf(item) : -1, button = item ? [...item.querySelectorAll('button')].indexOf(focused) : -1;
  draw();
  if (button < 0) return;
  const next = document.getElementById(item.id) ?? by('list').children[Math.min(place, by('list').children.length - 1)];
  (next?.querySelectorAll('button')[button] ?? by('inbox').querySelector('h1')).focus();
}

/** Shows how old the inbox is, and why it is not current. */
function showAge({syncedAt, failure}) {
  by('age').classList.toggle('old', failure !== null);
  const time = syncedAt?.toLocaleString([], {dateStyle: 'medium', timeStyle: 'short'});
  by('age').textContent = syncedAt === null ? '' : failure ? `As of ${time}. ${ADVICE[failure.advice]}` : `Up to date, ${time}`;
}

function elementOf(item) {
  const payload = opened.get(item.id) ?? item.payload, text = typeof payload === 'string' ? payload : payload?.text;
  const element = make('li', {className: item.isRead ? 'item' : 'item new', id: `m${item.id}`});
  const top = make('div', {className: 'top'});
  top.append(make('span', {textContent: item.isRead ? 'Read' : 'New'}), timeOf(item.createdAt));
  const row = make('div', {className: 'row'});
  if (opened.has(item.id)) row.append(button('Done', () => push.confirmTaken(item.id)));
  else if (item.isReadOnce && !item.hasPayload) row.append(button('Open once', () => openOnce(item)));
  if (!opened.has(item.id)) row.append(
    button(item.isRead ? 'Mark as new' : 'Mark as read', () => push.outbox.markRead(item.id, !item.isRead)),
    button('Dismiss', () => push.outbox.dismiss(item.id)),
  );
  const shown = item.unreadable ? reasonOf(item) : item.hasPayload || opened.has(item.id) ? text ?? JSON.stringify(payload) : item.isReadOnce ? 'This message can be opened once.' : 'Open to read.';
  element.append(top, make('p', {className: 'text', textContent: shown}), row);
  return element;
}

/**
 * The payloads of the read-once messages that are open, by id. The inbox does not contain these
 * payloads.
 */
const opened = new Map();

async function openOnce(item) {
  const {account} = push, found = (await push.notification(item.id)).item;
  if (push.account !== account) return;
  opened.set(item.id, found.unreadable ? reasonOf(found) : found.payload);
  // The list may have been redrawn meanwhile.
  document.getElementById(`m${item.id}`)?.replaceWith(elementOf(item));
}

/** Why the page shows no payload. The server could have written one that is not encrypted. */
function reasonOf({unreadable}) {
  return unreadable === 'notEncrypted' ? 'This message was not encrypted, so it is not shown.' : `This device cannot open this message (${unreadable}).`;
}

/** Shows the digits of the devices' keys. A person compares those of another device, and approves it. */
async function showKeys() {
  const {account} = push, keys = await push.deviceKeys();
  // Another user may have signed in meanwhile.
  if (push.account !== account) return;
  by('devices').replaceChildren(...keys.map(({id, isThisDevice, fingerprint}) => {
    const element = make('li', {className: 'item', textContent: `${isThisDevice ? 'This device' : `Device ${id}`}: ${fingerprint}`});
    const row = make('div', {className: 'row'}), approve = async () => {
      await push.approveDevice(id, fingerprint);
      row.textContent = by('said').textContent = 'Approved.';
    };
    row.append(isThisDevice ? button('Give these keys to the server again', () => push.setDeviceKey()) : button('Its screen has the same digits: approve it', approve));
    element.append(row);
    return element;
  }));
}

const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
function timeOf(date) {
  return make('time', {dateTime: date?.toISOString() ?? '', textContent: date?.toLocaleString([], {dateStyle: 'medium', timeStyle: 'short'}) ?? ''});
}

function button(label, action) {
  const element = make('button', {type: 'button', className: 'quiet', textContent: label});
  // The button stays enabled: disabling it would take the focus away, and each action may run twice.
  element.onclick = () => attempt(action);
  return element;
}

// MARK: Actions

/** Runs an action, and after a failure shows the user what to do. */
async function attempt(action, control) {
  const isFocused = control !== undefined && control === document.activeElement, account = push.account;
  by('notice').hidden = true;
  if (control) control.disabled = true;
  try {
    await action();
  } catch (error) {
    if (!(error instanceof PushClientError)) throw error;
    // The next user has signed in meanwhile.
    if (account !== null && push.account !== null && push.account !== account) return;
    by('notice').textContent = error.code === 'denied' ? 'Notifications are not allowed for this site. Change that in the browser’s settings.'
      : error.code === 'unauthorized' && push.account === null ? 'The name or the password is wrong.' : ADVICE[error.advice];
    by('notice').hidden = false;
  } finally {
    if (control) control.disabled = false;
    if (isFocused && document.activeElement === document.body) control.focus();
  }
}

async function sync() {
  const inbox = await push.sync();
  show(inbox);
  showAge(inbox);
  by('said').textContent = inbox.failure ? ADVICE[inbox.failure.advice] : 'Up to date';
}

async function start() {
  await push.startWorker();
  await sync();
  const isPushed = await isRegistered();
  by('offer').hidden = !isPushAvailable() || isPushed;
  if (!isPushed) listen();
}

/** Whether this browser gets pushes: the user may have taken back the permission. */
async function isRegistered() {
  try {
    return await push.registerIfNeeded() !== null;
  } catch (error) {
    if (error.code !== 'denied') throw error;
    return false;
  }
}

let stream = new AbortController();

/** Receives messages over an event stream while this page is open, for browsers without Web Push. */
async function listen() {
  stream.abort();
  stream = new AbortController();
  try {
    // The loop over `updates` redraws the page, also after pushes to the worker.
    for await (const {id} of push.events({signal: stream.signal})) console.debug(`message ${id}`);
  } catch (error) {
    // The server has no streams, or the user has signed out. The refresh button still works.
    if (!(error instanceof PushClientError)) throw error;
  }
}

by('brand').textContent = settings.title;
by('sign-in').onsubmit = event => {
  event.preventDefault();
  attempt(async () => {
    await push.signIn(by('name').value, by('password').value);
    event.target.reset();
    show(await push.cachedInbox());
    by('inbox').querySelector('h1').focus();
    await start();
  }, event.submitter);
};
by('sign-out').onclick = () => attempt(() => push.signOut(), by('sign-out'));
by('keys').hidden = endToEnd === null;
by('keys').ontoggle = () => { if (by('keys').open) attempt(showKeys); };
by('refresh').onclick = () => attempt(sync, by('refresh'));
by('enable').onclick = () => attempt(async () => {
  stream.abort();
  await push.register();
  by('offer').hidden = true;
}, by('enable'));
addEventListener('online', () => { if (push.account !== null) attempt(sync); });
navigator.serviceWorker?.addEventListener('message', ({data}) => {
  if (data?.sealpost === 'open' && data.id !== null) location.hash = `m${data.id}`;
});

const first = await push.cachedInbox();
show(first);
showAge(first);
if (push.account !== null) attempt(start);
for await (const _ of push.updates()) {
  show(await push.cachedInbox());
}
