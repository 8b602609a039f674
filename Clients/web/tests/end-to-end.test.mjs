// Runs docs/evidence/vectors/end-to-end.json with WebCrypto.

import assert from 'node:assert/strict';
import {createECDH} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {DeviceKey, DeviceKeys, UnreadableError, exportKey, openPayload, setupReceiver} from '../sealpost.js';

const folder = process.env.SEALPOST_VECTORS ?? new URL('../../../docs/evidence/vectors', import.meta.url).pathname;
const vectors = JSON.parse(readFileSync(`${folder}/end-to-end.json`, 'utf8'));
const senders = [vectors.sender.public], now = vectors.now, hex = text => new Uint8Array(Buffer.from(text, 'hex'));

/** A private key that cannot be exported, as a browser's own. */
async function privateKey(scalar) {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(scalar);
  const point = pair.getPublicKey(), [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'));
  const jwk = {kty: 'EC', crv: 'P-256', x, y, d: Buffer.from(scalar).toString('base64url')};
  return crypto.subtle.importKey('jwk', jwk, {name: 'ECDH', namedCurve: 'P-256'}, false, ['deriveBits']);
}

const keysOf = async device => DeviceKeys.from({text: device.key, agreement: await privateKey(Buffer.from(device.agreementPrivate, 'base64url'))});

test('the vectors of RFC 9180', async () => {
  const {enc, recipient, recipientPublic, senderPublic, info, exporterSecret, exports} = vectors.hpke;
  const secret = await setupReceiver(hex(enc), await privateKey(hex(recipient)), hex(recipientPublic), hex(senderPublic), hex(info));
  assert.equal(Buffer.from(secret).toString('hex'), exporterSecret);
  for (const {context, value} of exports) assert.equal(Buffer.from(await exportKey(secret, hex(context), 32)).toString('hex'), value);
});

test('each device opens the payloads', async () => {
  for (const {payload, plain, message, app, devices} of vectors.payloads) {
    for (const device of Object.values(vectors.devices).filter(({id}) => devices.includes(id))) {
      assert.deepEqual(await openPayload(payload, {device: await keysOf(device), senders, app, now}), {json: plain, message, sentAt: now});
    }
  }
});

test('other payloads are refused with their reason', async () => {
  const device = await keysOf(vectors.devices.phone);
  for (const {name, payload, reason} of vectors.refused) {
    await assert.rejects(openPayload(payload, {device, senders, now}), error => error instanceof UnreadableError && error.reason === reason, name);
  }
  for (const payload of [null, 7, {a: 1}]) await assert.rejects(openPayload(payload, {device, senders}), {reason: 'notEncrypted'});
});

test('fingerprints, ids and signatures', async () => {
  for (const {key: text, id, fingerprint, account} of Object.values(vectors.devices)) {
    const key = await DeviceKey.read(text);
    assert.deepEqual([key.id, key.fingerprint, key.account], [id, fingerprint, account]);
    const changed = text.replace(account, 'B'.repeat(22));
    await assert.rejects(DeviceKey.read(changed), {reason: 'signature'});
  }
  for (const text of [null, '', 'x'.repeat(3000), 'sealpost-key.1.......', vectors.devices.phone.key.slice(0, -3)]) {
    await assert.rejects(DeviceKey.read(text), UnreadableError);
  }
});

test('a device makes keys that no script can export, and approves another', async () => {
  const [phone, tablet] = [await DeviceKeys.make('A'.repeat(22), 1000.5), await DeviceKeys.make('A'.repeat(22))];
  await assert.rejects(crypto.subtle.exportKey('jwk', phone.stored.agreement));
  const approved = await phone.approve(tablet.key.text);
  assert.equal((await DeviceKey.read(approved)).id, tablet.key.id);
  assert.ok(approved.includes(`.${phone.key.id}`));
  await assert.rejects(phone.approve((await DeviceKeys.make('B'.repeat(22))).key.text), {reason: 'account'});
});
