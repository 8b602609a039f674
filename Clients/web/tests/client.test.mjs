// Tests of a client over several calls: no losses between pages, the outbox, tokens that expire,
// signing out.

import assert from 'node:assert/strict';
import {createPublicKey, randomInt, randomUUID, verify, webcrypto} from 'node:crypto';
import {test} from 'node:test';

import {DeviceKeys, EventLines, IndexedStore, MemoryStore, PushClient, PushClientError, accountHint, pushedID} from '../sealpost.js';
import {Encryption, Pins, SenderKey} from '../../node/src/endToEnd.js';
import {FakeIndexedDB} from './fake-indexeddb.mjs';
import {ALICE, FakeServer, MALLORY, pinned} from './fake-server.mjs';

// Debian's Node does not set `crypto` globally.
globalThis.crypto ??= webcrypto;

const lost = () => { throw new TypeError('Failed to fetch'); };

/** A signed-in client, which the test closes at its end. */
async function clientOf(t, server, {store = new MemoryStore(), isIn = true, ...options} = {}) {
  const push = await PushClient.open({server: 'https://push.example', signatures: 'unsigned', fetch: server.fetch, store, deadline: 5, ...options});
  t.after(() => push.close());
  if (isIn && !push.account) await push.useToken('spt_first', {account: 'alice'});
  return push;
}

const signatures = {keys: [pinned.publicKey]};
const ids = items => items.map(({id}) => id);

test('changes of the first page are reported although the second never arrives', async t => {
  const server = new FakeServer(), push = await clientOf(t, server, {limit: 2});
  const {mark} = await push.changes();
  for (let count = 0; count < 5; count += 1) server.post(`payload ${count}`);
  let pages = 0;
  server.before = ({method}) => { if (method === 'GET' && (pages += 1) > 1) lost(); };
  await assert.rejects(push.sync(), {code: 'offline'});
  // The inbox was never complete.
  const inbox = await push.cachedInbox();
  assert.deepEqual([inbox.syncedAt, ids(inbox.notifications)], [null, [1, 2]]);
  const first = await push.changes(mark);
  assert.deepEqual(ids(first.arrived), [1, 2]);
  server.before = () => {};
  const {syncedAt} = await push.sync();
  const second = await push.changes(first.mark);
  assert.deepEqual([ids(second.arrived), second.isEverything], [[3, 4, 5], false]);
  assert.deepEqual(ids((await push.changes(mark)).arrived), [1, 2, 3, 4, 5]);
  // A later sync that ends early leaves the time of the complete inbox.
  for (let count = 0; count < 5; count += 1) server.post(`later ${count}`);
  pages = 0;
  server.before = ({method}) => { if (method === 'GET' && (pages += 1) > 1) lost(); };
  const later = await push.sync();
  assert.deepEqual([later.isFresh, later.failure.code, later.syncedAt, later.count], [false, 'offline', syncedAt, 7]);
});

test('without a network the inbox is there with its date, and before there is one the call throws', async t => {
  const server = new FakeServer();
  let now = 1_800_000_000_000;
  const push = await clientOf(t, server, {now: () => now});
  server.before = lost;
  await assert.rejects(push.sync(), {code: 'offline'});
  server.before = () => {};
  server.post('kept');
  await push.sync();
  now += 60_000;
  server.before = lost;
  const inbox = await push.sync();
  assert.deepEqual([inbox.isFresh, inbox.syncedAt.getTime(), inbox.notifications[0].payload], [false, now - 60_000, 'kept']);
  // A temporary refusal by the server keeps the cached state, too.
  server.before = () => {};
  let [status, code] = [503, 'busy'];
  server.after = response => new Response(JSON.stringify({type: `urn:sealpost:problem:${code}`, title: code, status}), {status, headers: response.headers});
  for ([status, code] of [[408, 'request-timeout'], [429, 'rate-limited'], [500, 'internal-error'], [503, 'busy'], [507, 'storage-full'], [409, 'idempotency-key-in-use']]) {
    const {failure} = await push.sync();
    assert.deepEqual([failure.code, failure.advice], ['busy', 'wait'], code);
  }
  [status, code] = [403, 'forbidden'];
  await assert.rejects(push.sync(), {code: 'problem', advice: 'refused'});
});

test('a notification is cached with its tag, and leaves the cache once it is gone', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), id = server.post('one');
  assert.equal((await push.notification(id)).item.payload, 'one');
  server.before = lost;
  const cached = await push.notification(id);
  assert.deepEqual([cached.item.payload, cached.isFresh, cached.failure.code], ['one', false, 'offline']);
  server.before = () => {};
  server.delete(id);
  await assert.rejects(push.notification(id), error => error.problem.status === 404);
  assert.deepEqual((await push.cachedInbox()).notifications, []);
});

test('reads, dismissals and messages made offline reach the server later, once, and no older page undoes them', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  const [read, gone] = [server.post('to read'), server.post('to dismiss')];
  await push.sync();
  // The server refuses changes for a while, and lists both notifications in their old state.
  server.isBusy = true;
  assert.equal(await push.outbox.markRead(read), false);
  assert.equal(await push.outbox.dismiss(gone), false);
  assert.equal(await push.outbox.send({text: 'to send'}), null);
  server.change(read, {Title: 'changed'});
  server.change(gone, {Title: 'changed'});
  server.post('new');
  assert.equal((await push.sync()).isFresh, true);
  let inbox = await push.cachedInbox();
  assert.deepEqual(inbox.notifications.map(({id, isRead}) => [id, isRead]), [[read, true], [gone + 1, false]]);
  const fetched = (await push.notification(read)).item, previewed = await push.preview(read);
  assert.deepEqual([fetched.isRead, previewed.isRead, await push.preview(gone)], [true, true, null]);
  server.isBusy = false;
  // The answers to the first two posts are lost after the server has carried them out.
  let answers = 0;
  server.after = (_, {path, method}) => { if (method === 'POST' && path === '/api/notifications' && (answers += 1) <= 2) lost(); };
  await push.sync();
  assert.equal(await push.outbox.count(), 1);
  await push.sync();
  inbox = await push.cachedInbox();
  assert.equal(await push.outbox.count(), 0);
  assert.equal([...server.items.values()].filter(({Payload}) => Payload?.text === 'to send').length, 1);
  assert.deepEqual([server.items.get(read).Read, server.items.has(gone)], [true, false]);
});

test('an answer that was on its way undoes nothing of what has happened meanwhile', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  const [gone, read, same, pushed, listed] = ['gone', 'read', 'same', 'pushed', 'listed'].map(text => server.post(text));
  for (const id of [gone, read, same]) await push.notification(id);
  server.change(gone, {Title: 'changed'});
  server.change(read, {Title: 'changed'});

  /**
   * Lets the server answer, makes changes that reach the server, and only then delivers the
   * answers.
   */
  async function late(calls, changes) {
    let release;
    const held = new Promise(done => { release = done; }), statuses = [];
    server.after = async ({status}) => {
      statuses.push(status);
      await held;
    };
    const running = calls();
    while (statuses.length < running.length) await new Promise(next => setImmediate(next));
    server.after = response => response;
    for (const isTold of await changes()) assert.equal(isTold, true);
    release();
    await Promise.all(running);
    return statuses.sort();
  }
  const shown = async () => (await push.cachedInbox()).notifications.map(({id, isRead}) => [id, isRead]);

  assert.deepEqual(await late(
    () => [push.notification(gone), push.notification(read), push.notification(same), push.preview(pushed)],
    () => Promise.all([push.outbox.dismiss(gone), push.outbox.dismiss(pushed), push.outbox.markRead([read, same])]),
  ), [200, 200, 200, 304]);
  assert.deepEqual(await shown(), [[read, true], [same, true]]);
  await late(() => [push.sync()], async () => [await push.outbox.dismiss(listed)]);
  assert.deepEqual(await shown(), [[read, true], [same, true]], 'a page brings back nothing that is gone');
  await push.sync();
  assert.deepEqual(await shown(), [[read, true], [same, true]]);
});

test('notifications of one second are in the order of the server, also if they were pushed in another', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), posted = [];
  const shown = async () => (await push.cachedInbox()).notifications.map(({id}) => id);
  // The ids are not in order, because the server's ids are random.
  for (const id of [70, 20, 50]) {
    server.items.set(id, {Id: id, Payload: 'x', Read: false, CreatedAt: '2027-01-15T08:00:00Z', ExpiresAt: '2100-01-16T08:00:00Z'});
    server.log.push(id);
    posted.push(id);
  }
  await push.sync();
  assert.deepEqual(await shown(), posted);
  for (const id of [90, 10, 60]) {
    server.items.set(id, {...server.items.get(20), Id: id});
    server.log.push(id);
    posted.push(id);
  }
  for (const id of [60, 90]) await push.preview(id);
  assert.deepEqual(await shown(), [70, 20, 50, 60, 90], 'as they arrived');
  await push.outbox.markRead(70);
  await push.sync();
  assert.deepEqual(await shown(), posted);
});

test('many are marked in one request', async t => {
  const server = new FakeServer(), push = await clientOf(t, server, {deadline: 60});
  for (let count = 0; count < 600; count += 1) server.post('x');
  await push.sync();
  server.requests = [];
  assert.equal(await push.outbox.markRead(ids((await push.cachedInbox({limit: 600})).notifications)), true);
  assert.deepEqual(server.requests, ['POST /api/notifications/read', 'POST /api/notifications/read']);
  assert.equal((await push.cachedInbox()).unreadCount, 0);
});

// A negative time stands for a clock that was ahead at the first attempt.
for (const hours of [24, -24]) test(`a message that may have arrived is not sent again ${hours} hours later`, async t => {
  const server = new FakeServer();
  let now = 1_800_000_000_000;
  const push = await clientOf(t, server, {now: () => now});
  server.after = lost;
  assert.equal(await push.outbox.send('perhaps'), null);
  now += hours * 3_600_000;
  server.after = response => response;
  await push.sync();
  const [left] = await push.outbox.failures();
  assert.deepEqual([left.payload, left.code, left.problem, await push.outbox.count()], ['perhaps', null, null, 0]);
  assert.equal(server.requests.filter(request => request === 'POST /api/notifications').length, 2);
  await push.outbox.discard(left);
  assert.deepEqual(await push.outbox.failures(), []);
});

test('a message that the server is still working on waits, and is sent once', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), answers = [];
  // The connection is lost while the server works, and the retry arrives too early.
  server.before = ({method}) => { if (method === 'POST' && answers.length === 0) { answers.push('lost'); lost(); } };
  server.after = (response, {method}) => {
    if (method !== 'POST' || answers.length > 1) return response;
    answers.push('in use');
    return new Response('{"type":"urn:sealpost:problem:idempotency-key-in-use","title":"in use","status":409}', {status: 409, headers: response.headers});
  };
  assert.equal(await push.outbox.send('once'), null);
  const [waiting] = await push.outbox.tasks();
  assert.deepEqual([answers, waiting.payload, await push.outbox.failures()], [['lost', 'in use'], 'once', []]);
  const inbox = await push.sync();
  assert.deepEqual([await push.outbox.tasks(), inbox.notifications.map(({payload}) => payload)], [[], ['once']]);
});

test('a refusal of a message is thrown to its sender', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  server.after = (response, {method}) => {
    if (method !== 'POST') return response;
    return new Response('{"type":"urn:sealpost:problem:payload-too-large","title":"too large","status":413}', {status: 413, headers: response.headers});
  };
  await assert.rejects(push.outbox.send('much'), error => error.problem.code === 'payload-too-large');
  assert.deepEqual([await push.outbox.tasks(), await push.outbox.failures()], [[], []]);
});

test("a message above a proxy's limit is a failure, blocks no other task, and still waits, because anybody can forge the answer", async t => {
  const server = new FakeServer(), push = await clientOf(t, server), [one, other] = [server.post('one'), server.post('other')];
  let isLimited = true;
  // The answer is forged: the server has stored the message.
  server.after = (response, {method, body}) => isLimited && method === 'POST' && body === 'much' ? new Response('<html>413 Request Entity Too Large</html>', {status: 413}) : response;
  await push.sync();
  const codes = async () => (await push.outbox.failures()).map(({payload, code, problem}) => [payload, code, problem]);
  assert.deepEqual([await push.outbox.send('much'), await codes(), await push.outbox.count()], [null, [['much', 'payload-too-large', null]], 1]);
  assert.deepEqual([await push.outbox.dismiss(one), await push.outbox.send('little') > other, (await push.sync()).isFresh], [true, true, true]);
  assert.deepEqual([await codes(), await push.outbox.count(), server.items.has(one)], [[['much', 'payload-too-large', null]], 1, false]);
  isLimited = false;
  const {notifications} = await push.sync();
  assert.deepEqual([await codes(), await push.outbox.count(), notifications.map(({payload}) => payload)], [[], 0, ['other', 'much', 'little']]);
  isLimited = true;
  await push.outbox.send('much');
  const [failure] = await push.outbox.failures();
  // The second time the task is gone.
  for (let time = 0; time < 2; time += 1) await push.outbox.discard(failure);
  assert.deepEqual([await codes(), await push.outbox.count()], [[], 0]);
});

test("a message above a proxy's limit is not sent again after the server has forgotten its key", async t => {
  const server = new FakeServer();
  let now = 1_800_000_000_000;
  const push = await clientOf(t, server, {now: () => now});
  server.after = (response, {method}) => method === 'POST' ? new Response('<html>413 Request Entity Too Large</html>', {status: 413}) : response;
  assert.equal(await push.outbox.send('much'), null);
  const attempts = () => server.requests.filter(request => request === 'POST /api/notifications').length, seen = [];
  for (const hours of [22, 2, 24]) {
    now += hours * 3_600_000;
    const before = attempts();
    await push.sync();
    seen.push([attempts() > before, (await push.outbox.failures()).map(({code}) => code), await push.outbox.count()]);
  }
  assert.deepEqual(seen, [[true, ['payload-too-large'], 1], [false, [null], 0], [false, [null], 0]]);
});

test('a message whose answer the browser hides from a page of another origin waits, and blocks no other task', async t => {
  const server = new FakeServer(), id = server.post('one');
  globalThis.location = new URL('https://app.example/');
  t.after(() => { delete globalThis.location; });
  const fetch = async (url, options) => url.endsWith('/healthz') ? new Response('') : options.body?.includes('much') ? lost() : server.fetch(url, options);
  const push = await clientOf(t, server, {fetch});
  assert.deepEqual([await push.outbox.send('much'), await push.outbox.send('little') > id], [null, true]);
  await push.outbox.dismiss(id);
  const {isFresh, notifications} = await push.sync();
  assert.deepEqual([isFresh, notifications.map(({payload}) => payload), (await push.outbox.tasks()).map(({payload}) => payload)], [true, ['little'], ['much']]);
  assert.deepEqual(await push.outbox.failures(), []);
});

test('a token that is refused or about to end is renewed, once for all that wait', async t => {
  const server = new FakeServer();
  let renewals = 0;
  const push = await clientOf(t, server, {token: async () => {
    renewals += 1;
    server.tokens.add(`spt_renewed_${renewals}`);
    const seconds = renewals === 1 ? 3600 : 30;
    return {Token: `spt_renewed_${renewals}`, ExpiresAt: new Date(Date.now() + seconds * 1000).toISOString()};
  }});
  server.tokens.delete('spt_first');
  const id = server.post('one');
  const found = await Promise.all([push.notification(id), push.notification(id), push.notification(id)]);
  assert.deepEqual(found.map(({item}) => item.payload), ['one', 'one', 'one']);
  assert.equal(renewals, 1);
  server.tokens.delete('spt_renewed_1');
  await push.notification(id);
  assert.equal(renewals, 2);
  // The token expires in half a minute, so the client renews it.
  await push.notification(id);
  assert.equal(renewals, 3);
});

test('a client without its page renews the token, with the address that the page has stored or a function of the worker', async t => {
  const server = new FakeServer(), asked = [];
  let status = 200;
  const fetch = async (url, options) => {
    if (!url.startsWith('https://app.example')) return server.fetch(url, options);
    asked.push([url, options.method, options.credentials, options.body]);
    server.tokens.add('spt_posted');
    return new Response('{"Token":"spt_posted","ExpiresAt":null}', {status});
  };
  for (const [name, token, own] of [['url', 'https://app.example/token', {}], ['function', () => 'spt_page', {token: () => 'spt_posted'}]]) {
    const store = new MemoryStore();
    await clientOf(t, {fetch}, {store, token, name});
    server.tokens.clear();
    const id = server.post('pushed'), worker = await PushClient.reopen(name, {store, fetch, deadline: 5, ...own});
    t.after(() => worker.close());
    if (name === 'function') server.tokens.add('spt_posted');
    assert.equal((await worker.preview(id)).payload, 'pushed', name);
    assert.equal(await worker.isCurrent(), true);
    server.tokens.clear();
    server.tokens.add('spt_first');
  }
  assert.deepEqual(asked, [['https://app.example/token', 'POST', 'same-origin', '{"Account":"alice"}']]);
  server.tokens.clear();
  const push = await clientOf(t, {fetch}, {token: 'https://app.example/token'});
  for (const [answer, code] of [[401, 'unauthorized'], [403, 'unauthorized'], [503, 'offline']]) {
    status = answer;
    await assert.rejects(push.sync(), error => error instanceof PushClientError && error.code === code, code);
  }
});

test('useToken takes the end of the token as a date or as the text of the server', async t => {
  const server = new FakeServer(), now = 1_800_000_000_000, text = new Date(now + 30_000).toISOString();
  let count = 0;
  const push = await clientOf(t, server, {isIn: false, now: () => now, token: () => { count += 1; return 'spt_first'; }});
  for (const [expiresAt, renewals] of [[null, 0], [new Date(text), 1], [text, 1]]) {
    count = 0;
    await push.useToken('spt_first', {account: 'alice', expiresAt});
    await push.sync();
    assert.equal(count, renewals, `${expiresAt}`);
  }
});

test('a provider that fails or gives nothing is an error of the client', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  server.tokens.clear();
  for (const [token, code] of [[() => { throw new TypeError('Failed to fetch'); }, 'offline'], [() => null, 'unauthorized'], [() => ({Token: 7}), 'unauthorized']]) {
    push.settings.token = token;
    await assert.rejects(push.sync(), error => error instanceof PushClientError && error.code === code, code);
  }
});

test('a password is shown only to a server whose answer has passed the checks', async t => {
  const server = new FakeServer(), push = await clientOf(t, server, {isIn: false}), shown = [];
  server.before = ({headers}) => { if (headers.Authorization) shown.push(headers.Authorization); };
  server.after = () => new Response('<html>Welcome</html>');
  await assert.rejects(push.signIn('alice', 'pässword'), error => error.interference.kind === 'missingEcho');
  assert.deepEqual(shown, []);
  server.after = response => response;
  await push.signIn('alice', 'pässword');
  assert.deepEqual([push.account, shown], ['alice', [`Basic ${Buffer.from('alice:pässword').toString('base64')}`]]);
});

test('without a way to renew, a dead token is unauthorized, and the cache stays', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  server.post('kept');
  await push.sync();
  server.tokens.clear();
  await assert.rejects(push.sync(), error => error.code === 'unauthorized' && error.advice === 'signIn');
  assert.equal((await push.cachedInbox()).notifications.length, 1);
});

test('signing out ends every writer, leaves nothing, and reaches the server when it can', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  const other = await clientOf(t, server, {store});
  server.post('secret');
  await push.sync();
  // A page is under way while the other tab signs out.
  let release;
  const waiting = new Promise(done => { release = done; });
  server.after = async (response, {path, method}) => {
    if (method === 'DELETE') lost();
    if (path === '/api/notifications') await waiting;
  };
  server.post('late');
  const late = other.sync();
  assert.equal(await push.signOut(), false);
  release();
  await assert.rejects(late, {code: 'signedOut'});
  assert.deepEqual((await push.cachedInbox()).notifications, []);
  assert.deepEqual([...(await store.list('')).keys()].filter(name => !/^(ending\/.*|head|key|settings)$/.test(name)), []);
  await assert.rejects(push.sync(), {code: 'signedOut'});
  const third = await clientOf(t, server, {store, isIn: false});
  await assert.rejects(other.outbox.markRead(1), {code: 'signedOut'});
  await assert.rejects(third.outbox.markRead(1), {code: 'signedOut'});
  assert.equal((await store.list('outbox/')).size, 0);
  assert.equal(server.tokens.has('spt_first'), false, 'the server has acted, and its answer was lost');
  server.after = response => response;
  server.tokens.add('spt_first');
  // The next start of the page reports the sign-out.
  const again = await clientOf(t, server, {store, isIn: false});
  assert.equal(await again.finishSignOuts(), true);
  assert.deepEqual([server.tokens.has('spt_first'), (await store.list('ending/')).size], [false, 0]);
});

test("another account sees nothing of the one before, whose session is ended", async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  server.post("alice's");
  await push.sync();
  const {mark} = await push.changes();
  server.tokens.add('spt_bob');
  await push.useToken('spt_bob', {account: 'bob'});
  assert.deepEqual((await push.cachedInbox()).notifications, []);
  const changes = await push.changes(mark);
  assert.deepEqual([changes.isEverything, changes.arrived], [true, []]);
  assert.deepEqual([...server.tokens], ['spt_bob']);
});

test('a client that demands signatures does not read state accepted without them', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  server.post('accepted');
  await push.sync();
  const {mark} = await push.changes();
  const strict = await clientOf(t, server, {store, signatures});
  assert.deepEqual([strict.account, (await strict.cachedInbox()).notifications], ['alice', []]);
  const changes = await strict.changes(mark);
  assert.deepEqual([changes.isEverything, changes.arrived], [true, []], 'who has shown it takes it back');
  await assert.rejects(strict.sync(), error => error.interference.kind === 'signature');
});

test('an inbox whose key is lost goes as a whole', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  server.post('one');
  await push.sync();
  const {mark} = await push.changes();
  store.rows.delete('key');
  const again = await clientOf(t, server, {store, isIn: false});
  assert.equal((await again.changes(mark)).isEverything, true);
  assert.deepEqual([again.account, (await again.cachedInbox()).notifications], [null, []]);
  assert.equal((await store.list('entries/')).size, 0);
});

test('of two commits after the same revision the second is refused, and a slower page does not move the cursor back', async t => {
  const server = new FakeServer(), store = new MemoryStore();
  const {revision, ...head} = await store.head();
  assert.deepEqual([await store.commit(revision, new Map([['a', 1]]), head), await store.commit(revision, new Map([['a', 2]]), head)], [true, false]);
  assert.equal(await store.get('a'), 1);
  const slow = await clientOf(t, server, {store}), fast = await clientOf(t, server, {store}), id = server.post('to be dismissed');
  let isFirst = true;
  server.after = async (response, {method}) => {
    if (method !== 'GET' || !isFirst) return;
    isFirst = false;
    server.delete(id);
    await fast.sync();
    server.requests = [];
  };
  assert.deepEqual((await slow.sync()).notifications, []);
  assert.deepEqual(server.requests, ['GET /api/notifications'], 'from where the other has come to');
});

test('an inbox of any size is shown in pages, and its changes arrive in pages', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  for (let count = 0; count < 25; count += 1) server.post(`payload ${count}`);
  const first = await push.sync({limit: 10});
  assert.deepEqual([first.count, first.unreadCount, first.hasMore, ids(first.notifications)], [25, 25, true, [16, 17, 18, 19, 20, 21, 22, 23, 24, 25]]);
  const second = await push.cachedInbox({limit: 10, before: first.notifications[0]});
  assert.deepEqual([second.notifications[0].payload, second.hasMore, second.notifications.at(-1).id], ['payload 5', true, 15]);
  // The notification before which the next page begins is dismissed meanwhile.
  await push.outbox.dismiss(second.notifications[0].id);
  const last = await push.cachedInbox({limit: 10, before: second.notifications[1]});
  assert.deepEqual([ids(last.notifications), last.hasMore, last.count, await push.cachedBadge()], [[1, 2, 3, 4, 5], false, 24, 24]);
  const seen = new Map();
  let mark = null, pages = 0;
  for (let hasMore = true; hasMore; pages += 1) {
    const changes = await push.changes(mark, {limit: 10});
    ({mark, hasMore} = changes);
    for (const {id, payload} of changes.arrived) seen.set(id, payload);
    assert.ok(changes.arrived.length <= 10);
  }
  assert.deepEqual([pages, seen.size, seen.get(25)], [3, 24, 'payload 24']);
});

test('a large inbox stays readable fast, and its payloads do not stay in memory', async t => {
  const server = new FakeServer(), store = new MemoryStore(), payload = 'x'.repeat(4096);
  for (let count = 0; count < 5000; count += 1) server.post(payload);
  const push = await clientOf(t, server, {store, deadline: 60});
  assert.equal((await push.sync()).count, 5000);
  const reads = [];
  for (const name of ['getAll', 'list']) {
    const read = store[name].bind(store);
    store[name] = async given => {
      const found = await read(given);
      reads.push(found.length ?? found.size);
      return found;
    };
  }
  const badge = async () => {
    reads.length = 0;
    return [await push.cachedBadge(), (await push.cachedInbox()).notifications.length, reads.reduce((sum, one) => sum + one, 0)];
  };
  // The index and the payloads of a page stay in memory, even after a change by this tab.
  assert.deepEqual(await badge(), [5000, 500, 0]);
  await push.outbox.markRead(5000);
  assert.deepEqual((await badge()).slice(0, 2), [4999, 500]);
  assert.deepEqual(await badge(), [4999, 500, 0]);
  // Another client with the same store decrypts the packs of all entries, and the boxes with the
  // payloads of only one page.
  reads.length = 0;
  const other = await clientOf(t, server, {store, deadline: 60});
  assert.deepEqual([(await other.cachedInbox({limit: 20})).notifications[0].payload, reads.filter(count => count > 1)], [payload, [79, 6]]);
  // A change by another client lets a client decrypt one pack again.
  const {decrypt} = crypto.subtle;
  let decrypted = 0;
  t.after(() => { delete crypto.subtle.decrypt; });
  await other.outbox.markRead(7);
  crypto.subtle.decrypt = (...given) => { decrypted += 1; return decrypt.apply(crypto.subtle, given); };
  assert.deepEqual([await push.cachedBadge(), decrypted], [4998, 1]);
});

test('the next page is requested while a page is stored', async t => {
  const server = new FakeServer(), store = new MemoryStore(), events = [], asked = [];
  const stored = () => events.filter(event => event !== 'asked'), isAsked = Array.from({length: 3}, () => new Promise(done => { asked.push(done); }));
  for (let count = 0; count < 30; count += 1) server.post(`number ${count}`);
  const push = await clientOf(t, server, {store, limit: 10}), commit = store.commit.bind(store);
  store.commit = async (revision, changes, head, durability) => {
    if (changes.has('cursor')) {
      // No page is stored before the next one is requested.
      await isAsked[stored().length + 1];
      events.push(`stored ${durability}`);
    }
    return commit(revision, changes, head, durability);
  };
  server.before = ({path}) => { if (path.startsWith('/api/notifications')) asked[events.push('asked') - 1 - stored().length]?.(); };
  assert.equal((await push.sync()).count, 30);
  const page = 'stored relaxed';
  assert.deepEqual(events, ['asked', 'asked', page, 'asked', page, page]);
  // Another tab has stored the second page meanwhile: the answer to the request that was made
  // ahead is not used.
  events.length = 0;
  for (let count = 0; count < 30; count += 1) server.post(`later ${count}`);
  const other = await clientOf(t, server, {store, limit: 10});
  const [one, two] = await Promise.all([push.sync(), other.sync()]);
  assert.deepEqual([one.count, two.count, one.isFresh, two.isFresh], [60, 60, true, true]);
});

test('rows of an earlier version are read and rewritten, and those of a later version are not touched', async t => {
  const {push, server, faults, open} = await keeper(t), {mark} = await push.changes();
  // Entries in the form in which version 0.2 stored them: with a short payload, a long one, and
  // damaged.
  const [{payload, ...item}] = (await push.cachedInbox()).notifications, stored = faults.databases.get('sealpost'), key = stored.get('key');
  const seal = async (name, value) => {
    const iv = crypto.getRandomValues(new Uint8Array(12)), additionalData = new TextEncoder().encode(name);
    return {iv, data: new Uint8Array(await crypto.subtle.encrypt({name: 'AES-GCM', iv, additionalData}, key, new TextEncoder().encode(JSON.stringify(value))))};
  };
  const long = 'x'.repeat(600), {format, ...head} = stored.get('head');
  stored.delete('entries/0');
  stored.set('head', {...head, change: 3});
  stored.set('entry/1', {change: 1, order: 1, ...await seal('entry/1', {item: {...item, payload: 'inline'}, tag: null, date: 1, size: 8})});
  stored.set('entry/2', {change: 2, order: 2, ...await seal('entry/2', {item: {...item, id: 2}, tag: null, date: 1, size: 602})});
  stored.set('payload/2', await seal('payload/2', long));
  stored.set('entry/3', {change: 3, order: 3, ...await seal('entry/4', {item: {...item, id: 3}, tag: null, date: 1})});
  const next = await open();
  assert.deepEqual((await next.cachedInbox()).notifications.map(({id, payload}) => [id, payload]), [[1, 'inline'], [2, long]]);
  assert.deepEqual([(await next.cachedNotification(1)).payload, (await next.cachedNotification(2)).payload, format], ['inline', long, 4]);
  assert.deepEqual([...faults.databases.get('sealpost').keys()].filter(name => name.startsWith('ent')), ['entries/0']);
  await next.outbox.markRead(1);
  const {arrived, deleted} = await next.changes(mark);
  assert.deepEqual([arrived.map(({id, payload, isRead}) => [id, payload, isRead]), deleted], [[[1, 'inline', true], [2, long, false]], [3]]);
  // The damaged entry has ended the cursor, so the sync fetches the whole inbox.
  server.change(1, {Title: 'changed'});
  await next.sync();
  assert.deepEqual((await next.cachedInbox()).notifications.map(({id, payload}) => [id, payload]), [[1, 'secret']]);
  faults.versions.set('sealpost', 9);
  faults.closeAll();
  await assert.rejects(next.cachedInbox(), error => error instanceof PushClientError && error.code === 'storage' && /reload/.test(error.message));
});

test('no row can be put in the place of another', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  for (const payload of ['one', 'two']) {
    server.post(payload);
    await push.sync();
  }
  const [one, two] = [...store.rows.keys()].filter(name => name.startsWith('payloads/'));
  store.rows.set(one, store.rows.get(two));
  const again = await clientOf(t, server, {store});
  assert.deepEqual((await again.cachedInbox()).notifications.map(({payload}) => payload), [undefined, 'two']);
  store.rows.set('entries/1', store.rows.get('entries/0'));
  store.rows.delete('entries/0');
  assert.deepEqual((await (await clientOf(t, server, {store})).cachedInbox()).notifications, []);
});

test('payloads of a page share rows, which lose a payload with its notification', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store}), boxes = () =>
    [...store.rows].filter(([name]) => name.startsWith('payload')).map(([name, {data}]) => [name.split('/')[0], data.length]);
  const [one, two, three] = ['one', 'two', 'three'].map(name => server.post(name.repeat(1000))), payloads = async () =>
    (await push.cachedInbox()).notifications.map(({id, payload}) => [id, payload.length]);
  await push.sync();
  assert.deepEqual([boxes().length, await payloads()], [1, [[one, 3000], [two, 3000], [three, 5000]]]);
  server.delete(two);
  server.change(three, {Payload: 'other'});
  await push.sync();
  assert.deepEqual([boxes().length, await payloads()], [2, [[one, 3000], [three, 5]]]);
  assert.ok(boxes().every(([, length]) => length < 3100), JSON.stringify(boxes()));
  // Another client of the store, and a notification that comes alone.
  const other = await clientOf(t, server, {store}), four = server.post('four');
  await other.preview(four);
  await other.outbox.dismiss(one);
  assert.deepEqual([boxes().map(([kind]) => kind).sort(), await payloads()], [['payload', 'payloads'], [[three, 5], [four, 4]]]);
  await push.signOut();
  assert.deepEqual(boxes(), []);
});

test('unreadable entries are fetched again, and consumers learn of deleted ones', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  const [one, two] = [server.post('one'), server.post('two')];
  await push.sync();
  const {mark} = await push.changes();
  const damage = () => store.rows.set('entries/0', {...store.rows.get('entries/0'), data: new Uint8Array(40)});
  damage();
  const again = await clientOf(t, server, {store});
  const fresh = await again.sync();
  assert.deepEqual([fresh.isFresh, ids(fresh.notifications)], [true, [one, two]]);
  assert.deepEqual(ids((await again.changes(mark)).arrived), [one, two]);
  damage();
  for (const id of [one, two]) server.delete(id);
  const last = await clientOf(t, server, {store});
  assert.deepEqual([(await last.cachedInbox()).syncedAt, (await last.sync()).notifications, (await last.changes(mark)).deleted], [null, [], [one, two]]);
});

test('of a captive portal that sends without an end nothing is read, and of too long an answer no more than the bound', async t => {
  const server = new FakeServer(), push = await clientOf(t, server, {answerLimit: 100_000});
  let pulled = 0;
  const endless = headers => new Response(new ReadableStream({
    pull(controller) { pulled += 1; controller.enqueue(new Uint8Array(65_536)); },
  }, {highWaterMark: 0}), {headers});
  server.after = () => endless({});
  await assert.rejects(push.sync(), error => error.interference.kind === 'missingEcho');
  assert.equal(pulled, 0);
  server.after = response => endless(response.headers);
  await assert.rejects(push.sync(), error => error.interference.kind === 'oversized' && Number.parseInt(error.interference.seen) > 100_000);
  assert.equal(pulled, 2);
});

test('an answer without an echo is a portal only if its status can be that of one', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  for (const [advice, statuses] of Object.entries({
    captivePortal: [200, 302, 401, 403, 511], wait: [408, 421, 429, 500, 502, 503, 504, 599], proxy: [407], interference: [400, 404, 410, 451],
  })) {
    for (const status of statuses) {
      server.after = () => new Response('<html>', {status, headers: status === 302 ? {Location: '/'} : {}});
      await assert.rejects(push.sync(), error => error.advice === advice && error.allowsCached, `${status}`);
    }
  }
});

test('a server that does not answer is offline when the time is up', async t => {
  const silent = await clientOf(t, {fetch: (_, {signal}) => new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))}, {deadline: 1});
  await assert.rejects(silent.sync(), {code: 'offline'});
});

test('a call with many requests ends as early as one with a single request', async t => {
  browser(t);
  const server = new FakeServer();
  let isSilent = false;
  const fetch = (url, options) => !isSilent ? server.fetch(url, options) : new Promise((_, fail) => {
    options.signal.addEventListener('abort', () => fail(options.signal.reason));
  });
  const push = await clientOf(t, {fetch}, {deadline: 1}), time = async call => {
    const start = performance.now();
    await call().catch(() => {});
    return performance.now() - start;
  };
  await push.register();
  await push.sync();
  isSilent = true;
  const one = await time(() => push.notification(1));
  const calls = {sync: () => push.sync(), register: () => push.register(), signIn: () => push.signIn('alice', ''), signOut: () => push.signOut()};
  for (const [name, call] of Object.entries(calls)) assert.ok(await time(call) < 1.9 * one, name);
});

test('a provider that never answers is waited for as long as a call may take, and asked again', async t => {
  const server = new FakeServer();
  let asked = 0;
  const push = await clientOf(t, server, {deadline: 1, token: () => {
    asked += 1;
    return asked === 1 ? new Promise(() => {}) : {Token: 'spt_second', ExpiresAt: null};
  }});
  server.tokens = new Set(['spt_second']);
  const id = server.post('one');
  await assert.rejects(push.notification(id), {code: 'offline'});
  assert.deepEqual([(await push.notification(id)).item.payload, asked], ['one', 2]);
});

test('a tab that is suspended while it sends does not keep others from what is new', async t => {
  const server = new FakeServer(), push = await clientOf(t, server, {deadline: 2}), id = server.post('one');
  const request = (name, {signal}) => new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
  Object.defineProperty(globalThis, 'navigator', {value: {locks: {request}}, configurable: true});
  t.after(() => { delete globalThis.navigator; });
  assert.equal(await push.outbox.dismiss(id), false);
  const other = server.post('two'), inbox = await push.sync();
  assert.deepEqual([inbox.isFresh, ids(inbox.notifications), await push.outbox.count()], [true, [other], 1]);
});

test('a push of what may be read once is collected without its payload, and stays to be read', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), id = server.post(undefined, {ReadOnce: true});
  const item = await push.preview(id);
  assert.deepEqual([item.isReadOnce, item.hasPayload, ids((await push.cachedInbox()).notifications)], [true, false, [id]]);
  assert.deepEqual(server.requests, ['GET /api/notifications']);
  assert.equal(await push.preview(4711), null);
});

test('a cursor longer than any of the server is none of its own', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  server.post('one');
  for (const [cursor, isTaken] of [['c'.repeat(1025), false], ['€'.repeat(342), false], ['c'.repeat(1024), true]]) {
    server.after = async (response, {method}) => {
      if (method !== 'GET') return response;
      return new Response(JSON.stringify({...await response.json(), Cursor: cursor}), {headers: response.headers});
    };
    const kind = await push.sync().then(() => null, error => error.interference.kind);
    assert.deepEqual([kind, (await push.cachedInbox()).notifications.length], isTaken ? [null, 1] : ['unexpectedBody', 0]);
  }
});

test('what was collected before the first page, and is gone since, goes with it', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), id = server.post('pushed'), other = server.post('stays');
  await push.preview(id);
  server.delete(id);
  assert.deepEqual(ids((await push.sync()).notifications), [other]);
});

test('updates report the changes of another client of the same store', async t => {
  const server = new FakeServer(), store = new MemoryStore(), page = await clientOf(t, server, {store, name: 'updates'});
  const worker = await clientOf(t, server, {store, name: 'updates'}), end = new AbortController();
  const told = [];
  const done = (async () => {
    for await (const {arrived, deleted} of page.updates({signal: end.signal})) {
      told.push(...ids(arrived), ...deleted.map(id => -id));
      if (told.includes(-1)) end.abort();
    }
  })();
  await new Promise(next => setImmediate(next));
  const id = server.post('pushed');
  await worker.preview(id);
  await worker.outbox.dismiss(id);
  await done;
  assert.equal(told.at(-1), -id);
});

test('page and worker over one store, with failures anywhere: nothing is lost or doubled, and changes agree with the inbox', async t => {
  const server = new FakeServer(), store = new MemoryStore();
  let chance = 0;
  const commit = store.commit.bind(store);
  // The commit fails before or after it is made, and the caller does not learn which.
  store.commit = async (...change) => {
    if (chance > 0 && randomInt(40) === 0) throw new Error('crash');
    const result = await commit(...change);
    if (chance > 0 && randomInt(40) === 0) throw new Error('crash');
    return result;
  };
  server.before = () => { if (chance > 0 && randomInt(8) === 0) lost(); };
  server.after = async response => {
    if (chance === 0) return response;
    if (randomInt(8) === 0) lost();
    // Some answers take longer than others.
    for (let turns = randomInt(4) === 0 ? randomInt(50) : 0; turns > 0; turns -= 1) await new Promise(next => setImmediate(next));
    return response;
  };
  const clients = [await clientOf(t, server, {store, limit: 3}), await clientOf(t, server, {store, limit: 3})];
  const seen = new Map();
  let mark = null;

  async function consume() {
    const changes = await clients[0].changes(mark);
    if (changes.isEverything) seen.clear();
    for (const item of changes.arrived) seen.set(item.id, item.isRead);
    for (const id of changes.deleted) seen.delete(id);
    mark = changes.mark;
    const cached = (await clients[0].cachedInbox()).notifications;
    assert.deepEqual(new Map([...seen].sort(([one], [other]) => one - other)), new Map(cached.map(item => [item.id, item.isRead]).sort(([one], [other]) => one - other)));
  }

  chance = 1;
  for (let step = 0; step < Number(process.env.SEALPOST_TEST_STEPS ?? 1000); step += 1) {
    const push = clients[randomInt(2)], all = [...server.items.keys()], id = all[randomInt(Math.max(1, all.length))];
    const steps = [
      () => server.post(`payload ${step}`), () => server.post(`payload ${step}`), () => id && server.delete(id),
      () => id && server.change(id, {Read: !server.items.get(id).Read}), () => push.sync(), () => push.sync(), () => id && push.preview(id), () => id && push.notification(id),
      () => id && push.outbox.markRead(id, randomInt(2) === 0), () => id && randomInt(3) === 0 && push.outbox.dismiss(id),
      async () => {
        // This waits for both syncs, even if one fails.
        for (const {reason} of await Promise.allSettled(clients.map(client => client.sync()))) if (reason) throw reason;
      },
      async () => {
        if (!id) return;
        // This fetches a notification while another call changes it.
        const other = clients[randomInt(2)], calls = [push.notification(id), randomInt(2) === 0 ? push.sync() : push.preview(id)];
        calls.push((randomInt(3) === 0 ? other.outbox.dismiss(id) : other.outbox.markRead(id, randomInt(2) === 0)).then(() => other.sync()));
        for (const {reason} of await Promise.allSettled(calls)) {
          if (reason && !['crash', undefined].includes(reason.message) && reason.code !== 'offline' && reason.problem?.status !== 404) throw reason;
        }
      },
    ];
    try {
      await steps[randomInt(steps.length)]();
    } catch (error) {
      if (error.message !== 'crash' && error.code !== 'offline' && !(error.problem?.status === 404)) throw error;
    }
    if (step % 10 === 0) await consume();
  }
  chance = 0;
  const {notifications, isFresh} = await clients[0].sync();
  await consume();
  assert.equal(isFresh, true);
  assert.deepEqual(await clients[0].outbox.tasks(), []);
  assert.deepEqual(
    notifications.map(item => [item.id, item.payload, item.isRead]),
    [...server.items.values()].map(item => [item.Id, item.Payload, item.Read]).sort(([one], [other]) => one - other),
  );
});

const streamed = (response, body) => new Response(body, {headers: {MyToken: response.headers.get('MyToken'), 'Content-Type': 'text/event-stream'}});

test('events bring what is pushed, and connect again after a lost stream', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), end = new AbortController();
  const [one, two] = [server.post('one'), server.post('two')], told = [], asked = [];
  server.after = (response, {path, headers}) => {
    if (path !== '/api/stream') return response;
    asked.push(headers['Last-Event-ID']);
    const id = asked.length === 1 ? one : two;
    return streamed(response, `retry: 2000\n\nid: ${id}\ndata: {"secureId":"${id}"}\n\n`);
  };
  for await (const {id, item} of push.events({signal: end.signal})) {
    told.push([id, item.payload]);
    if (told.length === 2) end.abort();
  }
  assert.deepEqual([told, asked], [[[one, 'one'], [two, 'two']], [undefined, String(one)]]);
  assert.equal((await push.cachedInbox()).notifications.length, 2);
});

test("events end when the user signs out, and the next user's events register a device", async t => {
  const server = new FakeServer(), push = await clientOf(t, server), end = new AbortController(), told = [];
  const one = server.post('one');
  let isSignedOut = false;
  server.after = (response, {path}) => {
    if (path !== '/api/stream') return response;
    const text = isSignedOut ? ':\n\n' : `id: ${one}\ndata: {"secureId":"${one}"}\n\n`;
    const body = new ReadableStream({start: stream => stream.enqueue(new TextEncoder().encode(text))});
    return streamed(response, body);
  };
  await assert.rejects(async () => {
    for await (const {id} of push.events()) {
      told.push(id);
      isSignedOut = true;
      await push.signOut();
    }
  }, {code: 'signedOut'});
  assert.deepEqual([told, server.devices.size], [[one], 0]);
  server.tokens.add('spt_bob');
  await push.useToken('spt_bob', {account: 'bob'});
  const opened = new Promise(done => { server.before = ({path}) => { if (path === '/api/stream') done(); }; });
  const next = push.events({signal: end.signal}).next();
  await opened;
  assert.equal(server.devices.size, 1);
  end.abort();
  assert.equal((await next).done, true);
});

for (const [name, fail] of Object.entries({
  'an error of a load balancer': () => new Response('<html>', {status: 503}),
  'the page of a captive portal': () => new Response('<html>', {status: 200}),
  'a truncated answer': async response => new Response((await response.text()).slice(1), {headers: response.headers}),
})) {
  test(`events yield a notification once after ${name}, although the server does not repeat its push`, {timeout: 20_000}, async t => {
    const {server, tabs: [tab, other], until, send, streams} = await tabs(t, 2), {after} = server;
    await until(() => streams.length === 1);
    const one = send('one');
    await until(() => tab.told.length === 1 && other.told.length === 1);
    // The fetch of the push fails, and the first sync after it.
    server.after = (response, request) => request.path === '/api/notifications' ? fail(response) : after(response, request);
    const two = send('two');
    await until(() => streams.length === 2);
    streams[1].controller.enqueue(new TextEncoder().encode(':\n\n'));
    await until(() => streams.length === 3);
    server.after = after;
    streams[2].controller.enqueue(new TextEncoder().encode(`id: ${two}\ndata: {"secureId":"${two}"}\n\n`));
    const three = send('three'), wanted = [[one, 'one'], [two, 'two'], [three, 'three']];
    await until(() => tab.told.length === 3 && other.told.length === 3);
    assert.deepEqual([tab.told, other.told, ids((await tab.push.cachedInbox()).notifications)], [wanted, wanted, [one, two, three]]);
    for (const {end, ended} of [tab, other]) {
      end.abort();
      await ended;
    }
  });
}

test("events go on with a new token of the app's provider after the server refuses the token", async t => {
  const server = new FakeServer(), one = server.post('one'), end = new AbortController(), asked = [];
  const push = await clientOf(t, server, {token: () => { server.tokens.add('spt_renewed'); return 'spt_renewed'; }});
  server.before = ({path, headers}) => {
    if (path !== '/api/stream') return;
    asked.push(headers.Authorization);
    server.tokens.delete('spt_first');
  };
  server.after = (response, {path}) => path === '/api/stream' && response.status === 200 ? streamed(response, `id: ${one}\ndata: {"secureId":"${one}"}\n\n`) : response;
  for await (const {item} of push.events({signal: end.signal})) {
    assert.equal(item.payload, 'one');
    end.abort();
  }
  assert.deepEqual(asked, ['Bearer spt_first', 'Bearer spt_renewed']);
});

test("an event without a notification tells of another device's change, and moves no stream's place", async t => {
  const server = new FakeServer(), push = await clientOf(t, server), end = new AbortController();
  const [one, two] = [server.post('one'), server.post('two')], told = [], asked = [];
  server.after = (response, {path, headers}) => {
    if (path !== '/api/stream') return response;
    asked.push(headers['Last-Event-ID']);
    if (asked.length === 1) server.change(two, {Read: true});
    const [field, id] = [['id:', one], [':  ', 999], ['id:', two]][asked.length - 1];
    return streamed(response, `retry: 2000\n\n${field} ${id}\ndata: {"secureId":"${id}"}\n\n`);
  };
  for await (const {id, item} of push.events({signal: end.signal})) {
    told.push([id, item?.payload]);
    if (item === null) assert.deepEqual((await push.cachedInbox()).notifications.map(({isRead}) => isRead), [false, true]);
    if (told.length === 3) end.abort();
  }
  assert.deepEqual([told, asked], [[[one, 'one'], [999, undefined], [two, 'two']], [undefined, String(one), String(one)]]);
});

test('each opening of a stream syncs, as the server keeps no changes for a closed one', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), end = new AbortController();
  const one = server.post('one');
  await push.sync();
  // The first opening yields no notifications from the time before its registration.
  server.post('two');
  let count = 0;
  server.after = (response, {path}) => {
    if (path !== '/api/stream') return response;
    count += 1;
    if (count === 1) server.change(one, {Read: true});
    else end.abort();
    return streamed(response, 'retry: 2000\n\n');
  };
  for await (const event of push.events({signal: end.signal})) assert.fail(event);
  assert.deepEqual((await push.cachedInbox()).notifications.map(({isRead}) => isRead), [true, false]);
});

/**
 * A fake of a browser's locks: each name has one holder, and other callers wait in their order.
 */
class FakeLocks {
  asked = [];
  #held = new Map();

  query = async () => {};

  request = (name, {signal, steal = false} = {}, work) => new Promise((done, fail) => {
    const waiting = this.#held.get(name) ?? [], entry = {fail, isHolding: false};
    this.asked.push(name);
    this.#held.set(name, waiting);
    entry.start = () => {
      entry.isHolding = true;
      Promise.resolve(work()).then(done, fail).then(() => {
        const place = waiting.indexOf(entry);
        if (place < 0) return;
        waiting.splice(place, 1);
        if (place === 0) waiting[0]?.start();
      });
    };
    if (steal) waiting.splice(0, 1).forEach(holder => holder.fail(new DOMException('', 'AbortError')));
    if (steal) waiting.unshift(entry); else waiting.push(entry);
    signal?.addEventListener('abort', () => {
      if (entry.isHolding || !waiting.includes(entry)) return;
      waiting.splice(waiting.indexOf(entry), 1);
      fail(signal.reason);
    });
    if (waiting[0] === entry) entry.start();
  });
}

test('each of several messages sent at the same time returns its id', async t => {
  Object.defineProperty(globalThis, 'navigator', {value: {locks: new FakeLocks()}, configurable: true});
  t.after(() => { delete globalThis.navigator; });
  const server = new FakeServer(), push = await clientOf(t, server), payloads = ['one', 'two', 'three', 'four'];
  const sent = await Promise.all(payloads.map(payload => push.outbox.send(payload)));
  assert.deepEqual([sent.map(id => server.items.get(id)?.Payload), await push.outbox.count()], [payloads, 0]);
});

test('a worker that learns of a sign-out leaves it to the page, which gets the confirmation', async t => {
  Object.defineProperty(globalThis, 'navigator', {value: {locks: new FakeLocks()}, configurable: true});
  t.after(() => { delete globalThis.navigator; });
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store}), worker = await clientOf(t, server, {store}), ended = [];
  // The worker calls `finishSignOuts` as soon as the page has deleted its state, before the page
  // has sent anything.
  const commit = store.commit.bind(store);
  let working = null;
  store.commit = async (...given) => {
    const isDone = await commit(...given);
    if ([...given[1].keys()].some(name => name.startsWith('ending/'))) working ??= worker.finishSignOuts();
    return isDone;
  };
  server.before = ({method, path}) => { if (method === 'DELETE') ended.push(path); };
  assert.deepEqual([await push.signOut(), await working, ended], [true, true, ['/api/sessions/current']]);
});

/** Tabs that share one store and read events from a server whose streams stay open. */
async function tabs(t, count, {prepare = () => {}, ...options} = {}) {
  const locks = new FakeLocks();
  prepare(locks);
  const asked = () => locks.asked.filter(name => name.endsWith(' events')).length, prepared = asked();
  Object.defineProperty(globalThis, 'navigator', {value: {locks}, configurable: true});
  t.after(() => { delete globalThis.navigator; });
  const server = new FakeServer(), store = new MemoryStore(), streams = [];
  server.after = (response, {path, headers, signal}) => {
    if (path !== '/api/stream' || response.status !== 200) return response;
    const body = new ReadableStream({start(controller) {
      streams.push({last: headers['Last-Event-ID'], controller});
      signal.addEventListener('abort', () => controller.error(signal.reason));
    }});
    return streamed(response, body);
  };
  const until = async condition => { while (!condition()) await new Promise(next => setTimeout(next, 5)); };
  const tabs = [];
  t.after(() => { delete globalThis.document; });
  while (tabs.length < count) {
    const push = await clientOf(t, server, {store, deadline: 60}), end = new AbortController(), told = [], page = globalThis.document = new EventTarget();
    const ended = (async () => { for await (const {id, item} of push.events({signal: end.signal, ...options})) told.push([id, item?.payload]); })();
    tabs.push({push, end, told, ended, page});
    // The tabs wait for the lock in their order, so the first one opens the stream.
    await until(() => asked() >= prepared + tabs.length);
  }
  const send = text => {
    const id = server.post(text);
    streams.at(-1).controller.enqueue(new TextEncoder().encode(`id: ${id}\ndata: {"secureId":"${id}"}\n\n`));
    return id;
  };
  return {server, locks, store, streams, tabs, until, send};
}

test('tabs share one stream, and the next one goes on where the one that ends has stopped', async t => {
  const {streams, tabs: [first, ...others], until, send} = await tabs(t, 7);
  await until(() => streams.length === 1);
  const one = send('one');
  await until(() => [first, ...others].every(({told}) => told.length === 1));
  assert.deepEqual([streams.length, others.map(({told}) => told)], [1, others.map(() => [[one, 'one']])]);
  first.end.abort();
  await first.ended;
  await until(() => streams.length === 2);
  const two = send('two');
  await until(() => others.every(({told}) => told.length === 2));
  assert.deepEqual([streams.map(({last}) => last), first.told.length, others[5].told[1]], [[undefined, String(one)], 1, [two, 'two']]);
  for (const {end, ended} of others) {
    end.abort();
    await ended;
  }
});

test('the tab that takes over the stream yields what was posted meanwhile to another registration, once', {timeout: 10_000}, async t => {
  const {server, streams, tabs: [first, ...others], until, send} = await tabs(t, 3);
  await until(() => streams.length === 1);
  const one = send('one');
  await until(() => others.every(({told}) => told.length === 1));
  first.end.abort();
  await first.ended;
  // Only the sync at the opening has this notification.
  const two = server.post('two');
  await until(() => streams.length === 2);
  streams[1].controller.enqueue(new TextEncoder().encode(':\n\n'));
  await until(() => others.every(({told}) => told.length === 2));
  // A late push of it is not yielded again.
  streams[1].controller.enqueue(new TextEncoder().encode(`id: ${two}\ndata: {"secureId":"${two}"}\n\n`));
  const three = send('three'), wanted = [[one, 'one'], [two, 'two'], [three, 'three']];
  await until(() => others.every(({told}) => told.length === 3));
  assert.deepEqual(others.map(({told}) => told), [wanted, wanted]);
  for (const {end, ended} of others) {
    end.abort();
    await ended;
  }
});

test('a database that does not answer for a while ends no events', {timeout: 60_000}, async t => {
  const {store, streams, tabs: all, until, send} = await tabs(t, 2);
  await until(() => streams.length === 1);
  let isStuck = true, failures = 0;
  for (const name of ['head', 'get']) {
    const work = store[name].bind(store);
    store[name] = async (...given) => {
      if (!isStuck) return work(...given);
      failures += 1;
      throw new PushClientError('storage', 'The browser has not answered for its database in time.');
    };
  }
  const lost = send('lost');
  await until(() => failures > 0);
  isStuck = false;
  await until(() => streams.length === 2);
  assert.equal(streams[1].last, undefined);
  streams[1].controller.enqueue(new TextEncoder().encode(`id: ${lost}\ndata: {"secureId":"${lost}"}\n\n`));
  const late = send('late');
  await until(() => all.every(({told}) => told.length === 2));
  assert.deepEqual(all.map(({told}) => told), [[[lost, 'lost'], [late, 'late']], [[lost, 'lost'], [late, 'late']]]);
  for (const {end, ended} of all) {
    end.abort();
    await ended;
  }
});

test('a tab that takes over before it has heard of the stream yields what came since it waits', {timeout: 10_000}, async t => {
  const {server, streams, tabs: [first, second], until} = await tabs(t, 2);
  await until(() => streams.length === 1);
  // The stream has accepted this push, and its tab ends before it reads that.
  const one = server.post('one');
  first.end.abort();
  await first.ended;
  await until(() => streams.length === 2);
  streams[1].controller.enqueue(new TextEncoder().encode(':\n\n'));
  await until(() => second.told.length === 1);
  assert.deepEqual(second.told, [[one, 'one']]);
  second.end.abort();
  await second.ended;
});

for (const [name, place, isAny] of [['this tab', 0, false], ['another tab', 1, false], ['another tab, while a push arrives,', 1, true]]) {
  test(`a change of the password in ${name} opens a new stream, although the server has not ended the old one`, {timeout: 10_000}, async t => {
    const {server, streams, tabs: all, until, send} = await tabs(t, 2);
    await until(() => streams.length === 1);
    const early = send('early');
    await until(() => all.every(({told}) => told.length === 1));
    const passing = [];
    server.before = ({method, path}) => {
      if (method !== 'POST' || path !== '/api/sessions') return;
      if (isAny) passing.push([send('passing'), 'passing']);
      server.devices.clear();
    };
    await all[place].push.changePassword('old', 'new');
    const missed = server.post('missed');
    await until(() => streams.length === 2);
    const late = send('late'), wanted = [[early, 'early'], ...passing, [missed, 'missed'], [late, 'late']];
    await until(() => all.every(({told}) => told.length === wanted.length));
    assert.deepEqual(all.map(({told}) => told), [wanted, wanted]);
    for (const {end, ended} of all) {
      end.abort();
      await ended;
    }
  });
}

for (const [name, place] of [['this tab', 0], ['another tab', 1]]) {
  test(`events miss nothing, and go on with the new token, after a change of the password in ${name}`, async t => {
    const {server, streams, tabs: all, until, send} = await tabs(t, 2), {after} = server;
    await until(() => streams.length === 1);
    const early = send('early');
    await until(() => all.every(({told}) => told.length === 1));
    let refuse;
    const refused = new Promise(done => { refuse = done; });
    server.after = (response, request) => {
      if (request.path !== '/api/stream' || response.status !== 401) return after(response, request);
      refuse();
      return response;
    };
    // The server ends the stream and its device with their session. The next stream is refused
    // before the sign-in.
    server.before = async ({method, path}) => {
      if (method !== 'POST' || path !== '/api/sessions') return;
      server.devices.clear();
      streams[0].controller.close();
      await refused;
    };
    await all[place].push.changePassword('old', 'new');
    // The new device of the next stream has no push of this notification.
    const missed = server.post('missed');
    await until(() => streams.length === 2);
    const late = send('late'), wanted = [[early, 'early'], [missed, 'missed'], [late, 'late']];
    await until(() => all.every(({told}) => told.length === 3));
    assert.deepEqual(all.map(({told}) => told), [wanted, wanted]);
    for (const {end, ended} of all) {
      end.abort();
      await ended;
    }
  });
}

for (const [name, end] of [['a sign-out', push => push.signOut()], ['a sign-in of another user', push => push.useToken('spt_bob', {account: 'bob'})]]) {
  test(`${name} in a tab that does not read the stream ends the events of all tabs at once`, {timeout: 10_000}, async t => {
    const {server, streams, tabs: all, until} = await tabs(t, 3), [, {push}] = all;
    server.tokens.add('spt_bob');
    await until(() => streams.length === 1);
    const endings = all.map(({ended}) => assert.rejects(ended, {code: 'signedOut'}));
    await end(push);
    await Promise.all(endings);
    assert.deepEqual([all[0].push.account, all[2].push.account], [null, null]);
  });

  test(`${name} in another tab ends the account for those who read updates`, {timeout: 10_000}, async t => {
    const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store}), other = await clientOf(t, server, {store});
    server.tokens.add('spt_bob');
    const updates = other.updates();
    await Promise.all([end(push), (async () => {
      while (other.account !== null) await updates.next();
    })()]);
    await updates.return();
  });
}

test('a suspended tab gives the stream up at once, and has missed nothing when it is resumed', async t => {
  const {streams, tabs: [first, second], until, send} = await tabs(t, 2);
  await until(() => streams.length === 1);
  first.page.dispatchEvent(new Event('freeze'));
  await until(() => streams.length === 2);
  const one = send('one');
  await until(() => second.told.length === 1);
  assert.deepEqual(first.told, []);
  for (let count = 0; count < 2; count += 1) first.page.dispatchEvent(new Event('resume'));
  await until(() => first.told.length === 1);
  const two = send('two');
  await until(() => [first, second].every(({told}) => told.length === 2));
  second.page.dispatchEvent(new Event('freeze'));
  await until(() => streams.length === 3);
  const three = send('three');
  await until(() => first.told.length === 3);
  const wanted = [[one, 'one'], [two, 'two'], [three, 'three']];
  assert.deepEqual([first.told, second.told, streams.length], [wanted, wanted.slice(0, 2), 3]);
  for (const {end, ended} of [first, second]) {
    end.abort();
    await ended;
  }
});

test('a tab that is suspended as it gets the lock loses it to the next one', async t => {
  const {streams, locks, tabs: [first, second], until} = await tabs(t, 2);
  await until(() => streams.length === 1);
  // The first tab gives the lock to a tab that cannot run.
  const {request} = locks;
  locks.request = () => new Promise(() => {});
  const stuck = request('sealpost  events', {steal: true}, () => new Promise(() => {}));
  locks.request = request;
  first.page.dispatchEvent(new Event('freeze'));
  await assert.rejects(stuck, {name: 'AbortError'});
  await until(() => streams.length === 2);
  second.end.abort();
  first.end.abort();
  await Promise.all([first.ended, second.ended]);
});

test('a page that comes back from a suspension learns of a sign-out, without a message', {timeout: 10_000}, async t => {
  const page = globalThis.document = new EventTarget(), {BroadcastChannel} = globalThis;
  // Browsers drop the messages to a page in the back/forward cache.
  const channels = new Set();
  globalThis.BroadcastChannel = class {
    constructor() { channels.add(this); }
    postMessage() {}
    close() { channels.delete(this); }
  };
  t.after(() => {
    delete globalThis.document;
    Object.assign(globalThis, {BroadcastChannel});
  });
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store}), other = await clientOf(t, server, {store});
  const updates = push.updates(), next = updates.next();
  await push.changes();
  assert.equal(channels.size, 1);
  // A browser evicts a page with an open channel from the cache at the next message.
  page.dispatchEvent(new Event('freeze'));
  await other.signOut();
  assert.deepEqual([push.account, channels.size], ['alice', 0]);
  for (let count = 0; count < 2; count += 1) page.dispatchEvent(new Event('resume'));
  assert.deepEqual([(await next).value.isEverything, push.account, channels.size], [true, null, 1]);
  await updates.return();
  assert.equal(channels.size, 0);
});

test('a tab that is suspended with the lock loses it', async t => {
  let isStolen = false;
  const prepare = locks => { locks.request('sealpost  events', {}, () => new Promise(() => {})).catch(() => { isStolen = true; }); };
  const {streams, tabs: [tab], until, send} = await tabs(t, 1, {silence: 1, prepare});
  await until(() => streams.length === 1);
  const id = send('late');
  await until(() => tab.told.length === 1);
  assert.deepEqual([isStolen, tab.told], [true, [[id, 'late']]]);
  tab.end.abort();
  await tab.ended;
});

test('an event stream is read however it comes in pieces, and a push names an id or nothing', () => {
  const text = 'retry: 2000\n\n:\n\nid: 7\ndata: {"secureId":"7"}\n\nid: 8\r\ndata: {"secureId":"8"}\r\n\r\ndata: nonsense\n\n';
  for (let size = 1; size < text.length; size += 1) {
    const lines = new EventLines(), found = [];
    for (let start = 0; start < text.length; start += size) found.push(...lines.take(new TextEncoder().encode(text.slice(start, start + size))));
    assert.deepEqual(found, [7, 8], `in pieces of ${size}`);
  }
  const bytes = text => new TextEncoder().encode(text), lines = new EventLines();
  // A message of thirty bytes, followed by blanks.
  for (let count = 0; count < 600; count += 1) assert.deepEqual(lines.take(bytes(`data: {"secureId":"7"}${' '.repeat(100)}\n\n`)), [7]);
  for (let count = 0; count < 160; count += 1) lines.take(bytes(`data: ${'x'.repeat(94)}\n`));
  assert.throws(() => { for (let count = 0; count < 10; count += 1) lines.take(bytes(`data: ${'x'.repeat(94)}\n`)); }, {code: 'offline'});
  for (const message of ['', '{}', '{"secureId":"x"}', '{"secureId":-1}', '{"secureId":7}', '[]', 'null', '{"secureId":"1/../2"}', '{"secureId":"99999999999999999999"}']) {
    assert.equal(pushedID(message), null, message);
  }
  assert.equal(pushedID('{"secureId":"4711","alert":{"badge":3}}'), 4711);
  assert.deepEqual(['9007199254740991', '9007199254740992'].map(id => pushedID(`{"secureId":"${id}"}`)), [2 ** 53 - 1, null]);
});

/** A fake of the browser features that registering uses: a subscription at a time, and a worker's URL. */
function browser(t) {
  const fake = {ended: false, current: null, count: 0};
  const subscribe = async ({applicationServerKey: key}) => {
    const endpoint = `https://push.example/${fake.count += 1}`;
    return fake.current = {
      options: {applicationServerKey: Buffer.from(key, 'base64url')}, toJSON: () => ({endpoint, keys: {p256dh: 'p', auth: 'a'}}),
      unsubscribe: async () => { [fake.ended, fake.current] = [true, null]; return true; },
    };
  };
  const globals = {
    location: {href: 'https://push.example/page'}, PushManager: class {},
    Notification: {permission: 'granted', requestPermission: async () => 'granted'},
    registration: {pushManager: {getSubscription: async () => fake.current, subscribe}, getNotifications: async () => []},
    navigator: {serviceWorker: {
      ready: Promise.resolve(), register: async url => { fake.worker = String(url); return {scope: 'https://push.example/'}; },
    }},
  };
  for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, {value, configurable: true, writable: true});
  t.after(() => { for (const name of Object.keys(globals)) delete globalThis[name]; });
  return fake;
}

test('accounts that share a browser register so, and each knows its own pushes', async t => {
  const subscription = browser(t), bodies = [];
  const accounts = await Promise.all(['a', 'b'].map(async name => {
    const server = new FakeServer();
    server.before = ({method, body}) => { if (method === 'PUT') bodies.push(body); };
    server.prefix = name;
    return clientOf(t, server, {isDeviceShared: true, name});
  }));
  for (const push of accounts) await push.register({tags: ['news']});
  assert.deepEqual(bodies.map(({Shared, Tags}) => [Shared, Tags]), [[true, ['news']], [true, ['news']]]);
  assert.equal(subscription.worker, 'https://push.example/sealpost-worker.js?shared=');
  const message = async (id, of) => JSON.stringify({secureId: String(id), accountHint: await accountHint(await of.registrationID(), id)});
  const [alice, bob] = accounts;
  assert.deepEqual([await alice.isRecipient(await message(7, alice)), await bob.isRecipient(await message(7, alice))], [true, false]);
  assert.equal(await alice.isRecipient((await message(7, alice)).replace('"7"', '"8"')), false);
  for (const text of ['', '{"secureId":"7"}', '{"secureId":"7","accountHint":""}']) assert.equal(await alice.isRecipient(text), false);
  // Alice's sign-out leaves the subscription to the other account.
  await alice.signOut();
  assert.equal(subscription.ended, false);
  assert.equal(await alice.isRecipient(await message(7, bob)), false);
  assert.equal(await bob.isRecipient(await message(7, bob)), true);
});

test('a push without a hint is for the account that is signed in, and for nobody after its sign-out', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store}), other = await clientOf(t, server, {store});
  assert.deepEqual([await push.isRecipient('{"secureId":"7"}'), await other.isRecipient('{"secureId":"7"}')], [true, true]);
  await push.signOut();
  assert.deepEqual([await push.isRecipient('{"secureId":"7"}'), await other.isRecipient('{"secureId":"7"}')], [false, false]);
});

test('payloads that JSON can write are sent as they are', async t => {
  const server = new FakeServer(), push = await clientOf(t, server), bare = Object.create(null);
  class Reading { value = 1; }
  for (const [payload, expected] of [[{}, {}], [[], []], [bare, {}], [{a: null}, {a: null}], [new Reading(), {value: 1}], [new Date(0), '1970-01-01T00:00:00.000Z']]) {
    const id = await push.outbox.send(payload);
    assert.deepEqual(server.items.get(id).Payload, expected);
  }
});

test('an account alone registers as before, and ends its subscription', async t => {
  const subscription = browser(t), bodies = [], server = new FakeServer();
  server.before = ({method, body}) => { if (method === 'PUT') bodies.push(body); };
  const push = await clientOf(t, server);
  await push.register();
  assert.deepEqual(Object.keys(bodies[0]), ['Platform', 'Handle', 'Tags']);
  assert.equal(subscription.worker, 'https://push.example/sealpost-worker.js');
  assert.equal(await push.isRecipient('{"secureId":"7"}'), true);
  await push.signOut();
  assert.equal(subscription.ended, true);
});

test('a new session registers the device again, and nothing else does', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server);
  await push.registerIfNeeded();
  assert.equal(server.requests.length, 0, 'what was never registered is not registered again');
  const device = await push.register();
  const registrations = async () => {
    server.requests.length = 0;
    assert.equal(await push.registerIfNeeded(), device);
    return server.requests.filter(request => request.startsWith('PUT')).length;
  };
  assert.deepEqual([await registrations(), await registrations()], [0, 0]);
  server.tokens.add('spt_second').add('of-an-issuer').add('the-next-one');
  for (const [token, wanted] of [['spt_second', 1], ['of-an-issuer', 1], ['the-next-one', 0]]) {
    await push.useToken(token, {account: 'alice'});
    assert.deepEqual([await registrations(), await registrations()], [wanted, 0], token);
  }
});

test('after the end of this device, calls that need it throw notRegistered, until it registers again', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server), [first, other] = [await push.register(), 'another-device'];
  server.devices.add(other);
  await push.endDevice(other);
  assert.deepEqual([await push.registrationID(), [...server.devices]], [first, [first]]);
  await push.endDevice((await push.devices()).find(({isThisDevice}) => isThisDevice).id);
  server.requests.length = 0;
  for (const [name, ...given] of [['joinTopic', 'news'], ['leaveTopic', 'news'], ['testPush']]) {
    await assert.rejects(push[name](...given), {code: 'notRegistered', advice: 'app'}, name);
  }
  assert.deepEqual([await push.registrationID(), server.requests], [null, []]);
  const second = await push.registerIfNeeded();
  assert.deepEqual([[...server.devices], await push.registrationID()], [[second], second]);
  await push.endDevice(second);
  await push.unregister();
  assert.deepEqual([await push.registerIfNeeded(), [...server.devices]], [null, []]);
});

test('a worker that refuses its options, or does not start, ends the call at once with the reason', async t => {
  browser(t);
  const push = await clientOf(t, new FakeServer(), {deadline: 60}), {serviceWorker} = navigator, installing = Object.assign(new EventTarget(), {state: 'redundant'});
  globalThis.registration = undefined;
  serviceWorker.ready = new Promise(() => {});
  const say = data => {
    const channel = new BroadcastChannel('sealpost-worker');
    channel.postMessage(data);
    channel.close();
  };
  serviceWorker.register = async url => {
    for (const worker of ['https://push.example/other.js', String(url)]) say({worker, message: `no option of ${worker}`});
    return {scope: 'https://push.example/', installing};
  };
  for (const name of ['startWorker', 'register']) await assert.rejects(push[name](), {name: 'TypeError', message: /no option of .*sealpost-worker\.js$/}, name);
  serviceWorker.register = async () => {
    setImmediate(() => installing.dispatchEvent(new Event('statechange')));
    return {scope: 'https://push.example/', installing};
  };
  await assert.rejects(push.startWorker(), {code: 'unavailable', message: /console/});
});

test('a browser that cannot start the worker says so before it asks the user, and one whose push service refuses or is silent says what to do', async t => {
  const fake = browser(t), push = await clientOf(t, new FakeServer());
  let asked = 0;
  Notification.requestPermission = async () => { asked += 1; return 'granted'; };
  const {pushManager} = registration, {register} = navigator.serviceWorker;
  const fails = (code, advice) => assert.rejects(push.register(), error => error instanceof PushClientError && error.code === code && error.advice === advice, code);
  globalThis.registration = undefined;
  navigator.serviceWorker.register = async () => { throw new TypeError('import declarations may only appear at top level'); };
  await fails('unavailable', 'unavailable');
  navigator.onLine = false;
  await fails('offline', 'offline');
  assert.equal(asked, 0);
  globalThis.registration = {pushManager, getNotifications: async () => []};
  navigator.serviceWorker.register = register;
  for (const [name, code, advice] of [['AbortError', 'unavailable', 'pushService'], ['NotSupportedError', 'unavailable', 'pushService'], ['NotAllowedError', 'denied', 'refused']]) {
    pushManager.subscribe = async () => { throw new DOMException('Registration failed', name); };
    await fails(code, advice);
  }
  pushManager.subscribe = () => new Promise(() => {});
  await fails('offline', 'pushService');
  assert.equal(fake.current, null);
});

test('what other devices have read, dismissed or expired is closed, and the badge is the number of unread ones', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server), closed = [], badges = [];
  const [unread, read, gone] = ['unread', 'read', 'gone'].map(text => server.post(text));
  await push.sync();
  const shown = (id, name = '') => ({data: {id, name}, tag: `sealpost ${id}`, close: () => { closed.push([id, name]); }});
  // The last notifications belong to another account and to another app, and one arrives during
  // the sync.
  const placeholder = id => ({data: {secureId: String(id)}, tag: `sealpost ${id}`, close: () => { closed.push(`placeholder ${id}`); }});
  const list = [shown(unread), shown(read), shown(gone), shown(777), shown(read, 'other'), placeholder(gone), placeholder(unread), {data: null, tag: 'x', close: () => { closed.push('x'); }}];
  registration.getNotifications = async () => [...list];
  // In the event of a declarative push Safari's promise never ends.
  navigator.setAppBadge = count => { badges.push(count); return new Promise(() => {}); };
  server.change(read, {Read: true});
  server.delete(gone);
  server.before = ({method}) => { if (method === 'GET') list.push(shown(888)); };
  await push.closeSeen();
  assert.deepEqual([closed, badges], [[[read, ''], [gone, ''], [777, ''], `placeholder ${gone}`], [1]]);
  closed.length = 0;
  server.before = () => {};
  // The notification that a worker has just shown stays.
  await push.closeSeen(read);
  assert.deepEqual([closed.filter(([id]) => id === read), closed.some(([id]) => id === gone)], [[], true]);
  // Without a network nothing is closed, because the client does not know what is unread.
  closed.length = 0;
  server.before = lost;
  await push.closeSeen();
  assert.deepEqual([closed, badges], [[], [1, 1]]);
  await push.signOut();
  assert.deepEqual(closed.filter(what => typeof what === 'string'), [`placeholder ${gone}`, `placeholder ${unread}`]);
});

test('a page with Trusted Types gets the worker by a policy that makes addresses of its own origin only', async t => {
  const fake = browser(t), push = await clientOf(t, new FakeServer());
  location.origin = 'https://push.example';
  let rules;
  globalThis.trustedTypes = {createPolicy: (name, made) => { rules = made; return {createScriptURL: url => ({name, toString: () => made.createScriptURL(url)})}; }};
  t.after(() => { delete globalThis.trustedTypes; });
  const {register} = navigator.serviceWorker, given = [];
  navigator.serviceWorker.register = (url, options) => { given.push(url.name); return register(url, options); };
  await push.startWorker();
  assert.deepEqual([given, fake.worker, rules.createScriptURL('https://other.example/x.js')], [['sealpost'], 'https://push.example/sealpost-worker.js', null]);
});

test("the page of a click is stored without its query, and an app's own address as it is", async t => {
  browser(t);
  location.href = 'https://push.example/page?code=secret&state=1#/inbox';
  for (const [page, wanted] of [[undefined, 'https://push.example/page'], ['/#/messages/{id}', 'https://push.example/#/messages/{id}']]) {
    const store = new MemoryStore();
    await clientOf(t, new FakeServer(), {store, page});
    assert.equal((await store.get('settings')).page, wanted);
  }
});

test('the next start notices a retired device and a changed key of the server, and registers again', async t => {
  const fake = browser(t), server = new FakeServer(), push = await clientOf(t, server), bodies = [];
  server.before = ({method, body}) => { if (method === 'PUT') bodies.push(body.Handle.endpoint.at(-1)); };
  const device = await push.register();
  assert.deepEqual([await push.registerIfNeeded(), bodies], [device, ['1']]);
  // Without a network nothing changes.
  server.before = lost;
  assert.equal(await push.registerIfNeeded(), device);
  server.before = ({method, body}) => { if (method === 'PUT') bodies.push(body.Handle.endpoint.at(-1)); };
  server.devices.delete(device);
  const second = await push.registerIfNeeded();
  // The old id is refused, the new one gets the new subscription.
  assert.deepEqual([[...server.devices], bodies], [[second], ['1', '2', '2']]);
  // One request returns both the devices and the key. A server of the previous version needs two
  // requests.
  for (const [isOne, count] of [[true, 1], [false, 2]]) {
    server.showsKey = isOne;
    server.requests.length = 0;
    assert.deepEqual([await push.registerIfNeeded(), server.requests.length], [second, count]);
  }
  server.vapid = 'BAB';
  assert.deepEqual([await push.registerIfNeeded(), bodies.at(-1)], [second, '3']);
  server.showsKey = true;
  // This browser does not reveal the key of a subscription.
  fake.current.options = {};
  assert.deepEqual([await push.registerIfNeeded(), bodies.length], [second, 4]);
  server.vapid = 'BAC';
  assert.deepEqual([await push.registerIfNeeded(), bodies.at(-1)], [second, '4']);
  assert.deepEqual((await push.devices()).map(({id, isThisDevice, topics}) => [id, isThisDevice, topics]), [[second, true, ['news']]]);
});

test('a verifier of the app stands in for a browser without Ed25519, and one that accepts everything is refused', async t => {
  const server = Object.assign(new FakeServer(), {isSigned: true}), verifier = (publicKey, message, signature) =>
    verify(null, message, createPublicKey({key: {kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url')}, format: 'jwk'}), signature);
  const {importKey} = crypto.subtle;
  t.mock.method(crypto.subtle, 'importKey', function (format, key, algorithm, ...rest) {
    return algorithm.name === 'Ed25519' ? Promise.reject(new DOMException('', 'NotSupportedError')) : importKey.call(this, format, key, algorithm, ...rest);
  });
  await assert.rejects(clientOf(t, server, {signatures}), {code: 'unavailable'});
  for (const wrong of [() => true, () => false, () => 'yes']) await assert.rejects(clientOf(t, server, {signatures, verifier: wrong}), /verifier/);
  const push = await clientOf(t, server, {signatures, verifier}), id = server.post('secret');
  assert.equal((await push.sync()).isFresh, true);
  server.after = async response => new Response((await response.text()).replace('secret', 'forged'), response);
  await assert.rejects(push.notification(server.post('secret')), {code: 'interference'});
  assert.equal((await push.cachedNotification(id)).payload, 'secret');
});

test('hooks get no payload, token or id, and cannot stop a call or replace a field', async t => {
  browser(t);
  const server = new FakeServer(), seen = [], fields = [], asked = [];
  const push = await clientOf(t, server, {
    observe: event => { seen.push(event); throw new Error('of the hook'); },
    headers: request => { asked.push(request); return {traceparent: '00-1', authorization: 'Basic x', MYTOKEN: '1'}; },
  });
  const warn = console.warn;
  console.warn = () => {};
  t.after(() => { console.warn = warn; });
  server.before = ({headers}) => { fields.push(headers); };
  const id = server.post('a secret payload'), device = await push.register();
  await push.sync();
  await push.notification(id);
  await push.joinTopic('secret:topic');
  server.after = () => new Response('<html>', {status: 502});
  await push.sync();
  server.before = lost;
  await push.sync();
  assert.ok(fields.every(({traceparent, authorization, MYTOKEN}) => traceparent === '00-1' && authorization === undefined && MYTOKEN === undefined));
  const told = JSON.stringify([seen, asked]);
  for (const secret of ['a secret payload', 'spt_first', device, 'secret:topic', '"p256dh"', 'alice']) assert.ok(!told.includes(secret), secret);
  assert.ok(seen.every(({milliseconds}) => Number.isInteger(milliseconds)));
  assert.deepEqual(seen.slice(-5).map(({kind, method, route, status, outcome}) => [kind, method, route, status, outcome]), [
    ['request', 'GET', '/api/notifications/{id}', 200, 'answered'], ['request', 'PUT', '/api/devices/{id}/topics/{topic}', 204, 'answered'],
    ['request', 'GET', '/api/notifications', 502, 'missingEcho'],
    ['request', 'GET', '/api/notifications', null, 'offline'], ['request', 'GET', '/api/notifications', null, 'offline'],
  ]);
});

test('topics, a test push, a code and a new password', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server, {isIn: false, signatures}), bodies = [];
  server.isSigned = true;
  await assert.rejects(push.signInWithCode('a wrong code'), error => error.problem.status === 403);
  await push.signInWithCode('the code');
  assert.deepEqual([push.account, (await push.sync()).isFresh], ['alice', true]);
  await assert.rejects(push.joinTopic('news'), {code: 'notRegistered', advice: 'app', message: /^Call `register` first/});
  const device = await push.register({tags: ['news']});
  server.before = ({method, path, body}) => { if (method === 'PUT' || method === 'DELETE') bodies.push(path.startsWith('/api/register') ? body?.Tags : path); };
  await push.joinTopic('weather:Berlin');
  // The server ignores the case of topics.
  await push.leaveTopic('News');
  assert.deepEqual(bodies, [`/api/devices/${device}/topics/weather%3ABerlin`, `/api/devices/${device}/topics/News`]);
  assert.deepEqual(await push.testPush(), {state: 'failed', reason: 'gone'});
  await assert.rejects(push.changePassword('wrong', 'new'), error => error.problem.code === 'wrong-password');
  await push.changePassword('old', 'new');
  assert.equal(await push.registerIfNeeded(), device);
  assert.deepEqual([bodies.at(-1), (await push.sync()).isFresh], [['weather:Berlin'], true]);
  await push.endDevice(device);
  assert.equal(server.devices.size, 0);
  assert.notEqual(await push.registerIfNeeded(), device);
  assert.equal(server.devices.size, 1);
});

test('a call that begins while another tab signs out throws signedOut', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  let before = async () => {};
  const get = async name => {
    if (name === 'session') await before();
    return store.get(name);
  };
  const slow = new Proxy(store, {get: (_, name) => name === 'get' ? get : typeof store[name] === 'function' ? store[name].bind(store) : store[name]});
  const other = await clientOf(t, server, {store: slow});
  assert.equal((await other.devices()).length, 0);
  before = async () => {
    before = async () => {};
    await push.signOut();
  };
  await assert.rejects(other.devices(), {code: 'signedOut'});
  assert.equal(other.account, null);
});

test("after the browser has deleted the origin's data, sync throws signedOut, and the account is null", async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  await push.sync();
  await store.removeAll();
  assert.equal(push.account, 'alice');
  await assert.rejects(push.sync(), {code: 'signedOut'});
  assert.equal(push.account, null);
  await push.useToken('spt_first', {account: 'alice'});
  assert.equal((await push.sync()).isFresh, true);
});

test('a device whose token is dead stays to be ended, and is when its account signs in again', async t => {
  browser(t);
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  const device = await push.register();
  server.tokens.delete('spt_first');
  assert.equal(await push.signOut(), false);
  const again = await clientOf(t, server, {store, isIn: false});
  assert.equal(await again.finishSignOuts(), false);
  assert.deepEqual([...server.devices], [device]);
  // The sign-out order of alice does not use the token of another account.
  server.tokens.add('spt_bob').add('spt_second');
  await again.useToken('spt_bob', {account: 'bob'});
  assert.deepEqual([...server.devices], [device]);
  await again.signOut();
  await again.useToken('spt_second', {account: 'alice'});
  assert.deepEqual([[...server.devices], (await store.list('ending/')).size], [[], 0]);
  assert.deepEqual([...server.tokens], ['spt_second'], 'the new session stays');
});

test('a device from before identifiers is ended, too, when its account signs in again', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server);
  server.account = null;
  await push.register();
  server.tokens.clear();
  assert.deepEqual([await push.signOut(), server.devices.size], [false, 1]);
  server.account = ALICE;
  await push.signIn('alice', 'correct horse');
  assert.equal(server.devices.size, 0);
});

test('a provider is asked for a token to sign out with, and without one the server does not know', async t => {
  browser(t);
  for (const has of [true, false]) {
    const server = new FakeServer();
    server.tokens.add('spt_asked');
    const token = () => has ? {Token: 'spt_asked', ExpiresAt: null} : new Promise(() => {});
    const push = await clientOf(t, server, {token, deadline: has ? 60 : 2, isIn: false});
    await push.useToken('spt_first', {account: 'alice', expiresAt: new Date(Date.now() + 3_600_000)});
    await push.register();
    // The page starts again after the token has expired.
    server.tokens.delete('spt_first');
    const store = push.settings.store;
    const later = await clientOf(t, server, {store, token, deadline: has ? 60 : 2, isIn: false, now: () => Date.now() + 3_600_000});
    assert.deepEqual([await later.signOut(), later.account], [has, null]);
    assert.equal(server.devices.size, has ? 0 : 1);
    assert.equal((await store.list('ending/')).size, has ? 0 : 1);
  }
});

test('a sign-out without any token reports that the server does not know', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  store.rows.delete('session');
  assert.deepEqual([await push.signOut(), push.account, [...server.tokens]], [false, null, ['spt_first']]);
});

test('a device that was being registered while its account signed out is ended, too', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server);
  let isPut, release;
  const arrived = new Promise(done => { isPut = done; }), held = new Promise(done => { release = done; });
  server.after = async (response, {method}) => {
    if (method !== 'PUT') return response;
    isPut();
    await held;
  };
  const registering = push.register();
  await arrived;
  assert.equal(server.devices.size, 1);
  assert.equal(await push.signOut(), true);
  release();
  await assert.rejects(registering, {code: 'signedOut'});
  assert.equal(server.devices.size, 0);
});

test('a field full of blanks is read at once', async t => {
  const server = new FakeServer(), push = await clientOf(t, server);
  server.after = response => {
    const headers = new Headers(response.headers);
    headers.set('ETag', `a${' '.repeat(200_000)}b`);
    return new Response(response.body, {status: response.status, headers});
  };
  const start = performance.now();
  await push.sync().catch(() => {});
  // A search for trailing blanks that restarts at each blank would take fifteen seconds.
  assert.ok(performance.now() - start < 3000);
});

test('whether answers are signed is what the app has written down', async () => {
  const open = options => PushClient.open({server: 'https://push.example', store: new MemoryStore(), ...options});
  for (const options of [{}, {signatures: {keys: []}}, {signatures: {}}, {signatures: []}, {signatures: null}, {signatures: 'none'}]) {
    await assert.rejects(open(options), error => error instanceof PushClientError && error.code === 'noSignatureKeys', JSON.stringify(options));
  }
  for (const chosen of ['unsigned', signatures]) (await open({signatures: chosen})).close();
});

test('options that do not exist, and impossible values, are refused before they have an effect', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server), {store} = push.settings, elsewhere = 'https://other.example/file.js';
  const open = options => PushClient.open({server: 'https://push.example', signatures: 'unsigned', store: new MemoryStore(), ...options});
  const cases = {
    timeout: [() => open({timeout: 30}), () => PushClient.reopen('', {store, timeout: 30})],
    deadline: [0, -1, NaN, Infinity, 1e9, '30', null].flatMap(deadline => [() => open({deadline}), () => PushClient.reopen('', {store, deadline})]),
    server: [5, null, ''].map(server => () => open({server})), page: ['http://[', '', 5].map(page => () => open({page})), store: [() => open({store: {}})],
    worker: [elsewhere, ''].map(worker => () => open({worker})), scope: [elsewhere, 'http://['].map(scope => () => open({scope})),
    token: [elsewhere, '', 'http://[', 'http://push.example/token'].map(token => () => open({token})).concat([5, undefined, '', 'a\nb'].map(token => () => push.useToken(token, {account: 'alice'}))),
    name: [() => open({name: 5}), () => PushClient.reopen('', {store, name: 'b'})], keys: [[5], ['x'], [signatures.keys[0], null]].map(keys => () => open({signatures: {keys}})),
    before: [{}, [], {id: 7}, {id: 7.5, createdAt: null}, {id: '7', createdAt: null}, {id: 7, createdAt: '2027-01-15T08:00:00Z'}, {id: 7, createdAt: new Date(NaN)}]
      .map(before => () => push.cachedInbox({before})),
    message: [5, undefined, null, {}].map(message => () => push.isRecipient(message)),
    kept: ['x', -1, 1.5].map(kept => () => push.closeSeen(kept)), topic: [5, '', 'news/sport', 'news\\sport', 'a\nb', '\x00', '\x7F', '.', '..', '\uD800'].map(topic => () => push.joinTopic(topic)),
    title: [() => open({title: 7}), () => PushClient.reopen('', {store, title: 'Clinic'})],
    isDeviceShared: [() => open({isDeviceShared: 'false'})], signatureTolerance: [() => open({signatureTolerance: NaN})],
    observe: [() => open({observe: true})], isrequired: [() => open({endToEnd: {senders: [SenderKey.generate().text], isrequired: true}})],
    senders: ['key', [], ['x'], [7], undefined].map(senders => () => open({endToEnd: {senders}})), app: ['', 'a b', 'Bank', 'a'.repeat(65)].map(app => () => open({app})),
    tolerance: [() => open({signatures: {...signatures, tolerance: 1}})], answerLimit: [() => open({answerLimit: 1.5})],
    isRead: [() => push.outbox.markRead([1], 'yes'), () => push.outbox.markRead(1, null)], device: [undefined, '', 5, 'a device', '..', '../1', 'a'.repeat(129)].flatMap(id => [() => push.endDevice(id), () => push.approveDevice(id, '1')]),
    fingerprint: [5, undefined].map(fingerprint => () => push.approveDevice('a-device', fingerprint)),
    payload: [undefined, null, new Date(NaN), 5n, () => {}, [5n], NaN, Infinity, Symbol('a'), [-Infinity], {a: {b: NaN}}, {a: () => {}}, {a: Symbol('a')}, new Map([['a', 1]]), new Set([1]), /a/, new Error('a'), {a: [new Map()]}, Promise.resolve(), new ArrayBuffer(1), new (class { #a = 1; })()].map(payload => () => push.outbox.send(payload)), task: [5, null, undefined, 'a key', {}, {key: 'x'}, {key: ''}, {key: 5}, [{key: randomUUID()}]].map(task => () => push.outbox.discard(task)),
    username: [undefined, null, 5].map(username => () => push.signIn(username, 'a password')), password: [undefined, null, 5].map(password => () => push.signIn('alice', password)),
    code: [undefined, 5].map(code => () => push.signInWithCode(code)), current: [() => push.changePassword(undefined, 'new')], next: [() => push.changePassword('old')],
    limit: [() => open({limit: 1.5}), () => open({limit: Infinity}), () => push.sync({limit: '5'}), () => push.sync({limit: 1.5}), () => push.cachedInbox({limit: NaN}), () => push.cachedInbox({limit: -1}), () => push.changes(null, {limit: 0})],
    mark: [() => push.updates({mark: 7}).next(), () => push.changes(5)], signal: [() => push.events({signal: {}}).next()], silence: [() => push.events({silence: 0}).next()],
    tag: [() => push.register({tag: ['news']})], tags: [() => push.register({tags: 'news'})],
    account: [undefined, null, '', 5].map(account => () => push.useToken('spt_first', {account, id: 'an id'})), id: [7, '', 'a'.repeat(129)].map(id => () => push.useToken('spt_first', {account: 'alice', id})),
    expiresAt: [() => push.useToken('spt_first', {account: 'alice', expiresAt: 'soon'}), () => push.useToken('spt_first', {account: 'alice', expiresAt: 7})], object: [() => push.sync(5), () => push.sync([])],
  };
  for (const [name, calls] of Object.entries(cases)) {
    for (const call of calls) await assert.rejects(call, error => error instanceof TypeError && error.message.includes(name), `${name}: ${call}`);
  }
  assert.deepEqual(server.requests, []);
  (await open({deadline: undefined, scope: undefined, endToEnd: null, app: 'a'.repeat(64)})).close();
  (await open({token: '/token', worker: 'https://push.example/worker.js', scope: './', page: elsewhere, server: '/server'})).close();
  assert.deepEqual([(await push.cachedInbox({before: {id: 7, createdAt: null}})).count, await push.endDevice('a-device')], [0, undefined]);
});

async function outboxIsSignedOut({outbox}, id) {
  const calls = {markRead: id, dismiss: id, send: 'text', count: undefined, tasks: undefined, failures: undefined, discard: {key: randomUUID()}};
  assert.deepEqual(Object.keys(outbox), Object.keys(calls));
  for (const [name, given] of Object.entries(calls)) await assert.rejects(outbox[name](given), {code: 'signedOut', advice: 'signIn'}, name);
}

test('without an account a call ends with signedOut and without a request, and the cached inbox is empty', async t => {
  browser(t);
  const server = new FakeServer(), fresh = await clientOf(t, server, {isIn: false}), left = await clientOf(t, server);
  await left.sync();
  await left.signOut();
  server.requests.length = 0;
  for (const push of [fresh, left]) {
    for (const [name, ...given] of [
      ['sync'], ['notification', 7], ['preview', 7], ['confirmTaken', 7], ['register'], ['devices'], ['deviceKeys'],
      ['endDevice', 'a-device'], ['joinTopic', 'news'], ['leaveTopic', 'news'], ['testPush'], ['setDeviceKey'], ['changePassword', 'old', 'new'], ['registerIfNeeded'],
    ]) await assert.rejects(push[name](...given), {code: 'signedOut', advice: 'signIn'}, name);
    await outboxIsSignedOut(push, 7);
    await assert.rejects(push.events().next(), {code: 'signedOut'});
    const {notifications, count, syncedAt} = await push.cachedInbox();
    assert.deepEqual([notifications, count, syncedAt, await push.cachedBadge(), await push.signOut()], [[], 0, null, 0, false]);
  }
  assert.deepEqual(server.requests, []);
});

test('a sign-out whose change is made again, because another tab has changed something, takes effect', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store}), commit = store.commit.bind(store);
  let isFirst = true;
  store.commit = async (...given) => {
    if (!isFirst) return commit(...given);
    isFirst = false;
    assert.deepEqual(await push.outbox.tasks(), []);
    return false;
  };
  assert.deepEqual([await push.signOut(), push.account, isFirst, (await store.get('settings')).account], [true, null, false, null]);
});

test("a client whose session has ended sees nothing of the next account's, and changes nothing of it", async t => {
  const fake = browser(t), server = new FakeServer(), store = new MemoryStore();
  for (const token of ['spt_bob', 'spt_second']) server.tokens.add(token);
  const endToEnd = {senders: [SenderKey.generate().text]};
  const open = (options = {}) => clientOf(t, server, {store, endToEnd, ...options}), old = await open({isIn: false}), noticed = await open(), unaware = await open();
  server.post("alice's");
  await noticed.sync();
  const {mark} = await unaware.changes(), changes = noticed.updates();
  // One client has learned of the sign-out, and two others have not.
  const next = changes.next();
  await unaware.cachedInbox();
  const bob = await open();
  await bob.signOut();
  await next;
  const idle = await open({isIn: false});
  await bob.useToken('spt_bob', {account: 'bob'});
  await bob.register();
  const id = server.post("bob's");
  await bob.sync();
  assert.deepEqual([noticed.account, unaware.account], [null, 'alice']);
  for (const push of [old, noticed, unaware, idle]) {
    assert.equal(await push.isCurrent(), false);
    const {notifications, count, unreadCount, syncedAt} = await push.cachedInbox();
    assert.deepEqual([notifications, count, unreadCount, syncedAt], [[], 0, 0, null]);
    assert.deepEqual([await push.cachedBadge(), await push.cachedNotification(id), await push.registrationID()], [0, null, null]);
    for (const since of [null, mark]) {
      const {arrived, deleted, hasMore} = await push.changes(since);
      assert.deepEqual([arrived, deleted, hasMore], [[], [], false]);
    }
    server.requests.length = 0;
    assert.equal(await push.signOut(), false);
    for (const [name, ...given] of [
      ['sync'], ['notification', id], ['preview', id], ['register'],
      ['unregister'], ['registerIfNeeded'], ['deviceKeys'], ['approveDevice', 'a-device', ''], ['setDeviceKey'], ['endDevice', 'a-device'], ['joinTopic', 'news'], ['testPush'],
    ]) await assert.rejects(push[name](...given), {code: 'signedOut'}, name);
    await outboxIsSignedOut(push, id);
    await assert.rejects(push.events().next(), {code: 'signedOut'});
    assert.deepEqual([push.account, server.requests, fake.ended], [null, [], false]);
  }
  assert.deepEqual([bob.account, ids((await bob.sync()).notifications), await bob.outbox.tasks(), server.tokens.has('spt_bob')], ['bob', [1, id], [], true]);
  await changes.return();
});

test('http is for this machine, and without pinned keys', async () => {
  const open = (server, chosen) => PushClient.open({server, signatures: chosen, store: new MemoryStore(), fetch: lost}).then(push => push.close());
  for (const server of ['https://push.example', 'https://127.0.0.1:1', 'https://localhost']) await open(server, signatures);
  for (const host of ['127.0.0.1:8080', '127.255.0.9', '127.1', '[::1]:1', '[0:0:0:0:0:0:0:1]', 'LOCALHOST:1', 'localhost/path']) {
    await open(`http://${host}`, 'unsigned');
    await assert.rejects(open(`http://${host}`, signatures), {code: 'insecureServer', advice: 'app'}, host);
  }
  for (const host of [
    'push.example', '128.0.0.1', '127.0.0.1.example', 'localhost.example', '127.0.0.1@push.example', '[::2]', '[::ffff:127.0.0.1]', '0.0.0.0', 'x.localhost',
  ]) {
    await assert.rejects(open(`http://${host}`, 'unsigned'), error => error instanceof PushClientError && error.code === 'insecureServer', host);
  }
  const addresses = ['user:word', 'user', ':word'].map(user => `https://${user}@push.example`);
  for (const server of ['ftp://push.example', 'http://', 'push', ...addresses, 'https://push.example/?a', 'https://push.example/#a']) {
    await assert.rejects(open(server, 'unsigned'), error => error instanceof PushClientError && error.code === 'invalidServer', server);
  }
});

// MARK: Signing out whatever happens

/** A client with stored state in a browser's database, and the database's faults. */
async function keeper(t, options = {}) {
  browser(t);
  const faults = new FakeIndexedDB(), server = new FakeServer();
  Object.assign(globalThis, {indexedDB: faults, IDBKeyRange: {bound: (lower, upper) => ({lower, upper})}});
  t.after(() => { delete globalThis.indexedDB, delete globalThis.IDBKeyRange; });
  const open = async more => clientOf(t, server, {store: await IndexedStore.open('sealpost'), isIn: false, deadline: 2, ...options, ...more});
  const push = await open();
  await push.useToken('spt_first', {account: 'alice'});
  server.post('secret');
  await push.sync();
  await push.register();
  return {push, server, faults, open, left: () => [...faults.databases.get('sealpost')?.keys() ?? []].filter(name => !/^(head|key|settings)$/.test(name))};
}

test('a connection that the browser has closed is opened again, for signing out, too', async t => {
  const {push, server, faults, open, left} = await keeper(t);
  faults.closeAll();
  assert.equal((await push.cachedInbox()).notifications.length, 1);
  faults.closeAll();
  assert.equal((await push.sync()).isFresh, true);
  faults.closeAll();
  assert.deepEqual([await push.signOut(), push.account, left(), server.tokens.size, server.devices.size], [true, null, [], 0, 0]);
  assert.deepEqual([(await open()).account, (await push.cachedInbox()).notifications], [null, []]);
  push.close();
  await assert.rejects(push.cachedInbox(), {code: 'closed', advice: 'app'});
});

test('a sign-out after the browser has deleted the database uses what the client has in memory', async t => {
  const {push, server, faults, open, left} = await keeper(t), fresh = await open();
  faults.deleteDatabase('sealpost');
  // This client has not used the session, so only the server knows it until it expires.
  assert.deepEqual([await fresh.signOut(), server.tokens.size, server.devices.size], [false, 1, 1]);
  faults.deleteDatabase('sealpost');
  server.before = lost;
  assert.deepEqual([await push.signOut(), push.account, left().map(name => name.split('/')[0])], [false, null, ['ending']]);
  server.before = () => {};
  assert.deepEqual([await push.finishSignOuts(), left(), server.tokens.size, server.devices.size], [true, [], 0, 0]);
});

test('a transaction without an event ends at the end of its connection, or at its timeout', {timeout: 10_000}, async t => {
  const {push, faults} = await keeper(t), store = await IndexedStore.open('sealpost', 0.05);
  faults.isSilent = true;
  // The transaction is lost first, and then no connection opens.
  for (const call of [store.head(), store.head()]) await assert.rejects(call, {code: 'storage', advice: 'storage'});
  await assert.rejects(store.head(), {code: 'storage'});
  await assert.rejects(IndexedStore.open('another', 0.05), {code: 'storage'});
  const syncing = push.sync();
  await new Promise(next => setImmediate(next));
  faults.isSilent = false;
  assert.notEqual((await store.head()).revision, 0);
  faults.clear();
  await assert.rejects(syncing, {code: 'signedOut'});
});

for (const [code, name, at] of [['storage', 'answers late', 6000], ['offline', 'does not answer', 7000]]) {
  test(`the deadline of a call also ends its wait for the database, with ${code} if the server ${name}`, {timeout: 10_000}, async t => {
    const {push, server, faults} = await keeper(t, {deadline: 8}), until = async condition => { while (!condition()) await new Promise(setImmediate); };
    let isAsked = false, isRead = false;
    server.before = ({signal}) => new Promise((done, fail) => {
      isAsked = true;
      if (code === 'storage') setTimeout(done, at);
      signal.addEventListener('abort', () => fail(signal.reason));
    });
    t.mock.timers.enable({apis: ['setTimeout', 'Date'], now: Date.now()});
    const syncing = assert.rejects(push.sync(), {code});
    await until(() => isAsked);
    Object.defineProperty(faults, 'isSilent', {get: () => isRead = true});
    // The request ends, and the client reads the cached inbox.
    t.mock.timers.tick(at);
    await until(() => isRead);
    t.mock.timers.tick(8000 - at);
    await syncing;
  });
}

test('a call of a hidden page, whose timers fire together, still returns the cached inbox', {timeout: 10_000}, async t => {
  const {push, server} = await keeper(t, {deadline: 8});
  let asked;
  const isAsked = new Promise(done => { asked = done; });
  server.before = ({signal}) => new Promise((_, fail) => {
    asked();
    signal.addEventListener('abort', () => fail(signal.reason));
  });
  t.mock.timers.enable({apis: ['setTimeout', 'Date'], now: Date.now()});
  const syncing = push.sync();
  await isAsked;
  t.mock.timers.tick(8000);
  const {isFresh, failure} = await syncing;
  assert.deepEqual([isFresh, failure.code], [false, 'offline']);
});

test('a browser that blocks its database has no storage, and works once it allows it', async t => {
  const {push, faults} = await keeper(t), opening = faults.open;
  faults.open = () => { throw new DOMException('Access is denied.', 'SecurityError'); };
  faults.closeAll();
  await assert.rejects(push.cachedInbox(), error => error instanceof PushClientError && error.code === 'storage');
  await assert.rejects(IndexedStore.open('another'), {code: 'storage', advice: 'storage'});
  faults.open = opening;
  assert.equal((await push.cachedInbox()).notifications.length, 1);
});

test('signing out on a full disk removes everything, and calls the server at once', async t => {
  for (const hasNetwork of [true, false]) {
    const {push, server, faults, open, left} = await keeper(t), other = await open();
    if (!hasNetwork) server.before = lost;
    faults.isFull = true;
    assert.deepEqual([await push.signOut(), push.account, left()], [hasNetwork, null, []]);
    assert.deepEqual([server.tokens.size, server.devices.size], hasNetwork ? [0, 0] : [1, 1]);
    faults.isFull = false;
    await assert.rejects(other.sync(), {code: 'signedOut'});
    assert.equal((await open()).account, null);
    // The same client signs in again.
    server.before = () => {};
    server.tokens.add('spt_second');
    await push.useToken('spt_second', {account: 'alice'});
    assert.equal((await push.sync()).isFresh, true);
  }
});

test('a sign-in that cannot be stored changes nothing here, and its new session ends', async t => {
  const {push, server, faults, open} = await keeper(t), calls = {
    signIn: () => push.signIn('bob', 'a password'), signInWithCode: () => push.signInWithCode('the code'),
    useToken: () => push.useToken('spt_bob', {account: 'bob'}),
  };
  server.username = 'bob';
  server.tokens.add('spt_bob');
  for (const [name, call] of Object.entries(calls)) {
    faults.isFull = true;
    await assert.rejects(call(), {code: 'storage'}, name);
    assert.deepEqual([push.account, (await push.cachedInbox()).count, await push.isCurrent()], ['alice', 1, true], name);
    // Only the sessions that the client has begun end.
    assert.deepEqual([...server.tokens], ['spt_first', 'spt_bob'], name);
    faults.isFull = false;
    assert.equal((await push.sync()).isFresh, true, name);
  }
  // Without a network the error is still that of the store.
  server.after = (response, {method}) => { if (method === 'DELETE') lost(); };
  faults.isFull = true;
  await assert.rejects(calls.signIn(), {code: 'storage'});
  faults.isFull = false;
  server.after = response => response;
  assert.deepEqual([await push.signOut(), push.account, server.tokens.has('spt_first')], [true, null, false]);
  assert.deepEqual([(await open()).account, (await push.cachedInbox()).count], [null, 0]);
  // Nobody is signed in.
  const tokens = [...server.tokens];
  faults.isFull = true;
  await assert.rejects(calls.signIn(), {code: 'storage'});
  assert.deepEqual([push.account, [...server.tokens]], [null, tokens]);
  await assert.rejects(push.sync(), {code: 'signedOut'});
});

test('where a sign-out made room, the server learns of it later, and of those before', async t => {
  const {push, server, faults, open, left} = await keeper(t);
  server.before = lost;
  await push.signOut();
  server.tokens.add('spt_second');
  await push.useToken('spt_second', {account: 'bob'});
  faults.isFull = true;
  const deleting = faults.deleteDatabase.bind(faults);
  faults.deleteDatabase = name => { faults.isFull = false; return deleting(name); };
  assert.equal(await push.signOut(), false);
  assert.deepEqual(left().map(name => name.split('/')[0]), ['ending', 'ending']);
  server.before = () => {};
  assert.equal(await (await open()).finishSignOuts(), true);
  assert.deepEqual([server.tokens.size, server.devices.size, left()], [0, 0, []]);
});

test('a database that cannot be opened is deleted, and only one that stays is an error', async t => {
  const {push, server, faults, left} = await keeper(t);
  [faults.isBroken, faults.isLocked] = [true, true];
  faults.closeAll();
  await assert.rejects(push.cachedInbox(), error => error instanceof PushClientError && error.code === 'storage');
  await assert.rejects(push.signOut(), error => error instanceof PushClientError && error.code === 'storage');
  faults.isLocked = false;
  // The client still has the session in memory.
  assert.deepEqual([await push.signOut(), push.account, left(), server.tokens.size, server.devices.size], [true, null, [], 0, 0]);
});

for (const [name, isHeld] of Object.entries({reads: () => true, 'the commit': mode => mode === 'readwrite'})) {
  test(`a sign-out waits for a busy database (${name}), and after its deadline a second one ends the devices`, {timeout: 20_000}, async t => {
    for (const hold of [6000, 9000]) {
      const {server, faults, open, left} = await keeper(t), store = await IndexedStore.open('sealpost', 4);
      const push = await open({store, deadline: 8}), end = new AbortController();
      // The registration for Web Push, and that of the stream.
      const opened = new Promise(done => { server.before = ({path}) => { if (path === '/api/stream') done(); }; });
      const reading = push.events({signal: end.signal}).next();
      await opened;
      end.abort();
      await reading;
      assert.equal(server.devices.size, 2);
      const before = left();
      server.requests.length = 0;
      t.mock.timers.enable({apis: ['setTimeout', 'Date'], now: Date.now()});
      let release, isAsked = false;
      const held = new Promise(done => { release = done; });
      faults.busy = mode => isHeld(mode) ? (isAsked = true, held) : null;
      const turns = async () => { for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate); };
      let result = null;
      push.signOut().then(value => { result = value; }, error => { result = error.code; });
      while (!isAsked) await turns();
      for (let waited = 0; waited < hold; waited += 1000) {
        t.mock.timers.tick(1000);
        await turns();
      }
      faults.busy = () => null;
      release();
      while (result === null) await turns();
      if (hold > 8000) {
        await turns();
        assert.deepEqual([result, push.account, left(), server.requests], ['storage', 'alice', before, []]);
        result = await push.signOut();
      }
      t.mock.timers.reset();
      assert.deepEqual([result, push.account, left(), server.tokens.size, server.devices.size], [true, null, [], 0, 0], `${hold} ms`);
    }
  });
}

test('a sign-out whose database frees itself only at the end of the call goes on after the call', {timeout: 20_000}, async t => {
  const {server, faults, open, left} = await keeper(t), push = await open({store: await IndexedStore.open('sealpost', 4), deadline: 8});
  let free, answer, isAsked = false, result = null;
  const held = new Promise(done => { free = done; }), answered = new Promise(done => { answer = done; });
  server.before = ({signal}) => Promise.race([answered, new Promise((_, fail) => { signal.addEventListener('abort', () => fail(signal.reason)); })]);
  faults.busy = mode => mode === 'readwrite' ? (isAsked = true, held) : null;
  t.mock.timers.enable({apis: ['setTimeout', 'Date'], now: Date.now()});
  const turns = async () => { for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate); };
  push.signOut().then(value => { result = value; });
  while (!isAsked) await turns();
  for (let waited = 0; waited < 7500; waited += 500) {
    t.mock.timers.tick(500);
    await turns();
  }
  faults.busy = () => null;
  free();
  while (left().length !== 1) await turns();
  for (; result === null; await turns()) t.mock.timers.tick(100);
  assert.deepEqual([result, push.account, server.tokens.size, server.devices.size, left().length], [false, null, 1, 1, 1]);
  answer();
  for (let turn = 0; turn < 100 && left().length > 0; turn += 1) await turns();
  assert.deepEqual([server.tokens.size, server.devices.size, left()], [0, 0, []]);
});

for (const [begin, end, first, isOut] of [[7500, 7900, false, true], [7900, 8100, 'storage', false], [7500, 8100, 'storage', true]]) {
  test(`a sign-out whose commit begins after ${begin} ms and ends after ${end} ms of 8000 is right about its effect`, {timeout: 20_000}, async t => {
    const {server, faults, open, left} = await keeper(t), push = await open({store: await IndexedStore.open('sealpost', 4), deadline: 8}), before = left();
    let isAsked = false, result = null;
    const gates = [begin, end].map(time => {
      const gate = {time};
      gate.isOpen = new Promise(done => { gate.open = done; });
      return gate;
    });
    faults.busy = mode => mode === 'readwrite' ? (isAsked = true, gates[0].isOpen) : null;
    faults.committing = mode => mode === 'readwrite' ? gates[1].isOpen : null;
    t.mock.timers.enable({apis: ['setTimeout', 'Date'], now: Date.now()});
    const turns = async () => { for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate); };
    push.signOut().then(value => { result = value; }, error => { result = error.code; });
    while (!isAsked) await turns();
    // The server gets no request before the end of the call.
    server.before = lost;
    for (let time = 50; time <= 8200; time += 50) {
      t.mock.timers.tick(50);
      for (const gate of gates) if (gate.time === time) gate.open();
      await turns();
    }
    assert.deepEqual([result, left().length === 1], [first, isOut]);
    if (!isOut) assert.deepEqual([push.account, left()], ['alice', before]);
    [faults.busy, faults.committing] = [() => null, () => null];
    server.before = () => {};
    if (first === 'storage') await push.signOut();
    else await push.finishSignOuts();
    t.mock.timers.reset();
    assert.deepEqual([push.account, left(), server.tokens.size, server.devices.size], [null, [], 0, 0]);
  });
}

test('a commit that is too late to be aborted counts, if it ends soon', async t => {
  const {faults} = await keeper(t), store = await IndexedStore.open('sealpost', 1), {revision} = await store.head();
  let end;
  const slow = new Promise(done => { end = done; });
  faults.committing = mode => mode === 'readwrite' ? slow : null;
  t.mock.timers.enable({apis: ['setTimeout', 'Date'], now: Date.now()});
  const turns = async () => { for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate); };
  const commit = store.commit(revision, new Map(), {});
  await turns();
  t.mock.timers.tick(1000);
  await turns();
  end();
  assert.equal(await commit, true);
});

test('a sign-out deletes no database that a newer version of the page or the app has closed to it', async t => {
  const {push, server, faults, left} = await keeper(t), before = left();
  faults.versions.set('sealpost', 99);
  faults.closeAll();
  await assert.rejects(push.signOut(), {code: 'storage'});
  push.close();
  await assert.rejects(push.signOut(), {code: 'closed'});
  assert.deepEqual([push.account, left(), server.devices.size], ['alice', before, 1]);
});

for (const isFull of [false, true]) {
  test(`a process that dies anywhere in a sign-out leaves the account whole or nothing of it, ${isFull ? 'full' : 'with room'}`, async t => {
    browser(t);
    const counts = {whole: 0, gone: 0};
    for (let end = 1, isDead = true; isDead; end += 1) {
      const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
      server.post('secret');
      await push.sync();
      await push.register();
      isDead = false;
      let steps = 0, die;
      const death = new Promise(done => { die = () => { isDead = true; done(); return new Promise(() => {}); }; });
      // From this step on no operation returns.
      const step = work => (steps += 1) < end ? work() : die();
      for (const name of ['get', 'list', 'head', 'commit', 'removeAll']) {
        const work = store[name].bind(store);
        store[name] = async (...given) => step(() => {
          if (isFull && name === 'commit') throw new PushClientError('storage', 'The browser has no room for more.', {cause: new DOMException('', 'QuotaExceededError')});
          return work(...given);
        });
      }
      server.before = () => step(() => {});
      await Promise.race([push.signOut(), death]);
      const after = new MemoryStore();
      after.rows = new Map(store.rows);
      const next = await clientOf(t, {fetch: lost}, {store: after, isIn: false}), cached = (await next.cachedInbox()).notifications.length;
      assert.equal(next.account, cached === 1 ? 'alice' : null, `step ${end}`);
      const left = [...after.rows.keys()].filter(name => /^(entries|payload|cursor|session|identity|registration)/.test(name));
      assert.equal(left.length, cached === 1 ? 6 : 0, `step ${end}: ${left}`);
      counts[cached === 1 ? 'whole' : 'gone'] += 1;
    }
    assert.ok(counts.whole > 3 && counts.gone > 3, JSON.stringify(counts));
  });
}

test('deleting the stored state does not wait for the app to give a token', async t => {
  let isAsked, give;
  const asked = new Promise(done => { isAsked = done; }), given = new Promise(done => { give = done; });
  const {push, server, left} = await keeper(t, {token: () => { isAsked(); return given; }});
  // The token ends soon, and the server already refuses it.
  await push.useToken('spt_first', {account: 'alice', expiresAt: new Date(Date.now() + 30_000)});
  server.tokens.delete('spt_first');
  server.tokens.add('spt_asked');
  const done = push.signOut();
  await asked;
  assert.deepEqual([push.account, left().map(name => name.split('/')[0])], [null, ['ending']]);
  give({Token: 'spt_asked', ExpiresAt: null});
  assert.deepEqual([await done, server.tokens.size, server.devices.size], [true, 0, 0]);
});

test('a token of the app is not for the sign-outs of another account', async t => {
  const {push, server, left} = await keeper(t);
  server.tokens.delete('spt_first');
  assert.equal(await push.signOut(), false);
  server.tokens.add('spt_bob').add('spt_asked');
  push.settings.token = () => ({Token: 'spt_asked', ExpiresAt: null});
  await push.useToken('spt_bob', {account: 'bob'});
  assert.equal(await push.signOut(), false);
  assert.deepEqual([left().length, server.devices.size, server.tokens.has('spt_asked')], [1, 1, true]);
});

// MARK: A proxy that has an account

/**
 * A server that signs, and a proxy in front of it. The proxy can replace the client's account by
 * its own, which the server then signs for.
 */
function signingServers() {
  const [server, other] = ['alice', 'mallory'].map(username => Object.assign(new FakeServer(), {isSigned: true, username}));
  other.account = MALLORY;
  other.post("mallory's");
  let isOther = false;
  const fetch = (url, options = {}) => {
    if (!isOther) return server.fetch(url, options);
    // The proxy sends its own credentials, whatever credentials the client has sent.
    return other.fetch(url, {...options, headers: {...options.headers, Authorization: 'Bearer spt_first'}});
  };
  return {server, other, fetch, showOther: value => { isOther = value; }};
}

const isWrongAccount = error => error.code === 'interference' && error.interference.kind === 'wrongAccount' && error.advice === 'update';

for (const says of [MALLORY, 'none']) {
  test(`an answer for ${says === 'none' ? 'nobody' : 'another account'} changes nothing`, async t => {
    browser(t);
    const {server, other, fetch, showOther} = signingServers(), push = await clientOf(t, {fetch}, {signatures});
    const [one, two] = [server.post('one'), server.post('two')];
    other.delete(1);
    other.says = says;
    await push.sync();
    const device = await push.register(), {mark} = await push.changes();
    showOther(true);
    const inbox = await push.sync();
    assert.deepEqual([inbox.isFresh, ids(inbox.notifications)], [false, [one, two]]);
    assert.ok(isWrongAccount(inbox.failure));
    const fetched = await push.notification(one);
    assert.deepEqual([fetched.isFresh, fetched.item.payload], [false, 'one']);
    assert.ok(isWrongAccount(fetched.failure), 'the other account has no such notification');
    for (const call of [() => push.preview(two), () => push.confirmTaken(two), () => push.unregister(), () => push.register()]) {
      await assert.rejects(call(), isWrongAccount);
    }
    assert.deepEqual([await push.outbox.markRead(one), await push.outbox.send('to myself')], [false, null]);
    assert.deepEqual([ids((await push.changes(mark)).arrived), await push.registrationID()], [[one], device], 'as it was marked here');
    showOther(false);
    assert.equal((await push.sync()).isFresh, true);
    assert.deepEqual([await push.outbox.tasks(), server.items.get(one).Read], [[], true]);
    assert.equal([...server.items.values()].filter(({Payload}) => Payload === 'to myself').length, 1);
  });
}

test('the first answer to a token decides, for all clients of the store', async t => {
  const {server, fetch, showOther} = signingServers(), store = new MemoryStore();
  await (await clientOf(t, {fetch}, {signatures, store})).sync();
  showOther(true);
  const again = await clientOf(t, {fetch}, {signatures, store});
  assert.ok(isWrongAccount((await again.sync()).failure));
  showOther(false);
  // The next user of this browser has another account.
  [server.account, server.username] = [MALLORY, 'bob'];
  server.tokens.add('spt_bob');
  await again.useToken('spt_bob', {account: 'bob'});
  assert.equal((await again.sync()).isFresh, true);
});

test('of two first answers at the same time one decides', async t => {
  const {server, other} = signingServers(), store = new MemoryStore();
  const [one, two] = [await clientOf(t, server, {signatures, store}), await clientOf(t, other, {signatures, store})];
  const found = await Promise.allSettled([one.preview(4711), two.preview(4711)]);
  assert.deepEqual(found.map(({status}) => status).sort(), ['fulfilled', 'rejected']);
  assert.ok(isWrongAccount(found.find(({status}) => status === 'rejected').reason));
});

test('an app that knows its account takes no other', async t => {
  const {fetch, showOther} = signingServers();
  for (const given of [{id: ALICE}, {token: async () => ({Token: 'spt_first', ExpiresAt: null, Account: ALICE})}]) {
    const {id, ...options} = given, push = await clientOf(t, {fetch}, {signatures, isIn: false, now: () => Date.parse('2027-01-01T00:00:00Z'), signatureTolerance: 1e9, ...options});
    await push.useToken(options.token ? 'spt_ends' : 'spt_first', {account: 'alice', id, expiresAt: options.token ? new Date('2027-01-01T00:00:30Z') : null});
    showOther(true);
    await assert.rejects(push.sync(), isWrongAccount);
    showOther(false);
    assert.equal((await push.sync()).isFresh, true);
  }
});

/** A client of alice, whose token provider has another user's token `spt_other`, too. */
async function withProvider(t) {
  const {server, other} = signingServers(), given = {Token: 'spt_second', ExpiresAt: null, count: 0};
  const fetch = (url, options = {}) => (options.headers?.Authorization === 'Bearer spt_other' ? other : server).fetch(url, options);
  server.tokens.add('spt_second');
  other.tokens.add('spt_other');
  const push = await clientOf(t, {fetch}, {signatures, token: () => { given.count += 1; return given; }});
  await push.sync();
  for (const one of [server, other]) one.requests.length = 0;
  return {push, server, other, given};
}

for (const isKnown of [false, true]) test(`a message never goes to the user of a token that the provider returns for the wrong account, ${isKnown ? 'named' : 'not named'} in its answer`, async t => {
  const {push, server, other, given} = await withProvider(t);
  server.isBusy = true;
  assert.equal(await push.outbox.send('waits'), null);
  server.isBusy = false;
  server.tokens.delete('spt_first');
  Object.assign(given, {Token: 'spt_other'}, isKnown && {Account: MALLORY});
  const inbox = await push.sync();
  assert.ok(isWrongAccount(inbox.failure));
  assert.equal(await push.outbox.send('is new'), null);
  assert.deepEqual([...new Set(other.requests)], isKnown ? [] : ['GET /api/sessions/current', 'GET /api/notifications']);
  assert.equal(other.items.size, 1);
  assert.deepEqual((await push.outbox.tasks()).map(({payload}) => payload), ['waits', 'is new']);
  // The first message ends the sending of the tasks, so only that message and the list need a token.
  given.count = 0;
  await push.sync();
  assert.equal(given.count, isKnown ? 2 : 0);
  // The provider returns the account's own token again.
  other.tokens.delete('spt_other');
  Object.assign(given, {Token: 'spt_second'}, isKnown && {Account: ALICE});
  await push.sync();
  assert.deepEqual([await push.outbox.count(), [...server.items.values()].map(({Payload}) => Payload)], [0, ['waits', 'is new']]);
});

test("an answer confirms the provider's token before it sends a message, and only once", async t => {
  const {push, server} = await withProvider(t), [ask, post, list] = ['GET /api/sessions/current', 'POST /api/notifications', 'GET /api/notifications'];
  const requests = async call => {
    server.requests.length = 0;
    await call();
    return server.requests;
  };
  const send = () => push.outbox.send('text');
  assert.deepEqual(await requests(send), [post], 'the token of the sign-in');
  server.tokens.delete('spt_first');
  assert.deepEqual(await requests(send), [post, ask, post], 'a new token in place of a refused one');
  assert.deepEqual(await requests(send), [post], 'the confirmed token');
  // The confirmation lasts as long as the client.
  const {store} = push.settings, worker = await PushClient.reopen('', {store, fetch: server.fetch, deadline: 5});
  t.after(() => worker.close());
  assert.deepEqual(await requests(() => worker.outbox.send('text')), [ask, post], 'the stored token in another client');
  const page = await PushClient.reopen('', {store, fetch: server.fetch, deadline: 5});
  t.after(() => page.close());
  assert.deepEqual(await requests(async () => { await page.preview(1); await page.outbox.send('text'); }), [list, post], 'any answer confirms it');
  // The provider returns this token for the next user, too.
  server.tokens.add('spt_bob');
  await push.useToken('spt_bob', {account: 'bob'});
  server.tokens.delete('spt_bob');
  server.tokens.add('spt_second');
  assert.deepEqual(await requests(send), [post, ask, post], 'the token that was confirmed for another account');
});

test('no sign-out is sent with a token that the provider returns for another account', async t => {
  const {push, server, other, given} = await withProvider(t);
  server.tokens.delete('spt_first');
  Object.assign(given, {Token: 'spt_other', Account: MALLORY});
  assert.equal(await push.signOut(), false);
  assert.deepEqual([other.requests, other.tokens.has('spt_other')], [[], true]);
});

test('a session of another name is refused, and one of the own name in other letters is not', async t => {
  const {server, fetch, showOther} = signingServers(), push = await clientOf(t, {fetch}, {signatures, isIn: false});
  showOther(true);
  await assert.rejects(push.signIn('Alice', 'correct horse'), isWrongAccount);
  assert.equal(push.account, null);
  showOther(false);
  await push.signIn('Alice', 'correct horse');
  server.post('one');
  await push.sync();
  showOther(true);
  assert.ok(isWrongAccount((await push.sync()).failure));
  // The existing session stays valid.
  await assert.rejects(push.signIn('Alice', 'correct horse'), isWrongAccount);
  showOther(false);
  assert.equal((await push.sync()).isFresh, true);
});

test('an account that was made anew begins with nothing', async t => {
  browser(t);
  const {server, fetch} = signingServers(), store = new MemoryStore(), push = await clientOf(t, {fetch}, {signatures, store});
  server.post('of the old one');
  await push.sync();
  await push.register();
  const {mark} = await push.changes();
  server.account = MALLORY;
  assert.ok(isWrongAccount((await push.sync()).failure));
  await push.signIn('alice', 'correct horse');
  const changes = await push.changes(mark);
  assert.deepEqual([changes.isEverything, changes.arrived, await push.registrationID()], [true, [], null]);
  // The server has nothing of the old account to end.
  assert.equal((await store.list('ending/')).size, 0);
  assert.equal((await push.sync()).isFresh, true);
});

test('an answer that arrives after another account has signed in here is not taken for its own', async t => {
  const {server, fetch} = signingServers(), push = await clientOf(t, {fetch}, {signatures});
  server.post("alice's");
  let release, isAsked;
  const held = new Promise(done => { release = done; }), asked = new Promise(done => { isAsked = done; });
  server.after = async (response, {path}) => {
    if (path !== '/api/notifications') return response;
    isAsked();
    await held;
  };
  const late = push.sync();
  await asked;
  await push.useToken('spt_second', {account: 'bob'});
  release();
  await assert.rejects(late, {code: 'signedOut'});
  assert.deepEqual((await push.cachedInbox()).notifications, []);
});

test('a sign-out that reaches another account waits, also over a restart', async t => {
  browser(t);
  const {server, other, fetch, showOther} = signingServers(), store = new MemoryStore(), push = await clientOf(t, {fetch}, {signatures, store});
  await push.register();
  showOther(true);
  assert.equal(await push.signOut(), false);
  assert.deepEqual([push.account, other.devices.size, server.devices.size, server.tokens.size], [null, 0, 1, 1]);
  other.says = 'none';
  const again = await clientOf(t, {fetch}, {signatures, store, isIn: false});
  assert.equal(await again.finishSignOuts(), false);
  showOther(false);
  assert.equal(await again.finishSignOuts(), true);
  assert.deepEqual([server.devices.size, server.tokens.size, (await store.list('ending/')).size], [0, 0, 0]);
});

test('that nobody was signed in ends the waiting, and is not reported as a success', async t => {
  const {server, fetch} = signingServers(), store = new MemoryStore(), push = await clientOf(t, {fetch}, {signatures, store});
  await push.sync();
  server.tokens.clear();
  assert.deepEqual([await push.signOut(), (await store.list('ending/')).size], [false, 0]);
});

test('answers of a server of the previous version are accepted until the account is known, and not from then on', async t => {
  const {server, fetch} = signingServers(), push = await clientOf(t, {fetch}, {signatures, isIn: false}), asked = [];
  server.before = ({headers}) => asked.push(headers['Accept-Signature']);
  server.account = null;
  await push.signIn('alice', 'correct horse');
  assert.equal((await push.sync()).isFresh, true);
  assert.ok(asked.every(field => /^sig=.*, sig0=/.test(field)));
  server.account = ALICE;
  assert.equal((await push.sync()).isFresh, true);
  asked.length = 0;
  assert.equal((await push.sync()).isFresh, true);
  assert.ok(asked.every(field => !field.includes('sig0')));
  server.account = null;
  assert.equal((await push.sync()).failure.interference.kind, 'insufficientCoverage');
});

test('a wrong clock counts only for a server that signs no nonces, and each request has a nonce of its own', async t => {
  const {server, fetch} = signingServers(), push = await clientOf(t, {fetch}, {signatures}), nonces = [];
  server.before = ({headers}) => nonces.push(/^sig=[^,]*;nonce="([A-Za-z0-9_-]{22})", sig1=/.exec(headers['Accept-Signature'])[1]);
  for (server.clockOffset of [0, 86_400, -86_400]) assert.equal((await push.sync()).isFresh, true);
  assert.equal(new Set(nonces).size, nonces.length);
  assert.ok(nonces.length >= 3);
  server.knowsNonces = false;
  assert.equal((await push.sync()).failure.interference.kind, 'wrongClock');
  server.clockOffset = 0;
  assert.equal((await push.sync()).isFresh, true);
  server.knowsNonces = true;
  server.before = ({headers}) => { headers['Accept-Signature'] = headers['Accept-Signature'].replace(/nonce="./, 'nonce="!'); };
  assert.equal((await push.sync()).failure.interference.kind, 'signature');
});

test('without signatures the account counts where an answer names one, and a client that demands signatures does not use an identifier learnt so', async t => {
  const {server, other, fetch, showOther} = signingServers(), store = new MemoryStore(), push = await clientOf(t, {fetch}, {store});
  await push.sync();
  showOther(true);
  assert.ok(isWrongAccount((await push.sync()).failure));
  other.account = null;
  assert.equal((await push.sync()).isFresh, true);
  const strict = await clientOf(t, server, {store, signatures});
  server.account = MALLORY;
  assert.equal((await strict.sync()).isFresh, true);
});

/** A backend that encrypts for the devices of the fake server's account. */
function backendOf(server) {
  const sender = SenderKey.generate(), changes = [], encryption = new Encryption(sender, new Pins(), {changed: found => changes.push(...found.map(({kind}) => kind))});
  const publisher = {
    deadline: 60_000,
    deviceKeys: async () => [{name: 'alice', account: ALICE, keys: [...server.deviceKeys.values()]}],
    send: async ({payload}) => server.post(payload),
  };
  return {sender, changes, send: payload => encryption.send(publisher, {to: 'username:alice', payload})};
}

test('an end-to-end payload is opened in the list, alone and in the worker, and its key is asked for', async t => {
  browser(t);
  const server = new FakeServer(), backend = backendOf(server), asked = new Set();
  server.before = ({method, path, query}) => { if (method === 'GET' && path.startsWith('/api/notifications')) asked.add(query.get('key')); };
  const push = await clientOf(t, server, {endToEnd: {senders: [backend.sender.text]}});
  await push.register();
  const [first, second] = [await backend.send('one'), await backend.send({two: 2})];
  const clear = server.post('clear');
  const {notifications} = await push.sync();
  assert.deepEqual(notifications.map(({payload}) => payload), ['one', {two: 2}, 'clear']);
  assert.deepEqual((await push.notification(second)).item.payload, {two: 2});
  assert.equal((await push.preview(first)).payload, 'one');
  assert.equal((await push.cachedNotification(clear)).payload, 'clear');
  assert.deepEqual([...asked].map(key => key?.length), [22]);
  assert.deepEqual(backend.changes, ['first']);
});

test('with end-to-end encryption a client that names no app names the default one', async t => {
  browser(t);
  const server = new FakeServer(), backend = backendOf(server), apps = [];
  server.before = ({path, query, body}) => {
    if (path === '/api/notifications' || path.startsWith('/api/register/')) apps.push(query.get('app') ?? body?.App);
  };
  const push = await clientOf(t, server, {endToEnd: {senders: [backend.sender.text]}});
  await push.register();
  await push.sync();
  assert.deepEqual(apps, ['default', 'default']);
});

test('a payload that is repeated, forged, for others or clear is not shown', async t => {
  browser(t);
  const server = new FakeServer(), backend = backendOf(server);
  const push = await clientOf(t, server, {endToEnd: {senders: [backend.sender.text], isRequired: true}});
  await push.register();
  const id = await backend.send('once'), sent = server.items.get(id).Payload;
  server.post(sent);
  server.post(sent.slice(0, sent.lastIndexOf('.') + 1));
  server.post(sent.replace(backend.sender.id, 'A'.repeat(22)));
  server.post('clear');
  const {notifications} = await push.sync();
  assert.deepEqual(notifications.map(({payload, unreadable}) => unreadable ?? payload), ['once', 'replayed', 'notForThisDevice', 'unknownSender', 'notEncrypted']);
  assert.ok(notifications.slice(1).every(({payload, hasPayload}) => payload === undefined && !hasPayload));
  // A message that arrives again with the same notification is no replay.
  assert.equal((await push.preview(id)).payload, 'once');
});

test('a payload that a wrong clock found expired is opened once the clock is right', async t => {
  browser(t);
  for (const offset of [-3 * 86_400_000, 70 * 86_400_000]) {
    let now = Date.now() + offset, lists = 0;
    const server = new FakeServer(), backend = backendOf(server), push = await clientOf(t, server, {endToEnd: {senders: [backend.sender.text]}, now: () => now});
    await push.register();
    const createdAt = new Date().toISOString();
    server.change(await backend.send('one'), {CreatedAt: createdAt});
    server.before = ({path, query}) => { if (path === '/api/notifications' && !query.has('since')) lists += 1; };
    const shown = async () => (await push.sync()).notifications.map(({payload, unreadable}) => unreadable ?? payload);
    assert.deepEqual([await shown(), await shown(), lists], [['expired'], ['expired'], 1]);
    now = Date.now();
    const {mark} = await push.changes();
    assert.deepEqual([await shown(), await shown(), lists], [['one'], ['one'], 2]);
    assert.deepEqual((await push.changes(mark)).arrived.map(({payload}) => payload), ['one']);
  }
});

test('a client without end-to-end encryption shows no encrypted text', async t => {
  browser(t);
  const server = new FakeServer(), backend = backendOf(server);
  await (await clientOf(t, server, {endToEnd: {senders: [backend.sender.text]}})).register();
  const push = await clientOf(t, server), id = await backend.send('one');
  server.post('clear');
  const payloads = items => items.map(({payload, hasPayload, unreadable}) => [payload, hasPayload, unreadable]);
  const [hidden, clear] = [[undefined, false, 'notForThisDevice'], ['clear', true, undefined]];
  assert.deepEqual(payloads([await push.preview(id), (await push.notification(id)).item]), [hidden, hidden]);
  for (const inbox of [await push.sync(), await push.cachedInbox()]) assert.deepEqual(payloads(inbox.notifications), [hidden, clear]);
});

test('a device shows the fingerprint of its own key, whatever the server lists', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server, {endToEnd: {senders: [SenderKey.generate().text]}}), id = await push.register();
  const [{fingerprint}] = await push.deviceKeys();
  server.deviceKeys.set(id, (await DeviceKeys.make(ALICE)).key.text);
  assert.deepEqual(await push.deviceKeys(), [{id, isThisDevice: true, fingerprint}]);
});

test('the server gets the keys of a device again when it lacks them', async t => {
  browser(t);
  const server = new FakeServer(), store = new MemoryStore(), endToEnd = {senders: [SenderKey.generate().text]}, push = await clientOf(t, server, {store, endToEnd});
  const first = await push.register(), {text} = await store.get('device');
  // Each call is that of the next start of the page.
  const start = async () => {
    const id = await (await clientOf(t, server, {store, endToEnd})).registerIfNeeded();
    return [id, server.deviceKeys.get(id)];
  };
  assert.deepEqual(await start(), [first, text]);
  // The server has lost the keys, or lists an unreadable text, or keys of another account.
  for (const lost of [undefined, '?', (await DeviceKeys.make(MALLORY)).key.text]) {
    server.deviceKeys.set(first, lost);
    assert.deepEqual(await start(), [first, text], lost);
  }
  // The approval by another device stays, also if somebody removes the device at the server.
  const approved = await (await DeviceKeys.make(ALICE)).approve(text);
  server.deviceKeys.set(first, approved);
  server.requests.length = 0;
  assert.deepEqual([await start(), server.requests], [[first, approved], ['GET /api/register']]);
  server.devices.delete(first);
  const [second, key] = await start();
  assert.deepEqual([second === first, key], [false, approved]);
});

test('other keys of this device are reported until the app sets its own', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server, {endToEnd: {senders: [SenderKey.generate().text]}});
  await assert.rejects(push.setDeviceKey(), {code: 'notRegistered'});
  const id = await push.register(), own = server.deviceKeys.get(id), other = (await DeviceKeys.make(ALICE)).key.text;
  server.deviceKeys.set(id, other);
  for (const call of ['registerIfNeeded', 'registerIfNeeded', 'register']) await assert.rejects(push[call](), {code: 'keyReplaced', advice: 'keyReplaced'}, call);
  assert.deepEqual([await push.registrationID(), server.deviceKeys.get(id)], [id, other]);
  await push.setDeviceKey();
  assert.deepEqual([await push.registerIfNeeded(), server.deviceKeys.get(id)], [id, own]);
});

test('a page with an event stream alone is this device, and sets its own keys after others', async t => {
  const server = new FakeServer(), push = await clientOf(t, server, {endToEnd: {senders: [SenderKey.generate().text]}}), one = server.post('one');
  server.after = (response, {path}) => path !== '/api/stream' ? response
    : streamed(response, `id: ${one}\ndata: {"secureId":"${one}"}\n\n`);
  const first = async () => { for await (const {item} of push.events()) return item.payload; };
  assert.equal(await first(), 'one');
  const [[id, own]] = server.deviceKeys, [{fingerprint}] = await push.deviceKeys();
  server.deviceKeys.set(id, (await DeviceKeys.make(ALICE)).key.text);
  await assert.rejects(first(), {code: 'keyReplaced'});
  assert.deepEqual(await push.deviceKeys(), [{id, isThisDevice: true, fingerprint}]);
  assert.deepEqual((await push.devices()).map(({isThisDevice}) => isThisDevice), [true]);
  await push.setDeviceKey();
  assert.deepEqual([await first(), server.deviceKeys.get(id)], ['one', own]);
});

test('registering if needed tells a revoked permission from a device that was never registered', async t => {
  browser(t);
  const push = await clientOf(t, new FakeServer());
  Notification.permission = 'default';
  assert.equal(await push.registerIfNeeded(), null);
  const id = await push.register();
  for (const permission of ['default', 'denied']) {
    Notification.permission = permission;
    await assert.rejects(push.registerIfNeeded(), {code: 'denied'}, permission);
  }
  Notification.permission = 'granted';
  assert.equal(await push.registerIfNeeded(), id);
  globalThis.PushManager = undefined;
  await assert.rejects(push.registerIfNeeded(), {code: 'unavailable'});
});

test('a second device is approved by the first, and signing out removes the keys', async t => {
  browser(t);
  const server = new FakeServer(), backend = backendOf(server), endToEnd = {senders: [backend.sender.text]};
  const phone = await clientOf(t, server, {endToEnd});
  await phone.register();
  await backend.send('one');
  const tablet = await clientOf(t, server, {endToEnd});
  await tablet.register();
  await backend.send('two');
  assert.deepEqual(backend.changes, ['first', 'unapproved']);
  const added = (await phone.deviceKeys()).find(({isThisDevice}) => !isThisDevice);
  await assert.rejects(phone.approveDevice(added.id, '00000 00000 00000 00000 00000 00000'), {code: 'refused'});
  await phone.approveDevice(added.id, (await tablet.deviceKeys()).find(({isThisDevice}) => isThisDevice).fingerprint);
  await backend.send('three');
  assert.deepEqual(backend.changes, ['first', 'unapproved', 'added']);
  const {notifications} = await tablet.sync();
  assert.deepEqual(notifications.map(({payload, unreadable}) => unreadable ?? payload), ['notForThisDevice', 'notForThisDevice', 'three']);
  // A registration under another id keeps the approval.
  const approved = server.deviceKeys.get(added.id);
  await tablet.deviceKeys();
  server.devices.delete(added.id);
  await tablet.register();
  assert.equal(server.deviceKeys.get(await tablet.registrationID()), approved);
  assert.equal(await tablet.signOut(), true);
  server.tokens.add('spt_first');
  await tablet.useToken('spt_first', {account: 'alice'});
  assert.equal((await tablet.sync()).notifications[2].unreadable, 'notForThisDevice');
});

test('with end-to-end encryption the server learns of a sign-out, and of a sign-in as another user', async t => {
  browser(t);
  const server = new FakeServer(), push = await clientOf(t, server, {endToEnd: {senders: [SenderKey.generate().text]}});
  await push.register();
  assert.deepEqual([await push.signOut(), server.tokens.size, server.devices.size], [true, 0, 0]);
  for (const token of ['spt_alice', 'spt_bob']) server.tokens.add(token);
  await push.useToken('spt_alice', {account: 'alice'});
  await push.register();
  await push.useToken('spt_bob', {account: 'bob'});
  assert.deepEqual([push.account, [...server.tokens], server.devices.size], ['bob', ['spt_bob'], 0]);
});

test('an error that is not of the store does not pass for a full disk in a sign-out', async t => {
  const server = new FakeServer(), store = new MemoryStore(), push = await clientOf(t, server, {store});
  store.rows.set('registration', {});
  await assert.rejects(push.signOut(), TypeError);
  assert.deepEqual([push.account, store.rows.has('session'), server.tokens.size], ['alice', true, 1]);
});
