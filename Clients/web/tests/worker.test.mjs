// Tests of the service worker with a fake of a browser: clicks, texts, and pushes whose
// notification cannot be fetched.

import assert from 'node:assert/strict';
import {webcrypto} from 'node:crypto';
import {test} from 'node:test';

// Debian's Node does not set `crypto` globally.
globalThis.crypto ??= webcrypto;

const page = 'https://page.example/inbox';
const events = {}, shown = [];
/** The browser's windows, which a test sets. */
let windows = [];
const opened = [];
const self = {
  addEventListener: (name, listener) => { events[name] = listener; },
  registration: {scope: 'https://page.example/', showNotification: async (title, options) => { shown.push({title, ...options}); }},
  clients: {matchAll: async () => windows, openWindow: async url => { opened.push(url); }, claim: async () => {}},
};
Object.assign(globalThis, {self, registration: self.registration});
Object.defineProperty(globalThis, 'location', {value: {href: 'https://page.example/sealpost-worker.js'}, configurable: true});
const {options, texts} = await import('../sealpost-worker.js');

/** Delivers an event, and waits for its end. */
async function deliver(name, event) {
  const waits = [];
  events[name]({...event, waitUntil: wait => { waits.push(wait); }});
  await Promise.all(waits);
}

/**
 * The outcome of a click: the addresses that the worker opens, and the windows that it tells about
 * the click.
 */
async function click(data, urls) {
  const told = [];
  opened.length = 0;
  windows = urls.map(([url, error]) => ({
    url, focus: async () => { if (error) throw new DOMException('', error); }, postMessage: message => { told.push([url, message.id]); },
  }));
  await deliver('notificationclick', {notification: {data, close() {}}});
  return {opened: [...opened], told};
}

test('a click brings the page to the front, opens it if no window of it can be focused, and takes no other page', async () => {
  const data = {id: 7, name: '', page};
  for (const [urls, wanted] of [
    [[], {opened: [`${page}#7`], told: []}],
    [[[`${page}?code=x#/settings`]], {opened: [], told: [[`${page}?code=x#/settings`, 7]]}],
    [[['https://page.example/other'], [page]], {opened: [], told: [[page, 7]]}],
    [[['https://page.example/other'], ['https://page.example/inbox/more']], {opened: [`${page}#7`], told: []}],
    [[[page, 'InvalidAccessError'], [`${page}#2`]], {opened: [], told: [[`${page}#2`, 7]]}],
    [[[page, 'InvalidAccessError'], [page, 'TypeError']], {opened: [`${page}#7`], told: []}],
  ]) assert.deepEqual(await click(data, urls), wanted, JSON.stringify(urls));
});

test('the address of a click keeps routes, and has the id where the app wants it', async () => {
  for (const [address, wanted] of [
    ['https://page.example/#/messages/{id}', 'https://page.example/#/messages/7'],
    ['https://page.example/messages/{id}?from=push', 'https://page.example/messages/7?from=push'],
    ['https://page.example/#/inbox', 'https://page.example/#/inbox'],
    ['https://page.example/?tab=1', 'https://page.example/?tab=1#7'],
    [null, 'https://page.example/#7'],
  ]) assert.deepEqual((await click({id: 7, name: '', page: address}, [])).opened, [wanted]);
});

test('a declarative push is read like any other', async () => {
  const declared = {web_push: 8030, secureId: '7', notification: {title: 'Clinic', navigate: page, data: {secureId: '7'}}};
  for (const event of [{data: {text: () => JSON.stringify(declared)}}, {data: null, notification: declared.notification}]) {
    shown.length = 0;
    await deliver('push', event);
    // Safari refuses a notification without an address here.
    const navigate = event.notification && 'https://page.example/#7';
    assert.deepEqual(shown.map(({data, tag, navigate}) => [data.id, tag, navigate]), [[7, 'sealpost 7', navigate]]);
  }
});

test('each push shows a notification, also without a stored account, and whatever it has', async () => {
  // This test has no IndexedDB.
  for (const text of ['{"secureId":"7"}', '', 'null', '{"secureId":{}}']) {
    shown.length = 0;
    await deliver('push', {data: {text: () => text}});
    assert.deepEqual(shown.map(({title, body}) => [title, body]), [['page.example', texts.unknown({placeholder: 'New message. Open to read.'}).body]], text);
  }
  assert.equal(options.deadline, 20);
});

test('a worker with an option or a text that does not exist, or only for pages, is not installed', async () => {
  await deliver('install', {});
  for (const [object, name] of [[options, 'timeout'], [options, 'title'], [options, 'name'], [options, 'scope'], [texts, 'arived']]) {
    const channel = new BroadcastChannel('sealpost-worker'), told = new Promise(done => { channel.onmessage = done; });
    object[name] = 'x';
    const message = `There is no option \`${name}\`.`;
    await assert.rejects(deliver('install', {}), {name: 'TypeError', message});
    assert.deepEqual((await told).data, {worker: location.href, message});
    channel.close();
    delete object[name];
  }
  const {gone} = texts;
  for (const value of [undefined, 'gone']) {
    texts.gone = value;
    await assert.rejects(deliver('install', {}), {name: 'TypeError', message: 'The option `gone` must be a function.'});
  }
  texts.gone = gone;
  await deliver('install', {});
});
