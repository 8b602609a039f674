// Tests of the sample page, `examples/web`, with a client and a document that are fakes.

import assert from 'node:assert/strict';
import {cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {test} from 'node:test';

/** An element with the members that the page uses, and no layout. */
class Element {
  hidden = false;
  open = false;
  textContent = '';
  children = [];
  classList = {toggle() {}};

  append(...given) { this.children.push(...given); }
  replaceChildren(...given) { this.children = given; }
  querySelectorAll() { return []; }
  querySelector() { return this; }
  closest() { return null; }
  reset() {}
  focus() {}

  get text() { return [this.textContent, ...this.children.map(child => child.text)].join(' '); }
}

/** A client of one browser, whose next `deviceKeys` waits for `held`. */
class Client {
  account = 'alice';
  held = null;
  ring = () => {};

  async startWorker() {}
  async registerIfNeeded() { return 'an-id'; }
  async cachedInbox() { return {notifications: [], unreadCount: 0, syncedAt: null, failure: null}; }
  sync() { return this.cachedInbox(); }
  async signIn(name) { this.account = name; }
  async signOut() { this.account = null; this.ring(); }

  async deviceKeys() {
    const key = {id: `device-of-${this.account}`, isThisDevice: true, fingerprint: `digits-of-${this.account}`};
    await this.held;
    return [key];
  }

  async *updates() {
    for (;;) {
      await new Promise(done => { this.ring = done; });
      yield {};
    }
  }
}

test('after a sign-out, the sample page shows nothing of the former user to the next one', {timeout: 20_000}, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-sample-')), elements = {}, client = new Client();
  t.after(() => rmSync(folder, {recursive: true}));
  cpSync(new URL('../../../examples/web', import.meta.url), folder, {recursive: true});
  mkdirSync(join(folder, 'sealpost'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'settings.js'), "export default {title: 'Clinic', senders: ['a key']};");
  writeFileSync(join(folder, 'sealpost/sealpost.js'), `export const ADVICE = {}, isPushAvailable = () => true, PushClient = {open: async () => globalThis.sampleClient};
export class PushClientError extends Error {}`);
  const by = id => elements[id] ??= new Element();
  Object.assign(globalThis, {
    sampleClient: client, addEventListener() {}, document: {getElementById: by, createElement: () => new Element(), activeElement: null},
  });
  Object.defineProperty(globalThis, 'navigator', {value: {}, configurable: true});
  const turn = () => new Promise(setImmediate), signIn = async name => {
    by('name').value = name;
    by('sign-in').onsubmit({preventDefault() {}, target: by('sign-in'), submitter: new Element()});
    await turn();
  };
  // The page runs until its client ends.
  import(pathToFileURL(join(folder, 'app.js')));
  while (!by('sign-out').onclick || by('who').textContent !== 'alice') await turn();

  by('keys').open = true;
  by('keys').ontoggle();
  while (!by('devices').text.includes('digits-of-alice')) await turn();
  // An answer and a failure are on their way.
  let release, fail;
  client.held = new Promise(done => { release = done; });
  by('keys').ontoggle();
  client.held = new Promise((_, failed) => { fail = failed; });
  by('keys').ontoggle();
  client.held = null;
  by('said').textContent = 'Approved.';
  by('sign-out').onclick();
  while (by('who').textContent !== '') await turn();
  assert.deepEqual([by('keys').open, by('devices').text.trim(), by('said').textContent], [false, '', '']);
  await signIn('bob');
  release();
  fail(new (await import(pathToFileURL(join(folder, 'sealpost/sealpost.js')))).PushClientError());
  await turn();
  assert.deepEqual([by('who').textContent, by('keys').open, by('devices').text.trim(), by('notice').hidden], ['bob', false, '', true]);
  by('keys').open = true;
  by('keys').ontoggle();
  await turn();
  assert.equal(by('devices').text.includes('digits-of-bob'), true);
});
