// Tests of the library with a real server.

import assert from 'node:assert/strict';
import {randomUUID} from 'node:crypto';
import {once} from 'node:events';
import {createServer} from 'node:http';
import {test} from 'node:test';

import {deviceKeyText, generatedKey} from '../src/endToEnd.js';
import {AbortError, Client, DeviceKey, Encryption, InterferenceError, Pins, ProblemError, SenderKey, UnreachableError, Webhook, user} from '../src/index.js';
import {textOf} from '../src/wire.js';
import {LossyProxy, PASSWORD, Server} from './server.mjs';

/** The number of notifications that are sent in batches through the proxy. */
const MANY = Number(process.env.SEALPOST_TEST_MANY ?? 1200);

/** The payloads of the notifications in alice's inbox. */
async function inbox(server) {
  const alice = new Client({server: server.url, token: server.tokenOf('alice', ['fetch'])}), payloads = [];
  for (let cursor, more = true; more;) {
    const page = await alice.call('GET', '/api/notifications', {query: {limit: 500, ...(cursor && {cursor})}});
    payloads.push(...page.Notifications.map(({Payload}) => Payload));
    [cursor, more] = [page.Cursor, page.More];
  }
  return payloads;
}

async function all(list) {
  const found = [];
  for await (const one of list) found.push(one);
  return found;
}

/** Repeats `read` until `isWanted` accepts its result, and returns that result. */
async function eventually(read, isWanted) {
  for (;;) {
    const result = await read();
    if (isWanted(result)) return result;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** A server that the test controls: `answer(request, response, number)` makes its answers. */
async function fake(t, answer) {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    const echo = request.headers.mytoken * 17 + 3;
    answer(request, {
      send: (status, fields, json) => response.writeHead(status, {MyToken: echo, ...fields}).end(JSON.stringify(json)),
      problem(status, code, fields) {
        this.send(status, fields, {type: `urn:sealpost:problem:${code}`, title: code, status, instance: 'x'});
      },
      raw: response,
    }, count += 1);
  });
  t.after(() => { server.closeAllConnections(); server.close(); });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {url: `http://127.0.0.1:${server.address().port}`, get count() { return count; }};
}

const ACCEPTED = {Id: 7, CreatedAt: '2027-01-15T08:00:00Z', SendAt: null, ExpiresAt: '2027-02-14T08:00:00Z', More: false};

test('a publisher sends, schedules, recalls and reports', async t => {
  const server = await Server.start(t, {settings: {EVENTS_KEEP: '7d'}}), publisher = new Client({server: server.url, token: server.token});
  const at = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3_600_000);
  const sent = await publisher.send({payload: {At: 'unchanged', count: 3}, to: 'username:alice', expiresIn: 600, priority: 'normal', collapseKey: 'k', readOnce: false});
  assert.deepEqual([sent.to, sent.priority, sent.collapseKey, sent.recipients, sent.sendAt], [['username:alice'], 'normal', 'k', 1, null]);
  assert.equal(sent.expiresAt - sent.createdAt, 600_000);
  assert.deepEqual(await inbox(server), [{At: 'unchanged', count: 3}]);
  assert.match(publisher.account, /^[-\w]{22}$/);

  const later = await publisher.send({payload: 'later', to: ['username:alice'], sendAt: at});
  assert.equal(later.sendAt.getTime(), at.getTime());
  assert.equal((await publisher.counts(later.id)).sendAt.getTime(), at.getTime());
  assert.equal(await publisher.recall(later.id), true);
  assert.equal(await publisher.recall(later.id), false);

  // The server stores the event soon after its answer to the fetch, so the test repeats the call.
  const page = await eventually(() => publisher.events(), ({events}) => events.length > 0);
  assert.deepEqual(page.events.map(({kind, notification, at: time}) => [kind, notification, time instanceof Date]), [['collected', sent.id, true]]);
  const recipients = await all(publisher.recipients(sent.id));
  assert.deepEqual(recipients.map(({user, fetchedAt}) => [user, fetchedAt instanceof Date]), [['alice', true]]);
  assert.deepEqual([await all(publisher.deliveries(sent.id)), (await publisher.counts(sent.id)).counts.failed], [[], 0]);
  const next = await publisher.events({cursor: page.cursor, limit: 1});
  assert.deepEqual([next.events, next.more, next.truncated, typeof next.cursor], [[], false, false, 'string']);

  await publisher.setTags('alice', ['role:nurse']);
  assert.deepEqual(await publisher.tags('alice'), ['role:nurse']);
  const nurses = await publisher.send({payload: 'for nurses', to: 'role:nurse'});
  assert.equal(nurses.id, (await publisher.call('GET', `/api/notifications/${nurses.id}`)).Id);
});

test('a stored end-to-end payload is sent once, also after a restart', async t => {
  const server = await Server.start(t), alice = new Client({server: server.url, token: server.tokenOf('alice', ['fetch', 'register'])});
  const {Account} = await alice.call('GET', '/api/sessions/current'), device = await alice.call('POST', '/api/register');
  await alice.call('PUT', `/api/register/${device}`, {body: {Platform: 'stream'}});
  const text = deviceKeyText(Account, {signing: generatedKey(), agreement: generatedKey()}, 1_700_000_000);
  await alice.call('PUT', `/api/devices/${device}/key`, {body: {Key: text}});
  const options = {key: 'reminder-17'}, notification = {to: 'username:alice', payload: 'x', sendAt: new Date(Date.now() + 3_600_000)};
  const [publisher, restarted] = [1, 2].map(() => new Client({server: server.url, token: server.token})), encryption = new Encryption(SenderKey.generate(), new Pins(), {changed() {}});
  const encrypted = await encryption.encrypted(publisher, notification), {id} = await publisher.send(encrypted, options);
  for (const stored of [{...notification, app: 'default', payload: encrypted.payload}, JSON.parse(JSON.stringify(encrypted))]) {
    assert.equal((await restarted.send(stored, options)).id, id);
  }
  await assert.rejects(encryption.send(restarted, notification, options), {code: 'idempotency-key-reused'});
});

test('signed answers of the server are accepted, and nothing else', async t => {
  const server = await Server.start(t), {keys} = await (await fetch(`${server.url}/.well-known/sealpost-keys`)).json();
  // Changes the content of each answer, and keeps its length.
  const forge = async (url, init) => {
    const response = await fetch(url, init), text = await response.text();
    return new Response(text.replace('"high"', '"nigh"'), {status: response.status, headers: response.headers});
  };
  const options = {server: server.url, token: server.token, signingKeys: keys}, publisher = new Client(options);
  const {id} = await publisher.send({payload: 'x'});
  for (const [path, query] of [['?limit=1'], ['?limit=1', {cursor: 0}], ['', {limit: 1}], ['?']]) {
    assert.ok((await publisher.call('GET', `/api/notifications/${id}/deliveries${path}`, {query})).Counts);
  }
  assert.equal(await publisher.recall(id + 1), false);
  await publisher.recall(id);
  assert.equal((await publisher.sendMany([{payload: 'x'}]))[0].status, 'fulfilled');
  await assert.rejects(new Client({...options, fetch: forge}).send({payload: 'x'}), {kind: 'signature'});
  const [{x, ...form}] = keys, other = {...form, x: (x[0] === 'A' ? 'B' : 'A') + x.slice(1)};
  // If the server does not know the key that the request names, it signs with its first key.
  await assert.rejects(new Client({...options, signingKeys: [other]}).send({payload: 'x'}), {kind: 'signature'});
  await assert.rejects(new Client({...options, account: 'AAAAAAAAAAAAAAAAAAAAAA'}).send({payload: 'x'}), {kind: 'wrongAccount'});
});

test('an unsigned answer with the status of a temporary failure delays a call', async t => {
  const server = await Server.start(t), {keys} = await (await fetch(`${server.url}/.well-known/sealpost-keys`)).json();
  let count = 0;
  const options = {server: server.url, token: server.token, signingKeys: keys, retryDelay: 1};
  const firstly = status => async (url, init) => (count += 1) > 1 ? fetch(url, init)
    : new Response('{}', {status, headers: {MyToken: String(init.headers.MyToken * 17 + 3), 'Retry-After': status === 503 ? '1' : '0'}});
  for (const status of [408, 429, 502, 503, 507]) {
    const start = performance.now();
    count = 0;
    await new Client({...options, fetch: firstly(status)}).send({payload: status});
    assert.equal(count, 2);
    // A timer may fire a little early.
    if (status === 503) assert.ok(performance.now() - start >= 990);
  }
  // Without a key, an unsigned 429 does not prove that the request had no effect.
  count = 0;
  const call = new Client({...options, fetch: firstly(429)}).call('POST', '/api/notifications', {body: {Payload: 'x'}});
  await assert.rejects(call, {kind: 'signature', status: 429, isTransient: true, attempts: 1});
  count = 0;
  await assert.rejects(new Client({...options, fetch: firstly(400)}).send({payload: 'x'}), {kind: 'signature', isTransient: false, attempts: 1});
});

test('an administrator manages users', async t => {
  const server = await Server.start(t), admin = new Client({server: server.url, token: server.tokenOf('root', ['manage'])});
  await admin.addUser('dora', {password: PASSWORD});
  await assert.rejects(admin.addUser('dora'), {code: 'conflict'});
  const ask = (method, path, body) => fetch(server.url + path, {
    method, headers: {Authorization: `Basic ${btoa(`dora:${PASSWORD}`)}`}, body: body && JSON.stringify(body),
  });
  const id = await (await ask('POST', '/api/register')).json(), found = [];
  await ask('PUT', `/api/register/${id}`, {Platform: 'stream'});
  for await (const device of admin.devices('dora')) found.push(device);
  assert.deepEqual(found.map(({id, state, platform, lastPush}) => [id, state, platform, lastPush]), [[id, 'registered', 'stream', null]]);
  assert.ok(found[0].registeredAt instanceof Date);
  for (const isDisabled of [true, false]) {
    await admin.setDisabled('dora', isDisabled);
    assert.equal((await ask('GET', '/api/register')).status, isDisabled ? 401 : 200);
  }
  assert.deepEqual([await admin.deleteUser('dora'), await admin.deleteUser('dora')], [true, false]);
  const {troubles, lanes} = await admin.status();
  assert.deepEqual(troubles, []);
  assert.ok(lanes.some(({name, pauseReason}) => name === 'stream' && pauseReason === null));
});

test('deliveries come page by page', async t => {
  const server = await Server.start(t, {settings: {SENDERS_STREAM_TYPE: 'stream'}});
  const paul = new Client({server: server.url, token: server.tokenOf('paul', ['send', 'register', 'fetch'])});
  for (let count = 0; count < 3; count += 1) {
    const id = await paul.call('POST', '/api/register');
    await paul.call('PUT', `/api/register/${id}`, {body: {Platform: 'stream', Handle: `device${count}`}});
  }
  const {id, pushes} = await paul.send({payload: 'x'}), deliveries = await all(paul.deliveries(id, {limit: 1}));
  assert.deepEqual([pushes, new Set(deliveries.map(({device}) => device)).size], [3, 3]);
  assert.ok(deliveries.every(({user, platform, state}) => user === 'paul' && platform === 'stream' && /^(queued|sending)$/.test(state)));
});

test('refusals have the code of the problem', async t => {
  const server = await Server.start(t), publisher = new Client({server: server.url, token: server.token});
  for (const [notification, code, status] of [
    [{payload: 'x', to: 'username:nobody'}, 'unknown-user', 400],
    [{payload: 'x', expiresIn: 0}, 'invalid-member', 400],
    [{payload: 'x', platforms: ['none']}, 'unknown-platform', 400],
    [{payload: 'x', alert: {badge: 3, titleKey: 'A'}}, 'alert-not-allowed', 400],
  ]) {
    await assert.rejects(publisher.send(notification, {key: randomUUID()}), error => {
      assert.ok(error instanceof ProblemError);
      assert.deepEqual([error.code, error.status, error.attempts, error.isTransient, typeof error.instance], [code, status, 1, false, 'string']);
      return true;
    });
  }
  const stranger = new Client({server: server.url, token: () => 'spt_none'});
  await assert.rejects(stranger.send({payload: 'x'}), {code: 'invalid-token', status: 401});
  assert.throws(() => new Client({server: server.url, token: 'spt_secret\n'}), error => !error.message.includes('secret'));
  const key = randomUUID();
  assert.equal((await publisher.send({payload: 'x'}, {key})).id, (await publisher.send({payload: 'x'}, {key})).id);
  await assert.rejects(publisher.send({payload: 'y'}, {key}), {code: 'idempotency-key-reused', idempotencyKey: key});
});

test('each of many notifications has its own outcome', async t => {
  const server = await Server.start(t), publisher = new Client({server: server.url, token: server.token, deadline: 3_600_000, timeout: 1_200_000}), key = randomUUID();
  const many = Array.from({length: 1100}, (_, index) => ({payload: index, to: index === 700 ? 'username:nobody' : 'username:alice'}));
  const outcomes = await publisher.sendMany(many, {key});
  assert.deepEqual(outcomes.flatMap(({status}, index) => status === 'rejected' ? [index] : []), [700]);
  assert.deepEqual([outcomes[700].reason.code, outcomes[700].reason.idempotencyKey], ['unknown-user', key]);
  // Another process repeats the call.
  const again = await new Client({server: server.url, token: server.token, deadline: 3_600_000, timeout: 1_200_000}).sendMany(many, {key});
  assert.deepEqual(again.map(({value}) => value?.id), outcomes.map(({value}) => value?.id));
  assert.deepEqual((await inbox(server)).sort((one, other) => one - other), many.map(({payload}) => payload).filter(payload => payload !== 700));
  // Large payloads make batches below the server's limit.
  const large = await publisher.sendMany(Array.from({length: 150}, () => ({payload: 'x'.repeat(65_000)})));
  assert.ok(large.every(({status}) => status === 'fulfilled'));
});

test('a proxy cuts 30 % of all answers, and each notification is delivered exactly once', async t => {
  const server = await Server.start(t), proxy = await LossyProxy.start(t, server.url, 0.3);
  const publisher = new Client({server: proxy.url, token: server.token, retryDelay: 5, deadline: 300_000, timeout: 60_000});
  const singles = Array.from({length: 200}, (_, index) => `single ${index}`), many = Array.from({length: MANY}, (_, index) => `many ${index}`);
  const send = async payload => (await publisher.send({payload, to: 'username:alice'})).id, ids = [];
  await Promise.all(Array.from({length: 8}, async (_, lane) => {
    for (let index = lane; index < singles.length; index += 8) ids.push(await send(singles[index]));
  }));
  const outcomes = await publisher.sendMany(many.map(payload => ({payload, to: 'username:alice'})));
  for (const {value} of outcomes) ids.push(value.id);
  assert.equal(new Set(ids).size, 200 + MANY);
  assert.deepEqual((await inbox(server)).sort(), [...singles, ...many].sort());
  assert.ok(proxy.cuts >= 60 && proxy.cuts / proxy.answers > 0.25, `${proxy.cuts} of ${proxy.answers}`);
  // A recall whose answer was lost is not an error.
  for (const id of ids.slice(0, 20)) await publisher.recall(id);
  assert.equal((await inbox(server)).length, 180 + MANY);
});

test('a killed server delivers each notification exactly once', async t => {
  const server = await Server.start(t), publisher = new Client({server: server.url, token: server.token, retryDelay: 20, deadline: 120_000});
  const payloads = Array.from({length: 40}, (_, index) => `text ${index}`);
  const sending = payloads.map(payload => publisher.send({payload, to: 'username:alice'}));
  await Promise.race(sending);
  await server.kill();
  await server.serve();
  await Promise.all(sending);
  assert.deepEqual((await inbox(server)).sort(), payloads.sort());
});

test('retries wait for Retry-After, repeat the key, and end at the deadline', async t => {
  const keys = [], times = [];
  const server = await fake(t, (request, answer, number) => {
    keys.push(request.headers['idempotency-key']);
    times.push(performance.now());
    if (number === 1) return answer.problem(429, 'rate-limited', {'Retry-After': 1});
    if (number === 2) return answer.problem(409, 'idempotency-key-in-use');
    if (number === 3) return answer.raw.writeHead(503).end('<html>');
    answer.send(201, {}, ACCEPTED);
  });
  const publisher = new Client({server: server.url, token: 'x', retryDelay: 1});
  assert.equal((await publisher.send({payload: 'x'})).id, 7);
  assert.deepEqual([server.count, new Set(keys).size], [4, 1]);
  // A timer may fire a little early.
  assert.ok(times[1] - times[0] >= 990);

  const late = await fake(t, (_, answer) => answer.problem(503, 'busy', {'Retry-After': 3600}));
  const impatient = new Client({server: late.url, token: 'x'});
  await assert.rejects(impatient.send({payload: 'x'}), error => error.code === 'busy' && error.isTransient && error.retryAfter === 3600 && error.attempts === 1 && error.idempotencyKey !== null);
});

test('only a call without a second effect is repeated', async t => {
  // The first answer to each path is a failure.
  const seen = new Set();
  const server = await fake(t, (request, answer) => {
    if (seen.has(request.url)) return answer.send(200, {}, 'done');
    seen.add(request.url);
    const [, status, code] = request.url.split('/');
    if (status === '502') return answer.raw.destroy();
    answer.problem(Number(status), code);
  });
  const publisher = new Client({server: server.url, token: 'x', retryDelay: 1});
  for (const [status, code, method, key, isRepeated] of [
    [500, 'internal-error', 'POST', undefined, false], [500, 'internal-error', 'POST', 'k', true], [500, 'internal-error', 'GET', undefined, true],
    [503, 'busy', 'DELETE', undefined, true], [507, 'storage-full', 'PUT', undefined, true], [429, 'rate-limited', 'POST', undefined, true],
    [502, 'cut', 'POST', undefined, false], [502, 'cut', 'POST', 'k', true], [502, 'cut', 'PATCH', undefined, true],
    [409, 'conflict', 'POST', 'k', false], [403, 'forbidden', 'GET', undefined, false],
  ]) {
    const call = publisher.call(method, `/${status}/${code}/${method}/${key}`, {key});
    if (isRepeated) assert.equal(await call, 'done'); else await assert.rejects(call, {attempts: 1}, `${status} ${method}`);
  }
});

test('elements beyond the quota are sent when the quota has room again', async t => {
  const bodies = [];
  const problem = {type: 'urn:sealpost:problem:rate-limited', title: 'x', status: 429, instance: 'x'};
  const server = await fake(t, (request, answer, number) => {
    bodies.push(request.headers['idempotency-key']);
    const second = number === 1 ? {Status: 429, Problem: problem} : {Status: 201, ...ACCEPTED, Id: 8};
    answer.send(200, {'RateLimit-Policy': '"publisher";q=200;w=60'}, {Outcomes: [{Status: 201, ...ACCEPTED}, second]});
  });
  const publisher = new Client({server: server.url, token: 'x', retryDelay: 1}), start = performance.now();
  const outcomes = await publisher.sendMany([{payload: 1}, {payload: 2}], {key: 'k'});
  assert.deepEqual([outcomes.map(({value}) => value.id), bodies], [[7, 8], ['"k-0"', '"k-0"']]);
  assert.ok(performance.now() - start >= 990);
  // If there is no time for another attempt, the outcomes of the first attempt are returned.
  const refused = await fake(t, (_, answer) => answer.send(200, {'RateLimit-Policy': '"publisher";q=1;w=60'}, {Outcomes: [{Status: 201, ...ACCEPTED}, {Status: 429, Problem: problem}]}));
  const [first, second] = await new Client({server: refused.url, token: 'x'}).sendMany([{payload: 1}, {payload: 2}], {key: 'k'});
  assert.deepEqual([first.value.id, second.reason.code, second.reason.retryAfter, second.reason.idempotencyKey], [7, 'rate-limited', 120, 'k']);
});

test('many notifications have one deadline for all batches', async t => {
  let now = 0;
  const server = await fake(t, (_, answer, number) => {
    now = 60_000;
    // The second batch gets no answer.
    if (number === 1) answer.send(200, {}, {Outcomes: Array(500).fill({Status: 201, ...ACCEPTED})});
  });
  t.mock.method(performance, 'now', () => now);
  const outcomes = await new Client({server: server.url, token: 'x'}).sendMany(Array(501).fill({payload: 'x'}));
  assert.deepEqual(outcomes.map(({status}) => status), [...Array(500).fill('fulfilled'), 'rejected']);
});

test('each attempt asks the function for a token', async t => {
  const seen = [], tokens = ['first', new Error('the issuer is down'), 'second'];
  const server = await fake(t, (request, answer, number) => {
    seen.push(request.headers.authorization);
    if (number === 1) answer.problem(503, 'busy'); else answer.send(200, {}, 'id');
  });
  const token = async signal => {
    assert.ok(signal instanceof AbortSignal);
    const next = tokens.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  assert.equal(await new Client({server: server.url, token, retryDelay: 1}).call('GET', '/api/x'), 'id');
  assert.deepEqual(seen, ['Bearer first', 'Bearer second']);
});

test('a function that returns no token ends the call at once', async () => {
  const fetch = () => assert.fail('a request was sent');
  for (const token of [undefined, null, '', 'a b', 'secret\n', 7]) {
    let count = 0;
    const client = new Client({server: 'https://push.example.com', fetch, retryDelay: 1, token() { count += 1; return token; }});
    const isFinal = error => error.name === 'SealpostError' && !error.isTransient && error.idempotencyKey === 'k' && /^the function token: /.test(error.message) && !/secret/.test(error.message);
    await assert.rejects(client.send({payload: 'x'}, {key: 'k'}), isFinal, String(token));
    assert.ok(isFinal((await client.sendMany([{payload: 'x'}], {key: 'k'}))[0].reason));
    assert.equal(count, 2);
  }
});

test('a call ends in time while its function for tokens runs, and sends nothing afterwards', async () => {
  const fetch = () => assert.fail('a request was sent'), reason = new Error('enough');
  const call = (token, options) => new Client({server: 'https://push.example.com', token, fetch, retryDelay: 1}).send({payload: 'x'}, options);
  const isLate = error => error instanceof UnreachableError && !error.wasSent && /the function token has/.test(error.message);
  let finish;
  await assert.rejects(call(() => new Promise(resolve => { finish = resolve; }), {deadline: 30}), isLate);
  finish('x');
  await assert.rejects(call(() => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60); return 'x'; }, {deadline: 30}), isLate);
  const stop = new AbortController();
  await assert.rejects(call(() => new Promise(() => { setImmediate(() => stop.abort(reason)); }), {signal: stop.signal}), error => error instanceof AbortError && error.cause === reason);
});

test('a call whose path is none sends the token nowhere', async () => {
  const fetch = () => assert.fail('a request was sent'), publisher = new Client({server: 'http://127.0.0.1:1', token: 'secret', fetch});
  for (const path of ['', 'api/users', '@127.0.0.1:2/', '.example.com/']) await assert.rejects(publisher.call('GET', path), TypeError, path);
});

test('a small quota delays many notifications, and loses none', async t => {
  const server = await Server.start(t, {settings: {QUOTAS_PUBLISHER_REQUESTS: '600', QUOTAS_PUBLISHER_WINDOW: '2'}});
  const publisher = new Client({server: server.url, token: server.token}), payloads = Array.from({length: 1000}, (_, index) => index);
  const outcomes = await publisher.sendMany(payloads.map(payload => ({payload, to: 'username:alice'})));
  assert.ok(outcomes.every(({status}) => status === 'fulfilled'));
  assert.deepEqual((await inbox(server)).sort((one, other) => one - other), payloads);
});

test('timeouts and signals end a call', async t => {
  const server = await fake(t, (_, answer, number) => { if (number > 1) answer.send(201, {}, ACCEPTED); });
  const publisher = new Client({server: server.url, token: 'x', retryDelay: 1, timeout: 500});
  assert.equal((await publisher.send({payload: 'x'})).id, 7);

  const silent = await fake(t, () => {}), waiting = new Client({server: silent.url, token: 'x', retryDelay: 1});
  await assert.rejects(waiting.send({payload: 'x'}, {deadline: 50}), error => error instanceof UnreachableError && error.wasSent);
  const stop = new AbortController(), reason = new Error('shutting down');
  const isAborted = error => error instanceof AbortError && error.name === 'AbortError' && error.cause === reason && error.idempotencyKey === 'k';
  const sending = waiting.sendMany([{payload: 'x'}], {key: 'k', signal: stop.signal});
  stop.abort(reason);
  await assert.rejects(sending, isAborted);
  await assert.rejects(waiting.send({payload: 'x'}, {key: 'k', signal: AbortSignal.abort(reason)}), isAborted);

  const busy = await fake(t, (_, answer) => answer.problem(503, 'busy', {'Retry-After': 30})), resting = new AbortController();
  const call = new Client({server: busy.url, token: 'x'}).send({payload: 'x'}, {key: 'k', signal: resting.signal});
  while (busy.count === 0) await new Promise(setImmediate);
  resting.abort(reason);
  await assert.rejects(call, isAborted);

  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const nobody = new Client({server: `http://127.0.0.1:${closed.address().port}`, token: 'x', retryDelay: 20_000, deadline: 10_000});
  closed.close();
  await assert.rejects(nobody.send({payload: 'x'}), error => error instanceof UnreachableError && error.isTransient && !error.wasSent);
});

test('wrong settings and arguments are refused before a request', async () => {
  const options = {server: 'https://push.example.com', token: 'x'};
  for (const wrong of [{server: 'push.example.com'}, {server: 'ftp://push.example.com'}, {server: 'http://push.example.com'}, {signingKeys: []}, {signingKeys: ['short']}, {keys: ['short']}]) {
    assert.throws(() => new Client({...options, ...wrong}), TypeError);
  }
  for (const signingKeys of [[], 'A'.repeat(43), null, ['short']]) {
    assert.throws(() => new Client({...options, signingKeys}), {name: 'TypeError', message: /^signingKeys: /});
  }
  for (const end of ['//u:p@push.example.com', '//:p@push.example.com', '//push.example.com?x', '//push.example.com/#x']) {
    assert.throws(() => new Client({...options, server: `https:${end}`}), {name: 'TypeError', message: /^server: .* has no user/}, end);
  }
  assert.doesNotThrow(() => new Client({...options, server: 'http://sealpost:8080', isInsecureAllowed: true}));
  const publisher = new Client(options);
  for (const key of ['', 'a b', '"', '\\', 'x'.repeat(201), 'é', 7]) await assert.rejects(publisher.send({payload: 'x'}, {key}), TypeError);
  for (const id of ['7', 2 ** 53, 0.5, undefined]) await assert.rejects(publisher.recall(id), TypeError);
  const bad = new Date('not a date');
  for (const wrong of [{sendAt: bad}, {expiresIn: NaN}, {expiresIn: Infinity}, {payload: NaN}]) {
    await assert.rejects(publisher.send({payload: 'x', ...wrong}), {name: 'TypeError', message: new RegExp(`^${Object.keys(wrong)[0]}:`, 'i')});
    await assert.rejects(publisher.sendMany([{payload: 'x'}, {payload: 'x', ...wrong}]), TypeError);
  }
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: () => assert.fail('the request is too late')});
  for (const wrong of [
    {sendAt: () => bad}, {readOnce: () => true}, {store: Symbol('never')}, {expiresIn: class {}}, {platforms: [() => 'apns']}, {platforms: () => []}, {alert: () => 'a'},
    {sendAt: {toJSON() {}}}, {sendAt: {toJSON: () => () => {}}}, {payload: {dose: () => 1}}, {payload: [Symbol('x')]}, {payload() {}},
  ]) {
    const notification = {to: 'username:alice', payload: 'x', ...wrong}, refused = {name: 'TypeError', message: /^(\w+): .* is no value of JSON$/};
    for (const call of [() => publisher.send(notification), () => publisher.sendMany([notification]), () => encryption.send(publisher, notification), () => encryption.encrypted(publisher, notification)]) {
      await assert.rejects(call(), refused, `${call} ${Object.keys(wrong)}`);
    }
    await assert.rejects(publisher.call('POST', '/api/x', {body: wrong}), refused);
  }
  assert.equal(textOf({payload: {dose: undefined}, sendAt: undefined}), '{"Payload":{}}');
  for (const name of ['to', 'app', 'platforms', 'sendAt', 'expiresIn', 'store', 'readOnce']) {
    await assert.rejects(publisher.send({payload: 'x', [name]: null}), {name: 'TypeError', message: new RegExp(`^${name}:`)});
  }
  for (const [method, extra] of [['GET', {body: {}}], ['HEAD', {body: 1}], ['TRACE'], ['CONNECT'], ['post'], ['A B'], [undefined]]) {
    await assert.rejects(publisher.call(method, '/api/users', extra), TypeError, method);
  }
  for (const path of [undefined, 5, 'api/users', '/api/users/a#b', '/a/../b', '/%2e%2e/b', '/a\\b', '/a\nb', '/a b', '/é']) {
    await assert.rejects(publisher.call('DELETE', path), {name: 'TypeError', message: /path/}, path);
  }
  assert.throws(() => new SenderKey(SenderKey.generate().pem()), {name: 'TypeError', message: /SenderKey\.read/});
  assert.equal(user('Zoe.b@x'), 'username:Zoe.b@x');
  for (const name of ['', 'a || news', 'a\n', 'é', 'x'.repeat(101), 7, undefined]) assert.throws(() => user(name), TypeError);
});

test('values of another kind are refused before a request', async () => {
  const options = {server: 'https://push.example.com', token: 'x', fetch: () => assert.fail('a request was sent')}, client = new Client(options);
  const pins = new Pins(), key = SenderKey.generate(), changed = () => {}, secret = 'x'.repeat(24);
  for (const [message, make] of [
    [/^isInsecureAllowed: false is not a boolean/, () => new Client({...options, server: 'http://sealpost:8080', isInsecureAllowed: 'false'})],
    [/^token: /, () => new Client({...options, token: ''})], [/^token: /, () => new Client({...options, token: undefined})],
    [/^account: /, () => new Client({...options, account: ''})], [/^timeout: /, () => new Client({...options, timeout: 0})],
    [/^deadline: /, () => new Client({...options, deadline: 0})], [/^server: give/, () => new Client({})],
    ...[undefined, null, 'https://x'].map(wrong => [/^options: .* is not an object/, () => new Client(wrong)]),
    [/^trustsFirstContact: no is not a boolean/, () => new Pins({}, {trustsFirstContact: 'no'})], [/^options: false is not an object/, () => new Pins({}, false)],
    [/^key: /, () => new Encryption(key.text, pins, {changed})], [/^pins: /, () => new Encryption(key, {}, {changed})],
    ...[0, -1, 1.5, NaN, '9', null].map(maximumPayload => [/^maximumPayload: give a whole number/, () => new Encryption(key, pins, {changed, maximumPayload})]),
    [/^changed: undefined is not a function/, () => new Encryption(key, pins, {})], [/^options: undefined is not an object/, () => new Encryption(key)],
    [/^options: .* is not an object/, () => new Encryption(key, pins, changed)], [/^options: 300 is not an object/, () => new Webhook(secret, 300)],
  ]) assert.throws(make, {name: 'TypeError', message}, String(make));
  const notification = {to: 'username:alice', payload: {at: [{dose: NaN}]}}, encryption = new Encryption(key, pins, {changed});
  for (const [message, call] of [
    ...[5, 'x', {}, new AbortController()].flatMap(signal => [
      [/^signal: .* is not an AbortSignal/, () => client.send({payload: 'x'}, {signal})], [/^signal: /, () => client.status({signal})],
      [/^signal: /, () => client.sendMany([{payload: 'x'}], {signal})], [/^signal: /, () => encryption.send(client, notification, {signal})],
    ]),
    [/^isDisabled: undefined is not a boolean/, () => client.setDisabled('bob', undefined)], [/^isDisabled: null is/, () => client.setDisabled('bob', null)],
    [/^tags: role:nurse is not a list of texts/, () => client.setTags('bob', 'role:nurse')], [/^tags: /, () => client.setTags('bob', [null])],
    [/^deadline: /, () => client.send({payload: 'x'}, {deadline: 0})], [/^deadline: /, () => client.sendMany([], {deadline: 0})],
    ...[undefined, null].flatMap(to => [
      [/^to: give tag expressions/, () => client.send({to, payload: 'x'})], [/^to: /, () => client.sendMany([{payload: 'x'}, {to, payload: 'x'}])],
    ]),
    [/^dose: NaN is no value of JSON/, () => client.send(notification)], [/^dose: NaN/, () => client.sendMany([notification])],
    [/^dose: NaN/, () => client.call('POST', '/api/notifications', {body: notification})],
    ...[{payload: 'x'}, 5, undefined, null].map(wrong => [/^notifications: the value is not iterable/, () => client.sendMany(wrong)]),
    ...[5, undefined, null, true].map(wrong => [/^expression: .* is not a text/, () => client.deviceKeys(wrong)]),
    [/^dose: NaN/, async () => encryption.encrypt(notification.payload, [{user: 'alice', key: new DeviceKey(deviceKeyText('A'.repeat(22), {signing: generatedKey(), agreement: generatedKey()}, 1))}])],
    ...[undefined, null, []].map(to => [/^to: name the/, () => encryption.prepare(client, to)]), [/^to: name the/, () => encryption.send(client, {payload: 'x'})],
    [/^to: 7 is not a list of texts/, () => client.send({to: 7, payload: 'x'})], [/^app: leave it out/, () => encryption.send(client, {to: 'username:a', payload: 'x', app: null})],
    [/^app: null is not a text/, () => encryption.prepare(client, 'username:a', {app: null})], [/^app: null is not/, async () => encryption.encrypt('x', [{user: 'a', key: {id: 'a'}}], {app: null})],
    ...['tags', 'setTags', 'addUser', 'setDisabled', 'deleteUser'].map(name => [/'\.\.\/x' is not the name of a user/, () => client[name]('../x', {setTags: [], setDisabled: true}[name])]),
    [/is not the name of a user/, () => client.devices('a || b').next()],
    ...['tags', 'setTags', 'setDisabled', 'deleteUser'].flatMap(name => ['.', '..'].map(user => [
      /^'\.\.?' cannot be a part of a path/, () => client[name](user, {setTags: [], setDisabled: true}[name]),
    ])),
  ]) await assert.rejects(call(), {name: 'TypeError', message}, String(call));
});

test('more levels of nesting than the server reads are refused', async () => {
  const fetch = () => assert.fail('a request was sent'), client = new Client({server: 'https://push.example.com', token: 'x', fetch}), inner = [];
  const nested = levels => Array.from({length: levels}).reduce((value, _, at) => (at % 2 ? [value] : {value}), null), refused = {name: 'RangeError', message: /^the body has more than 64 levels/};
  assert.deepEqual(JSON.parse(textOf({payload: nested(63)})), {Payload: nested(63)});
  for (const payload of [nested(64), nested(20_000), {toJSON: () => nested(64)}]) {
    for (const call of [() => client.send({payload}), () => client.sendMany([{payload}]), () => client.call('POST', '/api/x', {body: [payload]})]) await assert.rejects(call(), refused, String(call));
  }
  // The same object may appear on several levels.
  assert.equal(textOf({payload: [inner, [inner], inner]}), '{"Payload":[[],[[]],[]]}');
});

test('a notification without recipients has none of a polluted prototype', () => {
  Object.assign(Object.prototype, {to: ['username:bob']});
  try {
    assert.equal(textOf({payload: 'x'}), '{"Payload":"x"}');
  } finally {
    delete Object.prototype.to;
  }
});

test('members that the types lack are refused before a request', async () => {
  const client = new Client({server: 'https://push.example.com', token: 'x', fetch: () => assert.fail('a request was sent')});
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed() {}}), notification = {to: 'username:alice', payload: 'secret'};
  for (const [name, extra] of [
    ['Payload', {Payload: 'clear'}], ['PAYLOAD', {PAYLOAD: 'clear'}], ['To', {To: ['username:bob']}], ['expireIn', {expireIn: 60}], ['__proto__', JSON.parse('{"__proto__": 1}')], ['toJSON', {toJSON() {}}],
    ['Template', {alert: {Template: 'a'}}], ['body', {alert: {body: 'clear'}}],
  ]) {
    const wrong = {...notification, ...extra}, message = new RegExp(`^${name}: there is no such member`);
    for (const call of [
      () => client.send(wrong), () => client.sendMany([notification, wrong]), () => encryption.send(client, wrong), () => encryption.encrypted(client, wrong),
    ]) await assert.rejects(call(), {name: 'TypeError', message}, `${call} ${name}`);
  }
});

test('a notification that changes during a call is encrypted for the recipients who get it', async t => {
  const bodies = [], phone = deviceKeyText('A'.repeat(22), {signing: generatedKey(), agreement: generatedKey()}, 1), to = ['username:alice'];
  const server = await fake(t, async (request, answer) => {
    // The caller's list changes while the library waits for the keys.
    to[0] = 'username:bob';
    if (request.method === 'GET') return answer.send(200, {}, {Users: [{Name: 'alice', Account: 'A'.repeat(22), Devices: [{Key: phone}]}]});
    bodies.push(JSON.parse(Buffer.concat(await all(request))));
    answer.send(201, {}, ACCEPTED);
  });
  const reads = {app: ['default', 'other'], payload: ['secret', 'clear']}, notification = {
    to, get app() { return reads.app.shift(); }, get payload() { return reads.payload.shift(); },
  };
  await new Encryption(SenderKey.generate(), new Pins(), {changed() {}}).send(new Client({server: server.url, token: 'x'}), notification);
  assert.deepEqual(bodies.map(({To, App, Payload}) => [To, App, Payload.slice(0, 13)]), [[['username:alice'], 'default', 'sealpost-e2e.']]);
});

test('a list that names a user twice is refused', async t => {
  const keys = [deviceKeyText('A'.repeat(22), {signing: generatedKey(), agreement: generatedKey()}, 1)], pins = new Pins();
  let names = ['alice', 'bob'];
  const server = await fake(t, (request, answer) => answer.send(200, {}, request.method === 'GET' ? {Users: names.map((Name, at) => ({
    Name, Account: 'A'.repeat(22), Devices: at === 0 ? keys.map(Key => ({Key})) : [],
  }))} : ACCEPTED));
  const client = new Client({server: server.url, token: 'x'}), encryption = new Encryption(SenderKey.generate(), pins, {changed() {}}), send = to => encryption.send(client, {to, payload: 'x'});
  await send('role:nurse');
  const before = JSON.stringify(pins.values);
  for (names of [['alice', 'alice'], ['Alice', 'ALICE'], ['bob', 'alice', 'bob']]) {
    await assert.rejects(send('role:nurse'), {kind: 'unexpectedBody', message: /each user once/});
    await assert.rejects(encryption.prepare(client, 'role:nurse'), {kind: 'unexpectedBody'});
  }
  assert.equal(JSON.stringify(pins.values), before);
  // Two expressions may find the same user.
  names = ['alice'];
  await send(['role:nurse', 'username:alice']);
});

test('each spelling of a user\'s tag expression gets only keys of that user', async t => {
  let users = [];
  const server = await fake(t, (request, answer) => answer.send(200, {}, request.method === 'GET' ? {Users: users} : ACCEPTED)), client = new Client({server: server.url, token: 'x'});
  const phone = deviceKeyText('A'.repeat(22), {signing: generatedKey(), agreement: generatedKey()}, 1), listed = name => [{Name: name, Account: 'A'.repeat(22), Devices: [{Key: phone}]}];
  const ofAlice = ['username:alice', 'USERNAME:alice', 'Username:ALICE', ' username:alice  ', '(username:alice)', ' ( (UserName:Alice ) )'];
  for (const to of [...ofAlice, '!username:alice', 'username:alice || news', 'alice', '\tusername:alice', 'username:alice:b', 'xusername:alice', 'user name:alice']) {
    const reports = [], encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: changes => { reports.push(...changes); }});
    users = listed('Alice');
    assert.equal((await client.deviceKeys(to))[0].name, 'Alice');
    users = listed('mallory');
    const call = encryption.send(client, {to, payload: 'x'});
    if (ofAlice.includes(to)) await assert.rejects(call, {kind: 'unexpectedBody'}, to); else await call;
    assert.deepEqual(reports.map(({user}) => user), ofAlice.includes(to) ? [] : ['mallory'], to);
    users = [];
    await assert.rejects(encryption.send(client, {to, payload: 'x'}), {name: 'NoTrustedDeviceError'});
    assert.equal(reports.at(-1).kind, ofAlice.includes(to) ? 'skipped' : 'first', to);
  }
  for (const name of [' alice', 'alice ', '(alice', 'alice)', '(alice)']) assert.throws(() => user(name), TypeError, name);
});

test('the deadline and the signal of an encrypted notification also end the requests for keys', async t => {
  const server = await fake(t, () => {}), client = new Client({server: server.url, token: 'x'}), to = 'username:alice', notification = {to, payload: 'x'};
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed() {}}), calls = [
    [options => encryption.send(client, notification, {...options, key: 'k'}), 'k'], [options => encryption.encrypted(client, notification, options), null],
    [options => encryption.prepare(client, to, options), null],
  ];
  for (const [call, idempotencyKey] of calls) {
    await assert.rejects(call({deadline: 50}), error => error instanceof UnreachableError && error.idempotencyKey === idempotencyKey);
    const stop = new AbortController(), waiting = call({signal: stop.signal}), before = server.count;
    while (server.count === before) await new Promise(setImmediate);
    stop.abort();
    await assert.rejects(waiting, error => error instanceof AbortError && error.idempotencyKey === idempotencyKey);
    await assert.rejects(call({timeout: 1}), {name: 'TypeError', message: /^there is no option timeout$/});
    await assert.rejects(call({deadline: 0}), {name: 'TypeError', message: /^deadline: /});
  }
  await assert.rejects(encryption.send(client, notification, {deadline: 50}), ({idempotencyKey}) => /^[-0-9a-f]{36}$/.test(idempotencyKey));
  await assert.rejects(encryption.send(client, notification, {key: 'a b'}), {name: 'TypeError', message: /^key: /});
  assert.ok(server.count <= 7, 'each call has one request');
});

test('the requests for keys and the post have one deadline', async t => {
  let now = 0;
  const phone = deviceKeyText('A'.repeat(22), {signing: generatedKey(), agreement: generatedKey()}, 1);
  const server = await fake(t, (request, answer) => {
    now = 60_000;
    // The post gets no answer.
    if (request.method === 'GET') answer.send(200, {}, {Users: [{Name: 'alice', Account: 'A'.repeat(22), Devices: [{Key: phone}]}]});
  });
  t.mock.method(performance, 'now', () => now);
  const client = new Client({server: server.url, token: 'x'}), encryption = new Encryption(SenderKey.generate(), new Pins(), {changed() {}});
  await assert.rejects(encryption.send(client, {to: 'username:alice', payload: 'x'}, {key: 'k'}), error => error instanceof UnreachableError && error.idempotencyKey === 'k');
});

test('unknown options of a call, and options that are no object, are refused before a request', async () => {
  const publisher = new Client({server: 'https://push.example.com', token: 'x', fetch: () => assert.fail('a request was sent')});
  const other = {idempotencyKey: 'k'}, notification = {to: 'username:alice', payload: 'x'}, key = SenderKey.generate();
  const encryption = new Encryption(key, new Pins(), {changed() {}}), stub = {deviceKeys: async () => [], send: (...all) => publisher.send(...all)};
  const calls = options => [
    () => publisher.send(notification, options), () => publisher.sendMany([notification], options), () => publisher.recall(7, options), () => publisher.counts(7, options),
    () => publisher.deliveries(7, options).next(), () => publisher.recipients(7, options).next(), () => publisher.events(options),
    () => publisher.tags('a', options), () => publisher.setTags('a', [], options), () => publisher.addUser('a', options), () => publisher.setDisabled('a', true, options),
    () => publisher.deleteUser('a', options), () => publisher.devices('a', options).next(), () => publisher.status(options),
    () => publisher.deviceKeys('username:a', options), () => publisher.call('POST', '/api/x', options), () => encryption.prepare(stub, 'username:a', options),
  ];
  for (const call of [...calls(other), () => publisher.send(notification, {timeout: 1000}), () => publisher.send(notification, {check() {}})]) {
    await assert.rejects(call(), {name: 'TypeError', message: /^there is no option (idempotencyKey|timeout|check)$/}, String(call));
  }
  for (const options of [5000, null, true, 'key', [], AbortSignal.abort(), new Date()]) {
    for (const call of calls(options)) await assert.rejects(call(), {name: 'TypeError', message: /^options: .* is not an object$/}, `${call} ${options}`);
    for (const make of [() => encryption.encrypt('x', [], options), () => new Webhook('x'.repeat(24)).listener(() => {}, options)]) {
      assert.throws(make, {name: 'TypeError', message: /^options: .* is not an object$/}, `${make} ${options}`);
    }
  }
  for (const make of [
    () => new Pins({}, {trustFirstContact: false}), () => new Encryption(key, new Pins(), {change() {}}), () => encryption.encrypt('x', [], other),
    () => new Webhook('x'.repeat(24), {tolerant: 1}), () => new Webhook('x'.repeat(24)).listener(() => {}, {cachedIds: 1}),
  ]) assert.throws(make, {name: 'TypeError', message: /^there is no option/}, String(make));
});

test('options that are no numbers are refused: NaN would switch a limit off', async () => {
  const options = {server: 'https://push.example.com', token: 'x', fetch: () => assert.fail('a request was sent')}, secret = 'x'.repeat(24);
  const client = new Client(options), encryption = new Encryption(SenderKey.generate(), new Pins(), {changed() {}});
  const key = new DeviceKey(deviceKeyText('A'.repeat(22), {signing: generatedKey(), agreement: generatedKey()}, 1));
  const refused = {name: 'TypeError', message: /^[a-zA-Z]+: .* is no number/};
  for (const value of [NaN, Infinity, -1, 2 ** 31, '1000', null]) {
    for (const name of ['deadline', 'timeout', 'retryDelay', 'signatureTolerance', 'answerLimit']) {
      assert.throws(() => new Client({...options, [name]: value}), refused, `${name} ${value}`);
    }
    assert.throws(() => new Webhook(secret, {tolerance: value}), refused, `tolerance ${value}`);
    assert.throws(() => new Webhook(secret).listener(() => {}, {cachedIDs: value}), refused, `cachedIDs ${value}`);
    for (const call of [() => client.send({payload: 'x'}, {deadline: value}), () => client.sendMany([{payload: 'x'}], {deadline: value}), () => client.devices('a', {deadline: value}).next()]) {
      await assert.rejects(call(), refused, `${call} ${value}`);
    }
  }
  for (const now of [NaN, Infinity, -1]) assert.throws(() => encryption.encrypt('x', [{user: 'alice', key}], {now}), refused, `now ${now}`);
});

test('an accepted notification whose members are missing or malformed is refused', async t => {
  let wrong;
  const server = await fake(t, ({url}, answer) => (url.endsWith('batch') ? answer.send(200, {}, {Outcomes: [{Status: 201, ...wrong}]}) : answer.send(201, {}, wrong)));
  const publisher = new Client({server: server.url, token: 'x'}), refused = {name: 'InterferenceError', kind: 'unexpectedBody'};
  for (const member of [
    {Id: null}, {Id: '7'}, {Id: 7.5}, {More: undefined}, {More: 'no'}, {CreatedAt: undefined}, {CreatedAt: 'x'}, {CreatedAt: 5}, {ExpiresAt: null}, {ExpiresAt: ''}, {SendAt: 'soon'}, {SendAt: 5},
  ]) {
    wrong = {...ACCEPTED, ...member};
    await assert.rejects(publisher.send({payload: 'x'}), refused, JSON.stringify(member));
    const [{reason}] = await publisher.sendMany([{payload: 'x'}]);
    assert.deepEqual([reason?.name, reason?.kind], Object.values(refused), JSON.stringify(member));
  }
  wrong = {...ACCEPTED, SendAt: '2027-01-16T08:00:00Z', Later: 1};
  assert.equal((await publisher.send({payload: 'x'})).sendAt.getTime(), Date.UTC(2027, 0, 16, 8));
});

test('only 404 and 410 say that something does not exist', async t => {
  const server = await fake(t, ({url}, answer) => answer.problem(Number(url.slice(-3)), 'not-found')), client = new Client({server: server.url, token: 'x', deadline: 10_000, retryDelay: 20_000});
  for (const status of [404, 410]) assert.deepEqual([await client.recall(status), await client.deleteUser(`u${status}`)], [false, false]);
  for (const status of [400, 403, 409, 500, 503]) {
    for (const call of [() => client.recall(status), () => client.deleteUser(`u${status}`)]) await assert.rejects(call(), {code: 'not-found', status});
  }
});

test('a list without an end is refused', async t => {
  const server = await fake(t, (_, answer) => answer.send(200, {}, {Deliveries: [], Cursor: '1', More: true}));
  const publisher = new Client({server: server.url, token: 'x'});
  await assert.rejects(publisher.deliveries(7).next(), {kind: 'unexpectedBody'});
});

test('an answer beyond the limit is not read', async t => {
  const server = await fake(t, (_, answer) => answer.send(200, {}, 'x'.repeat(2000)));
  await assert.rejects(new Client({server: server.url, token: 'x', answerLimit: 1000}).call('GET', '/api/x'), error => error instanceof InterferenceError && error.kind === 'oversized');
});
