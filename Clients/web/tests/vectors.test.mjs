// Runs the vectors that test every client, through the module that pages use;
// docs/evidence/vectors/README.md explains them.

import assert from 'node:assert/strict';
import {randomInt, webcrypto} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {
  GREATEST_TOKEN, MemoryStore, PushClient, acceptSignature, accountHint, checkAnswer, echoOf, importKeys, pushedHint, pushedID, randomToken, readAccount,
  readItem, readPage, signatureBase, success, validatorOf,
} from '../sealpost.js';
import {signatureFields} from './fake-server.mjs';

// Debian's Node has it under another name.
globalThis.crypto ??= webcrypto;

const folder = process.env.SEALPOST_VECTORS ?? new URL('../../../docs/evidence/vectors', import.meta.url).pathname;
const read = name => JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8'));
const {pinned, acceptSignature: asked, acceptSignatureWithNonce: fresh, acceptSignatureOfEither: either, nonce: sample, toleranceSeconds} = read('keys');
const keys = await importKeys([pinned.publicKey]);
const bytesOf = ({body, bodyBase64}) => new Uint8Array(Buffer.from(bodyBase64 ?? body ?? '', bodyBase64 === undefined ? 'utf8' : 'base64'));

/**
 * A vector's answer as the module receives it: a browser joins the lines of a field, and removes
 * surrounding blanks.
 */
function answerOf(answer) {
  const headers = new Headers(answer.fields.map(([name, value]) => [name, value]));
  return {status: answer.status, field: name => headers.get(name), body: bytesOf(answer), end: answer.end};
}

/**
 * Whether a client could send the request: clients send only whole numbers in range as tokens, and
 * use only routes of the API.
 */
const isAskedByClients = ({path, token}) => path.startsWith('/api/') && echoOf(token) !== null;

/** The client's verdict on an answer to a call: `accepted`, or the kind of interference. */
async function verdict(call, request, answer, options) {
  try {
    const checked = await checkAnswer(request, answer, options);
    if (checked.status !== 304) {
      try {
        success(checked);
        if (call === 'list') readPage(checked); else readItem(checked, 7);
      } catch (error) {
        if (!error.problem) throw error;
      }
    }
    return 'accepted';
  } catch (error) {
    if (error.code !== 'interference') throw error;
    return error.interference.kind;
  }
}

test('the echo of each token is right, and nothing else is a token', () => {
  const {echoes, refused, factor, summand, smallest, greatest} = read('echo');
  for (const {token, echo} of echoes) assert.equal(echoOf(token), echo);
  for (const text of refused) assert.equal(echoOf(text), null, text);
  assert.deepEqual([factor, summand, smallest, greatest], [17, 3, 0, GREATEST_TOKEN]);
  for (let count = 0; count < 1000; count += 1) assert.notEqual(echoOf(randomToken()), null);
});

test('hints are those of the server, and nothing else is one', async () => {
  const {hints, none} = read('hints');
  for (const {registration, id, accountHint: hint, push} of hints) {
    assert.equal(await accountHint(registration, id), hint);
    assert.deepEqual([pushedID(push), pushedHint(push)], [id, hint]);
  }
  for (const push of none) assert.deepEqual([pushedID(push), pushedHint(push)], [4711, null]);
  for (const text of ['', '7', '[]', 'null', '{"accountHint":null}']) assert.equal(pushedHint(text), null);
});

test('pushes name what the vectors say', () => {
  const {pushes, none} = read('pushes');
  for (const {id, push, amongOthers} of pushes) assert.deepEqual([pushedID(push), pushedID(amongOthers)], [id, id]);
  for (const push of none) assert.equal(pushedID(push), null, push);
});

test('waits are those of the vectors', async () => {
  const {cases: [{request, answer, deviceTime}], retryAfter} = read('interference');
  for (const {field, seconds} of retryAfter) {
    const given = answerOf({...answer, fields: [...answer.fields, ['Retry-After', field]]});
    assert.equal((await checkAnswer(request, given, {keys: [], now: deviceTime})).retryAfter, seconds, field);
  }
});

test('digests are compared as the server does it', async () => {
  const {contents, comparisons} = read('digests');
  const isDigest = (field, body) => validatorOf({status: 200, body, field: () => field}).then(() => true, () => false);
  for (const content of contents) {
    assert.ok(await isDigest(content.field, content.zeros ? new Uint8Array(content.zeros) : bytesOf(content)), content.name);
  }
  const body = bytesOf(comparisons);
  for (const {name, field, matches} of comparisons.fields) assert.equal(await isDigest(field.trim(), body), matches, name);
});

test('a key is known by its thumbprint, and asked for by it', () => {
  assert.equal(keys[0].id, pinned.keyid);
  const demands = [acceptSignature(keys[0].id, 'known'), acceptSignature(keys[0].id, 'known', sample), acceptSignature(keys[0].id, null, sample)];
  assert.deepEqual(demands, [asked, fresh, either]);
});

test('the base of each signature is that of the server, and the signature is verified', async () => {
  const {now, vectors} = read('signatures');
  for (const {name, request, answer, base, signature} of vectors) {
    const given = answerOf(answer), validator = given.field(answer.status === 304 ? 'etag' : 'content-digest');
    const created = Number(/created=(\d+)/.exec(given.field('signature-input'))[1]);
    const parameters = [
      {key: 'created', kind: 'integer', value: created}, {key: 'keyid', kind: 'string', value: pinned.keyid}, {key: 'alg', kind: 'string', value: 'ed25519'},
      ...(request.nonce ? [{key: 'nonce', kind: 'string', value: request.nonce}] : []),
    ];
    const account = given.field('sealpost-account');
    assert.equal(signatureBase(request, {status: answer.status, validator, account}, parameters), base, name);
    const bytes = new Uint8Array(Buffer.from(signature, 'base64'));
    assert.equal(await keys[0].verify(new TextEncoder().encode(base), bytes), true, name);
    if (isAskedByClients(request)) await checkAnswer(request, given, {keys, tolerance: toleranceSeconds, now});
  }
});

test('each interference is named as it is due, with signatures and without', async () => {
  const {cases} = read('interference');
  for (const {name, call, account, deviceTime, request, answer, verdict: due} of cases) {
    for (const [kind, pins] of [['signed', keys], ['unsigned', []]]) {
      const found = await verdict(call, request, answerOf(answer), {keys: pins, tolerance: toleranceSeconds, now: deviceTime, account});
      assert.equal(found, due[kind], `${name}, ${kind}`);
    }
  }
});

test('accounts are learnt as the vectors say', async () => {
  const {now} = read('signatures');
  for (const {name, asked, known, request, answer, verdict: due, account} of read('accounts').signIns) {
    let found = 'accepted', learnt = known;
    try {
      learnt = readAccount(await checkAnswer(request, answerOf(answer), {keys, tolerance: toleranceSeconds, now, account: known}), asked) ?? known;
    } catch (error) {
      if (error.code !== 'interference') throw error;
      found = error.interference.kind;
    }
    assert.deepEqual([found, learnt], [due, account], `${name}, ${request.method}`);
  }
});

test('a changed byte in any of 1,000 sampled answers is refused', async () => {
  const {now, vectors: all} = read('signatures'), vectors = all.filter(({request}) => isAskedByClients(request));
  const signed = ['mytoken', 'sealpost-account', 'signature-input', 'signature'];
  let refused = 0;
  for (let count = 0; count < 1000; count += 1) {
    const {name, request, answer} = vectors[randomInt(vectors.length)], given = answerOf(answer);
    const fields = [...signed, answer.status === 304 ? 'etag' : 'content-digest'];
    const places = [['status'], ...fields.map(field => ['field', field]), ...['method', 'path', 'query', 'token'].map(part => ['request', part])];
    // Half of all samples change the content, if it is not empty.
    const [kind, part] = given.body.length > 0 && randomInt(2) ? ['body'] : places[randomInt(places.length)];
    // The control: only the change causes the refusal.
    await checkAnswer(request, given, {keys, tolerance: toleranceSeconds, now});
    const asked = {...request}, changed = {...given};
    if (kind === 'body') {
      changed.body = given.body.slice();
      changed.body[randomInt(changed.body.length)] ^= 1 << randomInt(8);
    } else if (kind === 'status') {
      changed.status = given.status === 200 ? 404 : 200;
    } else if (kind === 'request') {
      asked[part] = spoiled(request[part] ?? '');
    } else {
      const value = spoiled(given.field(part));
      changed.field = field => field === part ? value : given.field(field);
    }
    await assert.rejects(
      checkAnswer(asked, changed, {keys, tolerance: toleranceSeconds, now}), error => error.code === 'interference', `${name}: ${kind} ${part}`,
    );
    refused += 1;
  }
  assert.equal(refused, 1000);
});

/** A text with one character changed; for an empty text, a different text. */
function spoiled(text) {
  if (text === '') return 'x';
  const place = randomInt(text.length), code = text.charCodeAt(place);
  const others = [...'abcXYZ019"();=:,/'].filter(other => other.charCodeAt(0) !== code);
  return text.slice(0, place) + others[randomInt(others.length)] + text.slice(place + 1);
}

test('answers to sign-outs mean what the vectors say', async t => {
  const {now} = read('signatures'), outcomes = new Set();
  for (const {name, account, request, answer, outcome} of read('accounts').signOuts) {
    const asked = [], id = request.path.startsWith('/api/register/') ? request.path.slice(14) : 'one';
    const end = new AbortController();
    const push = await PushClient.open({
      server: 'https://push.example', signatures: {keys: [pinned.publicKey]}, store: new MemoryStore(), now: () => now * 1000, makeToken: () => '1000',
      fetch: async (url, {method, headers}) => {
        const {pathname} = new URL(url), isDue = method === request.method && pathname === request.path;
        asked.push(`${method} ${pathname}`);
        if (isDue) return new Response(answer.status === 204 ? null : bytesOf(answer), {status: answer.status, headers: answer.fields});
        // The client only registers.
        if (pathname === '/api/stream') end.abort();
        if (!pathname.startsWith('/api/register') && method !== 'DELETE') return lost();
        // The server answers 401 to each request with an invalid token.
        const isDead = answer.status === 401 && method === 'DELETE';
        const body = method === 'POST' ? JSON.stringify(id) : isDead ? answer.body : '', status = isDead ? 401 : 200;
        const owner = isDead ? 'none' : account, signature = await signatureFields({method, url, headers}, {status, body, account: owner, created: now});
        return new Response(body, {status, headers: {MyToken: echoOf('1000'), 'Sealpost-Account': owner, ...signature}});
      },
    });
    t.after(() => push.close());
    await push.useToken('spt_test', {account: 'alice', id: account});
    for await (const event of push.events({signal: end.signal})) assert.fail(event);
    const isTold = await push.signOut();
    asked.length = 0;
    await push.finishSignOuts();
    assert.equal(isTold ? 'done' : asked.length === 0 ? 'ended' : 'waits', outcome, name);
    if (isTold) assert.deepEqual(asked, [], name);
    outcomes.add(outcome);
  }
  assert.deepEqual([...outcomes].sort(), ['done', 'ended', 'waits']);
});

for (const [kind, signatures] of [['signed', {keys: [pinned.publicKey]}], ['unsigned', 'unsigned']]) {
  for (const {name, steps} of read('histories').histories) {
    test(`history, ${kind}: ${name}`, () => follow(steps, signatures));
  }
}

/** Lets a client sync through the steps, and compares its stored and shown state after each. */
async function follow(steps, signatures) {
  let number = -1, clock = null, mark = null, push, stored, tell = () => {};
  const now = () => clock ?? steps[Math.max(0, number)].deviceTime * 1000;

  /** Compares the result of a step before the next request. */
  async function compare(step) {
    // With a clock at 1970 nothing is expired, so the client shows everything.
    clock = 0;
    const all = (await push.cachedInbox()).notifications;
    clock = null;
    const cached = all.map(item => ({
      Id: item.id, ...(item.hasPayload ? {Payload: item.payload} : {}), Read: item.isRead,
      CreatedAt: rfc3339(item.createdAt), ExpiresAt: rfc3339(item.expiresAt), ...(item.isReadOnce ? {ReadOnce: true} : {}), ...(item.isNeverStored ? {Store: 'never'} : {}),
    })).sort((one, other) => one.Id - other.Id);
    assert.deepEqual(cached.map(({Store, ...item}) => item), step.cached.map(({Store, ...item}) => item), 'cached');
    assert.deepEqual((await push.cachedInbox()).notifications.map(({id}) => id), step.shown, 'shown');
    clock = 0;
    const changes = await push.changes(mark);
    clock = null;
    assert.deepEqual(changes.arrived.map(({id}) => id).sort((one, other) => one - other), step.arrived, 'arrived');
    assert.deepEqual(changes.deleted, step.deleted, 'deleted');
    mark = changes.mark;
  }

  async function fetch(url, options) {
    // The client requests the next page while it stores this one.
    if (steps[number]?.next === 'more') await stored;
    stored = new Promise(done => { tell = done; });
    if (number >= 0) await compare(steps[number]);
    number += 1;
    const {request, answer} = steps[number], {pathname, search} = new URL(url);
    assert.equal(pathname + search, request.path + (request.query === null ? '' : `?${request.query}`));
    assert.equal(options.headers['If-None-Match'] ?? null, request.condition);
    // All signed answers are `no-store`; an unsigned client would read that as the sender's
    // choice.
    const headers = answer.fields.filter(([name]) => signatures !== 'unsigned' || name !== 'Cache-Control');
    return new Response([204, 304].includes(answer.status) ? null : bytesOf(answer), {status: answer.status, headers});
  }

  // Some histories continue at a server with another database, where the account has another
  // identifier.
  const store = new MemoryStore(), get = store.get.bind(store);
  store.get = async name => name === 'identity' ? undefined : get(name);
  const commit = store.commit.bind(store);
  store.commit = async (revision, changes, head) => {
    const isDone = await commit(revision, changes, head);
    if (changes.has('cursor')) tell();
    return isDone;
  };
  const limit = Number(new URLSearchParams(steps[0].request.query).get('limit'));
  push = await PushClient.open({
    server: 'https://push.example', signatures, store, fetch, now, limit, makeToken: () => '1000',
    // The device's clock is wrong in one of them, which these tests do not check.
    signatureTolerance: 1_000_000,
  });
  try {
    await push.useToken('spt_test', {account: 'alice'});
    mark = (await push.changes()).mark;
    while (number < steps.length - 1) {
      const {notifications, isFresh, failure} = await push.sync();
      assert.deepEqual([failure, isFresh], [null, true]);
      const step = steps[number];
      assert.equal(step.next, 'done');
      const withPayload = new Set((await push.cachedInbox()).notifications.filter(item => item.hasPayload).map(({id}) => id));
      assert.deepEqual(notifications.filter(item => item.hasPayload && !withPayload.has(item.id)).map(({id}) => id), step.uncached, 'unstored');
      if (number === steps.length - 1) await compare(step);
    }
  } finally {
    push.close();
  }
}

// MARK: The outbox, and late answers

const lost = () => { throw new TypeError('Failed to fetch'); };

/** Builds an answer from a vector without the fields of its exchange. */
function responseTo(options, answer) {
  if (answer === null || answer === undefined) lost();
  const echo = answer.hasEcho ? [['MyToken', echoOf(options.headers.MyToken)]] : [];
  const hasBody = ![204, 304].includes(answer.status);
  return new Response(hasBody ? answer.body : null, {status: answer.status, headers: [...answer.fields, ...echo]});
}

async function clientOf(t, fetch, deviceTime) {
  const push = await PushClient.open({server: 'https://push.example', signatures: 'unsigned', store: new MemoryStore(), fetch, now: () => deviceTime * 1000, deadline: 10});
  t.after(() => push.close());
  await push.useToken('spt_test', {account: 'alice'});
  return push;
}

const does = {
  read: push => push.outbox.markRead(7), unread: push => push.outbox.markRead(7, false), dismiss: push => push.outbox.dismiss(7), send: push => push.outbox.send('a').catch(() => {}),
};
const states = async push => (await push.cachedInbox()).notifications.map(({id, isRead}) => ({Id: id, Read: isRead})).sort((one, other) => one.Id - other.Id);

test('what waits is done, waits on or has failed as the vectors say', async t => {
  const {deviceTime, lists, answers} = read('outbox'), outcomes = new Set();
  for (const {name, task, wasRead, method, path, answer, outcome, code, shown} of answers) {
    // This client marks a single notification with PATCH; several share one request.
    const isSeveral = path.endsWith('/read'), {list, unchanged} = lists.find(({isRead}) => isRead === wasRead);
    const asked = [];
    const push = await clientOf(t, async (url, options) => {
      const {pathname} = new URL(url), request = `${options.method} ${pathname}`;
      asked.push(request);
      if (request === `${method} ${path}`) return responseTo(options, answer);
      if (request === 'GET /api/notifications') return responseTo(options, options.headers['If-None-Match'] ? unchanged : list);
      if (request === 'DELETE /api/notifications/8') return responseTo(options, {status: 204, fields: [], hasEcho: true});
      return lost();
    }, deviceTime);
    await push.sync();
    // The second notification does not exist.
    await (isSeveral ? push.outbox.markRead([7, 9]) : does[task](push));
    const isFailed = outcome === 'failed', left = [...await push.outbox.tasks(), ...await push.outbox.failures()];
    // A refused message throws and leaves the outbox.
    const expected = outcome === 'waits' ? [undefined] : isFailed && task !== 'send' ? [code] : [];
    assert.deepEqual(left.map(task => task.code), expected, name);
    assert.equal(await push.outbox.dismiss(8), outcome !== 'waits', name);
    assert.equal(asked.includes('DELETE /api/notifications/8'), outcome !== 'waits', `${name}: what is behind it`);
    // A failure to send must not hide the inbox.
    await push.sync().catch(() => {});
    assert.deepEqual((await states(push)).find(({Id}) => Id === 7) ?? null, shown, name);
    for (const task of [...await push.outbox.tasks(), ...await push.outbox.failures()]) await push.outbox.discard(task);
    assert.deepEqual([await push.outbox.count(), await push.outbox.failures()], [0, []], name);
    outcomes.add(outcome);
  }
  assert.deepEqual([...outcomes].sort(), ['done', 'failed', 'waits']);
});

test('late answers do what the vectors say', async t => {
  const {deviceTime, cases} = read('late');
  for (const {name, before, late, event, isReachable: wasReachable, answers, page, after, next, finally: last} of cases) {
    const keyOf = call => ({notification: 'GET /api/notifications/7', shown: 'GET /api/notifications?ids', list: 'GET /api/notifications'})[call];
    const due = [...before, late, ...(page ? [page] : []), next];
    let isReachable = wasReachable, isAsked, arrive;
    const asked = new Promise(done => { isAsked = done; }), arrives = new Promise(done => { arrive = done; });
    const push = await clientOf(t, async (url, options) => {
      const {pathname, searchParams} = new URL(url);
      if (options.method !== 'GET') {
        const {answer} = answers.find(({method, path}) => method === options.method && path === pathname);
        return isReachable ? responseTo(options, answer) : lost();
      }
      const key = `GET ${pathname}${searchParams.has('ids') ? '?ids' : ''}`, place = due.findIndex(({call}) => keyOf(call) === key);
      assert.ok(place >= 0, `${name}: ${key} is not due`);
      const [exchange] = due.splice(place, 1);
      assert.equal(options.headers['If-None-Match'] ?? null, exchange.condition, `${name}: the condition of ${key}`);
      if (exchange === late) {
        isAsked();
        await arrives;
      }
      return responseTo(options, exchange.answer);
    }, deviceTime);
    const calls = {notification: () => push.notification(7), shown: () => push.preview(7), list: () => push.sync()};
    for (const {call} of before) await calls[call]();
    const arrival = calls[late.call]();
    await asked;
    if (page) await push.sync();
    else if (event !== 'nothing') assert.equal(await does[event](push), wasReachable, name);
    arrive();
    await arrival;
    assert.deepEqual(await states(push), after, name);
    isReachable = true;
    assert.equal((await push.sync()).isFresh, true, name);
    assert.deepEqual(await states(push), last, `${name}, in the end`);
    assert.deepEqual(due, [], name);
  }
});

const rfc3339 = time => time.toISOString().replace('.000Z', 'Z');
