// End-to-end encryption; docs/end-to-end.md in Sealpost's repository defines the format.

import {AsyncLocalStorage} from 'node:async_hooks';
import crypto, {
  ECDH, KeyObject, createCipheriv, createDecipheriv, createECDH, createHash, createHmac, createPrivateKey, createPublicKey, diffieHellman,
  randomBytes, randomUUID, sign, verify,
} from 'node:crypto';

import {AbortError, SealpostError, UnreachableError} from './errors.js';
import {checkEnd, checkedKey, isObject, jsonOf, membersOf, mustBe, nameIn, optionsOf, refuse, textOf} from './wire.js';

const PAYLOAD = 'sealpost-e2e.1.1', KEY = 'sealpost-key.1';
/** The numbers of characters of an id, a point, a signature and a device's entry. */
const ID = 22, POINT = 87, SIGNATURE = 86, ENTRY = 152;
const MAXIMUM_DEVICES = 1000;
/**
 * The maximum number of levels of nesting of a payload. It is the server's limit, so that all
 * clients can read a payload.
 */
const MAXIMUM_LEVELS = 62;
/**
 * The maximum number of bytes of a payload's JSON text. Encrypted for one device, a longer text
 * exceeds the server's default `notifications.maxPayload`, since the next size class does.
 */
const MAXIMUM_PAYLOAD = 45_055;
/**
 * How long a device's HPKE context is reused, in milliseconds: a new context costs a key
 * agreement. After half of this time, each payload renews up to `EARLY_RENEWALS` contexts, so that
 * no payload must renew all of them.
 */
const CONTEXT_LIFETIME = 3_600_000, EARLY_RENEWALS = 20;
/** How often `prepare` encrypts for each device: V8 compiles code only after it has run often. */
const PRACTICE = 3;
/**
 * The longest accepted age and clock skew of a payload, in seconds. A payload can be scheduled 30
 * days ahead, and the server then stores it for up to 30 days: an older payload is a replay.
 */
const LONGEST_LIFE = 61 * 86_400, CLOCK_SKEW = 86_400;
/** The nonce is all zeros, since each key encrypts only one text. */
const NONCE = Buffer.alloc(12);

/**
 * Thrown for a text that is not a valid end-to-end payload or device key, or a payload that is not
 * for this reader. docs/end-to-end.md lists the values of `reason`.
 */
export class UnreadableError extends Error {
  constructor(reason) {
    super(reason);
    this.name = 'UnreadableError';
    this.reason = reason;
  }
}

/** Thrown if no device of the recipients is trusted; nothing was sent. `changes` say why. */
export class NoTrustedDeviceError extends SealpostError {
  constructor(changes) {
    super(`there is no trusted device: ${changes.map(({user, kind}) => `${user}: ${kind}`).join(', ') || 'no keys'}`, {changes});
  }
}

/** Lets the process handle other events. */
const otherEvents = () => new Promise(done => { setImmediate(done); });
const text = bytes => Buffer.from(bytes).toString('base64url');
/** `hash` is new in Node 20.12, and takes less time. */
const sha256 = crypto.hash ? value => crypto.hash('sha256', value, 'buffer') : value => createHash('sha256').update(value).digest();
const idOf = value => text(sha256(value).subarray(0, 16));
const isTime = value => /^(0|[1-9][0-9]{0,9})$/.test(value);

/** The JSON of a payload. Throws for a payload that no device could get. */
function plainOf(payload, maximum) {
  const plain = jsonOf(payload, 'payload', MAXIMUM_LEVELS);
  if (plain === undefined || plain === 'null') throw new TypeError('payload: give a value of JSON other than null');
  const length = Buffer.byteLength(plain);
  if (length > maximum) throw new RangeError(`the payload has ${length} bytes of JSON text; an end-to-end payload has at most ${maximum}`);
  return plain;
}

/** The bytes of a text in base64url. Throws for any other text or spelling. */
function bytesOf(value, length = value.length) {
  const bytes = Buffer.from(value, 'base64url');
  if (value.length !== length || bytes.toString('base64url') !== value) throw new UnreadableError('malformed');
  return bytes;
}

function publicKey(point) {
  try {
    if (point.length !== 65 || point[0] !== 4) throw new TypeError('no point');
    return createPublicKey({format: 'jwk', key: {kty: 'EC', crv: 'P-256', x: text(point.subarray(1, 33)), y: text(point.subarray(33))}});
  } catch {
    throw new UnreadableError('malformed');
  }
}

/** The point of a text. `convertKey` takes a fifth of the time that a `KeyObject` takes. */
function pointIn(value) {
  const point = bytesOf(value, POINT);
  try {
    if (point[0] !== 4) throw new TypeError('no uncompressed point');
    return ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'uncompressed');
  } catch {
    throw new UnreadableError('malformed');
  }
}

function pointOf(key) {
  const {crv, x, y} = key.export({format: 'jwk'});
  if (crv !== 'P-256') throw new TypeError('the key is not one of the curve P-256');
  return Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
}

/** A new key of `createECDH`, which takes a third of the time that a `KeyObject` takes. */
function ephemeralKey() {
  const key = createECDH('prime256v1');
  key.generateKeys();
  return key;
}

/**
 * A new private key. `generateKeyPairSync` is not used: in Node 20, if the garbage collector
 * collects its job during an export of the generated key, the process hangs.
 */
export function generatedKey() {
  const pair = ephemeralKey(), point = pair.getPublicKey(), d = pair.getPrivateKey();
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(text);
  return createPrivateKey({format: 'jwk', key: {kty: 'EC', crv: 'P-256', x, y, d: text(Buffer.concat([Buffer.alloc(32 - d.length), d]))}});
}

const signed = (purpose, body) => Buffer.from(`sealpost-${purpose}\n${body}`);
const signatureOf = (key, purpose, body) => text(sign('sha256', signed(purpose, body), {key, dsaEncoding: 'ieee-p1363'}));

function verifies(point, purpose, body, signature) {
  try {
    return verify('sha256', signed(purpose, body), {key: publicKey(point), dsaEncoding: 'ieee-p1363'}, bytesOf(signature, SIGNATURE));
  } catch {
    return false;
  }
}

/** A backend's key pair. Devices know its public key, `text`, from the app, never from the server. */
export class SenderKey {
  #key;
  #agreement = createECDH('prime256v1');

  /** Use `read` or `generate`. */
  constructor(key) {
    if (!(key instanceof KeyObject)) throw new TypeError('key: use SenderKey.read for a PEM text');
    this.#key = key;
    this.point = pointOf(createPublicKey(this.#key));
    this.#agreement.setPrivateKey(this.#key.export({format: 'jwk'}).d, 'base64url');
    this.id = idOf(this.point);
    this.text = text(this.point);
  }

  /** Reads a private key in PKCS #8, as `pem()` returns it. */
  static read(pem) {
    return new SenderKey(createPrivateKey(pem));
  }

  static generate() {
    return new SenderKey(generatedKey());
  }

  pem() {
    return this.#key.export({format: 'pem', type: 'pkcs8'});
  }

  /** The shared secret of this key and a device's key. */
  shared({agreement}) {
    return this.#agreement.computeSecret(agreement);
  }
}

/** The public keys of one device, with its own signature and those of devices that have approved it. */
export class DeviceKey {
  #approvals;

  constructor(value) {
    const parts = typeof value === 'string' && value.length <= 2048 ? value.split('.') : [];
    if (parts.length !== 8 || `${parts[0]}.${parts[1]}` !== KEY || parts[2].length !== ID || !isTime(parts[5])) throw new UnreadableError('malformed');
    this.body = parts.slice(0, 6).join('.');
    this.account = parts[2];
    this.signing = pointIn(parts[3]);
    this.agreement = pointIn(parts[4]);
    this.madeAt = Number(parts[5]);
    if (parts[7].length % (ID + SIGNATURE) !== 0) throw new UnreadableError('malformed');
    this.id = idOf(this.body);
    this.#approvals = new Map(pieces(parts[7], ID + SIGNATURE).map(entry => [entry.slice(0, ID), entry.slice(ID)]));
    if (!verifies(this.signing, 'own', this.body, parts[6])) throw new UnreadableError('signature');
  }

  get hasApprovals() {
    return this.#approvals.size > 0;
  }

  /** A digest of the keys in 30 digits, which people can compare on two screens. */
  get fingerprint() {
    const digest = sha256(`sealpost-fingerprint\n${this.body}`);
    return Array.from({length: 6}, (_, at) => String(digest.readUIntBE(at * 5, 5) % 100_000).padStart(5, '0')).join(' ');
  }

  /** Whether the device with that id and verification key has signed these keys. */
  isApproved(by, signing) {
    return by !== this.id && this.#approvals.has(by) && verifies(signing, 'approve', this.body, this.#approvals.get(by));
  }
}

const isPin = pin => isObject(pin) && typeof pin.account === 'string' && isObject(pin.keys)
  && Object.values(pin.keys).every(key => isObject(key) && key.signing?.length === POINT && /^(trusted|missing|distrusted)$/.test(key.state));

/**
 * The device keys that this backend has seen. Store `values`, which is JSON, after each call that
 * has reported changes, and after `trust`, `distrust` and `forget`.
 */
export class Pins {
  #trustsFirstContact;
  /** The keys that were read before, by their texts: a key's verification costs two key agreements. */
  #keys = new Map();

  constructor(values = {}, options = {}) {
    mustBe('an object', {values, options});
    const {trustsFirstContact = true, ...others} = options;
    refuse(others);
    mustBe('a boolean', {trustsFirstContact});
    for (const [user, pin] of Object.entries(values)) {
      if (!isPin(pin)) throw new TypeError(`the pins of '${user}' are damaged: values must be those that the pins had`);
    }
    // The object has no prototype, because users choose their names, such as `constructor`.
    this.values = Object.assign(Object.create(null), values);
    this.#trustsFirstContact = trustsFirstContact;
  }

  /** Accepts a device after somebody has compared its fingerprint. */
  trust(user, key) {
    // The `DeviceKey` of the client for browsers is another class, without the signing key.
    if (!(key instanceof DeviceKey)) throw new TypeError('the key is no DeviceKey of this package: make one of its text, new DeviceKey(text)');
    const pin = this.values[user.toLowerCase()] ??= {account: key.account, keys: {}};
    if (pin.account !== key.account) throw new TypeError(`the key is of another account than ${user}'s; forget the user first`);
    pin.keys[key.id] = {signing: text(key.signing), state: 'trusted'};
  }

  /**
   * Ends the encryption for a device, such as a lost phone, even if the server lists it. `key` is
   * the id of the device's key, as in a change, also of a device that these pins have not seen.
   * Throws for a user without pins.
   */
  distrust(user, key) {
    const pin = this.values[user.toLowerCase()];
    if (!pin || !/^[-A-Za-z0-9_]{21}[AQgw]$/.test(key)) throw new TypeError(`${user} has no pins, or ${key} is no id of a key; \`key\` is the id in a change`);
    // Pins need a verification key: that of an unseen device is a key that nobody has.
    (pin.keys[key] ??= {signing: SenderKey.generate().text}).state = 'distrusted';
  }

  /** Forgets a user, for example one who was deleted and created again. */
  forget(user) {
    delete this.values[user.toLowerCase()];
  }

  /** The key in a text, which is verified once. */
  read(value) {
    const key = this.#keys.get(value) ?? new DeviceKey(value);
    if (this.#keys.size >= 10 * MAXIMUM_DEVICES) this.#keys.clear();
    this.#keys.set(value, key);
    return key;
  }

  /**
   * The devices of a user that may be trusted, and the changes since the last check. `inTime` is
   * called for each key, and ends the check if it throws. `changes` then has the changes until then.
   */
  check(user, account, texts, inTime = () => {}, changes = []) {
    const found = new Map();
    for (const value of texts) {
      inTime();
      try {
        const key = this.read(value);
        if (key.account !== account) throw new UnreadableError('account');
        found.set(key.id, key);
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
        changes.push({user, kind: 'invalid', key: null});
      }
    }
    const keys = [...found.values()], report = (kind, key) => changes.push({user, kind, key: key.id, fingerprint: key.fingerprint});
    let pin = this.values[user.toLowerCase()];
    if (pin === undefined) {
      pin = {account, keys: {}};
      const [first] = keys.filter(key => !key.hasApprovals).sort((one, other) => one.madeAt - other.madeAt || (one.id < other.id ? -1 : 1));
      if (first && this.#trustsFirstContact) {
        this.values[user.toLowerCase()] = pin;
        pin.keys[first.id] = {signing: text(first.signing), state: 'trusted'};
        report('first', first);
      }
    } else if (pin.account !== account) {
      changes.push({user, kind: 'account', key: null});
      return {recipients: [], changes};
    }
    const known = pin.keys;
    let rest = keys.filter(key => !Object.hasOwn(known, key.id));
    // Most lists have no new key.
    const approving = rest.length > 0 ? Object.entries(known).filter(([, {state}]) => state === 'trusted') : [];
    const trusted = new Map(approving.map(([id, {signing}]) => [id, bytesOf(signing, POINT)]));
    // A device that was approved in this loop may have approved further devices.
    for (let added = rest; added.length > 0;) {
      added = rest.filter(key => {
        inTime();
        return [...trusted].some(([by, signing]) => key.isApproved(by, signing));
      });
      rest = rest.filter(key => !added.includes(key));
      for (const key of added) {
        trusted.set(key.id, key.signing);
        known[key.id] = {signing: text(key.signing), state: 'trusted'};
        report('added', key);
      }
    }
    for (const key of rest) report('unapproved', key);
    for (const [id, value] of Object.entries(known)) {
      if (found.has(id) || value.state !== 'trusted') continue;
      value.state = 'missing';
      changes.push({user, kind: 'missing', key: id});
    }
    for (const key of keys) {
      if (known[key.id]?.state !== 'missing') continue;
      // A device that returns to the list approves no other device of this list: otherwise a
      // stolen device could add devices in this way.
      known[key.id].state = 'trusted';
      report('returned', key);
    }
    return {recipients: keys.filter(key => known[key.id]?.state === 'trusted').map(key => ({user, key})), changes};
  }
}

/**
 * Removes the changes of checks from pins, so that the next check finds them again. Newer changes
 * of other calls remain.
 */
function undo({values}, changes) {
  for (const {user, kind, key} of [...changes].reverse()) {
    const name = user.toLowerCase(), known = values[name]?.keys ?? {}, isTrusted = known[key]?.state === 'trusted';
    if (kind === 'missing' && known[key]?.state === 'missing') known[key].state = 'trusted';
    if (kind === 'returned' && isTrusted) known[key].state = 'missing';
    if ((kind === 'first' || kind === 'added') && isTrusted) delete known[key];
    if (kind === 'first' && Object.keys(known).length === 0) delete values[name];
  }
}

/**
 * A function that returns the options of a call's next request. The requests share the call's
 * deadline, after which the function throws an `UnreachableError`. It throws an `AbortError` after
 * the signal.
 */
function sharedOptions(client, options) {
  mustBe('an object', {client});
  const {deadline = client.deadline, signal, ...others} = options;
  refuse(others);
  checkEnd({deadline, signal});
  const end = performance.now() + deadline;
  return () => {
    const left = end - performance.now();
    if (signal?.aborted) throw new AbortError(signal);
    if (left <= 0) throw new UnreachableError('the deadline has passed', {wasSent: false});
    return {deadline: left, signal};
  };
}

/** Encrypts payloads of one sender. */
export class Encryption {
  #changed;
  #maximumPayload;
  /** The end of the last report: no call may send before another has reported its changes. */
  #reported = Promise.resolve();
  /**
   * The report in which a call was begun. Work that `changed` has started inherits it, also after the
   * report's end.
   */
  #report = new AsyncLocalStorage();
  #contexts = new Map();
  /** The shared secrets of the sender's key with each device's key, by device. */
  #shared = new Map();

  /**
   * `changed` is called with the changes of keys before anything is sent. If it throws or rejects,
   * nothing is sent, and the next call reports the changes again. It runs to its end even if the
   * deadline or the signal ends the call, which then sends nothing. `send` and `encrypted` call it
   * once with all changes. `prepare` calls it once for each user, since another call may send
   * meanwhile. `maximumPayload` is the maximum number of bytes of a payload's JSON text.
   */
  constructor(key, pins, options) {
    mustBe('an object', {options});
    const {changed, maximumPayload = MAXIMUM_PAYLOAD, ...others} = options;
    refuse(others);
    mustBe('a function', {changed});
    if (!Number.isSafeInteger(maximumPayload) || maximumPayload < 1) throw new TypeError('maximumPayload: give a whole number of bytes above 0');
    if (!(key instanceof SenderKey)) throw new TypeError('key: an Encryption needs a SenderKey of this package');
    if (!(pins instanceof Pins)) throw new TypeError('pins: an Encryption needs Pins of this package, such as new Pins()');
    this.key = key;
    this.pins = pins;
    this.#changed = changed;
    this.#maximumPayload = maximumPayload;
  }

  /**
   * Sends a notification to the trusted devices of its recipients, as `client.send` does.
   *
   * All attempts of the call post the same text. A repeated call encrypts again, so the server
   * refuses the same key as `idempotency-key-reused`. To repeat a call after a restart, store the
   * payload of `encrypted`, and send that with `client.send` and the key. If you use each key for
   * one notification only, you can also treat the refusal as success: an earlier call with the key
   * was stored. The deadline is for the requests of the keys and the post together.
   */
  async send(client, notification, options) {
    const {key = randomUUID(), ...others} = optionsOf(options), rest = sharedOptions(client, others);
    checkedKey(key);
    try {
      return await client.send(await this.#encrypted(client, notification, rest), {...rest(), key});
    } catch (error) {
      if (error instanceof SealpostError) error.idempotencyKey ??= key;
      throw error;
    }
  }

  /**
   * Makes the key agreements for recipients ahead, and encrypts for practice, so that V8 compiles
   * the code. If you call it at the start and then every half an hour, no payload waits for this.
   * Meanwhile the process handles other events.
   */
  async prepare(client, to, options) {
    const {app = 'default', ...others} = optionsOf(options), rest = sharedOptions(client, others);
    for (const recipient of this.#trusted(await this.#recipients(client, to, app, rest, {pauses: true}))) {
      rest();
      for (let count = 0; count < PRACTICE; count += 1) this.encrypt('', [recipient], {app});
      await otherEvents();
    }
  }

  /** The notification with its payload encrypted for the trusted devices of its recipients. */
  async encrypted(client, notification, options) {
    return this.#encrypted(client, notification, sharedOptions(client, optionsOf(options)));
  }

  async #encrypted(client, notification, rest) {
    // The notification names its app, since the payload is bound to the app's name: otherwise the
    // server would use the caller's only app, which may be another app.
    const members = membersOf(notification), {to, app = 'default'} = members, plain = plainOf(members.payload, this.#maximumPayload);
    textOf({...members, payload: ''});  // Checks the other members before a request.
    const found = await this.#recipients(client, to, app, rest);
    // `changed`, or another task meanwhile, may have distrusted a device.
    return {...members, app, payload: this.#encrypt(plain, this.#trusted(found), {app}, rest)};
  }

  async #recipients(client, to, app, rest, {pauses = false} = {}) {
    const expressions = [to ?? []].flat();
    mustBe('a list of texts', {to: expressions});
    if (expressions.length === 0) throw new TypeError('to: name the recipients, since a payload is encrypted for their devices');
    const recipients = [], changes = [], users = [];
    for (const expression of expressions) {
      const found = await client.deviceKeys(expression, {...rest(), app}), name = nameIn(expression);
      // The server lists no users without devices, so only those that are named can be reported.
      if (found.length === 0 && name) users.push({name});
      users.push(...found);
    }
    if (pauses) await this.#verify(users, rest);
    // Another call may send during a pause, so the changes are reported first.
    for (const group of pauses ? users.map(user => [user]) : [users]) {
      const checked = await this.#inTurn(() => this.#check(group, rest), rest());
      recipients.push(...checked.recipients);
      changes.push(...checked.changes);
      if (pauses) await otherEvents();
    }
    return {recipients, changes};
  }

  /** The recipients whose devices the pins do not distrust now. Throws if nobody is left. */
  #trusted({recipients, changes}) {
    const trusted = recipients.filter(({user, key}) => this.pins.values[user.toLowerCase()]?.keys[key.id]?.state !== 'distrusted');
    if (trusted.length === 0) throw new NoTrustedDeviceError(changes);
    return trusted;
  }

  /** Verifies keys ahead, so that the check of a user with many devices does not block the process. */
  async #verify(users, inTime) {
    for (const value of users.flatMap(({keys = []}) => keys)) {
      inTime();
      try {
        this.pins.read(value);
      } catch (error) {
        // The check reports unreadable keys.
        if (!(error instanceof UnreadableError)) throw error;
      }
      await otherEvents();
    }
  }

  /** The trusted devices of users, after the changes of their keys were reported. */
  async #check(users, inTime) {
    const recipients = [], changes = [];
    try {
      for (const {name, account, keys} of users) {
        const found = keys ? this.pins.check(name, account, keys.filter(key => key !== null), inTime, changes).recipients : [];
        recipients.push(...found);
        if (found.length === 0) changes.push({user: name, kind: 'skipped', key: null});
      }
      if (changes.length > 0) {
        await this.#changed([...changes]);
        // Timers of the deadline and of the caller's signal may be due since `changed` blocked the
        // process. Node counts the first timer here from a time before the block, so it can fire
        // before these; the second fires after them.
        for (let timer = 0; timer < 2; timer += 1) await new Promise(done => { setTimeout(done); });
      }
    } catch (error) {
      undo(this.pins, changes);
      throw error;
    }
    return {recipients, changes};
  }

  /**
   * Does `act` after those of earlier calls have ended. If the deadline or the signal ends the call,
   * `act` is not begun, or runs to its end: later calls wait for it, since it may store the pins.
   */
  async #inTurn(act, {deadline, signal}) {
    let end, hasEnded = false;
    const ended = new Promise((_, reject) => {
      end = () => {
        hasEnded = true;
        reject(signal?.aborted ? new AbortError(signal) : new UnreachableError('`changed` has not ended in time', {wasSent: false}));
      };
    });
    const begin = async () => {
      if (hasEnded) return ended;
      const report = {isRunning: true};
      try {
        return await this.#report.run(report, act);
      } finally {
        report.isRunning = false;
      }
    };
    const timer = setTimeout(end, deadline);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
    try {
      // A call within `changed` cannot wait for the end of `changed`, and is a part of its report.
      if (this.#report.getStore()?.isRunning) return await Promise.race([ended, hasEnded ? ended : act()]);
      const turn = this.#reported.then(begin);
      this.#reported = turn.catch(() => {});
      return await Promise.race([ended, turn]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  /**
   * Encrypts a payload for these devices. `message` is the id of the message: 16 bytes that you
   * choose and never use again.
   */
  encrypt(payload, recipients, options) {
    return this.#encrypt(plainOf(payload, this.#maximumPayload), recipients, optionsOf(options));
  }

  #encrypt(plain, recipients, options, inTime = () => {}) {
    const {app = 'default', message = randomBytes(16), now = Date.now() / 1000, contentKey = randomBytes(16), ...others} = options;
    refuse(others);
    mustBe('a text', {app});
    const keys = new Map(recipients.map(({key}) => [key.id, key]));
    if (keys.size < 1 || keys.size > MAXIMUM_DEVICES) {
      throw new RangeError(`an end-to-end payload is for 1 to ${MAXIMUM_DEVICES} devices, not ${keys.size}: send to fewer users at once`);
    }
    if (message.length !== 16) throw new RangeError('the id of a message has 16 bytes');
    const time = String(Math.floor(now));
    if (!isTime(time)) throw new TypeError(`now: ${time} is no number of seconds since 1970`);
    const header = `${PAYLOAD}.${this.key.id}.${text(message)}.${time}`;
    const front = `${header}.${text(encrypt(contentKey, padded(Buffer.from(plain)), header))}`;
    // All devices share these buffers: with new ones for each device, the other threads of V8 took
    // three times as long.
    const exported = exporting(sha256(front), 16), entry = Buffer.alloc(65 + 32);
    let early = EARLY_RENEWALS;
    const entries = [...keys.keys()].sort().map(id => {
      inTime();
      const {enc, pads, isNew} = this.#context(keys.get(id), app, early > 0 ? CONTEXT_LIFETIME / 2 : CONTEXT_LIFETIME);
      if (isNew) early -= 1;
      const cipher = createCipheriv('aes-128-gcm', exported(pads), NONCE);
      entry.set(enc);
      entry.set(cipher.update(contentKey), 65);
      cipher.final();
      entry.set(cipher.getAuthTag(), 65 + 16);
      return id + text(entry);
    });
    return `${front}.${entries.join('')}`;
  }

  #context(key, app, lifetime) {
    const name = `${key.id} ${app}`, now = performance.now(), found = this.#contexts.get(name);
    if (found && now - found.madeAt <= lifetime) return found;
    if (this.#contexts.size >= 10 * MAXIMUM_DEVICES) {
      this.#contexts.clear();
      this.#shared.clear();
    }
    if (!this.#shared.has(key.id)) this.#shared.set(key.id, this.key.shared(key));
    const {enc, secret} = setupSender(this.#shared.get(key.id), this.key.point, key.agreement, infoOf(key.account, app));
    const context = {madeAt: now, enc, pads: padsOf(secret)};
    this.#contexts.set(name, context);
    return {...context, isNew: true};
  }
}

/**
 * Opens a payload for a device. Returns its JSON text, and the message's id, which the reader must
 * compare with the ids of earlier messages. `senders` are the public keys that the app trusts.
 */
export function openPayload(value, {key, privateKey, senders, app = 'default', now = Date.now() / 1000}) {
  const parts = String(value).split('.');
  if (parts[0] !== 'sealpost-e2e') throw new UnreadableError('notEncrypted');
  if (parts.slice(0, 3).join('.') !== PAYLOAD) throw new UnreadableError('unsupported');
  if (parts.length !== 8 || parts[3].length !== ID || parts[4].length !== ID || !isTime(parts[5]) || parts[7].length % ENTRY !== 0) {
    throw new UnreadableError('malformed');
  }
  const sender = senders.map(sender => bytesOf(sender, POINT)).find(point => idOf(point) === parts[3]);
  if (!sender) throw new UnreadableError('unknownSender');
  const entry = pieces(parts[7], ENTRY).find(entry => entry.startsWith(key.id));
  if (!entry) throw new UnreadableError('notForThisDevice');
  const age = now - Number(parts[5]);
  if (age < -CLOCK_SKEW || age > LONGEST_LIFE) throw new UnreadableError('expired');
  const wrapped = bytesOf(entry.slice(ID)), content = bytesOf(parts[6]);
  const secret = setupReceiver(wrapped.subarray(0, 65), privateKey, key.agreement, sender, infoOf(key.account, app));
  const contentKey = decrypt(exportKey(secret, sha256(parts.slice(0, 7).join('.')), 16), wrapped.subarray(65));
  const plain = decrypt(contentKey, content, parts.slice(0, 6).join('.'));
  let end = plain.length - 1;
  while (end >= 0 && plain[end] === 0) end -= 1;
  if (plain[end] !== 128) throw new UnreadableError('malformed');
  return {json: plain.toString('utf8', 0, end), message: parts[4]};
}

const infoOf = (account, app) => Buffer.from(`${PAYLOAD}\n${account}\n${app}`);
const pieces = (value, length) => Array.from({length: value.length / length}, (_, at) => value.slice(at * length, (at + 1) * length));

/**
 * Pads a text as ISO/IEC 7816-4 does: to a power of two from 256 to 4096 bytes, or, if it is
 * longer, to a multiple of 4096.
 */
export function padded(plain) {
  const length = plain.length + 1;
  const size = length <= 4096 ? Math.max(256, 2 ** Math.ceil(Math.log2(length))) : Math.ceil(length / 4096) * 4096;
  return Buffer.concat([plain, Buffer.from([128]), Buffer.alloc(size - length)]);
}

function encrypt(key, plain, associated = null) {
  const cipher = createCipheriv('aes-128-gcm', key, NONCE);
  if (associated !== null) cipher.setAAD(Buffer.from(associated));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key, content, associated = '') {
  if (content.length < 16) throw new UnreadableError('unreadable');
  const cipher = createDecipheriv('aes-128-gcm', key, NONCE, {authTagLength: 16}).setAAD(Buffer.from(associated));
  try {
    return Buffer.concat([cipher.setAuthTag(content.subarray(-16)).update(content.subarray(0, -16)), cipher.final()]);
  } catch {
    throw new UnreadableError('unreadable');
  }
}

// The functions of a device, for tests.

/** The text of public keys that a device registers. `keys` are its private keys. */
export function deviceKeyText(account, keys, now) {
  const [signing, agreement] = [keys.signing, keys.agreement].map(key => text(pointOf(createPublicKey(key))));
  const body = `${KEY}.${account}.${signing}.${agreement}.${now}`;
  return `${body}.${signatureOf(keys.signing, 'own', body)}.`;
}

// HPKE (RFC 9180), mode Auth, with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM.

const KEM = Buffer.from([...Buffer.from('KEM'), 0, 16]), HPKE = Buffer.from([...Buffer.from('HPKE'), 0, 16, 0, 1, 0, 1]);
const EMPTY = Buffer.alloc(0), VERSION = Buffer.from('HPKE-v1');
const hmac = (key, ...values) => values.reduce((hash, value) => hash.update(value), createHmac('sha256', key)).digest();
const extract = (salt, suite, label, value) => hmac(salt.length > 0 ? salt : Buffer.alloc(32), VERSION, suite, label, value);
/** HKDF-Expand of at most one block. */
const expand = (key, suite, label, info, length) => hmac(key, Buffer.from([0, length]), VERSION, suite, label, info, Buffer.from([1])).subarray(0, length);

/**
 * The encapsulated key and the exporter secret (`SetupAuthS`). `shared` is the shared secret of
 * the keys of the points `sender` and `recipient`.
 */
export function setupSender(shared, sender, recipient, info, ephemeral = ephemeralKey()) {
  const enc = ephemeral.getPublicKey();
  const secrets = Buffer.concat([ephemeral.computeSecret(recipient), shared]);
  return {enc, secret: exporter(secrets, Buffer.concat([enc, recipient, sender]), info)};
}

/** The exporter secret (`SetupAuthR`). */
export function setupReceiver(enc, privateKey, point, sender, info) {
  const shared = [enc, sender].map(other => diffieHellman({privateKey, publicKey: publicKey(other)}));
  return exporter(Buffer.concat(shared), Buffer.concat([enc, point, sender]), info);
}

const PSK_ID_HASH = extract(EMPTY, HPKE, 'psk_id_hash', EMPTY);

function exporter(shared, context, info) {
  const secret = expand(extract(EMPTY, KEM, 'eae_prk', shared), KEM, 'shared_secret', context, 32);
  const schedule = Buffer.concat([Buffer.from([2]), PSK_ID_HASH, extract(EMPTY, HPKE, 'info_hash', info)]);
  return expand(extract(secret, HPKE, 'secret', EMPTY), HPKE, 'exp', schedule, 32);
}

/** The two blocks that HMAC (RFC 2104) makes of a key of up to 64 bytes. */
const padsOf = secret => [0x36, 0x5c].map(pad => Buffer.alloc(64, pad).map((byte, at) => byte ^ (secret[at] ?? 0)));

/** A function that exports secrets for one `context`. They are HMACs of the same text. */
function exporting(context, length) {
  const label = [Buffer.from([0, length]), VERSION, HPKE, Buffer.from('sec'), context, Buffer.from([1])];
  const inner = Buffer.concat([Buffer.alloc(64), ...label]), outer = Buffer.alloc(64 + 32);
  return pads => {
    inner.set(pads[0]);
    outer.set(pads[1]);
    outer.set(sha256(inner), 64);
    return sha256(outer).subarray(0, length);
  };
}

export const exportKey = (secret, context, length) => exporting(context, length)(padsOf(secret));
