// Runs docs/evidence/vectors/end-to-end.json, and sends through a publisher without a server.

import assert from 'node:assert/strict';
import {createPrivateKey, createPublicKey, createECDH, diffieHellman} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import * as endToEnd from '../src/endToEnd.js';
import {AbortError, UnreachableError} from '../src/errors.js';

const {DeviceKey, Encryption, NoTrustedDeviceError, Pins, SenderKey, UnreadableError, openPayload} = endToEnd;
const folder = process.env.SEALPOST_VECTORS ?? new URL('../../../docs/evidence/vectors', import.meta.url).pathname;
const vectors = JSON.parse(readFileSync(`${folder}/end-to-end.json`, 'utf8'));

function privateKey(scalar) {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(scalar);
  const point = pair.getPublicKey(), [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'));
  return createPrivateKey({format: 'jwk', key: {kty: 'EC', crv: 'P-256', x, y, d: scalar.toString('base64url')}});
}

const readerOf = device => ({key: new DeviceKey(device.key), privateKey: privateKey(Buffer.from(device.agreementPrivate, 'base64url')), senders: [vectors.sender.public], now: vectors.now});

function device(at = 1000, account = 'A'.repeat(22)) {
  const [signing, agreement] = [1, 2].map(() => endToEnd.generatedKey());
  const text = endToEnd.deviceKeyText(account, {signing, agreement}, at);
  return {text, key: new DeviceKey(text), agreement, account};
}

const open = (payload, {key, agreement}, sender) => openPayload(payload, {key, privateKey: agreement, senders: [sender.text]}).json;

/** An encryption that reports changes to nobody. */
const encryptionOf = (sender, pins = new Pins()) => new Encryption(sender, pins, {changed() {}});

/** A publisher whose server has these users. */
const publisherOf = users => ({users, sent: [], deadline: 60_000, async deviceKeys(expression) { return this.users; }, async send(notification) { this.sent.push(notification); }});

test('the vectors of RFC 9180', () => {
  const rfc = Object.fromEntries(Object.entries(vectors.hpke).filter(([, value]) => typeof value === 'string').map(([name, value]) => [name, Buffer.from(value, 'hex')]));
  const [sender, recipient] = [rfc.sender, rfc.recipient].map(privateKey), ephemeral = createECDH('prime256v1');
  ephemeral.setPrivateKey(rfc.ephemeral);
  const shared = diffieHellman({privateKey: sender, publicKey: createPublicKey(recipient)});
  const {enc, secret} = endToEnd.setupSender(shared, rfc.senderPublic, rfc.recipientPublic, rfc.info, ephemeral);
  assert.deepEqual([enc, secret], [rfc.enc, rfc.exporterSecret]);
  assert.deepEqual(endToEnd.setupReceiver(enc, recipient, rfc.recipientPublic, rfc.senderPublic, rfc.info), secret);
  for (const {context, value} of vectors.hpke.exports) assert.equal(endToEnd.exportKey(secret, Buffer.from(context, 'hex'), 32).toString('hex'), value);
});

test('each device opens the payloads', () => {
  for (const {payload, plain, message, app, devices} of vectors.payloads) {
    for (const device of Object.values(vectors.devices).filter(({id}) => devices.includes(id))) {
      assert.deepEqual(openPayload(payload, {...readerOf(device), app}), {json: plain, message});
    }
  }
});

test('other payloads are refused with their reason', () => {
  for (const {name, payload, reason} of vectors.refused) {
    assert.throws(() => openPayload(payload, readerOf(vectors.devices.phone)), error => error instanceof UnreadableError && error.reason === reason, name);
  }
});

test('the same keys make the same payloads as in Python', () => {
  const pem = privateKey(Buffer.from(vectors.sender.private, 'base64url')).export({format: 'pem', type: 'pkcs8'});
  const encryption = encryptionOf(SenderKey.read(pem));
  // Devices open the payload null, and no library sends it.
  for (const vector of vectors.payloads.filter(({plain}) => plain !== 'null')) {
    const recipients = Object.values(vectors.devices).filter(({id}) => vector.devices.includes(id)).map(device => ({user: 'x', key: new DeviceKey(device.key)}));
    const made = encryption.encrypt(JSON.parse(vector.plain), recipients, {
      message: Buffer.from(vector.message, 'base64url'), now: vectors.now, contentKey: Buffer.from(vector.contentKey, 'base64url'),
    });
    assert.equal(made.slice(0, made.lastIndexOf('.')), vector.payload.slice(0, vector.payload.lastIndexOf('.')));
  }
});

test('an envelope adds 192 bytes to the padded payload', () => {
  const encryption = encryptionOf(SenderKey.generate()), recipients = [1, 2, 3].map(at => ({user: 'alice', key: device(at).key}));
  for (const [length, size] of [[2, 256], [255, 256], [256, 512], [1023, 1024], [4095, 4096], [4096, 8192], [45_055, 45_056]]) {
    const texts = [1, 2, 3].map(count => encryption.encrypt('x'.repeat(length - 2), recipients.slice(0, count))), padded = Math.ceil(size * 4 / 3);
    assert.deepEqual(texts.map(text => text.length), [0, 1, 2].map(further => padded + 248 + 152 * further));
    const [, , , sender, message, , content, entry] = texts[0].split('.'), encoded = [sender, message, content, entry.slice(0, 22), entry.slice(22)];
    assert.equal(texts[0].length + encoded.reduce((sum, part) => sum + Buffer.from(part, 'base64url').length - part.length, 0), size + 192);
  }
});

test('pins follow the histories', () => {
  for (const {name, steps} of vectors.histories) {
    let pins = new Pins();
    pins.trust('bob', new DeviceKey(vectors.devices.bob.key));
    for (const {account, keys, trusted, changes} of steps) {
      pins = new Pins(JSON.parse(JSON.stringify(pins.values)));
      const checked = pins.check('Alice', account, keys);
      assert.deepEqual(checked.recipients.map(({key}) => key.id).sort(), trusted, name);
      assert.deepEqual(checked.changes.map(({kind, key}) => [kind, key ?? '']).sort(), changes, name);
    }
  }
});

test('fingerprints and ids', () => {
  for (const device of Object.values(vectors.devices)) {
    const {id, fingerprint, account} = new DeviceKey(device.key);
    assert.deepEqual({id, fingerprint, account}, {id: device.id, fingerprint: device.fingerprint, account: device.account});
  }
});

test('only trusted devices get the payload, and changes come first', async () => {
  const sender = SenderKey.generate(), phone = device(), stranger = device(2000), seen = [];
  const publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]);
  const encryption = new Encryption(sender, new Pins(), {changed: changes => seen.push(...changes.map(({kind}) => [kind, publisher.sent.length]))});
  await encryption.send(publisher, {to: 'username:alice', payload: 'one'});
  publisher.users = [{name: 'alice', account: phone.account, keys: [phone.text, stranger.text, null]}];
  await encryption.send(publisher, {to: 'username:alice', payload: 'two'});
  assert.deepEqual(seen, [['first', 0], ['unapproved', 1]]);
  assert.equal(open(publisher.sent[1].payload, phone, sender), '"two"');
  assert.throws(() => open(publisher.sent[1].payload, stranger, sender), {reason: 'notForThisDevice'});
});

test('payloads that no device could read are refused before a request', async () => {
  const sender = SenderKey.generate(), phone = device(), encryption = encryptionOf(sender), recipients = [{user: 'alice', key: phone.key}];
  let deep = null;
  for (let level = 0; level < 62; level += 1) deep = level % 2 ? [deep] : {a: deep};
  assert.deepEqual(JSON.parse(open(encryption.encrypt(deep, recipients), phone, sender)), deep);
  // A pair of surrogates is one character.
  assert.equal(open(encryption.encrypt('\ud83d\ude00', recipients), phone, sender), '"\u{1f600}"');
  assert.equal(encryption.encrypt('x'.repeat(45_053), recipients).length, 60_323);
  assert.ok(new Encryption(sender, new Pins(), {changed() {}, maximumPayload: 45_056}).encrypt('x'.repeat(45_054), recipients).length > 65_536);
  const levels = {name: 'RangeError', message: /more than 62 levels/}, half = {name: 'TypeError', message: /half a surrogate pair/};
  for (const [payload, error] of [
    ['é'.repeat(22_527), {name: 'RangeError', message: /has 45056 bytes of JSON text; .* at most 45055/}],
    ...[null, undefined, {toJSON: () => null}].map(payload => [payload, {name: 'TypeError', message: /^payload: .* other than null/}]),
    [NaN, {name: 'TypeError', message: 'payload: NaN is no value of JSON'}], [[deep], levels], [{toJSON: () => ({a: deep})}, levels], ['\ud800', half], [['a\udfff'], half], [{'\ude00\ud83d': 1}, half],
  ]) {
    assert.throws(() => encryption.encrypt(payload, recipients), error);
    // The client has no methods, so a request would throw another error.
    await assert.rejects(encryption.send({deadline: 1000}, {to: 'username:alice', payload}), error);
  }
  for (const to of [['username:alice', null], [['username:alice']], 5]) {
    await assert.rejects(encryption.prepare({deadline: 1000}, to), {name: 'TypeError', message: /^to: .* is not a list of texts$/});
  }
  for (const client of [null, undefined, 'https://push.example.com']) {
    for (const call of [encryption.send(client, {to: 'username:alice', payload: 'x'}), encryption.prepare(client, 'username:alice')]) {
      await assert.rejects(call, {name: 'TypeError', message: `client: ${client} is not an object`});
    }
  }
});

test('contexts are renewed a few at a time, or ahead', async t => {
  const sender = SenderKey.generate(), devices = Array.from({length: 50}, (_, at) => device(at)), pins = new Pins(), encryption = encryptionOf(sender, pins);
  const recipients = devices.map(({key}) => ({user: 'alice', key})), minute = 60_000;
  for (const {key} of recipients) pins.trust('alice', key);
  const publisher = publisherOf([{name: 'alice', account: devices[0].account, keys: devices.map(({text}) => text)}]);
  let now = 0, last = [];
  t.mock.method(performance, 'now', () => now);
  const encapsulated = text => text.slice(text.lastIndexOf('.') + 1).match(/.{152}/g).map(entry => entry.slice(0, 108));
  /** The number of new HPKE contexts in a payload that is encrypted at the time `at`. */
  const renewed = at => {
    now = at;
    const text = encryption.encrypt('x', recipients), keys = encapsulated(text);
    for (const device of devices.slice(0, 3)) assert.equal(open(text, device, sender), '"x"');
    return [keys.filter((key, index) => key !== last[index]).length, last = keys][0];
  };
  assert.deepEqual([0, 30, 31, 32, 33, 34].map(at => renewed(at * minute)), [50, 0, 20, 20, 10, 0]);
  assert.deepEqual([95, 96].map(at => renewed(at * minute)), [50, 0]);
  now = 127 * minute;
  await encryption.prepare(publisher, 'username:alice');
  assert.deepEqual([renewed(127 * minute), renewed(150 * minute)], [50, 0]);
});

test('the process handles other events while it prepares', async () => {
  const devices = Array.from({length: 20}, (_, at) => device(at)), pins = new Pins(), encryption = encryptionOf(SenderKey.generate(), pins);
  for (const {key} of devices) pins.trust('alice', key);
  let turns = 0, isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await encryption.prepare(publisherOf([{name: 'alice', account: devices[0].account, keys: devices.map(({text}) => text)}]), 'username:alice');
  isOver = true;
  // One turn for the verification of each key, and one for its practice.
  assert.ok(turns >= 40, `${turns}`);
});

test('nothing is sent without a trusted device, or if the caller objects', async () => {
  const phone = device(), publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]);
  const careful = encryptionOf(SenderKey.generate(), new Pins({}, {trustsFirstContact: false}));
  await assert.rejects(careful.send(publisher, {to: 'username:alice', payload: 'x'}), NoTrustedDeviceError);
  const objecting = new Encryption(SenderKey.generate(), new Pins(), {changed: async () => { throw new Error('no'); }});
  await assert.rejects(objecting.send(publisher, {to: 'username:alice', payload: 'x'}), /no/);
  assert.equal(publisher.sent.length, 0);
});

test('changes whose report has failed are reported again', async () => {
  const phone = device(), tablet = device(2000), reports = [], pins = new Pins(), notification = {to: 'username:alice', payload: 'x'};
  const publisher = publisherOf([]), listed = texts => { publisher.users = [{name: 'Alice', account: phone.account, keys: texts}]; };
  let fails = true;
  const encryption = new Encryption(SenderKey.generate(), pins, {changed: async changes => {
    reports.push(changes.map(({kind}) => kind).join(' '));
    // The pins of the change can be stored here.
    assert.ok(pins.values.alice.keys[phone.key.id]);
    if (fails) throw new Error('no');
  }});
  for (const [texts, kinds] of [[[phone.text], 'first'], [[phone.text, tablet.text], 'unapproved'], [[], 'missing skipped'], [[phone.text], 'returned']]) {
    listed(texts);
    const before = JSON.stringify(pins.values);
    fails = true;
    for (let count = 0; count < 2; count += 1) await assert.rejects(encryption.send(publisher, notification), /no/);
    assert.equal(JSON.stringify(pins.values), before, kinds);
    fails = false;
    await (kinds === 'missing skipped' ? assert.rejects(encryption.send(publisher, notification), NoTrustedDeviceError) : encryption.send(publisher, notification));
    assert.deepEqual(reports.splice(0), [kinds, kinds, kinds]);
  }
  // A distrust within a failed report remains.
  pins.forget('alice');
  const strict = new Encryption(SenderKey.generate(), pins, {changed: () => { pins.distrust('alice', phone.key.id); throw new Error('no'); }});
  await assert.rejects(strict.send(publisher, notification), /no/);
  await assert.rejects(encryption.send(publisher, notification), NoTrustedDeviceError);
});

test('no call sends before another has reported its changes', async () => {
  const phone = device(), order = [], publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]);
  publisher.send = async () => { order.push('sent'); };
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: async () => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    order.push('reported');
    // A call within the report does not wait for its end.
    await encryption.send(publisher, {to: 'username:alice', payload: 'within'});
  }});
  await Promise.all([1, 2].map(payload => encryption.send(publisher, {to: 'username:alice', payload})));
  assert.deepEqual(order, ['reported', 'sent', 'sent', 'sent']);
});

test('work that a report has started waits for later reports', async () => {
  const phone = device(), bobs = device(), publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]);
  let work, start, finish;
  const started = new Promise(done => { start = done; }), send = payload => encryption.send(publisher, {to: 'role:nurse', payload});
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: ([{user}]) => {
    // A call within the report, and the work within it, do not wait.
    if (user === 'alice') {
      work = started.then(() => send('work'));
      return send('within');
    }
    return new Promise((_, reject) => { finish = () => reject(new Error('no')); });
  }});
  await send('first');
  publisher.users.push({name: 'bob', account: bobs.account, keys: [bobs.text]});
  const refused = send('refused');
  while (!finish) await new Promise(setImmediate);
  const before = finish;
  start();
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  assert.equal(publisher.sent.length, 2);
  before();
  await assert.rejects(refused, /no/);
  // The report was refused, so the work reports the change again.
  while (finish === before) await new Promise(setImmediate);
  finish();
  await assert.rejects(work, /no/);
  assert.equal(publisher.sent.length, 2);
});

test('a call ends at its deadline or by its signal while changed runs, and its report remains in force', async () => {
  const phone = device(), notification = {to: 'username:alice', payload: 'x'};
  for (const outcome of ['stored', 'failed']) {
    const pins = new Pins(), publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]), abort = new AbortController(), reports = [];
    let finish;
    const encryption = new Encryption(SenderKey.generate(), pins, {changed: changes => new Promise((resolve, reject) => {
      reports.push(changes.map(({kind}) => kind).join());
      finish = outcome === 'stored' ? resolve : () => reject(new Error('no'));
      abort.abort('enough');
    })});
    await assert.rejects(encryption.send(publisher, notification, {signal: abort.signal, key: 'k'}), error => error instanceof AbortError && error.cause === 'enough' && error.idempotencyKey === 'k');
    // Calls that wait for the report of another end, too, and report nothing afterwards.
    const isLate = error => error instanceof UnreachableError && error.isTransient && !error.wasSent;
    await assert.rejects(encryption.send(publisher, notification, {deadline: 1}), isLate);
    await assert.rejects(encryption.prepare(publisher, 'username:alice', {deadline: 1}), isLate);
    const next = encryption.send(publisher, notification);
    assert.deepEqual([reports, Object.keys(pins.values), publisher.sent.length], [['first'], ['alice'], 0]);
    finish();
    if (outcome === 'failed') {
      // The pins of the failed report were removed, so the next call reports them again.
      for (let turn = 0; reports.length < 2 && turn < 1000; turn += 1) await new Promise(setImmediate);
      assert.equal(publisher.sent.length, 0);
      finish();
      await assert.rejects(next, /no/);
    } else {
      await next;
    }
    assert.deepEqual([reports.length, Object.keys(pins.values).length, publisher.sent.length], outcome === 'stored' ? [1, 1, 1] : [2, 0, 0]);
  }
});

test('nothing is sent after a report that has blocked the process until the deadline', async t => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const phone = device(), publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]);
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: () => { now = 60_000; }});
  await assert.rejects(encryption.send(publisher, {to: 'username:alice', payload: 'x'}, {key: 'k'}), error => error instanceof UnreachableError && error.idempotencyKey === 'k');
  assert.equal(publisher.sent.length, 0);
});

test('each call ends at a deadline that passes while a report blocks the process', async () => {
  const phone = device(), publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]);
  for (const [name, argument] of [['send', {to: 'username:alice', payload: 'x'}], ['encrypted', {to: 'username:alice', payload: 'x'}], ['prepare', 'username:alice']]) {
    const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50); }});
    await assert.rejects(encryption[name](publisher, argument, {deadline: 10}), UnreachableError, name);
  }
  assert.equal(publisher.sent.length, 0);
});

test('nothing is sent after a report that has blocked the process until the signal was due', async () => {
  const phone = device(), publisher = publisherOf([{name: 'alice', account: phone.account, keys: [phone.text]}]);
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50); }});
  const call = encryption.send(publisher, {to: 'username:alice', payload: 'x'}, {signal: AbortSignal.timeout(10), key: 'k'});
  await assert.rejects(call, error => error instanceof AbortError && error.idempotencyKey === 'k');
  assert.equal(publisher.sent.length, 0);
});

test('a long list of keys does not delay the end of a call, and changes nothing', async t => {
  let now = 0, count = 0;
  t.mock.method(performance, 'now', () => now);
  const devices = Array.from({length: 30}, (_, at) => device(at)), [first] = devices, publisher = publisherOf([{name: 'alice', account: first.account, keys: devices.map(({text}) => text)}]);
  /** Each call of the method takes a second. */
  const slow = (object, name, original = object[name]) => t.mock.method(object, name, function (...all) {
    now += 1000;
    count += 1;
    return original.apply(this, all);
  });
  const calls = [
    encryption => encryption.send(publisher, {to: 'username:alice', payload: 'x'}, {deadline: 9500}), encryption => encryption.prepare(publisher, 'username:alice', {deadline: 9500}),
  ];
  for (const call of calls) {
    for (const [what, most] of [['read', 10], ['isApproved', 40], ['shared', 10]]) {
      const pins = new Pins(), sender = SenderKey.generate(), encryption = new Encryption(sender, pins, {changed: () => assert.fail('reported')});
      for (const {key} of what === 'shared' ? devices : [first]) pins.trust('alice', key);
      // Each device has approved the next one.
      const approves = (key, by) => devices.findIndex(device => device.key.id === by) + 1 === devices.findIndex(device => device.key.id === key.id);
      const slowed = what === 'isApproved' ? slow(DeviceKey.prototype, what, function (by) { now -= 750; return approves(this, by); }) : slow(what === 'read' ? pins : sender, what);
      const before = JSON.stringify(pins.values);
      count = 0;
      await assert.rejects(call(encryption), UnreachableError, `${call} ${what}`);
      assert.ok(count > 1 && count <= most, `${call} ${what}: ${count}`);
      assert.deepEqual([JSON.stringify(pins.values), publisher.sent.length], [before, 0]);
      slowed.mock.restore();
    }
  }
});

test('users who get nothing are reported before the others get the payload', async () => {
  const phone = device(), seen = [], to = ['username:alice', 'username:bob', 'username:carol', 'role:nurse'];
  const users = {'username:alice': [{name: 'alice', account: phone.account, keys: [phone.text]}], 'username:carol': [{name: 'Carol', account: 'B'.repeat(22), keys: [null]}]};
  const publisher = {...publisherOf([]), deviceKeys: async expression => users[expression] ?? []};
  const changed = changes => seen.push(...changes.map(({user, kind}) => [user, kind, publisher.sent.length]));
  const encryption = new Encryption(SenderKey.generate(), new Pins(), {changed});
  // No pin ends the report.
  for (let count = 0; count < 2; count += 1) await encryption.send(publisher, {to, payload: 'x'});
  const skipped = sent => [['bob', 'skipped', sent], ['Carol', 'skipped', sent]];
  assert.deepEqual(seen, [['alice', 'first', 0], ...skipped(0), ...skipped(1)]);
  await assert.rejects(encryption.send(publisher, {to: 'username:bob', payload: 'x'}), {name: 'NoTrustedDeviceError', message: /device: bob: skipped$/});
});

test('the changes of all users are one report, and those of a preparation one for each user', async () => {
  const phones = [device(), device(2000)];
  const publisher = publisherOf(phones.map(({text, account}, at) => ({name: `user${at}`, account, keys: [text]})));
  for (const [call, expected] of [['prepare', [1, 1]], ['encrypted', [2]]]) {
    const reports = [], encryption = new Encryption(SenderKey.generate(), new Pins(), {changed: changes => { reports.push(changes.length); }});
    await encryption[call](publisher, call === 'prepare' ? 'role:nurse' : {to: 'role:nurse', payload: 'x'});
    assert.deepEqual(reports, expected, call);
  }
});

test('a lost device gets nothing, whatever is listed', () => {
  const phone = device(), tablet = device(2000), pins = new Pins();
  pins.check('alice', phone.account, [phone.text]);
  pins.trust('alice', tablet.key);
  pins.distrust('Alice', phone.key.id);
  for (const keys of [[tablet.text], [phone.text, tablet.text]]) {
    const {recipients, changes} = pins.check('alice', phone.account, keys);
    assert.deepEqual([recipients.map(({key}) => key.id), changes], [[tablet.key.id], []]);
  }
});

test('a device that is distrusted during a report gets nothing', async () => {
  const {phone, tablet} = vectors.devices, publisher = publisherOf([{name: 'Alice', account: phone.account, keys: [phone.key, tablet.key]}]);
  const notification = {to: 'username:alice', payload: 'x'}, idsIn = ({payload}) => payload.slice(payload.lastIndexOf('.') + 1).match(/.{152}/g).map(entry => entry.slice(0, 22));
  const inReport = (pins, ids) => new Encryption(SenderKey.generate(), pins, {changed: () => { for (const id of ids) pins.distrust('alice', id); }});
  await inReport(new Pins(), [tablet.id]).send(publisher, notification);
  await assert.rejects(inReport(new Pins(), [phone.id, tablet.id]).send(publisher, notification), ({name, changes}) => name === 'NoTrustedDeviceError' && changes.length === 2);
  // Another task distrusts the device while the report waits.
  const pins = new Pins();
  let finish;
  const waiting = new Encryption(SenderKey.generate(), pins, {changed: () => new Promise(done => { finish = done; })}).send(publisher, notification);
  while (!finish) await new Promise(setImmediate);
  pins.distrust('alice', tablet.id);
  finish();
  await waiting;
  assert.deepEqual(publisher.sent.map(idsIn), [[phone.id], [phone.id]]);
});

test('a lost device that was not seen gets nothing', () => {
  const {phone, tablet} = vectors.devices, keys = [phone.key, tablet.key];
  let pins = new Pins();
  pins.trust('alice', new DeviceKey(phone.key));
  pins.distrust('Alice', tablet.id);
  pins = new Pins(JSON.parse(JSON.stringify(pins.values)));
  const {recipients, changes} = pins.check('alice', phone.account, keys);
  assert.deepEqual([recipients.map(({key}) => key.id), changes], [[phone.id], []]);
  pins.trust('alice', new DeviceKey(tablet.key));
  assert.equal(pins.check('alice', phone.account, keys).recipients.length, 2);
});

test('three lies that no history has', () => {
  const {phone, tablet, mallory} = vectors.devices, listed = (user, ...keys) => pins => pins.check(user, phone.account, keys);
  for (const [name, lie, kinds] of [
    ['half a character', listed('alice', phone.key.replace(phone.account, '\ud800' + 'A'.repeat(21))), ['invalid', 'missing']],
    ['the user a second time', listed('ALICE', mallory.key), ['missing', 'unapproved']],
    ['an approval of a lost device', pins => { pins.distrust('alice', phone.id); return listed('alice', phone.key, tablet.key)(pins); }, ['unapproved']],
  ]) {
    const pins = new Pins();
    pins.check('alice', phone.account, [phone.key]);
    const {recipients, changes} = lie(pins);
    assert.deepEqual([recipients, changes.map(({kind}) => kind).sort()], [[], kinds], name);
  }
});

test('a key that is no key of this package, and an unknown one, are refused with words', async () => {
  const phone = device(), pins = new Pins();
  const ofBrowser = await (await import('../../web/sealpost.js')).DeviceKey.read(phone.text);
  for (const key of [ofBrowser, phone.text, null]) assert.throws(() => pins.trust('alice', key), {name: 'TypeError', message: /new DeviceKey/});
  assert.deepEqual({...pins.values}, {});
  pins.trust('alice', new DeviceKey(ofBrowser.text));
  for (const [user, key] of [['alice', phone.text], ['bob', phone.key.id]]) assert.throws(() => pins.distrust(user, key), {name: 'TypeError', message: /no pins, or .* is no id/});
});

test('damaged pins are refused', () => {
  const pins = new Pins();
  pins.trust('alice', device().key);
  const stored = JSON.stringify(pins.values);
  for (const [old, changed] of [['"trusted"', '"yes"'], ['"signing":"', '"signing":"x'], ['"account"', '"Account"'], ['"state"', '"State"']]) {
    assert.throws(() => new Pins(JSON.parse(stored.replace(old, changed))), {name: 'TypeError', message: /the pins of 'alice' are damaged/}, old);
  }
  for (const values of [{trustsFirstContact: false}, {alice: null}, {alice: {account: 'A', keys: []}}]) assert.throws(() => new Pins(values), /damaged/);
  for (const values of [stored, null, 5, []]) assert.throws(() => new Pins(values), {name: 'TypeError', message: /^values: .* is not an object$/});
  assert.equal(JSON.stringify(new Pins(JSON.parse(stored)).values), stored);
});

test('a listed key is verified once', () => {
  const phone = device(), pins = new Pins(), [first, second] = [1, 2].map(() => pins.check('alice', phone.account, [phone.text]).recipients[0].key);
  assert.ok(first === second);
});

test('users may have any name', () => {
  const phone = device();
  for (const name of ['constructor', '__proto__', 'toString']) {
    const pins = new Pins();
    assert.equal(pins.check(name, phone.account, [phone.text]).recipients.length, 1, name);
    assert.equal(new Pins(JSON.parse(JSON.stringify(pins.values))).check(name, phone.account, [phone.text]).changes.length, 0, name);
  }
});

test('a sender\'s key survives as PEM', () => {
  const key = SenderKey.generate();
  assert.equal(SenderKey.read(key.pem()).id, key.id);
});
