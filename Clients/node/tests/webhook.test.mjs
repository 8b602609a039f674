// Verification of webhooks, with messages that the tests create, and with messages of a real
// server.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {createHmac, randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createServer} from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {Client, InvalidMessageError, Webhook} from '../src/index.js';
import {Server} from './server.mjs';

const KEYS = [randomBytes(32), randomBytes(32)], [present, next] = KEYS.map(key => `whsec_${key.toString('base64')}`);
const NOW = 1_800_000_000, BODY = '{"secureId":"4711","handle":"abcd"}';
const signatureOf = (id, time, body, key = KEYS[0]) => `v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`;
const headersOf = (id, time = NOW, body = BODY, key) => ({'webhook-id': id, 'webhook-timestamp': String(time), 'webhook-signature': signatureOf(id, time, body, key)});

test('a signed message is read', () => {
  const read = (body, headers = headersOf('m', NOW, body)) => new Webhook(present).verify(headers, body, NOW);
  const about = {id: 'm', sentAt: new Date(NOW * 1000)};
  assert.deepEqual(read(BODY), {...about, type: 'push', secureId: '4711', handle: 'abcd', alert: null, accountHint: null});
  assert.deepEqual(read('{"confirmation":"c0de","handle":"abcd"}'), {...about, type: 'confirmation', code: 'c0de', handle: 'abcd'});
  assert.deepEqual(read('{"later":true}'), {...about, type: 'other', json: {later: true}});
  const {events} = read('{"type":"sealpost.events","data":{"Events":[{"Number":3,"At":"2027-01-15T08:00:00Z","Kind":"accepted","Notification":7,"Device":null}]}}');
  assert.deepEqual(events, [{number: 3, at: new Date(NOW * 1000), kind: 'accepted', notification: 7, device: null}]);
  assert.equal(new Webhook([present]).verify(new Headers(headersOf('m')), Buffer.from(BODY), NOW).secureId, '4711');
  const text = 'a secret text of many bytes';
  assert.equal(new Webhook(`${text}\r\n`).verify(headersOf('m', NOW, BODY, text), BODY, NOW).secureId, '4711');
});

test('secrets and signatures are read as the server reads them', () => {
  const folder = process.env.SEALPOST_VECTORS ?? new URL('../../../docs/evidence/vectors', import.meta.url).pathname;
  const {id, timestamp, body, secrets, secret, signatures} = JSON.parse(readFileSync(`${folder}/webhooks.json`, 'utf8'));
  const verify = (text, signature) => new Webhook(text).verify({'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature}, body, timestamp);
  for (const {name, text, signature} of secrets) {
    if (signature === null) assert.throws(() => new Webhook(text), {name: 'TypeError', message: /^secrets: /}, name);
    for (const one of signature?.split(' ') ?? []) assert.equal(verify(text, one).id, id, name);
  }
  for (const {name, field, isAccepted} of signatures) {
    if (isAccepted) assert.equal(verify(secret, field).id, id, name);
    else assert.throws(() => verify(secret, field), InvalidMessageError, name);
  }
});

test('a changed, old or foreign message is refused', () => {
  const webhook = new Webhook(present);
  const refused = (headers, body = BODY) => assert.throws(() => webhook.verify({...headersOf('m'), ...headers}, body, NOW), InvalidMessageError);
  refused({'webhook-id': 'other'});
  refused({'webhook-timestamp': String(NOW + 1)});
  refused({'webhook-signature': signatureOf('m', NOW, BODY, KEYS[1])});
  refused({'webhook-signature': signatureOf('m', NOW, BODY).replace('v1', 'v2')});
  for (const signature of ['', 'v1', 'v1,', 'v1,AAAA', undefined]) refused({'webhook-signature': signature});
  refused({}, `${BODY} `);
  refused({'webhook-id': '', 'webhook-signature': signatureOf('', NOW, BODY)});
  for (const body of ['', '{', 'x', '{"secureId":"4711"}', '{"secureId":"4711","handle":7}', '{"confirmation":"c0de"}', '{"confirmation":"c0de","handle":null}']) refused(headersOf('m', NOW, body), body);
  assert.throws(() => webhook.verify(headersOf('m'), BODY, NaN), InvalidMessageError);
  refused({'webhook-timestamp': '1e9', 'webhook-signature': signatureOf('m', '1e9', BODY)});
  for (const [time, isAccepted] of [[NOW - 300, true], [NOW + 300, true], [NOW - 301, false], [NOW + 301, false]]) {
    if (isAccepted) webhook.verify(headersOf('m', time), BODY, NOW); else refused(headersOf('m', time));
  }
});

test('either of two secrets verifies while one is changed', () => {
  const both = `${signatureOf('m', NOW, BODY, KEYS[0])} ${signatureOf('m', NOW, BODY, KEYS[1])}`;
  for (const secrets of [present, next, `${present}\n${next}\n`, [next, present]]) {
    assert.equal(new Webhook(secrets).verify({...headersOf('m'), 'webhook-signature': both}, BODY, NOW).secureId, '4711');
  }
  for (const key of KEYS) assert.equal(new Webhook([present, next]).verify(headersOf('m', NOW, BODY, key), BODY, NOW).secureId, '4711');
  for (const wrong of ['', '\n', 'short', 'whsec_AAAA', []]) assert.throws(() => new Webhook(wrong), TypeError);
});

test('a secret with a wrong character is refused, and is not printed', () => {
  const key = KEYS[0].subarray(2).toString('base64');
  for (const text of [`*${key}`, `${key}*`, `${key.slice(0, 8)}*${key.slice(8)}`, `${key.slice(0, 8)} ${key.slice(8)}`, `${key.slice(0, 8)}=${key.slice(8)}`, `${key}A`]) {
    assert.throws(() => new Webhook([next, `whsec_${text}`]), {name: 'TypeError', message: 'secrets: the text after whsec_ is not base64'}, text);
  }
  for (const wrong of [undefined, null, 5, KEYS[0], [present, null]]) assert.throws(() => new Webhook(wrong), {name: 'TypeError', message: /^secrets: give the text of secretFile, or/});
  const mixed = Buffer.from(`-_+/${key}`, 'base64');
  assert.equal(new Webhook(`whsec_-_+/${key}===`).verify(headersOf('m', NOW, BODY, mixed), BODY, NOW).secureId, '4711');
});

/** A receiver over TLS, and a function that posts to it. */
async function receiver(t, secrets, handle) {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-hook-'));
  t.after(() => rmSync(folder, {recursive: true}));
  const [certificate, key] = ['certificate.pem', 'key.pem'].map(name => join(folder, name));
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate,
  ], {stdio: 'ignore'});
  const server = createServer({cert: readFileSync(certificate), key: readFileSync(key)}, new Webhook(secrets).listener(handle));
  t.after(() => { server.closeAllConnections(); server.close(); });
  await once(server.listen(0), 'listening');
  return {certificate, port: server.address().port};
}

test('a listener gives each message once to its handler, and asks again after a failure', async () => {
  const handled = [];
  let isFailing = true;
  const listener = new Webhook(present).listener(async ({id}) => {
    await new Promise(setImmediate);
    if (id === 'failing' && isFailing) throw new Error('the disk is full');
    handled.push(id);
  }, {cachedIDs: 2});
  const now = Math.floor(Date.now() / 1000);
  const post = (id, {body = BODY, headers = headersOf(id, now, body), method = 'POST'} = {}) => new Promise(resolve => {
    const request = Object.assign((async function* () { yield Buffer.from(body); })(), {method, headers});
    listener(request, {writeHead(status) { resolve(status); return this; }, end() {}});
  });
  assert.deepEqual(await Promise.all([post('one'), post('one')]), [204, 204]);
  assert.deepEqual([await post('one'), await post('failing')], [204, 500]);
  isFailing = false;
  assert.deepEqual([await post('failing'), await post('failing')], [204, 204]);
  assert.deepEqual(handled, ['one', 'failing']);
  assert.deepEqual([await post('x', {method: 'GET'}), await post('x', {headers: {...headersOf('x', now), 'webhook-id': 'y'}}), await post('x', {body: 'x'.repeat(Webhook.maximumBody + 1)})], [405, 401, 413]);
  assert.deepEqual([await post('two'), await post('one')], [204, 204]);
  assert.deepEqual(handled, ['one', 'failing', 'two', 'one'], 'the cache of ids has a limit');
});

test('a real server sends its events, pushes and codes', async t => {
  const messages = [], waiting = [];
  const wanted = async isWanted => {
    while (!messages.some(isWanted)) await new Promise(resolve => waiting.push(resolve));
    return messages.find(isWanted);
  };
  const hook = await receiver(t, [next, present], message => {
    messages.push(message);
    waiting.splice(0).forEach(resolve => resolve());
  });
  const url = `https://localhost:${hook.port}/hook`;
  const server = await Server.start(t, {
    files: {'hook.secret': `${present}\n`, 'sealpost.yaml':
      `senders: {hook: {type: webhook, url: "${url}", secretFile: hook.secret, caFile: "${hook.certificate}"}}\n`
      + `events: {webhook: {url: "${url}", secretFile: hook.secret, caFile: "${hook.certificate}"}}\n`},
  });
  const paul = new Client({server: server.url, token: server.tokenOf('paul', ['send', 'register', 'fetch'])});
  const device = await paul.call('POST', '/api/register');
  await paul.call('PUT', `/api/register/${device}`, {body: {Platform: 'hook', Handle: 'room-7'}});
  const {code, handle} = await wanted(({type}) => type === 'confirmation');
  assert.equal(handle, 'room-7');
  await paul.call('POST', `/api/register/${device}/confirmation`, {body: code});
  const {id} = await paul.send({payload: 'x'});
  assert.equal((await wanted(({type}) => type === 'push')).secureId, String(id));
  const isOfPush = ({kind, notification, device: to}) => kind === 'accepted' && notification === id && to === device;
  await wanted(({type, events}) => type === 'events' && events.some(isOfPush));
});
