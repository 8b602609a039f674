/**
 * Sealpost in a browser: registers with Web Push, fetches the notification that a push refers to,
 * stores it encrypted, and accepts only the server's own answers.
 *
 * A single module for the page and for its service worker (`sealpost-worker.js`), without a build
 * step and without dependencies. Its rules are those of the Swift client; `docs/evidence/vectors`
 * has test vectors for each rule. The guide is `docs/web.md`.
 *
 * ```js
 * const push = await PushClient.open({signatures: {keys: ['<a pinned key>', '<the next one>']}, title: 'Clinic'});
 * if (!push.account) await push.signIn(name, password);
 * show(await push.cachedInbox());                                 // at once, without a network
 * show(await push.sync());                                 // and what the server says now
 * for await (const change of push.updates()) show(await push.cachedInbox());
 * ```
 */

// MARK: - Errors

/**
 * Texts for users, by the `advice` of an error. An app may replace them by its own texts, in its
 * own language.
 */
export const ADVICE = {
  offline: 'There is no connection. What you see may be out of date.',
  captivePortal: 'This network wants you to sign in first. Open its page, then try again.',
  interference: 'Something on this network changes our answers. Try another network.',
  update: 'This app needs an update, or this network changes our answers. Try another network first.',
  clock: 'The clock of this device is wrong. Set it, then try again.',
  signIn: 'You are not signed in. Try to sign in again.',
  wait: 'The server is busy. Try again later.',
  refused: 'The server does not allow this.',
  proxy: 'This network has a proxy that wants a password. Sign in to it, then try again.',
  storage: 'This browser cannot store messages. Make some room, then try again.',
  unavailable: 'This browser cannot do this.',
  app: 'This app has a fault. Tell our support.',
  keyReplaced: 'Somebody has changed the keys of this device at our server. Tell our support.',
  pushService: 'This browser gets no notifications. Turn on push messages in its settings, or use another browser.',
};

/** The advice for errors whose code is no advice. The last five are faults of the app. */
const ADVICE_OF_CODE = {
  unauthorized: 'signIn', signedOut: 'signIn', busy: 'wait', closed: 'app', notRegistered: 'app', invalidServer: 'app', insecureServer: 'app',
  noSignatureKeys: 'app',
};

/** The advice for each kind of interference. */
const ADVICE_OF_KIND = {redirect: 'captivePortal', signature: 'update', wrongClock: 'clock', wrongAccount: 'update'};

/**
 * The advice for an answer without the echo of `MyToken`. The server's own load balancer sends
 * most error statuses; a captive portal sends a page, a redirect or a demand to sign in. The
 * status is 0 if the browser withholds the answer.
 */
function adviceWithoutEcho(status) {
  if (status === 407) return 'proxy';
  if ([408, 421, 429].includes(status) || (status >= 500 && status !== 511)) return 'wait';
  return status < 400 || [401, 403, 511].includes(status) ? 'captivePortal' : 'interference';
}

/**
 * The reason why a call failed. `code` is one of:
 *
 * - `offline`: the network failed, or the deadline passed;
 * - `interference`: the answer is not the server's own answer to this request; the member
 *   `interference` has the evidence;
 * - `unauthorized`: the token is no longer valid and cannot be renewed; `signedOut`: the user has
 *   signed out, perhaps in another tab;
 * - `busy`: the server refuses for now (408, 429, 5xx, or 409 while it works on the same message),
 *   for `retryAfter` seconds if it says how long; `problem`: the server refuses for good. Errors
 *   with the code `busy` or `problem` have the member `problem`;
 * - `storage`: the stored data cannot be read or written; `unavailable`: this browser lacks
 *   something, for example its push service, or a worker that is a module; `denied`: the user does
 *   not allow notifications; `closed`: the app has closed this client; `notRegistered`: the call
 *   needs `register` first;
 * - `refused`: `approveDevice` has found other keys than those that were compared; `keyReplaced`:
 *   the server lists other end-to-end keys for this device than its own;
 * - `invalidServer`: the server's address is not an HTTP URL;
 * - `insecureServer`: the address is an `http` URL of another machine, or is `http` although keys
 *   are pinned;
 * - `noSignatureKeys`: the app has not chosen `signatures`, or pins an empty list.
 */
export class PushClientError extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.name = 'PushClientError';
    this.code = code;
    Object.assign(this, details);
  }

  /** The key in `ADVICE`. */
  get advice() {
    if (this.code === 'interference') {
      const {kind, status} = this.interference;
      return kind === 'missingEcho' ? adviceWithoutEcho(status) : ADVICE_OF_KIND[kind] ?? 'interference';
    }
    if (this.reason === 'pushService') return 'pushService';
    const advice = ADVICE_OF_CODE[this.code] ?? this.code;
    return advice in ADVICE ? advice : 'refused';
  }

  /**
   * Whether to show the cached state: the network failed, an answer was not the server's own, or
   * the server cannot answer now.
   */
  get allowsCached() {
    return ['offline', 'interference', 'busy'].includes(this.code);
  }
}

/**
 * The error for an answer that is not the server's own. It contains no part of a payload or a
 * credential, so an app may log it.
 *
 * `kind` is one of `redirect`, `missingEcho`, `wrongEcho`, `oversized`, `truncated`,
 * `insufficientCoverage`, `signature`, `wrongClock`, `wrongAccount`, `unexpectedNotModified`,
 * `notJSON`, `unexpectedBody` and `wrongID`. The status is 0 if there is no answer.
 */
function interference(kind, expected, seen, {status, path}) {
  const found = {kind, expected, seen: seen ?? null, status, path};
  const text = `${kind}: expected ${expected}, saw ${seen ?? 'nothing'}, status ${status} of ${path}`;
  return new PushClientError('interference', text, {interference: found});
}

/** A text for a log: short, without control characters. */
const printable = text => text.slice(0, 80).replace(/[^\x20-\x7E]/g, '?');

// MARK: - MyToken

/** The greatest `MyToken`: its echo still fits a signed 32-bit integer. */
export const GREATEST_TOKEN = 126_322_567;

/** An unpredictable `MyToken`, for one request. */
export function randomToken() {
  const numbers = new Uint32Array(1), count = GREATEST_TOKEN + 1;
  // Without this limit small tokens would be more likely: 2^32 is no multiple of `count`.
  const end = 2 ** 32 - (2 ** 32 % count);
  do crypto.getRandomValues(numbers); while (numbers[0] >= end);
  return String(numbers[0] % count);
}

/** The server's echo of a `MyToken` n, `n * 17 + 3` in decimal; null for an invalid `MyToken`. */
export function echoOf(token) {
  if (!/^[0-9]+$/.test(token) || Number(token) > GREATEST_TOKEN) return null;
  return String(Number(token) * 17 + 3);
}

// MARK: - Bytes

const encoder = new TextEncoder(), utf8 = text => encoder.encode(text);
// Without `ignoreBOM` the decoder would drop a byte order mark, and the text would differ from the
// received bytes.
const decoder = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}), text = bytes => decoder.decode(bytes);
const base64 = bytes => {
  let binary = '';
  for (let start = 0; start < bytes.length; start += 8192) binary += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(binary);
};
const base64URL = bytes => base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const sha256 = async bytes => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

/** The bytes of base64url without padding; null for any other text. */
const bytesOfURL = spelled => bytesOf(spelled.replaceAll('-', '+').replaceAll('_', '/') + '='.repeat((4 - spelled.length % 4) % 4));

/**
 * The bytes of base64 in its canonical spelling: with padding, and pad bits of zero. Null for any
 * other text.
 */
function bytesOf(spelled) {
  if (spelled.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(spelled)) return null;
  const bytes = Uint8Array.from(atob(spelled), character => character.charCodeAt(0));
  return base64(bytes) === spelled ? bytes : null;
}

// MARK: - Structured fields (RFC 9651)

/** The reason why a signature is not accepted. */
class SignatureFailure extends Error {
  constructor(reason, description) {
    super(description);
    this.reason = reason;
  }
}

/** Reads structured fields in one pass. The server's fields are much shorter than the limit. */
class FieldParser {
  static maximumLength = 16_384;

  /** The entries of a dictionary in their order, including repeated keys: `[{key, member}]`. */
  static dictionary(field, name) {
    const parser = new FieldParser(field, name), entries = [];
    parser.skip(/ */y);
    while (!parser.isAtEnd) {
      const key = parser.key();
      entries.push({key, member: parser.take('=') ? parser.member() : {value: true, kind: 'boolean', parameters: parser.parameters()}});
      parser.skip(/[ \t]*/y);
      if (parser.isAtEnd) break;
      if (!parser.take(',')) parser.fail('a comma is missing');
      parser.skip(/[ \t]*/y);
      if (parser.isAtEnd) parser.fail('it ends with a comma');
    }
    return entries;
  }

  constructor(field, name) {
    this.field = field;
    this.name = name;
    this.position = 0;
    if (field.length > FieldParser.maximumLength) this.fail('it is too long');
  }

  member() {
    return this.take('(') ? this.restOfList() : this.item();
  }

  restOfList() {
    const items = [];
    for (;;) {
      this.skip(/ */y);
      if (this.take(')')) return {kind: 'list', items, parameters: this.parameters()};
      items.push(this.item());
      if (this.next !== ' ' && this.next !== ')') this.fail('a space or a closing parenthesis is missing');
    }
  }

  item() {
    return {...this.bareItem(), parameters: this.parameters()};
  }

  /** The parameters in their order: `[{key, kind, value}]`. */
  parameters() {
    const parameters = [];
    while (this.take(';')) {
      this.skip(/ */y);
      const key = this.key();
      parameters.push({key, ...(this.take('=') ? this.bareItem() : {kind: 'boolean', value: true})});
    }
    return parameters;
  }

  key() {
    return this.match(/[a-z*][a-z0-9_.*-]*/y) ?? this.fail('a key is missing');
  }

  bareItem() {
    if (this.next === '"') {
      const quoted = this.match(/"(?:[\x20\x21\x23-\x5B\x5D-\x7E]|\\["\\])*"/y) ?? this.fail('a string is not valid');
      return {kind: 'string', value: quoted.slice(1, -1).replace(/\\(.)/g, '$1')};
    }
    if (this.next === ':') {
      const spelled = this.match(/:[A-Za-z0-9+/=]*:/y) ?? this.fail('a byte sequence is not valid');
      return {kind: 'bytes', value: bytesOf(spelled.slice(1, -1)) ?? this.fail('invalid base64')};
    }
    if (this.next === '?') return {kind: 'boolean', value: (this.match(/\?[01]/y) ?? this.fail('invalid boolean')) === '?1'};
    if (this.next === '@') return {kind: 'date', value: (this.match(/@-?[0-9]{1,15}(?![0-9.])/y) ?? this.fail('invalid date')).slice(1)};
    if (this.next === '%') {
      const display = this.match(/%"(?:[\x20\x21\x23\x24\x26-\x7E]|%[0-9a-f]{2})*"/y) ?? this.fail('invalid display string');
      return {kind: 'display', value: display};
    }
    if (/[-0-9]/.test(this.next)) {
      const decimal = this.match(/-?[0-9]{1,12}\.[0-9]{1,3}(?![0-9])/y);
      if (decimal) return {kind: 'decimal', value: decimal};
      const integer = this.match(/-?[0-9]{1,15}(?![0-9.])/y) ?? this.fail('invalid number');
      return {kind: 'integer', value: Number(integer)};
    }
    return {kind: 'token', value: this.match(/[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*/y) ?? this.fail('a value is missing')};
  }

  get isAtEnd() { return this.position === this.field.length; }
  get next() { return this.field[this.position] ?? ''; }

  take(character) {
    if (this.next !== character) return false;
    this.position += 1;
    return true;
  }

  skip(pattern) { this.match(pattern); }

  match(pattern) {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.field);
    if (!found) return null;
    this.position = pattern.lastIndex;
    return found[0];
  }

  fail(what) {
    throw new SignatureFailure('malformed', `${this.name} cannot be read: ${what} (at byte ${this.position})`);
  }
}

/** The spelling of an item or a parameter in a field. */
function spell({kind, value}) {
  switch (kind) {
    case 'string': return `"${value.replace(/["\\]/g, '\\$&')}"`;
    case 'bytes': return `:${base64(value)}:`;
    case 'boolean': return value ? '?1' : '?0';
    case 'date': return `@${BigInt(value)}`;
    case 'decimal': return value.replace(/^(-?)0+(?=[0-9]+\.)/, '$1').replace(/0+$/, '').replace(/\.$/, '.0');
    default: return String(value === 0 ? 0 : value);
  }
}

const spellParameters = parameters =>
  parameters.map(({key, ...item}) => item.kind === 'boolean' && item.value ? `;${key}` : `;${key}=${spell(item)}`).join('');
const spellList = items => `(${items.map(item => spell(item) + spellParameters(item.parameters)).join(' ')})`;
const isRepeated = keys => new Set(keys).size < keys.length;

// MARK: - Digest and signature (RFC 9530, RFC 9421)

/** The SHA-256 in a `Content-Digest`, which must have exactly one; other digests are ignored. */
function digestIn(field) {
  const found = FieldParser.dictionary(field, 'content-digest').filter(({key}) => key === 'sha-256');
  if (found.length === 0) throw new SignatureFailure('missing', 'the digest has no sha-256');
  if (found.length > 1) throw new SignatureFailure('duplicate', 'the digest has more than one sha-256');
  const {kind, value} = found[0].member;
  if (kind !== 'bytes' || value.length !== 32) throw new SignatureFailure('malformed', "the digest's sha-256 is none");
  return value;
}

/**
 * The components that a server of the previous version signs, in this order: the answer's status
 * and content, and the request's token, method, path and query.
 */
const EXCHANGE = ['"@status"', '"content-digest"', '"mytoken";req', '"@method";req', '"@path";req', '"@query";req'];
/**
 * The components that must be signed, in this order: those of `EXCHANGE`, and the answer's account.
 */
const COMPONENTS = [...EXCHANGE, '"sealpost-account"'];
/**
 * The components that must be signed in an answer with this status. A 304 has no content, so its
 * `ETag` is signed instead. With a digest, a 304 would overwrite the digest of a stored answer
 * (RFC 9111 section 3.2).
 */
const forStatus = (components, status) => status === 304 ? components.map(name => name === '"content-digest"' ? '"etag"' : name) : components;

/**
 * The value of `Accept-Signature`, a list of signatures: the server makes the first of them that
 * it can.
 *
 * The client also accepts a signature without its `nonce`, which servers of the previous version
 * do not know. As long as the client does not know its `account`, it also accepts a signature that
 * does not cover the account.
 */
export function acceptSignature(keyid, account, nonce = null) {
  const list = (label, components) => `${label}=(${components.join(' ')});keyid="${keyid}"`;
  return [
    ...(nonce === null ? [list('sig', COMPONENTS)] : [`${list('sig', COMPONENTS)};nonce="${nonce}"`, list('sig1', COMPONENTS)]),
    ...(account === null ? [list('sig0', EXCHANGE)] : []),
  ].join(', ');
}

/** A nonce of 128 bits. */
const randomNonce = () => base64URL(crypto.getRandomValues(new Uint8Array(16)));

/** Ed25519 in WebCrypto; null in a browser without it. */
async function platformVerify(publicKey) {
  const key = await crypto.subtle.importKey('raw', publicKey, {name: 'Ed25519'}, false, ['verify']).catch(() => null);
  // `verify` also returns false for a signature of another length.
  return key && ((message, signature) => crypto.subtle.verify({name: 'Ed25519'}, key, signature, message));
}

/** RFC 8032 section 7.1, test 1: a public key, and its signature of an empty message. */
const KNOWN_KEY = bytesOfURL('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo');
const KNOWN_SIGNATURE = bytesOfURL('5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw');

/** Ed25519 of the app's `verifier`, which must accept a right signature and refuse a wrong one. */
async function ownVerify(verifier, publicKey) {
  if (!verifier) throw new PushClientError('unavailable', 'This browser does not verify Ed25519, so answers cannot be checked with pinned keys.');
  const accepts = async (key, message, signature) => {
    try {
      return signature.length === 64 && await verifier(key, message, signature) === true;
    } catch {
      return false;
    }
  };
  const none = new Uint8Array(0), wrong = KNOWN_SIGNATURE.slice().fill(0, 0, 1);
  if (!await accepts(KNOWN_KEY, none, KNOWN_SIGNATURE) || await accepts(KNOWN_KEY, none, wrong)) {
    throw new PushClientError('unavailable', 'The option `verifier` does not verify Ed25519.');
  }
  return (message, signature) => accepts(publicKey, message, signature);
}

/**
 * Imports public keys in base64url for verification: `[{id, verify}]`. The id is the thumbprint
 * (RFC 7638).
 */
export async function importKeys(publicKeys, verifier = null) {
  return Promise.all(publicKeys.map(async x => {
    const bytes = bytesOfURL(x), thumbprint = base64URL(await sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${base64URL(bytes)}"}`)));
    return {id: thumbprint, verify: await platformVerify(bytes) ?? await ownVerify(verifier, bytes)};
  }));
}

/**
 * The signed text, made from the client's own request and the answer. The text does not contain
 * the account if that is null, as with a server of the previous version.
 */
export function signatureBase(request, {status, validator, account}, parameters) {
  const values = {
    '"@status"': String(status), '"content-digest"': validator, '"etag"': validator, '"mytoken";req': request.token,
    '"@method";req': request.method, '"@path";req': request.path || '/', '"@query";req': `?${request.query ?? ''}`,
    '"sealpost-account"': account,
  };
  const names = forStatus(account === null ? EXCHANGE : COMPONENTS, status);
  const lines = names.map(name => {
    if (!/^[\x20-\x7E\t]*$/.test(values[name])) throw new SignatureFailure('malformed', `${name} is not of printable ASCII`);
    return `${name}: ${values[name]}\n`;
  });
  return `${lines.join('')}"@signature-params": (${names.join(' ')})${spellParameters(parameters)}`;
}

/**
 * Verifies that one of the keys has signed exactly the demanded components, and that the signature
 * is current.
 *
 * Returns the time of the signature, in seconds, and whether the signature covers the account.
 * Throws a `SignatureFailure` for any other answer.
 *
 * The algorithm is always that of the key, whatever the signature says. Signatures by other keys
 * are ignored.
 */
async function verify(request, answer, {keys, tolerance, now, account}) {
  const input = answer.field('signature-input');
  if (input === null) throw new SignatureFailure('missing', 'there is no Signature-Input');
  const inputs = FieldParser.dictionary(input, 'Signature-Input');
  if (isRepeated(inputs.map(({key}) => key))) throw new SignatureFailure('duplicate', 'a label appears twice');
  const found = [];
  for (const {key: label, member: list} of inputs) {
    if (list.kind !== 'list') throw new SignatureFailure('malformed', `Signature-Input has no list under ${label}`);
    const id = parameter(list, 'keyid');
    const pinned = id?.kind === 'string' && keys.find(key => key.id === id.value);
    if (pinned) found.push({pinned, label, list});
  }
  if (found.length === 0) throw new SignatureFailure('unknownKey', 'no signature is by a key we know');
  if (found.length > 1) throw new SignatureFailure('duplicate', 'two signatures are by keys we know');
  const {pinned, label, list} = found[0];

  const signature = signatureUnder(label, answer);
  const isAccountCovered = checkCoverage(list, answer.status, account);
  if (isRepeated(list.parameters.map(({key}) => key))) throw new SignatureFailure('duplicate', 'a parameter appears twice');
  const algorithm = parameter(list, 'alg');
  if (algorithm && !(algorithm.kind === 'string' && algorithm.value === 'ed25519')) {
    throw new SignatureFailure('wrongAlgorithm', "the signature claims to be another than the key's");
  }
  const signed = {status: answer.status, validator: await validatorOf(answer), account: isAccountCovered ? namedAccount(answer) : null};
  const base = signatureBase(request, signed, list.parameters);
  if (!await pinned.verify(utf8(base), signature)) {
    throw new SignatureFailure('badSignature', 'the signature is not over this answer to this request');
  }
  return {time: checkTime(list, {tolerance, now, nonce: request.nonce ?? null}), isAccountCovered};
}

/** The parameter with this name; the last one if there are several. */
const parameter = (list, name) => list.parameters.findLast(({key}) => key === name);

function signatureUnder(label, answer) {
  const signatures = FieldParser.dictionary(answer.field('signature') ?? '', 'Signature');
  if (isRepeated(signatures.map(({key}) => key))) throw new SignatureFailure('duplicate', 'a signature appears twice');
  const member = signatures.find(({key}) => key === label)?.member;
  if (!member) throw new SignatureFailure('missing', `there is no Signature ${label}`);
  if (member.kind !== 'bytes') throw new SignatureFailure('malformed', `the Signature ${label} is not of bytes`);
  return member.value;
}

/**
 * Whether the signature covers the account. A signature may omit the account only while the client
 * does not know its own account.
 */
function checkCoverage(list, status, account) {
  const demanded = forStatus(COMPONENTS, status), covered = list.items.map(item => spell(item) + spellParameters(item.parameters));
  if (covered.join(' ') === demanded.join(' ')) return true;
  if (account === null && covered.join(' ') === forStatus(EXCHANGE, status).join(' ')) return false;
  const isLess = covered.every(name => demanded.includes(name)) && new Set(covered).size < demanded.length;
  const what = `the signature is over ${spellList(list.items)}, not (${demanded.join(' ')})`;
  throw new SignatureFailure(isLess ? 'insufficientCoverage' : 'wrongComponents', what);
}

function namedAccount(answer) {
  return answer.field('sealpost-account') ?? (() => { throw new SignatureFailure('missing', 'there is no Sealpost-Account'); })();
}

/**
 * The value to sign for the content: the digest, which must match the content, or the `ETag` of a
 * 304, which must have no content.
 */
export async function validatorOf(answer) {
  if (answer.status === 304) {
    const tag = answer.field('etag');
    if (tag === null) throw new SignatureFailure('missing', 'there is no ETag');
    if (answer.body.length > 0) throw new SignatureFailure('digestMismatch', 'a 304 has a content');
    return tag;
  }
  const digest = answer.field('content-digest');
  if (digest === null) throw new SignatureFailure('missing', 'there is no Content-Digest');
  if (base64(digestIn(digest)) !== base64(await sha256(answer.body))) {
    throw new SignatureFailure('digestMismatch', 'the content is not that of the digest');
  }
  return digest;
}

/**
 * Checks that a signature is current. A signature with the request's nonce is current, whatever
 * the clocks say.
 */
function checkTime(list, {tolerance, now, nonce}) {
  const created = parameter(list, 'created'), end = parameter(list, 'expires'), seen = parameter(list, 'nonce');
  if (created?.kind !== 'integer') throw new SignatureFailure('missing', 'the signature does not say when it was made');
  if (nonce !== null && seen) {
    if (seen.kind === 'string' && seen.value === nonce) return created.value;
    throw new SignatureFailure('badSignature', 'the signature has the nonce of another request');
  }
  const age = now - created.value;
  if (Math.abs(age) > tolerance) throw new SignatureFailure('stale', `the signature was made ${Math.round(age)} s ago`);
  if (end && end.kind !== 'integer') throw new SignatureFailure('malformed', "the signature's end is no time");
  if (end && now > end.value) throw new SignatureFailure('stale', 'the signature has expired');
  return created.value;
}

// MARK: - Checks of an answer

/**
 * The checks that need no body. They run before the body is read, so that the client does not read
 * a captive portal's page.
 */
function checkHead(request, answer) {
  const where = {status: answer.status, path: request.path};
  if (answer.isRedirect || (answer.status >= 300 && answer.status <= 399 && answer.status !== 304)) {
    throw interference('redirect', 'an answer', 'a redirect', where);
  }
  const echo = answer.field('mytoken'), expected = echoOf(request.token);
  if (!echo) throw interference('missingEcho', expected, null, where);
  if (echo !== expected) throw interference('wrongEcho', expected, printable(echo), where);
}

/**
 * Distinguishes the server's own answer from everything else, and returns its content. Throws a
 * `PushClientError` for an interference.
 *
 * - `request`: `method`, `path`, `query` (null without one), `token`, `nonce` and `condition` (null
 *   without one), as sent.
 * - `answer`: `status`, `field(name)` (null if missing), `body` (bytes), `end`: `complete`, `cut`
 *   or `oversized`.
 * - `keys`: from `importKeys`; if empty, `MyToken` alone authenticates answers. `now` is in
 *   seconds.
 * - `account`: the identifier of the client's account; null if unknown.
 *
 * The result has the answer's `account`; null if the answer names no account, or if the signature
 * does not cover it.
 */
export async function checkAnswer(request, answer, {keys, tolerance = 300, now, account = null}) {
  const where = {status: answer.status, path: request.path};
  checkHead(request, answer);
  checkEnd(request, answer, where);
  let time = null, isAccountCovered = true;
  if (keys.length > 0) {
    try {
      ({time, isAccountCovered} = await verify(request, answer, {keys, tolerance, now, account}));
    } catch (error) {
      if (!(error instanceof SignatureFailure)) throw error;
      const kind = {insufficientCoverage: 'insufficientCoverage', stale: 'wrongClock'}[error.reason] ?? 'signature';
      throw interference(kind, 'a signature by a pinned key over this answer to this request', printable(error.message), where);
    }
  } else {
    // An unsigned time may be wrong, but it is the best available.
    const date = Date.parse(answer.field('date') ?? '');
    time = Number.isNaN(date) ? null : date / 1000;
  }
  // Without signatures, the client trusts the account in each answer. Like the echo of `MyToken`,
  // this account reveals accidents, but no attacks.
  const seen = isAccountCovered ? checkAccount(request, answer, account) : null;
  if (answer.status === 304) checkNotModified(request, answer, where);
  return {
    status: answer.status, path: request.path, account: seen, time, tag: answer.field('etag'), json: readBody(answer, where),
    // Always false for signed answers: all of them have `no-store`, because of the caches of
    // proxies.
    isNoStore: keys.length === 0 && /(^|,)\s*no-store\s*(,|$)/i.test(answer.field('cache-control') ?? ''),
    retryAfter: /^[0-9]{1,9}$/.test(answer.field('retry-after') ?? '') ? Number(answer.field('retry-after')) : null,
  };
}

function checkEnd(request, answer, where) {
  const count = answer.body.length;
  if (answer.end === 'oversized') throw interference('oversized', 'an answer of the API', `${answer.count ?? count} bytes or more`, where);
  const announced = announcedLength(request, answer);
  if (answer.end === 'cut') throw interference('truncated', announced === null ? 'an end' : `${announced} bytes`, `${count} bytes`, where);
  if (announced !== null && announced !== count) throw interference('truncated', `${announced} bytes`, `${count} bytes`, where);
}

/**
 * The length of the body in bytes according to `Content-Length`; null if unknown, and for a body
 * that the browser has decompressed.
 */
function announcedLength(request, answer) {
  // A page of another origin cannot see whether the body was compressed. The browser compares the
  // length itself, and fails if it differs.
  if (answer.hidesCoding || [204, 304].includes(answer.status) || request.method === 'HEAD') return null;
  if (!['', 'identity'].includes((answer.field('content-encoding') ?? '').toLowerCase())) return null;
  const length = answer.field('content-length') ?? '';
  return /^[0-9]{1,15}$/.test(length) ? Number(length) : null;
}

/** The path that begins sessions. The body of its 201 names the account. */
const SESSIONS = '/api/sessions';
/** The path that exchanges a code for a session; requests to it have no credentials. */
const ENROLMENT = '/api/enrolment';

/**
 * The account that an answer is for; null if the answer says `none` or has no such field. Throws
 * if the answer is for another account. `own` is the client's account; null if unknown.
 */
function checkAccount(request, answer, own) {
  const seen = answer.field('sealpost-account'), {status} = answer, {path} = request;
  if (seen === null) return null;
  if (seen === 'none') {
    // `none` is right if credentials are missing or refused, and at the path that exchanges a
    // code. All other answers name an account.
    if (path === ENROLMENT) return null;
    if (status >= 400 && ![403, 404, 409, 410, 412].includes(status)) return null;
  } else if (isIdentifier(seen) && (own === null || seen === own || (path === SESSIONS && status === 201))) {
    return seen;
  }
  throw interference('wrongAccount', own ?? 'an account', printable(seen), {status, path});
}

/** Whether a text can be an account's identifier, which is opaque to clients. */
const isIdentifier = text => typeof text === 'string' && text !== '' && text.length <= 128;

/** Throws unless a 304 answers a conditional request and repeats its validator. */
function checkNotModified(request, answer, where) {
  if (request.condition === null) throw interference('unexpectedNotModified', 'an answer without a condition', '304', where);
  const seen = answer.field('etag');
  if (seen === null || opaque(seen) !== opaque(request.condition)) {
    throw interference('unexpectedNotModified', printable(request.condition), seen && printable(seen), where);
  }
}

/**
 * A tag as the server sent it: proxies that compress bodies mark the tag as weak, or append the
 * coding's name.
 */
const opaque = tag => tag.replace(/^W\//, '').replace(/-gzip"$/, '"');

/** The body's JSON; undefined if the body is empty. */
function readBody(answer, where) {
  if (answer.body.length === 0) return undefined;
  try {
    const json = JSON.parse(text(answer.body));
    checkJSON(json, 0);
    return json;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    const type = answer.field('content-type');
    throw interference('notJSON', 'JSON', `${answer.body.length} bytes of ${type ? printable(type) : 'no type'}`, where);
  }
}

/**
 * Throws for JSON that the server's parser refuses: more than 64 levels, or half a surrogate pair.
 */
function checkJSON(json, depth) {
  if (typeof json === 'string' && !(json.isWellFormed?.() ?? !/\p{Surrogate}/u.test(json))) throw new SyntaxError('half a surrogate pair');
  if (typeof json !== 'object' || json === null) return;
  if (depth === 64) throw new SyntaxError('more than 64 levels');
  for (const [name, value] of Object.entries(json)) {
    checkJSON(name, 0);
    checkJSON(value, depth + 1);
  }
}

// MARK: - Results of calls

/** A member of an object, ignoring the case of its name. */
function member(json, name) {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  const found = Object.keys(json).findLast(key => key.toLowerCase() === name);
  return found === undefined ? undefined : json[found];
}

const unexpected = (answer, expected) => {
  const {json} = answer;
  const seen = json === undefined ? null : json === null ? 'null' : Array.isArray(json) ? 'an array' : `a value of the type ${typeof json}`;
  return interference('unexpectedBody', expected, seen, answer);
};

/** The time in a member's value; null for other JSON. */
const timeOf = value => typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? new Date(value) : null;

/** A notification as apps see it; null for other JSON. */
function itemOf(json) {
  const id = member(json, 'id'), isRead = member(json, 'read'), payload = member(json, 'payload');
  if (!Number.isSafeInteger(id) || typeof isRead !== 'boolean') return null;
  return {
    id, payload, hasPayload: payload !== undefined, isRead,
    createdAt: timeOf(member(json, 'createdat')), expiresAt: timeOf(member(json, 'expiresat')),
    isReadOnce: member(json, 'readonce') === true, isNeverStored: member(json, 'store') === 'never',
  };
}

/** The longest cursor, in bytes of UTF-8. */
const MAXIMUM_CURSOR = 1024;

const withoutPayload = item => ({...item, payload: undefined, hasPayload: false});

/** The notification in an answer's body. If `id` is set, the notification must have this id. */
export function readItem(answer, id) {
  const item = itemOf(answer.json);
  if (!item) throw unexpected(answer, 'a notification');
  if (id !== undefined && item.id !== id) throw interference('wrongID', String(id), String(item.id), answer);
  return item;
}

/**
 * A page of the list of notifications: `items` with `isStorable`, `deleted`, `cursor`, `hasMore`.
 * A list of certain `ids` has no cursor.
 *
 * If the answer forbids storing, but none of its items does, the client stores no payload of the
 * page.
 */
export function readPage(answer, {ids} = {}) {
  const [list, gone, cursor, hasMore] = ['notifications', 'deleted', 'cursor', 'more'].map(name => member(answer.json, name));
  if (!Array.isArray(list) || !Array.isArray(gone) || typeof hasMore !== 'boolean' || (!ids && typeof cursor !== 'string')) {
    throw unexpected(answer, 'a list of notifications');
  }
  // The server's cursors have about 40 bytes. Each request sends the cursor back.
  if (!ids && utf8(cursor).length > MAXIMUM_CURSOR) throw unexpected(answer, `a cursor of at most ${MAXIMUM_CURSOR} bytes`);
  const items = list.map(json => itemOf(json) ?? (() => { throw unexpected(answer, 'a list of notifications'); })());
  if (!gone.every(Number.isSafeInteger)) throw unexpected(answer, 'a list of ids');
  if (ids) {
    const stranger = items.find(item => !ids.includes(item.id));
    if (stranger) throw interference('wrongID', ids.join(), String(stranger.id), answer);
  }
  const isUnexplained = answer.isNoStore && !items.some(item => item.isReadOnce || item.isNeverStored);
  return {
    items: items.map(item => ({item, isStorable: !isUnexplained && !item.isReadOnce && !item.isNeverStored})),
    deleted: gone, cursor, hasMore, time: answer.time,
  };
}

const lowered = name => name.replace(/[A-Z]/g, letter => letter.toLowerCase());

/**
 * The identifier of the session's account; null if the server has none. Throws unless the session
 * belongs to the user with this name.
 *
 * The comparison of names ignores the case of ASCII letters; the case of other letters
 * distinguishes accounts.
 */
export function readAccount(answer, username) {
  const name = member(answer.json, 'name'), id = member(answer.json, 'account') ?? null;
  // A server of the previous version does not name the account of a new session.
  if (name === undefined && id === null && answer.account === null && answer.path === SESSIONS) return null;
  if (typeof name !== 'string' || (id !== null && !isIdentifier(id))) throw unexpected(answer, 'the session of a user');
  if (lowered(name) !== lowered(username)) throw interference('wrongAccount', 'the own name', 'another name', answer);
  if (answer.account !== null && answer.account !== id) throw interference('wrongAccount', id ?? 'an account', printable(answer.account), answer);
  return id;
}

/** The answer itself if it is a success or 304; throws the server's refusal otherwise. */
export function success(answer) {
  if ((answer.status >= 200 && answer.status <= 299) || answer.status === 304) return answer;
  const [type, title, status, detail] = ['type', 'title', 'status', 'detail'].map(name => member(answer.json, name));
  if (typeof type !== 'string' || typeof title !== 'string' || status !== answer.status) {
    throw unexpected(answer, `a problem of status ${answer.status}`);
  }
  const problem = {code: type.replace(/^urn:sealpost:problem:/, ''), title, status, detail: detail ?? null};
  if (status === 401) throw new PushClientError('unauthorized', title, {problem});
  // The server sends 408 before it has the whole request; `idempotency-key-in-use` means that a
  // request with the same key is running. With both, the server has not decided about the request.
  const isForNow = [408, 429].includes(status) || status >= 500 || problem.code === 'idempotency-key-in-use';
  if (isForNow) throw new PushClientError('busy', title, {problem, retryAfter: answer.retryAfter});
  throw new PushClientError('problem', title, {problem});
}

/** Whether the client still sends a task of the outbox: only the server's refusal has a status. */
const isWaiting = ({failure}) => failure?.status === undefined;
const isGone = error => error.code === 'problem' && [404, 410].includes(error.problem.status);

// MARK: - Conversation

/**
 * Encodes everything except letters, digits, `-`, `_` and `.`, as the other clients do: the server
 * signs the query as the client has sent it.
 */
const escape = value => encodeURIComponent(value).replace(/[!~*'()]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
const queryOf = parameters => parameters.length ? parameters.map(([name, value]) => `${name}=${escape(value)}`).join('&') : null;

/** The URL of a text, relative to the page's; null for an invalid text. */
function urlOf(text) {
  try {
    return new URL(text, globalThis.location?.href);
  } catch {
    return null;
  }
}

/**
 * Whether requests stay on this machine. The host is from a URL, which has one spelling for each
 * address.
 */
const isThisMachine = host => host === 'localhost' || host === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(host);

/** The fields that only the client sets. */
const OWN_FIELDS = ['mytoken', 'authorization', 'if-none-match', 'idempotency-key', 'last-event-id', 'accept-signature', 'content-type'];

/**
 * A path without ids and topics, for logs. A registration's id must stay secret, because it is the
 * key from which the hints of its pushes are made.
 */
function routeOf(path) {
  const [, api, kind, name, action, topic] = path.split('/'), isID = ['notifications', 'register', 'devices'].includes(kind) && name !== 'read';
  return ['', api, kind, isID && name !== undefined ? '{id}' : name, action, topic && '{topic}'].filter(part => part !== undefined).join('/');
}

/**
 * Sends requests to the server. Each request has a `MyToken` of its own, and each answer is
 * checked before it is used.
 */
class Conversation {
  constructor({server, keys, signatureTolerance, timeout, answerLimit, fetch, now, makeToken, observe, headers}) {
    const base = urlOf(server);
    if (!/^https?:$/.test(base?.protocol)) throw new PushClientError('invalidServer', "The server's address must be a URL that begins with https:// or http://.");
    if (base.protocol === 'http:' && (keys.length > 0 || !isThisMachine(base.hostname))) {
      const why = keys.length > 0 ? 'where keys are pinned' : 'to another host than 127.0.0.1, ::1 or localhost';
      throw new PushClientError('insecureServer', `http sends passwords and tokens in clear, and is not used ${why}: use https.`);
    }
    if (base.username || base.password || base.search || base.hash) {
      throw new PushClientError('invalidServer', "The server's address must have no user, password, query or fragment: the client would ignore them.");
    }
    /**
     * If the server's URL has a path, for example behind a proxy for several servers, that path
     * precedes the API's paths and is not signed.
     */
    this.base = base.origin + base.pathname.replace(/\/+$/, '');
    Object.assign(this, {keys, signatureTolerance, timeout, answerLimit, fetch, now, makeToken, observe, headers});
  }

  /** The value of a promise. The app's hook `observe` gets the promise's outcome and duration. */
  async observed(event, promise) {
    const start = performance.now();
    const tell = outcome => {
      try {
        this.observe?.({...event, ...outcome, milliseconds: Math.round(performance.now() - start)});
      } catch (error) {
        // An error of the app's hook must not stop the call.
        console.warn(error);
      }
    };
    try {
      const value = await promise;
      tell({status: value?.status ?? null, outcome: 'answered'});
      return value;
    } catch (error) {
      tell({status: error.interference?.status ?? null, outcome: error.interference?.kind ?? error.code ?? 'error'});
      throw error;
    }
  }

  /**
   * The deadline, in milliseconds since 1970, of a part of a call that begins now: by default of all
   * its requests. The rest of the call's time is for the browser, say to read the cached inbox.
   */
  deadline(part = 1 - LOCAL) {
    return Date.now() + this.timeout * 1000 * part;
  }

  /**
   * Calls `end` at the deadline of a request. `lateAt` is the time of the last request that had no
   * answer by then.
   */
  atDeadline(deadline, end) {
    return setTimeout(() => { this.lateAt = Date.now(); end(); }, Math.max(0, deadline - Date.now()));
  }

  /** The server's answer if it is a success or 304; throws the server's refusal otherwise. */
  async call(method, path, options) {
    return success(await this.ask(method, path, options));
  }

  /**
   * The server's own answer, with any status. Sends the request again if the connection failed
   * before any of the answer arrived.
   */
  async ask(method, path, {isRepeatable = true, ...options} = {}) {
    const deadline = options.deadline ?? this.deadline();
    for (const isLast of isRepeatable ? [false, true] : [true]) {
      try {
        const event = {kind: 'request', method, route: routeOf(path)};
        return await this.observed(event, this.askOnce(method, path, {...options, deadline, isLast}));
      } catch (error) {
        if (isLast || error.code !== 'offline' || !error.isBeforeAnswer || Date.now() >= deadline) throw error;
      }
    }
  }

  async askOnce(method, path, {query = [], body, condition = null, key, authorization, account = null, deadline, isLast}) {
    const request = {method, path, query: queryOf(query), token: this.makeToken(), nonce: randomNonce(), condition};
    const limit = new AbortController(), timer = this.atDeadline(deadline, () => limit.abort());
    try {
      const response = await this.send(request, {body, key, authorization, account, signal: limit.signal, isLast});
      const answer = headOf(response);
      try {
        checkHead(request, answer);
      } catch (error) {
        // The client does not read the body of this answer: a captive portal may send one without
        // an end.
        response.body?.cancel().catch(() => {});
        throw error;
      }
      Object.assign(answer, await this.receive(response, limit.signal));
      return await this.check(request, answer, account);
    } finally {
      clearTimeout(timer);
    }
  }

  check(request, answer, account) {
    return checkAnswer(request, answer, {keys: this.keys, tolerance: this.signatureTolerance, now: this.now() / 1000, account});
  }

  /**
   * The head of the answer. Throws `offline`, or an interference if the browser withholds the
   * answer.
   */
  async send(request, {body, key, authorization, account, lastEvent, signal, isLast = true}) {
    const added = Object.entries(this.headers?.({method: request.method, route: routeOf(request.path)}) ?? {});
    const headers = {...Object.fromEntries(added.filter(([name]) => !OWN_FIELDS.includes(name.toLowerCase()))), MyToken: request.token};
    if (authorization) headers.Authorization = authorization;
    if (request.condition !== null) headers['If-None-Match'] = request.condition;
    if (key) headers['Idempotency-Key'] = `"${key}"`;
    if (lastEvent) headers['Last-Event-ID'] = lastEvent;
    if (this.keys.length > 0) headers['Accept-Signature'] = acceptSignature(this.keys[0].id, account, request.nonce);
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    try {
      return await this.fetch(this.base + request.path + (request.query === null ? '' : `?${request.query}`), {
        method: request.method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal,
        // No caches, no cookies, no passwords of the browser, and no redirects.
        cache: 'no-store', credentials: 'omit', redirect: 'manual', mode: 'cors', referrerPolicy: 'no-referrer',
      });
    } catch {
      if (signal.aborted) throw offline('The server has not answered in time.');
      if (isLast && await this.isWithheld(signal)) {
        throw interference('missingEcho', echoOf(request.token), 'an answer that no page may read', {status: 0, path: request.path});
      }
      throw offline('The server cannot be reached.', {isBeforeAnswer: true});
    }
  }

  /**
   * Whether the server has another origin and answers, but does not allow this page to read its
   * answers (Fetch section 4.10).
   */
  async isWithheld(signal) {
    if (typeof location === 'undefined' || new URL(this.base).origin === location.origin) return false;
    try {
      await this.fetch(`${this.base}/healthz`, {mode: 'no-cors', cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal});
      return true;
    } catch {
      return false;
    }
  }

  /**
   * The answer of the app's own token provider. It does not come from the API, so it has no echo
   * of `MyToken`.
   */
  async postForToken(url, account, deadline) {
    const limit = new AbortController(), timer = this.atDeadline(deadline, () => limit.abort());
    try {
      const response = await this.fetch(url, {
        method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({Account: account}), signal: limit.signal,
        cache: 'no-store', credentials: 'same-origin', redirect: 'error', mode: 'same-origin',
      });
      if ([401, 403].includes(response.status)) return null;
      if (!response.ok) throw offline(`The app's token provider has answered ${response.status}.`);
      return JSON.parse(text((await this.receive(response, limit.signal)).body));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reads the body, up to the limit. */
  async receive(response, signal) {
    const pieces = [];
    let count = 0, end = 'complete';
    try {
      const reader = response.body?.getReader();
      for (;;) {
        const {done, value} = await (reader?.read() ?? {done: true});
        if (done) break;
        count += value.length;
        if (count > this.answerLimit) {
          end = 'oversized';
          reader.cancel().catch(() => {});
          break;
        }
        pieces.push(value);
      }
    } catch {
      if (signal.aborted) throw offline('The answer has not come in time.');
      end = 'cut';
    }
    const body = new Uint8Array(end === 'oversized' ? 0 : count);
    if (end !== 'oversized') pieces.reduce((start, piece) => (body.set(piece, start), start + piece.length), 0);
    return {body, end, count};
  }
}

/**
 * The value of a promise; throws an error with the given code at the deadline, since a promise may
 * never settle. `code` may be a function that returns the code.
 */
async function within(deadline, promise, message, code = 'offline') {
  let timer;
  const fails = fail => fail(new PushClientError(typeof code === 'function' ? code() : code, message));
  const late = new Promise((_, fail) => { timer = setTimeout(fails, Math.max(0, deadline - Date.now()), fail); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const offline = (message, details) => new PushClientError('offline', message, details);
const signedOut = () => new PushClientError('signedOut', 'Nobody is signed in.');

/**
 * The value of a field without surrounding blanks. This avoids a regular expression: one that
 * finds blanks at the end would try each blank in the middle, too.
 */
function withoutBlanks(value) {
  if (value === null) return null;
  const isBlank = index => value[index] === ' ' || value[index] === '\t';
  let start = 0, end = value.length;
  while (start < end && isBlank(start)) start += 1;
  while (start < end && isBlank(end - 1)) end -= 1;
  return value.slice(start, end);
}

/** The values of a response that `checkHead` needs. */
const headOf = response => ({
  status: response.status, isRedirect: response.type === 'opaqueredirect', hidesCoding: response.type === 'cors',
  field: name => withoutBlanks(response.headers.get(name)),
});

// MARK: - Stores

/**
 * The head of a new store. `revision` is the number of commits, `change` the number of the last
 * change of the inbox, and `floor` the number of the last change whose deletions may be unknown.
 */
const NEW_HEAD = {revision: 0, epoch: '', change: 0, floor: 0};

/**
 * The version of the rows and of the database. It is needed because page and worker may come from
 * different versions of this library. Up to version 2 each entry had a row of its own, with its
 * payload if that was short; up to version 3 each payload had a row of its own.
 */
const FORMAT = 4;

/**
 * Errors of IndexedDB after the browser has closed a connection. The failed transaction has
 * changed nothing.
 */
const LOST_CONNECTION = ['InvalidStateError', 'AbortError', 'UnknownError'];

/** The part of a store's timeout for the end of a commit that is too late to be aborted. */
const COMMIT = 1 / 16;

const TOO_LATE = 'The browser has not answered for its database in time.';

/**
 * Whether an error means a full disk or a broken database. Otherwise other tabs may keep the
 * database busy or have a newer version, or the app has closed the client.
 */
const isBroken = error => error instanceof PushClientError && Boolean(error.cause) && error.cause.name !== 'VersionError';

function storeFailure(error) {
  if (error instanceof PushClientError) return error;
  if (error?.name === 'VersionError') {
    return new PushClientError('storage', 'A newer version of this page has changed the stored data: reload the page.', {cause: error});
  }
  const isFull = error?.name === 'QuotaExceededError';
  const text = isFull ? 'The browser has no room for more.' : `The browser cannot read or write its database: ${error?.name ?? 'no reason'}.`;
  return new PushClientError('storage', text, {cause: error});
}

/**
 * Rows by name in IndexedDB. Each commit is one transaction, and fails if another commit happened
 * since the head was read. Page and worker share the store, and their changes cannot mix. No
 * transaction waits for cryptography, because values are encrypted before it begins.
 *
 * Browsers close connections, such as those of pages in the background: the next transaction opens
 * a new connection. Browsers also leave out events, so each transaction has a timeout in seconds.
 */
export class IndexedStore {
  #name; #timeout; #connection = null; #isClosed = false; #reads = null;

  static async open(name, timeout = DEFAULTS.deadline / 2) {
    const store = new IndexedStore(name, timeout);
    await store.head();
    return store;
  }

  /** Use `open` instead. */
  constructor(name, timeout) {
    this.#name = name;
    this.#timeout = timeout;
  }

  async head() {
    return await this.get('head') ?? NEW_HEAD;
  }

  /** Reads a row. Reads that begin in the same turn of the event loop share a transaction. */
  get(name) {
    if (!this.#reads) {
      const names = [], rows = Promise.resolve().then(() => {
        this.#reads = null;
        return this.getAll(names);
      });
      this.#reads = {names, rows};
    }
    const {names, rows} = this.#reads, place = names.push(name) - 1;
    return rows.then(found => found[place]);
  }

  /** Several rows, in the order of their names. */
  getAll(names) {
    return this.#transact('readonly', (rows, give) => {
      const found = [];
      give(found);
      names.forEach((name, index) => { rows.get(name).onsuccess = event => { found[index] = event.target.result; }; });
    });
  }

  /** The names of the rows whose names have a prefix. */
  names(prefix) {
    return this.#transact('readonly', (rows, give) => {
      rows.getAllKeys(IDBKeyRange.bound(prefix, `${prefix}\uFFFF`)).onsuccess = event => give(event.target.result);
    });
  }

  /** The rows whose names have a prefix, as a map. */
  list(prefix) {
    const range = IDBKeyRange.bound(prefix, `${prefix}\uFFFF`);
    return this.#transact('readonly', (rows, give) => {
      rows.getAllKeys(range).onsuccess = ({target: {result: names}}) => {
        rows.getAll(range).onsuccess = event => give(new Map(names.map((name, index) => [name, event.target.result[index]])));
      };
    });
  }

  /**
   * Writes rows and the head; a null value deletes the row. Returns false and writes nothing if the
   * revision has changed. A loss of power may undo a `relaxed` commit, but only together with all
   * later commits. The commit ends at the store's timeout, or at an earlier `deadline`.
   */
  commit(revision, changes, head, durability = 'strict', deadline = Infinity) {
    return this.#transact('readwrite', (rows, give) => {
      rows.get('head').onsuccess = event => {
        const isRight = (event.target.result ?? NEW_HEAD).revision === revision;
        give(isRight);
        if (!isRight) return;
        for (const [name, value] of changes) {
          if (value === null) rows.delete(name); else rows.put(value, name);
        }
        rows.put({...head, revision: revision + 1}, 'head');
      };
    }, durability, deadline);
  }

  /**
   * Deletes the database, for which other tabs and the worker close their connections. This needs
   * neither free space nor a connection of its own.
   */
  async removeAll() {
    const connection = this.#connection;
    this.#connection = null;
    (await connection?.catch(() => null))?.close();
    await new Promise((done, fail) => {
      const deleting = indexedDB.deleteDatabase(this.#name);
      deleting.onsuccess = () => done();
      deleting.onerror = () => fail(storeFailure(deleting.error));
    });
  }

  close() {
    this.#isClosed = true;
    this.#connection?.then(database => database.close(), () => {});
  }

  #connect() {
    if (this.#isClosed) throw new PushClientError('closed', 'The app has closed this client.');
    const forget = () => { this.#connection = null; };
    return this.#connection ??= new Promise((done, fail) => {
      // A browser that blocks storage for the page throws here.
      const opening = indexedDB.open(this.#name, FORMAT);
      opening.onupgradeneeded = ({oldVersion}) => { if (!oldVersion) opening.result.createObjectStore('rows'); };
      // A page with an earlier version of this library does not close its connection while a
      // transaction runs.
      opening.onblocked = () => fail(new PushClientError('storage', 'Another tab uses the stored data of an earlier version: close it.'));
      opening.onsuccess = () => {
        const database = opening.result;
        database.addEventListener('close', forget);
        database.onversionchange = () => {
          database.close();
          forget();
        };
        done(database);
      };
      opening.onerror = () => {
        fail(opening.error);
      };
    }).catch(error => {
      forget();
      throw storeFailure(error);
    });
  }

  /** Runs a transaction, and again on a new connection if the first one was closed. */
  async #transact(mode, body, durability = 'strict', latest = Infinity) {
    const deadline = Math.min(latest, Date.now() + this.#timeout * 1000);
    for (const isLast of [false, true]) {
      const connection = this.#connect(), limited = (promise, end = deadline) => within(end, promise, TOO_LATE, 'storage');
      try {
        const database = await limited(connection);
        if (Date.now() >= latest) throw new PushClientError('storage', TOO_LATE);
        return await transactionOf(database, mode, body, durability, limited, deadline + this.#timeout * 1000 * COMMIT);
      } catch (error) {
        const isLost = LOST_CONNECTION.includes(error?.name);
        // A connection without an answer is not used again.
        if ((isLost || error instanceof PushClientError) && this.#connection === connection) this.#connection = null;
        connection.then(database => { if (this.#connection !== connection) database.close(); }, () => {});
        if (isLast || !isLost) throw storeFailure(error);
      }
    }
  }
}

/**
 * The result of a transaction. If the browser deletes the database, the connection's `close` may be
 * the only event. A transaction that is too late for `limited` must not take effect later. If it is
 * already committing, it cannot be aborted: the function then waits for its end until `latest`.
 */
async function transactionOf(database, mode, body, durability, limited, latest) {
  let transaction, lose;
  const outcome = new Promise((done, fail) => {
    let result;
    transaction = database.transaction('rows', mode, {durability});
    lose = () => fail(transaction.error ?? new DOMException('The connection was closed.', 'AbortError'));
    transaction.oncomplete = () => done(result);
    transaction.onabort = lose;
    database.addEventListener('close', lose);
    body(transaction.objectStore('rows'), value => { result = value; });
  });
  try {
    return await limited(outcome);
  } catch (error) {
    try {
      transaction?.abort();
    } catch {
      return await limited(outcome, latest);
    }
    throw error;
  } finally {
    database.removeEventListener('close', lose);
  }
}

/**
 * A store in memory with the functions of `IndexedStore`, which lasts as long as the page. It is
 * for tests, and for browsers without IndexedDB.
 */
export class MemoryStore {
  rows = new Map();

  async head() { return this.rows.get('head') ?? NEW_HEAD; }
  async get(name) { return this.rows.get(name); }
  async getAll(names) { return names.map(name => this.rows.get(name)); }
  async names(prefix) { return [...this.rows.keys()].filter(name => name.startsWith(prefix)); }
  async list(prefix) { return new Map([...this.rows].filter(([name]) => name.startsWith(prefix))); }

  async commit(revision, changes, head) {
    if ((this.rows.get('head') ?? NEW_HEAD).revision !== revision) return false;
    for (const [name, value] of changes) {
      if (value === null) this.rows.delete(name); else this.rows.set(name, value);
    }
    this.rows.set('head', {...head, revision: revision + 1});
    return true;
  }

  async removeAll() { this.rows.clear(); }

  close() {}
}

/**
 * The rows of one session in a store. After the session's end they are missing, since the rows may
 * then belong to another account: the head is read in the same transaction as a row, or after a
 * list. `isOwn` says whether a head is that of the session.
 */
class SessionRows {
  #store; #isOwn;

  constructor(store, isOwn) {
    this.#store = store;
    this.#isOwn = isOwn;
  }

  async head() {
    const head = await this.#store.head();
    return this.#isOwn(head) ? head : NEW_HEAD;
  }

  async get(name) {
    const [row, head] = await Promise.all([this.#store.get(name), this.#store.head()]);
    return this.#isOwn(head) ? row : undefined;
  }

  async getAll(names) {
    const [head, ...rows] = await this.#store.getAll(['head', ...names]);
    return this.#isOwn(head ?? NEW_HEAD) ? rows : [];
  }

  async list(prefix) {
    const rows = await this.#store.list(prefix);
    return this.#isOwn(await this.#store.head()) ? rows : new Map();
  }
}

/**
 * Encrypts a value, given as JSON, together with the name of its row, so that no row can replace
 * another row.
 */
async function sealJSON(key, name, json) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const data = await crypto.subtle.encrypt({name: 'AES-GCM', iv, additionalData: utf8(name)}, key, utf8(json));
  return {iv, data: new Uint8Array(data)};
}

const seal = (key, name, value) => sealJSON(key, name, JSON.stringify(value));

/**
 * Decrypts a value; undefined if the row is missing, or was encrypted with another key or for
 * another name.
 */
async function unseal(key, name, row) {
  if (!row || !key) return undefined;
  try {
    const data = await crypto.subtle.decrypt({name: 'AES-GCM', iv: row.iv, additionalData: utf8(name)}, key, row.data);
    return JSON.parse(text(new Uint8Array(data)));
  } catch (error) {
    if (error.name === 'OperationError') return undefined;
    throw error;
  }
}

const newKey = () => crypto.subtle.generateKey({name: 'AES-GCM', length: 256}, false, ['encrypt', 'decrypt']);

/**
 * A change before its commit: rows read from one revision of the store, and the rows to write.
 * `changes` has the members that are readable without the key, and `values` the values that `rows`
 * encrypts. `sealed` has rows of values that were encrypted before.
 *
 * `entries` are the entries of the inbox by their ids. Each is in a pack, a row of up to
 * `PACK` entries: writing a row costs much more than encrypting a longer one.
 */
class Draft {
  constructor(store, head, key, entries) {
    Object.assign(this, {
      store, head: {...head}, key, entries: new Map(entries), packs: new Set(),
      changes: new Map(), values: new Map(), known: new Map(), opened: new Map(), sealed: new Map(),
    });
  }

  setEntry(id, entry) {
    let pack = this.entries.get(id)?.pack;
    if (!pack) {
      const number = this.head.entries = (this.head.entries ?? -1) + 1;
      pack = `entries/${Math.floor(number / PACK)}`;
    }
    this.entries.set(id, {...entry, pack});
    this.packs.add(pack);
  }

  removeEntry(id) {
    if (this.entries.has(id)) this.packs.add(this.entries.get(id).pack);
    this.entries.delete(id);
  }

  /** Reads rows in one transaction, for the calls of `row` and `read` that follow. */
  async load(names) {
    let missing = names.filter(name => !this.known.has(name));
    // Most rows of a large page do not exist yet: one read of all names is faster than a read of
    // each row.
    if (missing.length > 50) {
      const prefixes = [...new Set(missing.map(name => name.slice(0, name.indexOf('/') + 1)))];
      const stored = new Set((await Promise.all(prefixes.map(prefix => this.store.names(prefix)))).flat());
      for (const name of missing) if (!stored.has(name)) this.known.set(name, undefined);
      missing = missing.filter(name => stored.has(name));
    }
    const rows = missing.length > 0 ? await this.store.getAll(missing) : [];
    missing.forEach((name, index) => this.known.set(name, rows[index]));
  }

  /**
   * A row of the draft. Every call with the same name returns the same row: a concurrent commit
   * later makes the commit of this draft fail, but must not change the rows that the draft reads.
   */
  async row(name) {
    if (this.changes.has(name)) return this.changes.get(name);
    if (!this.known.has(name)) this.known.set(name, await this.store.get(name));
    return this.known.get(name);
  }

  async read(name) {
    if (this.values.has(name)) return this.values.get(name);
    if (this.changes.has(name)) return undefined;
    // Several entries have their payloads in one row.
    if (!this.opened.has(name)) this.opened.set(name, unseal(this.key, name, await this.row(name)));
    return this.opened.get(name);
  }

  /** Writes a value, encrypted; `clear` has the members that are readable without the key. */
  write(name, value, clear = {}) {
    this.changes.set(name, clear);
    this.values.set(name, value);
  }

  writeClear(name, value) {
    this.changes.set(name, value);
    this.values.delete(name);
  }

  remove(name) {
    this.writeClear(name, null);
  }

  /** The rows that the commit writes; null without any. */
  async rows() {
    if (this.changes.size + this.packs.size === 0) return null;
    const sealed = (name, value) => {
      const made = this.sealed.get(name);
      return made?.value === value ? made.row : seal(this.key, name, value);
    };
    const packs = new Map([...this.packs].map(name => [name, []]));
    for (const entry of this.entries.values()) packs.get(entry.pack)?.push(entry);
    const pack = async (name, list) => {
      const values = list.map(({pack, ...entry}) => entry);
      // Without the key, the ids are needed for entries that are lost.
      return list.length > 0 ? {ids: list.map(({item}) => item.id), ...await seal(this.key, name, values)} : null;
    };
    return new Map(await Promise.all([
      ...[...this.changes].map(async ([name, clear]) =>
        [name, this.values.has(name) ? {...clear, ...await sealed(name, this.values.get(name))} : clear]),
      ...[...packs].map(async ([name, list]) => [name, await pack(name, list)]),
    ]));
  }

  async names(prefix) {
    const names = new Set(await this.store.names(prefix));
    for (const [name, value] of this.changes) {
      if (!name.startsWith(prefix)) continue;
      if (value === null) names.delete(name); else names.add(name);
    }
    return [...names];
  }
}

// MARK: - The cached inbox

/**
 * The limits of the cache. Beyond these limits, the oldest entries first lose their payloads,
 * which can still be fetched one by one; then the entries are deleted.
 */
const MAXIMUM = {count: 10_000, bytes: 32 << 20, tombstones: 2000, failures: 100};
/**
 * The maximum size of the decrypted payloads that a client has in memory, in characters of JSON.
 */
const PAYLOADS_IN_MEMORY = 4 << 20;
/** The maximum number of entries in a row. */
const PACK = 64;
/** The maximum number of notifications that a call returns, unless the app passes a limit. */
const PAGE = 500;

/**
 * The maximum number of characters of JSON in a row with several payloads. Chromium stores a row
 * of 64 KiB or more as a file, which takes longer.
 */
const BOX = 30_000;

const payloadName = id => `payload/${id}`;
const goneName = id => `gone/${id}`;

/** The row with an entry's payload: its own, or a box, a row with payloads of several entries. */
const boxOf = ({item: {id}, box}) => box ?? payloadName(id);
const payloadIn = ({item: {id}, box}, value) => box ? value?.[id] : value;

/**
 * Puts the payloads of a page into boxes: `{name, value, texts}`, where `value` has the payloads by
 * their ids, and `texts` their JSON. A row for each payload would cost far more time.
 */
function boxesOf({items}) {
  const boxes = [];
  let size = BOX;
  for (const {item: {id, payload}} of items.filter(({item, isStorable}) => isStorable && item.hasPayload)) {
    const json = JSON.stringify(payload);
    size += json.length;
    if (size > BOX) {
      boxes.push({name: `payloads/${crypto.randomUUID()}`, value: {}, texts: {}});
      size = json.length;
    }
    const {value, texts} = boxes.at(-1);
    value[id] = payload;
    texts[id] = json;
  }
  return boxes;
}

const sealBox = (key, {name, texts}) => sealJSON(key, name, `{${Object.entries(texts).map(([id, json]) => `"${id}":${json}`)}}`);

const withTimes = item => {
  const time = value => value === null ? null : new Date(value);
  return {...item, createdAt: time(item.createdAt), expiresAt: time(item.expiresAt)};
};
/** An entry without its payload takes about 250 bytes. */
const sizeOf = entry => 256 + entry.size;
const isPast = (item, time) => item.expiresAt !== null && time !== null && item.expiresAt.getTime() <= time;
/**
 * The order of entries. Times are in whole seconds, and ids are random, so within a second the
 * order is that of the server's list. Notifications that no list has contained yet come last, in
 * the order of their arrival.
 */
const inOrder = (one, other) => (one.item.createdAt?.getTime() ?? 0) - (other.item.createdAt?.getTime() ?? 0)
  || (one.order ?? Number.MAX_VALUE) - (other.order ?? Number.MAX_VALUE) || one.change - other.change || one.item.id - other.item.id;

/**
 * Changes of the inbox in a draft. Each change has a number. A consumer of changes remembers the
 * number of the last change that it has processed as its mark.
 */
const inbox = {
  /** Stores an item, and returns whether it differs from the stored one. */
  async put(draft, {payload, ...item}, {tag = null, date, isListed = false, box, json = JSON.stringify(payload)}) {
    const {id} = item, old = draft.entries.get(id), tombstone = await draft.row(goneName(id));
    // If a deleted notification is listed again, for example after an unknown cursor, it gets its
    // old place.
    const known = old?.order ?? tombstone?.order;
    const order = known ?? (isListed ? draft.head.listed = (draft.head.listed ?? 0) + 1 : null);
    const isSamePayload = json === JSON.stringify(await inbox.payload(draft, old));
    const isSame = isSamePayload && old !== undefined && JSON.stringify(old.item) === JSON.stringify(item);
    const change = isSame ? old.change : draft.head.change += 1;
    if (old?.item.hasPayload && !isSamePayload) await inbox.dropPayload(draft, old);
    draft.setEntry(id, {item, tag, date, size: json?.length ?? 0, change, order, box: isSamePayload ? old?.box : box});
    // The caller writes the box.
    if (item.hasPayload && !isSamePayload && !box) draft.write(payloadName(id), payload);
    if (tombstone) draft.remove(goneName(id));
    return !isSame;
  },

  /** The payload of a stored entry; undefined if it has no payload. */
  async payload(draft, entry) {
    return entry?.item.hasPayload ? payloadIn(entry, await draft.read(boxOf(entry))) : undefined;
  },

  /** Deletes the payload of a stored entry. */
  async dropPayload(draft, entry) {
    const name = boxOf(entry), {[entry.item.id]: gone, ...others} = entry.box ? await draft.read(name) ?? {} : {};
    if (Object.keys(others).length > 0) draft.write(name, others); else draft.remove(name);
  },

  /** Marks the stored items of these ids as read or unread. */
  async mark(draft, ids, isRead) {
    for (const id of ids) {
      const entry = draft.entries.get(id);
      if (!entry || entry.item.isRead === isRead) continue;
      // The stored tag belongs to the state before this change.
      draft.setEntry(id, {...entry, item: {...entry.item, isRead}, tag: null, change: draft.head.change += 1});
    }
  },

  /**
   * Deletes an item and records the deletion, for consumers and for answers that are still under
   * way. It also records ids that are not stored.
   */
  async remove(draft, id) {
    const entry = draft.entries.get(id), order = (entry ?? await draft.row(goneName(id)))?.order ?? null;
    if (entry?.item.hasPayload) await inbox.dropPayload(draft, entry);
    draft.removeEntry(id);
    draft.writeClear(goneName(id), {id, order, change: draft.head.change += 1});
  },

  /**
   * Whether the notification is unchanged since the change with the number `since`. If so, the
   * answer to a request of that time has its latest state. Otherwise the stored state is newer
   * than the answer, or the next page, whose cursor is older, has the answer's state again.
   */
  async isUntouched(draft, id, since) {
    return (draft.entries.get(id)?.change ?? 0) <= since && !await inbox.wasRemoved(draft, id, since) && draft.head.floor <= since;
  },

  /**
   * Whether an id was deleted since the change with the number `since`. A deleted notification
   * never returns.
   */
  async wasRemoved(draft, id, since) {
    return ((await draft.row(goneName(id)))?.change ?? 0) > since;
  },

  /**
   * Merges a page; returns false and changes nothing if the cursor is no longer `after`.
   *
   * Reads and dismissals that the server does not know yet stay as they are. `before` is the
   * number of the last change at the time of the request: ids that were deleted since are not
   * added again.
   */
  async merge(draft, page, {after, before, replaces, pending, date, boxes}) {
    const old = await draft.read('cursor');
    if (old?.cursor !== after) return false;
    if (replaces) {
      const staying = new Set(page.items.map(({item}) => item.id));
      for (const id of draft.entries.keys()) if (!staying.has(id)) await inbox.remove(draft, id);
    }
    const ids = [...page.items.map(({item}) => item.id), ...page.deleted];
    const stored = ids.map(id => draft.entries.get(id)).filter(entry => entry?.item.hasPayload);
    await draft.load([...ids.map(goneName), ...new Set(stored.map(boxOf))]);
    const places = new Map(boxes.flatMap(({name, texts}) => Object.entries(texts).map(([id, json]) => [Number(id), {box: name, json}])));
    for (const {item, isStorable} of page.items) {
      if (pending.dismissed.has(item.id) || await inbox.wasRemoved(draft, item.id, before)) continue;
      const cached = isStorable ? item : withoutPayload(item);
      await inbox.put(draft, {...cached, isRead: pending.read.get(item.id) ?? item.isRead}, {date, isListed: true, ...places.get(item.id)});
    }
    for (const {name, value} of boxes) {
      // Some notifications were dismissed meanwhile, or are stored already with this payload.
      const all = Object.entries(value), used = all.filter(([id]) => draft.entries.get(Number(id))?.box === name);
      if (used.length > 0) draft.write(name, used.length === all.length ? value : Object.fromEntries(used));
    }
    for (const id of page.deleted) await inbox.remove(draft, id);
    // Before the last page, the inbox is a mixture of two states.
    draft.write('cursor', {cursor: page.cursor, date: !page.hasMore ? date : replaces ? null : old?.date ?? null});
    return true;
  },

  /**
   * Deletes the items that have expired by the server's time. The device's clock is not used,
   * because it may be wrong.
   */
  async expire(draft, time) {
    if (time === null) return;
    for (const {item} of draft.entries.values()) if (isPast(item, time * 1000)) await inbox.remove(draft, item.id);
  },

  /** Enforces the limits. */
  async shrink(draft) {
    const entries = [...draft.entries.values()];
    let count = entries.length, bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
    if (count > MAXIMUM.count || bytes > MAXIMUM.bytes) {
      for (const entry of entries.sort(inOrder)) {
        const {item} = entry;
        if (count > MAXIMUM.count) {
          await inbox.remove(draft, item.id);
          [count, bytes] = [count - 1, bytes - sizeOf(entry)];
        } else if (bytes > MAXIMUM.bytes && item.hasPayload) {
          await inbox.dropPayload(draft, entry);
          draft.setEntry(item.id, {...entry, item: {...item, hasPayload: false}, tag: null, size: 0, box: undefined});
          bytes -= entry.size;
        }
      }
    }
    const tombstones = [...(await draft.store.list('gone/')).values()].sort((one, other) => one.change - other.change);
    for (const tombstone of tombstones.slice(0, Math.max(0, tombstones.length - MAXIMUM.tombstones))) {
      draft.remove(goneName(tombstone.id));
      draft.head.floor = Math.max(draft.head.floor, tombstone.change);
    }
  },

  /** Moves the entries of earlier versions, which had rows of their own, into packs. */
  async adopt(draft) {
    for (const [name, row] of await draft.store.list('entry/')) {
      const stored = await unseal(draft.key, name, row), id = Number(name.slice(6));
      draft.remove(name);
      if (!stored) {
        await inbox.remove(draft, id);
        draft.remove('cursor');
        continue;
      }
      const {item: {payload, ...item}, tag, date, size = 0} = stored;
      if (payload !== undefined) draft.write(payloadName(id), payload);
      draft.setEntry(id, {item: withTimes(item), tag, date, size, change: row.change, order: row.order ?? null});
    }
    draft.head.format = FORMAT;
  },

  /** Deletes the notifications, and what is known of deleted ones. */
  async empty(draft) {
    draft.entries.clear();
    draft.packs.clear();
    for (const prefix of ['entries/', 'payload/', 'payloads/', 'gone/']) for (const name of await draft.names(prefix)) draft.remove(name);
  },

  /** Deletes everything of the account except for its pending sign-outs. */
  async clear(draft) {
    await inbox.empty(draft);
    for (const name of await draft.names('outbox/')) draft.remove(name);
    for (const name of ['cursor', ...OF_ACCOUNT]) draft.remove(name);
    // The numbers of changes restart in a new epoch, so that all earlier marks become invalid.
    Object.assign(draft.head, {change: 0, floor: 0, listed: 0, epoch: ''});
  },
};

/**
 * The names of the rows about the account itself. `identity` is the account's identifier, which
 * the server's answers must have. `device` is not encrypted: no script can export its keys.
 */
const ENCRYPTED = ['session', 'identity', 'registration', 'stream', 'messages'], OF_ACCOUNT = [...ENCRYPTED, 'device'];

// MARK: - End-to-end encryption: docs/end-to-end.md defines the form

const END_TO_END = 'sealpost-e2e.1.1', DEVICE_KEY = 'sealpost-key.1';
/** The numbers of characters of an id, a point, a signature and a device's entry. */
const ID = 22, POINT = 87, SIGNATURE = 86, ENTRY = 152;
/**
 * The longest accepted age and clock skew of a payload, in seconds. An older payload is a replay:
 * the server schedules and stores no payload for so long.
 */
const LONGEST_LIFE = 61 * 86_400, CLOCK_SKEW = 86_400;
const ECDH = {name: 'ECDH', namedCurve: 'P-256'}, ECDSA = {name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256'};
/** The nonce is all zeros, since each key encrypts only one text. */
const NONCE = new Uint8Array(12);

/**
 * Thrown for a text that is not a valid end-to-end payload or device key, or a payload that is not
 * for this device. `docs/end-to-end.md` lists the values of `reason`.
 */
export class UnreadableError extends Error {
  constructor(reason) {
    super(reason);
    this.name = 'UnreadableError';
    this.reason = reason;
  }
}

const thumbprintOf = async bytes => base64URL((await sha256(bytes)).subarray(0, 16));
const isTimely = age => age >= -CLOCK_SKEW && age <= LONGEST_LIFE;
const isTime = text => /^(0|[1-9][0-9]{0,9})$/.test(text);
const pieces = (text, length) => Array.from({length: text.length / length}, (_, at) => text.slice(at * length, (at + 1) * length));

/** The bytes of a text in base64url. Throws for any other text or spelling. */
function decoded(spelled, length = spelled.length) {
  const bytes = /^[-A-Za-z0-9_]*$/.test(spelled) ? bytesOfURL(spelled) : null;
  if (!bytes || spelled.length !== length) throw new UnreadableError('malformed');
  return bytes;
}

function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function imported(point, algorithm, usages) {
  try {
    return await crypto.subtle.importKey('raw', point, algorithm, true, usages);
  } catch {
    throw new UnreadableError('malformed');
  }
}

const pointOf = async key => base64URL(new Uint8Array(await crypto.subtle.exportKey('raw', key)));
const signed = (purpose, body) => utf8(`sealpost-${purpose}\n${body}`);
const signature = async (key, purpose, body) => base64URL(new Uint8Array(await crypto.subtle.sign(ECDSA, key, signed(purpose, body))));

/** The public keys of a device of the account. */
export class DeviceKey {
  /**
   * Reads the text that a device has registered. Throws an `UnreadableError` if the text is
   * malformed or its signature is wrong.
   */
  static async read(text) {
    const parts = typeof text === 'string' && text.length <= 2048 ? text.split('.') : [];
    if (parts.length !== 8 || `${parts[0]}.${parts[1]}` !== DEVICE_KEY || parts[2].length !== ID || !isTime(parts[5]) || parts[7].length % (ID + SIGNATURE)) {
      throw new UnreadableError('malformed');
    }
    const body = parts.slice(0, 6).join('.'), signing = await imported(decoded(parts[3], POINT), ECDSA, ['verify']);
    await imported(decoded(parts[4], POINT), ECDH, []);
    const own = decoded(parts[6], SIGNATURE);
    if (!await crypto.subtle.verify(ECDSA, signing, own, signed('own', body))) throw new UnreadableError('signature');
    const digest = await sha256(utf8(`sealpost-fingerprint\n${body}`));
    const numbers = Array.from({length: 6}, (_, at) => digest.subarray(at * 5, at * 5 + 5).reduce((number, byte) => number * 256 + byte, 0) % 100_000);
    return Object.assign(new DeviceKey(), {
      text, body, account: parts[2], id: await thumbprintOf(utf8(body)), agreement: parts[4],
      /** A digest of the keys in 30 digits, which people can compare on two screens. */
      fingerprint: numbers.map(number => String(number).padStart(5, '0')).join(' '),
    });
  }
}

/**
 * The keys of this device. No script can export the private keys. IndexedDB can store the member
 * `stored`.
 */
export class DeviceKeys {
  /**
   * Creates keys for a device of an account. Register `key.text` with `PUT /api/devices/{id}/key`.
   */
  static async make(account, now = Date.now() / 1000) {
    const signing = await crypto.subtle.generateKey(ECDSA, false, ['sign', 'verify']);
    const agreement = await crypto.subtle.generateKey(ECDH, false, ['deriveBits']);
    const body = [DEVICE_KEY, account, await pointOf(signing.publicKey), await pointOf(agreement.publicKey), Math.floor(now)].join('.');
    const text = `${body}.${await signature(signing.privateKey, 'own', body)}.`;
    return DeviceKeys.from({text, signing: signing.privateKey, agreement: agreement.privateKey});
  }

  static async from(stored) {
    return Object.assign(new DeviceKeys(), {stored, key: await DeviceKey.read(stored.text)});
  }

  /**
   * The text of another device of the account, with this device's approval added. Before this
   * call, a person must have compared the fingerprints on both screens.
   */
  async approve(text) {
    const other = await DeviceKey.read(text);
    if (other.account !== this.key.account) throw new UnreadableError('account');
    return text + this.key.id + await signature(this.stored.signing, 'approve', other.body);
  }
}

/**
 * The JSON text of a payload for this device, and the id of its message. The caller must compare
 * this id with the ids of earlier messages, since a dishonest server may deliver a message twice.
 *
 * `senders` are the public keys of the backends that the app trusts.
 */
export async function openPayload(payload, {device, senders, app = 'default', now = Date.now() / 1000}) {
  const parts = typeof payload === 'string' ? payload.split('.') : [];
  if (parts[0] !== 'sealpost-e2e') throw new UnreadableError('notEncrypted');
  if (parts.slice(0, 3).join('.') !== END_TO_END) throw new UnreadableError('unsupported');
  if (parts.length !== 8 || parts[3].length !== ID || parts[4].length !== ID || !isTime(parts[5]) || parts[7].length % ENTRY) throw new UnreadableError('malformed');
  const points = senders.map(sender => decoded(sender, POINT)), ids = await Promise.all(points.map(thumbprintOf)), sender = points[ids.indexOf(parts[3])];
  if (!sender) throw new UnreadableError('unknownSender');
  const entry = pieces(parts[7], ENTRY).find(entry => entry.startsWith(device.key.id));
  if (!entry) throw new UnreadableError('notForThisDevice');
  if (!isTimely(now - Number(parts[5]))) throw new UnreadableError('expired');
  const wrapped = decoded(entry.slice(ID)), content = decoded(parts[6]);
  const secret = await setupReceiver(wrapped.subarray(0, 65), device.stored.agreement, decoded(device.key.agreement), sender, infoOf(device.key.account, app));
  const digest = await sha256(utf8(parts.slice(0, 7).join('.')));
  const contentKey = await decrypt(await exportKey(secret, digest, 16), wrapped.subarray(65));
  const plain = await decrypt(contentKey, content, parts.slice(0, 6).join('.'));
  const end = plain.findLastIndex(byte => byte !== 0);
  if (plain[end] !== 128) throw new UnreadableError('malformed');
  return {json: text(plain.subarray(0, end)), message: parts[4], sentAt: Number(parts[5])};
}

const infoOf = (account, app) => utf8(`${END_TO_END}\n${account}\n${app}`);

async function decrypt(key, content, associated = '') {
  const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']);
  try {
    return new Uint8Array(await crypto.subtle.decrypt({name: 'AES-GCM', iv: NONCE, additionalData: utf8(associated)}, imported, content));
  } catch {
    throw new UnreadableError('unreadable');
  }
}

// MARK: - HPKE (RFC 9180), mode Auth, with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM

const KEM = joined(utf8('KEM'), [0, 16]), HPKE = joined(utf8('HPKE'), [0, 16, 0, 1, 0, 1]);
const EMPTY = new Uint8Array(0), VERSION = utf8('HPKE-v1');

async function hmac(key, ...parts) {
  const imported = await crypto.subtle.importKey('raw', key, {name: 'HMAC', hash: 'SHA-256'}, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, joined(...parts)));
}

const extract = (salt, suite, label, value) => hmac(salt.length > 0 ? salt : new Uint8Array(32), VERSION, suite, utf8(label), value);
/** HKDF-Expand of at most one block. */
const expand = async (key, suite, label, info, length) =>
  (await hmac(key, [0, length], VERSION, suite, utf8(label), info, [1])).subarray(0, length);

/** The exporter secret (`SetupAuthR`). `own` and `sender` are points. */
export async function setupReceiver(enc, privateKey, own, sender, info) {
  const shared = [];
  for (const point of [enc, sender]) {
    const key = await imported(point, ECDH, []);
    shared.push(new Uint8Array(await crypto.subtle.deriveBits({name: 'ECDH', public: key}, privateKey, 256)));
  }
  const secret = await expand(await extract(EMPTY, KEM, 'eae_prk', joined(...shared)), KEM, 'shared_secret', joined(enc, own, sender), 32);
  const schedule = joined([2], await extract(EMPTY, HPKE, 'psk_id_hash', EMPTY), await extract(EMPTY, HPKE, 'info_hash', info));
  return expand(await extract(secret, HPKE, 'secret', EMPTY), HPKE, 'exp', schedule, 32);
}

export const exportKey = (secret, context, length) => expand(secret, HPKE, 'sec', context, length);

// MARK: - The client

const DEFAULTS = {
  app: null, signatureTolerance: 300, deadline: 30, answerLimit: 8 << 20, limit: 500, name: '',
  title: null, icon: null, page: null, placeholder: 'New message. Open to read.', worker: 'sealpost-worker.js', scope: undefined,
  isDeviceShared: false, endToEnd: null, observe: null, headers: null, verifier: null,
  // Tests replace these values.
  fetch: null, store: null, now: null, makeToken: randomToken,
};
/** The names of the settings that the worker also needs. No setting is secret. */
const SHARED = ['server', 'app', 'signatures', 'signatureTolerance', 'title', 'icon', 'page', 'placeholder', 'isDeviceShared', 'endToEnd', 'token'];
const DAY = 86_400_000;
/**
 * The least time that a tab has to take the lock over from a suspended tab, in milliseconds. Each
 * other tab waits up to twice as long, so that not all of them take the lock then.
 */
const HANDOVER = 2000;
/** How long a stream whose session has ended may be silent before it is left, in seconds. */
const DRAIN = 0.1;
/**
 * The part of a call's time that is left for the browser after the last request, and that each
 * step of a sign-out in the browser may take.
 */
const LOCAL = 1 / 8;

const textOf = pattern => value => typeof value === 'string' && pattern.test(value);
const numberFrom = (least, isNumber = Number.isSafeInteger) => value => isNumber(value) && value >= least;
const listOf = isItem => value => Array.isArray(value) && value.every(isItem);
const isPayload = value => {
  // The server refuses null. `JSON.stringify` writes numbers such as NaN as null, leaves functions
  // out, and writes objects such as a Map or an Error as {}.
  const isEmptied = one => {
    const kind = Object.getPrototypeOf(one), isPlain = kind === null || Object.getPrototypeOf(kind) === null;
    return !isPlain && !Array.isArray(one) && typeof one.valueOf() === 'object' && Object.keys(one).length === 0;
  };
  const check = (_, one) => {
    const isLost = ['function', 'symbol'].includes(typeof one) || (typeof one === 'number' && !Number.isFinite(one));
    if (isLost || (typeof one === 'object' && one !== null && isEmptied(one))) throw new TypeError('no JSON');
    return one;
  };
  try { return ![undefined, 'null'].includes(JSON.stringify(value, check)); } catch { return false; }
};
const keysOf = length => value => listOf(key => typeof key === 'string' && bytesOfURL(key)?.length === length)(value) && value.length > 0;
/** The kinds of options, as errors name them. A text such as `a text or null` joins several. */
const KINDS = {
  ...Object.fromEntries([null, true, false, Infinity].map(one => [one, value => value === one])),
  'a text': textOf(/^/), 'a text that is not empty': textOf(/./s), 'a text of visible ASCII': textOf(/^[\x21-\x7E]+$/),
  '1 to 64 of the characters a-z, 0-9, - and _': textOf(/^[a-z0-9_-]{1,64}$/),
  'the identifier of an account': value => isIdentifier(value),
  // Other topics would be other paths, or requests that the server refuses as malformed.
  'a topic, without slashes, backslashes and control characters': textOf(/^(?!\.{1,2}$)[^/\\\p{Cc}\p{Cs}]+$/u),
  'the id of a device': textOf(/^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,128}$/),
  'a notification': value => numberFrom(0)(value?.id) && (value.createdAt === null || (value.createdAt instanceof Date && KINDS['a time'](value.createdAt))),
  'a URL': value => KINDS['a text that is not empty'](value) && urlOf(value) !== null,
  // Tests have no page.
  "a URL of the page's origin": value => KINDS['a URL'](value) && (!globalThis.location || urlOf(value).origin === urlOf(location.href).origin),
  'a function': value => typeof value === 'function', 'an AbortSignal': value => value instanceof AbortSignal,
  // A timer replaces delays beyond its range by none; `events` waits for four times its `silence`.
  'a number of seconds above 0': value => Number.isFinite(value) && value > 0 && value < 2 ** 29 / 1000,
  'a number from 0': numberFrom(0, value => typeof value === 'number'), 'a whole number from 0': numberFrom(0), 'a whole number from 1': numberFrom(1),
  'a list of texts': listOf(textOf(/^/)), 'a list of public keys': keysOf(65), 'a list of public keys of Ed25519 in base64url': keysOf(32),
  '{keys: [...]}': value => pinnedKeys(value).length === 0 || checkedOptions(value, {keys: 'a list of public keys of Ed25519 in base64url'}),
  'an object with `senders`': value => Boolean(value?.senders) && checkedOptions(value, {senders: 'a list of public keys', isRequired: 'true or false'}),
  'a time': value => !Number.isNaN(value instanceof Date ? value.getTime() : Date.parse(typeof value === 'string' ? value : '')),
  'a JSON value except null': isPayload, 'a task of the outbox': value => textOf(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)(value?.key),
  'a store': value => value instanceof MemoryStore || value instanceof IndexedStore,
};

/** The kind of each option of `open`. */
const OPTIONS = {
  server: 'a text that is not empty', signatures: '{keys: [...]}', app: '1 to 64 of the characters a-z, 0-9, - and _ or null',
  token: "a URL of the page's origin or a function or null", name: 'a text',
  deadline: 'a number of seconds above 0', signatureTolerance: 'a number from 0', answerLimit: 'a whole number from 1 or Infinity', limit: 'a whole number from 1',
  title: 'a text or null', icon: 'a text or null', page: 'a URL or null', placeholder: 'a text',
  worker: "a URL of the page's origin", scope: "a URL of the page's origin", isDeviceShared: 'true or false', endToEnd: 'an object with `senders` or null',
  observe: 'a function or null', headers: 'a function or null', verifier: 'a function or null',
  fetch: 'a function or null', store: 'a store or null', now: 'a function or null', makeToken: 'a function or null',
};

/** The kind of each option of `reopen`: the page's stored settings have the others. */
export const OWN_OPTIONS = Object.fromEntries(Object.entries(OPTIONS).filter(([name]) => name === 'token' || ![...SHARED, 'name', 'worker', 'scope'].includes(name)));

/** The channel on which a worker tells pages why it does not start. */
export const WORKER_CHANNEL = 'sealpost-worker';

/** The value of an option. Throws a `TypeError` for a value that is not of the option's kind. */
export function checkedOption(name, value, kind) {
  if (!kind.split(' or ').some(one => KINDS[one](value))) throw new TypeError(`The option \`${name}\` must be ${kind}.`);
  return value;
}

/**
 * The options that are not undefined. Throws a `TypeError` for an option that does not exist, which
 * would have no effect, and for a value that is not of the option's kind.
 */
export function checkedOptions(options, kinds = OPTIONS) {
  if (Object.prototype.toString.call(options) !== '[object Object]') throw new TypeError('The options are no object.');
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (!Object.hasOwn(kinds, name)) throw new TypeError(`There is no option \`${printable(name)}\`.`);
    checkedOption(name, value, kinds[name]);
  }
  return Object.fromEntries(given);
}

/** The keys that an app pins. There is no default: the app names the keys that it trusts. */
function pinnedKeys(signatures) {
  if (signatures === 'unsigned') return [];
  if (Array.isArray(signatures?.keys) && signatures.keys.length > 0) return signatures.keys;
  throw new PushClientError('noSignatureKeys', "Set `signatures` to {keys: [...]} with at least one key, or to 'unsigned'.");
}

/**
 * A client of the API, for one account in one browser. It registers the browser, and fetches,
 * marks, dismisses and sends notifications.
 *
 * It stores all values in IndexedDB, encrypted with a key that no script can export. Any number of
 * tabs and the worker may use the stored values at the same time. Calls throw `PushClientError`.
 */
export class PushClient {
  /**
   * Opens the stored state; needs no network.
   *
   * - `server`: the API's URL; the page's own origin by default. A page of another origin must be
   *   in `server.allowedOrigins`.
   * - `signatures`, which every app chooses: `{keys: [...]}`, the public keys that may sign
   *   answers; requests ask for a signature with the first key. Or `'unsigned'`: then only
   *   `MyToken` authenticates answers, which detects accidents, but attackers can calculate its
   *   echo.
   * - `app`: the name of the app, if the server sends for several apps. `signatureTolerance`: the
   *   largest accepted difference between the clocks of server and device, in seconds; it applies
   *   only if the server signs no nonces. `deadline`: the time limit of each call with all its
   *   parts, in seconds.
   * - `token`: the source of a token if the stored token is missing, expires or is refused: a URL
   *   of the page's origin, to which page and worker post `{"Account": name}` with the page's
   *   cookies, or a function, called with `{account, name}`. Both return `{Token, ExpiresAt}`, and
   *   may add the identifier `Account`. A worker cannot call the page's function: it has its own
   *   `options`.
   * - `title`, `icon`, `placeholder`, `page`: the content of the worker's notifications, and the
   *   page that a click opens: by default this page without its query, and with the id as its hash.
   *   `{id}` in `page` stands for the id, as in `/#/messages/{id}`.
   * - `worker`, `scope`: the service worker's file and scope. `name`: a name for each account, if
   *   one origin has several.
   * - `observe`: called after each request, token and push with a `ClientEvent`. `headers`: called
   *   with `{method, route}` before each request; returns fields to add. Neither hook gets a
   *   payload, a token or an id. A worker has its own hooks, in `options`.
   * - `verifier`: verifies Ed25519 in browsers whose WebCrypto cannot, with a public key, a message
   *   and a signature as bytes. The worker needs it in `options`, too.
   * - `endToEnd`: `{senders: [...], isRequired}`, the public keys of the backends that encrypt for
   *   this account's devices. If this device cannot open a payload, or the payload is unencrypted
   *   though encryption `isRequired`, the item's `unreadable` has the reason.
   * - `isDeviceShared`: whether several accounts are signed in side by side, and share this
   *   browser's subscription. Each push then carries a hint that identifies its account. All of
   *   these accounts set it to the same value.
   */
  static async open(options = {}) {
    if (!globalThis.crypto?.subtle) throw new PushClientError('unavailable', 'This page was not loaded over https.');
    const settings = {...DEFAULTS, server: globalThis.location?.origin, ...checkedOptions(options)};
    settings.server = urlOf(settings.server)?.href;
    // If the user has signed in at another site, the query may contain codes, which must not be
    // stored.
    settings.page = settings.page ? urlOf(settings.page).href.replaceAll('%7Bid%7D', '{id}') : globalThis.location?.href.split(/[?#]/)[0] ?? null;
    settings.title = settings.title ?? globalThis.location?.hostname ?? 'Sealpost';
    if (typeof settings.token === 'string') settings.token = urlOf(settings.token).href;
    const push = new PushClient(settings, await storeOf(settings));
    await push.#inTime(push.#begin());
    // An earlier sign-out without a network may still be pending; the caller does not wait for it.
    push.finishSignOuts().catch(error => console.warn(error));
    return push;
  }

  /**
   * For the worker: opens the client with the settings that the page used last; null if no page
   * has used it yet.
   */
  static async reopen(name = '', options = {}) {
    const given = checkedOptions(options, OWN_OPTIONS), store = await storeOf({...given, name});
    const stored = await store.get('settings');
    if (!stored) return null;
    const push = new PushClient({...DEFAULTS, ...given, ...stored, name}, store);
    await push.#inTime(push.#begin());
    return push;
  }

  /** The names of all accounts that this origin has opened. */
  static async names() {
    const databases = await indexedDB.databases();
    return databases.filter(({name}) => /^sealpost( .+)?$/.test(name)).map(({name}) => name.slice('sealpost '.length)).sort();
  }

  #settings; #store; #own; #keys; #api; #epoch = ''; #renewal = null; #confirmed = null; #cache = {revision: -1, epoch: '', entries: new Map(), ivs: new Map(), damaged: [], sorted: []}; #payloads = new Map();
  /** This session's values that were read or written last, for a sign-out without a database. */
  #recent = {};
  #channelName; #sent = new Map(); #sending = Promise.resolve(); #sessionEnd = new AbortController(); #ended = null;

  /** Use `open` instead. */
  constructor(settings, store) {
    this.#settings = settings;
    this.#store = store;
    this.#own = new SessionRows(store, head => this.#isInSession(head));
    this.#channelName = `sealpost ${settings.name}`;
    /**
     * The name of the signed-in account, or null. After a sign-out in another tab it is null at
     * once while `events` or `updates` is read, else once a call has thrown `signedOut`.
     */
    this.account = null;
  }

  get settings() { return this.#settings; }

  /** Whether the account is still the one that this client was opened for. */
  async isCurrent() {
    const [head, settings] = await Promise.all([this.#store.head(), this.#store.get('settings')]);
    return head.epoch === this.#epoch && settings?.account === this.account && SHARED.every(name => JSON.stringify(settings[name]) === JSON.stringify(this.#settings[name]));
  }

  /** Whether a head of the store is that of this client's session; false without an account. */
  #isInSession(head) {
    return this.account !== null && head.epoch === this.#epoch;
  }

  async #begin() {
    const {server, signatureTolerance, deadline: timeout, answerLimit, makeToken, observe, headers} = this.#settings;
    this.#keys = await importKeys(pinnedKeys(this.#settings.signatures), this.#settings.verifier);
    const fetch = this.#settings.fetch ?? ((...request) => globalThis.fetch(...request));
    this.#api = new Conversation({server, keys: this.#keys, signatureTolerance, timeout, answerLimit, fetch, now: () => this.#now(), makeToken, observe, headers});
    await this.#change(async draft => {
      if (draft.head.format !== FORMAT) await inbox.adopt(draft);
      const stored = await draft.row('settings');
      // A client does not read the state of another server or app. A client that demands
      // signatures does not read state from unsigned answers.
      const isAnother = stored && ['server', 'app'].some(name => stored[name] !== this.#settings[name]);
      const isWeaker = stored && !stored.signatures?.keys && this.#keys.length > 0;
      if (isAnother) {
        this.#ended = draft.head.epoch;
        await this.#endSession(draft, stored);
      } else if (isWeaker) {
        await inbox.empty(draft);
        for (const name of ['cursor', 'identity']) draft.remove(name);
        // This floor is beyond every consumer's mark, so all consumers receive the full list.
        draft.head.floor = draft.head.change += 1;
      }
      // If the key of the stored state is lost, the inbox is unreadable, so the client deletes the
      // whole inbox.
      if (draft.isDamaged) await inbox.clear(draft);
      const account = isAnother || draft.isDamaged ? null : stored?.account ?? null;
      const settings = {...this.#sharedSettings(), account};
      if (JSON.stringify(settings) !== JSON.stringify(stored)) draft.writeClear('settings', settings);
      this.#epoch = draft.head.epoch ||= crypto.randomUUID();
      this.account = account;
    }, {isAnyEpoch: true});
  }

  #sharedSettings() {
    // A database cannot store functions.
    return Object.fromEntries(SHARED.map(name => [name, this.#settings[name]]).filter(([, value]) => typeof value !== 'function'));
  }

  /**
   * The stored settings; this client's own settings if a sign-out or the browser has removed the
   * stored ones.
   */
  async #storedSettings(draft) {
    return await draft.row('settings') ?? {...this.#sharedSettings(), account: null};
  }

  // MARK: Signing in and out

  /**
   * Exchanges the password for a token, and stores the token encrypted; it does not store the
   * password. If another account was signed in, the client removes that account's values.
   *
   * The client sends the password only after an answer of the server has passed the checks, so no
   * captive portal gets the password.
   *
   * Throws the interference `wrongAccount` if the session belongs to another user. Later calls
   * throw it for each answer for another account. Throws `storage` if the client cannot store the
   * token: then the account before stays signed in. If an administrator has deleted the account and
   * created a new account with the same name, the client deletes the old account's state.
   */
  async signIn(username, password) {
    for (const [name, value] of Object.entries({username, password})) checkedOption(name, value, 'a text');
    await this.#signIn(username, password, this.#api.deadline());
  }

  async #signIn(username, password, deadline) {
    const known = username === this.account ? await this.#identity() : null;
    await this.#api.ask('GET', `${SESSIONS}/current`, {account: known, deadline});
    const authorization = `Basic ${base64(utf8(`${username}:${password}`))}`;
    const answer = await this.#api.call('POST', SESSIONS, {authorization, account: known, isRepeatable: false, deadline});
    const {token, expiresAt} = readSession(answer);
    await this.#useNew(token, {account: username, id: readAccount(answer, username), expiresAt}, deadline);
  }

  /** Exchanges a code, which an administrator has made for a user without a password, for a token. */
  async signInWithCode(code) {
    const body = {Code: checkedOption('code', code, 'a text')}, deadline = this.#api.deadline();
    await this.#api.ask('GET', `${SESSIONS}/current`, {deadline});
    const answer = await this.#api.call('POST', ENROLMENT, {body, isRepeatable: false, deadline});
    const {token, expiresAt} = readSession(answer), [account, id] = ['name', 'account'].map(name => member(answer.json, name));
    if (!isIdentifier(account) || (id !== undefined && !isIdentifier(id))) throw unexpected(answer, 'the session of a user');
    await this.#useNew(token, {account, id: id ?? null, expiresAt}, deadline);
  }

  /**
   * Changes the account's password, and signs in with the new password. The server ends all
   * sessions of the account and their devices: call `registerIfNeeded` afterwards.
   */
  async changePassword(current, next) {
    for (const [name, value] of Object.entries({current, next})) checkedOption(name, value, 'a text');
    const deadline = this.#api.deadline(), change = async () => {
      await this.#call('PUT', '/api/users/current/password', {body: {Current: current, New: next}, deadline});
      await this.#signIn(this.account, next, deadline);
      // The tab that reads the events need not wait until the server ends the stream.
      this.#announce(`${this.#channelName} events`, {isNewSession: true});
    };
    await alone(`${this.#channelName} password`, deadline, change, change);
  }

  /**
   * Signs in with a token that this client has not fetched itself. The name in `account` must
   * belong to one user only.
   *
   * `id` is the `Account` of the token's session. Without an id, the first answer determines the
   * account whose answers the client accepts. `expiresAt` is a date, or the session's `ExpiresAt`.
   */
  async useToken(token, session) {
    checkedOption('token', token, 'a text of visible ASCII');
    const {account, id = null, expiresAt = null} = checkedOptions(session, {account: 'a text', id: 'the identifier of an account or null', expiresAt: 'a time or null'});
    checkedOption('account', account, 'a text that is not empty');
    await this.#use(token, {account, id, expiresAt: expiresAt instanceof Date ? expiresAt : timeOf(expiresAt)}, this.#api.deadline());
  }

  /**
   * Uses the token of a session that this client has just begun. If the client cannot store the
   * token, it asks the server to end the session, which no other client knows.
   */
  async #useNew(token, session, deadline) {
    const end = () => this.#end(this.#api, `${SESSIONS}/current`, `Bearer ${token}`, {account: session.id, deadline});
    await this.#use(token, session, deadline, end);
  }

  /** Calls `undo` if the token cannot be stored: then the client keeps its account. */
  async #use(token, {account, id, expiresAt}, deadline, undo = async () => {}) {
    const session = {token, expiresAt: expiresAt?.getTime() ?? null, isOwn: true}, identity = id === null ? {} : {identity: {id}};
    let isAnother = false, ended = null, epoch = null;
    await this.#change(async draft => {
      const settings = await this.#storedSettings(draft), known = (await draft.read('identity'))?.id;
      // The old account was deleted, so the server has no session of it to end.
      const isAnew = settings.account === account && known !== undefined && id !== null && id !== known;
      if (isAnew) for (const name of OF_ACCOUNT) draft.remove(name);
      isAnother = isAnew || (settings.account !== null && settings.account !== account);
      ended = draft.head.epoch;
      if (isAnother) await this.#endSession(draft, settings);
      draft.writeClear('settings', {...settings, account});
      for (const [name, value] of Object.entries({session, ...identity})) draft.write(name, value);
      epoch = draft.head.epoch ||= crypto.randomUUID();
    }, {isAnyEpoch: true}).catch(async error => {
      await undo().catch(() => {});
      throw error;
    });
    // Until the commit this client is in its session: the change may fail, or be made again.
    if (isAnother) this.#ended = ended;
    [this.#epoch, this.account, this.#recent, this.#confirmed] = [epoch, account, {session, ...identity}, null];
    if (isAnother) this.#endEvents();
    this.#announce();
    if (isAnother) await this.#closeNotifications(null);
    await this.#inTurn(() => this.#sendSignOuts({deadline}));
  }

  /**
   * Deletes the account's stored state, so that no client can write to it any more. Then ends the
   * device and the session at the server.
   *
   * The deletion comes first, and needs neither a network nor free space. Returns whether the
   * server has confirmed, in answers for this account, the end of device and session. If the
   * server has not, the client stores an order to end them, if it can store one. Requests that
   * still run at the call's deadline go on in the page. The client retries at the next start of
   * the page and with each event of the worker. If the token can no longer end a device, the
   * account's next sign-in in this browser ends it.
   *
   * Returns false if nobody is signed in. Does nothing, and returns false, if another account has
   * signed in here since. Throws `storage` if the browser cannot delete the stored state, or has
   * not answered by the call's deadline. Then nothing has changed, unless the browser has begun to
   * commit the deletion and has not ended that in time. Call `signOut` again in either case.
   */
  async signOut() {
    const end = this.#api.deadline(1), {account} = this;
    let send = () => {};
    const isReady = new Promise(done => { send = done; });
    // This joins the queue of sign-outs before a worker learns of this sign-out. If the worker
    // sent the same requests first, this client would get other answers.
    const turn = this.#inTurn(async () => (await isReady)());
    const {ending, isStored, isOther} = await this.#endHere(end).catch(error => {
      send(() => false);
      throw error;
    });
    this.account = null;
    this.#payloads.clear();
    if (isOther) {
      send(() => false);
      return false;
    }
    this.#endEvents();
    this.#announce();
    // A failure or an endless wait here must not stop the client's requests to the server.
    await within(this.#api.deadline(LOCAL), Promise.allSettled([this.#unsubscribe(), this.#closeNotifications(null)]), '').catch(() => {});
    // If the browser has taken most of the call's time, the requests go on after the call's end.
    const sendBy = this.#api.deadline();
    // The stored state is gone before the client asks for the app's token.
    const renew = () => within(sendBy, this.#newSession(account, ending?.id ?? null, sendBy), '').then(({token}) => token, () => null);
    const isUnstored = ending !== null && !isStored;
    send(isUnstored ? async () => (await this.#sendEnding(ending, sendBy, renew)).isConfirmed : () => this.#sendSignOuts({account, renew, deadline: sendBy}));
    try {
      // Without a token the session may still be open at the server.
      return await within(end, turn, '') && ending !== null;
    } catch (error) {
      if (!(error instanceof PushClientError)) throw error;
      return false;
    }
  }

  /**
   * Ends the account on this device. Returns the sign-out order for the server, which is null if
   * there is neither a device nor a token, and whether the order is stored. Changes nothing if
   * another session has begun here (`isOther`), or if the browser has not answered by `deadline`.
   */
  async #endHere(deadline) {
    let ending = null, draft = null, isOther = false;
    const end = async made => {
      const settings = await this.#storedSettings(made);
      isOther = settings.account !== null && !this.#isInSession(made.head);
      if (isOther) return;
      ending = await this.#endSession(made, settings);
      made.writeClear('settings', {...settings, account: null});
      draft = made;
    };
    const limited = promise => within(deadline, promise, TOO_LATE, 'storage');
    // A transaction ends after half of the call's time, also if the browser has lost its event. A
    // commit that would be too late fails, so it cannot end a later session. The store's timeout is
    // half of the call's time, too.
    const commitBy = deadline - this.#settings.deadline * 1000 * COMMIT / 2;
    const change = () => limited(this.#change(end, {isAnyEpoch: true, deadline: commitBy}));
    try {
      await change().catch(error => {
        if (isBroken(error)) throw error;
        return change();
      });
      // Until the commit this client is in its session: the change may be made again.
      if (!isOther) [this.#ended, this.#epoch] = [this.#epoch, draft.head.epoch];
      return {ending, isStored: true, isOther};
    } catch (error) {
      // Other tabs may only keep the database busy. Deleting it would delete the order, too.
      if (!isBroken(error)) throw error;
    }
    // The disk is full, or the database is broken. Deleting needs no space, and frees some.
    await limited(this.#store.removeAll()).catch(cause => {
      throw new PushClientError('storage', 'The browser cannot delete the stored data.', {cause});
    });
    if (!draft) return {ending: this.#recentEnding(), isStored: false};
    [this.#ended, this.#epoch] = [this.#epoch, draft.head.epoch];
    const rows = new Map([...await draft.rows()].filter(([, row]) => row !== null));
    return {ending, isStored: await limited(this.#store.commit(0, rows, draft.head, 'strict', deadline)).catch(() => false)};
  }

  /**
   * Reports pending sign-outs to the server. Returns whether the server has confirmed, in answers
   * for the account of each sign-out, that all devices and sessions have ended.
   */
  finishSignOuts() {
    return this.#inTurn(() => this.#sendSignOuts());
  }

  /**
   * Sends sign-outs in one tab or worker at a time: a second concurrent call would use a token
   * that the first call has ended.
   */
  #inTurn(send) {
    const deadline = this.#api.deadline(), run = () => alone(`${this.#channelName} endings`, deadline, send, send);
    return this.#sending = this.#sending.catch(() => {}).then(run);
  }

  /** Carries out the pending orders. `renew` gets a new token for the orders of `account` only. */
  async #sendSignOuts({account = null, renew, deadline = this.#api.deadline()} = {}) {
    let isDone = true, isWaiting = false;
    for (const name of (await this.#store.list('ending/')).keys()) {
      const ending = await this.#read(name, this.#store);
      try {
        const {isConfirmed, left} = ending
          ? await this.#sendEnding(ending, deadline, ending.account === account ? renew : undefined) : {isConfirmed: false, left: null};
        await this.#change(async draft => {
          if (!left) draft.remove(name);
          else if (await draft.row(name)) draft.write(name, left);
        }, {isAnyEpoch: true});
        if (!isConfirmed) isDone = false;
      } catch (error) {
        if (!(error instanceof PushClientError)) throw error;
        isDone = false;
        isWaiting = true;
      }
    }
    if (isWaiting) await this.#wakeWorkerLater();
    return isDone;
  }

  /**
   * Ends the devices and the session of an order. Returns whether the server has confirmed that
   * both have ended, and in `left` the order that needs another token of the account, or null.
   * `renew` replaces a missing or invalid token.
   */
  async #sendEnding(ending, deadline, renew = async () => null) {
    const {server, keys, account, id = null} = ending;
    const api = Object.assign(Object.create(Conversation.prototype), this.#api, {base: server, keys: await importKeys(keys, this.#settings.verifier)});
    let left = ending.registrations, isNobody = false;
    const end = (path, token) => this.#end(api, path, `Bearer ${token}`, {account: id, deadline});
    const endDevices = async token => {
      const remaining = [];
      for (const registration of left) if (await end(`/api/register/${registration}`, token) !== 'ended') remaining.push(registration);
      left = remaining;
    };
    for (const give of ending.token === null ? [renew] : [() => ending.token, renew]) {
      const token = await give();
      if (token === null) break;
      await endDevices(token);
      // The session has ended already, or a proxy has sent the request without its token.
      isNobody = await end(`${SESSIONS}/current`, token) === 'nobody';
      if (!isNobody) break;
    }
    // If the account has signed in again, the client ends the old devices with the new token. The
    // new session stays.
    if (left.length > 0 && this.account !== null && this.account === account && this.#api.base === server) {
      const identity = await this.#identity(), isSameID = id === null || identity === null || id === identity;
      const own = isSameID ? (await this.#read('session'))?.token : null;
      if (own) await endDevices(own);
    }
    return {isConfirmed: left.length === 0 && !isNobody, left: left.length > 0 ? {...ending, token: null, registrations: left} : null};
  }

  /**
   * Asks the server to end a device or a session. Returns `ended`, `refused`, or `nobody` if the
   * server does not know the token. Throws if a retry may help, and if the answer is not the
   * server's own.
   */
  async #end(api, path, authorization, options) {
    try {
      await api.call('DELETE', path, {authorization, ...options});
      return 'ended';
    } catch (error) {
      if (error.allowsCached) throw error;
      return error.code === 'unauthorized' ? 'nobody' : isGone(error) ? 'ended' : 'refused';
    }
  }

  /**
   * Makes the stored state unreadable. Returns the order for the server; null without device and
   * token.
   *
   * Clients that were opened before this change can no longer write.
   */
  async #endSession(draft, settings) {
    const values = await Promise.all(ENCRYPTED.map(async name => [name, await draft.read(name)]));
    const endings = await Promise.all((await draft.names('ending/')).map(async name => [name, await draft.read(name)]));
    await inbox.clear(draft);
    draft.key = await newKey();
    draft.writeClear('key', draft.key);
    for (const [name, ending] of endings) if (ending) draft.write(name, ending); else draft.remove(name);
    // A new store: the browser, or a sign-out on a full disk that was too late, has deleted it.
    const ending = draft.head.revision === 0 ? this.#recentEnding() : this.#endingOf(Object.fromEntries(values), settings);
    if (ending) draft.write(`ending/${crypto.randomUUID()}`, ending);
    draft.head.epoch = crypto.randomUUID();
    return ending;
  }

  /** The order from what this client has in memory, for a database that is broken or deleted. */
  #recentEnding() {
    return this.account === null ? null : this.#endingOf(this.#recent, {...this.#sharedSettings(), account: this.account});
  }

  /** The order for the server from the stored values; null without device and token. */
  #endingOf({session, identity, registration, stream}, {server, signatures, account}) {
    const registrations = [registration?.id, stream?.id].filter(Boolean), token = session?.token ?? null;
    if (token === null && registrations.length === 0) return null;
    return {server: server.replace(/\/+$/, ''), keys: signatures?.keys ?? [], account, id: identity?.id ?? null, token, registrations};
  }

  #endEvents() {
    this.#sessionEnd.abort();
    this.#sessionEnd = new AbortController();
  }

  /**
   * Opens a channel of the tabs, on which this client learns that another tab has ended its
   * session. Looks for that, too, when the browser has suspended this page and resumes it.
   */
  #listen(ring = () => {}) {
    let channel;
    const hear = isEnded => {
      if (isEnded) {
        this.account = null;
        this.#endEvents();
      }
      ring();
    };
    const open = () => {
      channel = new BroadcastChannel(this.#channelName);
      channel.onmessage = ({data: {ended}}) => hear(ended === this.#epoch);
    };
    // Browsers evict a page with an open channel from the back/forward cache at the next message.
    const suspend = () => channel.close(), resume = () => {
      suspend();
      open();
      // The next call has a failure of this one, too.
      this.#store.head().then(({epoch}) => hear(epoch !== this.#epoch && this.account !== null), ring);
    };
    open();
    const ignore = onSuspension(suspend, resume);
    return {close: () => { ignore(); suspend(); }};
  }

  // MARK: Stored state

  /**
   * The cached inbox, at once and without a network: its newest notifications, the oldest first.
   *
   * `limit` is the maximum number of notifications. `hasMore` says whether there are older
   * notifications, which a call with `before: notifications[0]` returns. `count` and `unreadCount`
   * are the numbers of the whole inbox. `syncedAt` is the time at which the inbox was last
   * current; null if never.
   */
  async cachedInbox(options = {}) {
    const {limit = PAGE, before = null} = checkedOptions(options, {limit: 'a whole number from 0 or Infinity', before: 'a notification or null'});
    return this.#inboxOf({limit, before, isFresh: false});
  }

  /** The number of unread notifications, for a badge. */
  async cachedBadge() {
    return (await this.#unread()).length;
  }

  /** The ids of the unread notifications. */
  async #unread() {
    const now = this.#now();
    return (await this.#entries()).filter(({item}) => !item.isRead && !isPast(item, now)).map(({item}) => item.id);
  }

  async #inboxOf({limit, before = null, isFresh, unstored = new Map(), failure = null}) {
    const now = this.#now(), entries = (await this.#entries()).filter(({item}) => !isPast(item, now));
    let end = entries.length;
    if (before !== null) {
      const place = entries.findIndex(({item}) => item.id === before.id);
      // The notification has gone meanwhile.
      end = place >= 0 ? place : entries.findIndex(({item}) => item.createdAt >= before.createdAt);
      if (end < 0) end = entries.length;
    }
    const start = Math.max(0, end - limit), items = await this.#withPayloads(entries.slice(start, end));
    const date = (await this.#read('cursor'))?.date ?? null;
    return {
      notifications: items.map(item => unstored.get(item.id) ?? item), count: entries.length, hasMore: start > 0,
      unreadCount: entries.reduce((sum, {item}) => sum + (item.isRead ? 0 : 1), 0), isFresh, failure, syncedAt: date === null ? null : new Date(date),
    };
  }

  /**
   * The notifications of entries, with their payloads. A notification with an unreadable payload
   * has no payload here.
   */
  async #withPayloads(entries) {
    const {epoch} = this.#cache, memory = this.#payloads, found = new Map();
    const nameOf = ({item, change}) => `${epoch}/${item.id}/${change}`, missing = [];
    for (const entry of entries) {
      const name = nameOf(entry);
      if (memory.has(name)) found.set(name, memory.get(name).payload); else if (entry.item.hasPayload) missing.push(entry);
    }
    const boxes = [...new Set(missing.map(boxOf))];
    const [key, ...rows] = boxes.length > 0 ? await this.#own.getAll(['key', ...boxes]) : [];
    const values = new Map(await Promise.all(boxes.map(async (box, index) => [box, await unseal(key, box, rows[index])])));
    for (const entry of missing) {
      const payload = payloadIn(entry, values.get(boxOf(entry)));
      if (payload === undefined) continue;
      found.set(nameOf(entry), payload);
      memory.set(nameOf(entry), {payload, size: sizeOf(entry)});
    }
    let size = [...memory.values()].reduce((sum, one) => sum + one.size, 0);
    for (const [name, one] of memory) {
      if (size <= PAYLOADS_IN_MEMORY) break;
      memory.delete(name);
      size -= one.size;
    }
    return entries.map(entry => found.has(nameOf(entry)) ? {...entry.item, payload: found.get(nameOf(entry))} : withoutPayload(entry.item));
  }

  /**
   * The changes since a mark, a text that stands for the last change that the caller has
   * processed: `arrived`, the new or changed items; `deleted`, the ids to stop showing; the next
   * `mark`.
   *
   * No change is lost between two calls, even if another tab fetched it or a call failed in
   * between. Without a mark, or with a mark that is too old, `isEverything` is true and `arrived`
   * is the whole inbox. If there are more than `limit` changes, the call returns the first `limit`
   * changes and a mark after them, and `hasMore` is true.
   */
  async changes(mark = null, options = {}) {
    checkedOption('mark', mark, 'a text or null');
    const {limit = PAGE} = checkedOptions(options, {limit: 'a whole number from 1 or Infinity'});
    let head, entries, rows;
    // All values must come from one revision of the store: with a newer mark, the caller would
    // lose changes.
    do {
      head = await this.#own.head();
      [entries, rows] = [await this.#entries(), await this.#own.list('gone/')];
    } while ((await this.#own.head()).revision !== head.revision);
    const [epoch, number] = (mark ?? '').split('/');
    const isEverything = epoch !== head.epoch || !(Number(number) >= head.floor);
    const since = isEverything ? 0 : Number(number);
    const now = this.#now();
    const tombstones = isEverything ? [] : [...rows.values()];
    const all = [...entries.filter(({item}) => !isPast(item, now)), ...tombstones].filter(({change}) => change > since);
    const hasMore = all.length > limit, page = hasMore ? all.sort((one, other) => one.change - other.change).slice(0, limit) : all;
    const arrived = await this.#withPayloads(page.filter(({item}) => item).sort(inOrder));
    const deleted = page.filter(({item}) => !item).map(({id}) => id).sort((one, other) => one - other);
    return {arrived, deleted, isEverything, hasMore, mark: `${head.epoch}/${hasMore ? page.at(-1).change : head.change}`};
  }

  /**
   * The changes as they arrive, from this tab, other tabs and the worker. The iteration ends when
   * `signal` is aborted.
   */
  async *updates(options = {}) {
    let {mark, signal} = checkedOptions(options, {mark: 'a text or null', signal: 'an AbortSignal'}), ring = () => {}, isRung = false;
    const channel = this.#listen(() => { isRung = true; ring(); }), end = () => ring();
    signal?.addEventListener('abort', end);
    try {
      let {account} = this;
      mark ??= (await this.changes()).mark;
      while (!signal?.aborted) {
        const changes = await this.changes(mark);
        // The news of a sign-out in another tab may come after its change.
        if (changes.isEverything || changes.mark !== mark || this.account !== account) {
          [mark, account] = [changes.mark, this.account];
          yield changes;
        }
        if (changes.hasMore) continue;
        if (!isRung && !signal?.aborted) await new Promise(done => { ring = done; });
        isRung = false;
      }
    } finally {
      signal?.removeEventListener('abort', end);
      channel.close();
    }
  }

  // MARK: Fetching

  /**
   * Sends the outbox, and then fetches the changes since the last time.
   *
   * Returns the newest notifications, as `cachedInbox` does. `isFresh` is true if the server has
   * just confirmed this inbox. If the network fails or changes answers, `isFresh` is false,
   * `failure` has the reason, and `syncedAt` is the time at which the inbox was last current. If
   * the inbox was never current, the call throws instead; `cachedInbox` has the pages that arrived.
   */
  async sync(options = {}) {
    const {limit = PAGE} = checkedOptions(options, {limit: 'a whole number from 0 or Infinity'});
    const deadline = this.#api.deadline(), unstored = new Map(), run = {unstored, deadline, ahead: null};
    // The device's clock was perhaps wrong when the client found a payload expired. A list without
    // a cursor has the payload again.
    const now = this.#now() / 1000, isWorthRetry = ({unreadable, createdAt}) => unreadable === 'expired' && isTimely(now - createdAt / 1000);
    let restart = (await this.#entries()).some(({item}) => isWorthRetry(item)) ? 'next' : null;
    try {
      // Entries that the server does not accept now must not block the fetch.
      await this.#drain(deadline).catch(error => { if (error.code === 'offline' || !error.allowsCached) throw error; });
      for (let pages = 0; ; pages += 1) {
        // No inbox has so many pages, so the answers have a wrong `More`.
        if (pages === 1000) {
          const where = {status: 200, path: '/api/notifications'};
          throw interference('unexpectedBody', 'a last page', 'more pages than an inbox has', where);
        }
        const step = await this.#advance(restart === 'next', run);
        if (step === 'done') break;
        if (step === 'restart' && restart) {
          throw new PushClientError('problem', 'The server has refused its own cursor.', {problem: {code: 'invalid-cursor', status: 400}});
        }
        restart = step === 'restart' ? 'next' : restart && 'done';
      }
      return await this.#inboxOf({limit, isFresh: true, unstored});
    } catch (failure) {
      if (!failure.allowsCached) throw failure;
      const cached = await this.#inboxOf({limit, isFresh: false, unstored, failure});
      if (cached.syncedAt === null) throw failure;
      return cached;
    }
  }

  /**
   * Requests the changes after a cursor. Returns the answer with its page, the page's payloads in
   * encrypted boxes, and the number of the last change of the stored inbox before the request.
   */
  async #requestPage(cursor, deadline) {
    const before = (await this.#own.head()).change;
    const query = [['limit', String(this.#settings.limit)]];
    if (this.#app) query.push(['app', this.#app]);
    query.push(...await this.#ownKey());
    if (cursor !== undefined) query.push(['since', cursor]);
    // If nothing follows a cursor, the tag of the server's answer is that cursor.
    const condition = cursor === undefined ? null : `"${cursor}"`;
    const answer = await this.#call('GET', '/api/notifications', {query, condition, deadline});
    let page = answer.status === 304 ? null : readPage(answer);
    // Payloads that are encrypted end to end are opened before they are stored.
    if (page && !this.#settings.endToEnd) page = await this.#opened(page);
    const key = page && !this.#settings.endToEnd && await this.#own.get('key');
    const boxes = key ? boxesOf(page).map(box => ({...box, row: sealBox(key, box)})) : null;
    return {before, answer, read: page, boxes};
  }

  /**
   * Fetches, checks and merges one page. While it merges the page, it requests the next page
   * `ahead`.
   */
  async #advance(isRestart, run) {
    const {unstored, deadline, ahead} = run, cached = (await this.#read('cursor'))?.cursor, cursor = isRestart ? undefined : cached;
    let before, answer, read, boxes;
    run.ahead = null;
    try {
      // Another tab may have moved the cursor.
      ({before, answer, read, boxes} = await (ahead && ahead.cursor === cursor ? ahead.request : this.#requestPage(cursor, deadline)));
    } catch (error) {
      if (error.problem?.code === 'invalid-cursor' && cursor !== undefined) return 'restart';
      throw error;
    }
    // The first page of a restart may delete entries that the next page contains again. In this
    // case the next page is requested only after the merge.
    if (read?.hasMore && (cursor !== undefined || before === 0)) {
      run.ahead = {cursor: read.cursor, request: this.#requestPage(read.cursor, deadline)};
      // The next call of this function throws the error of this request.
      run.ahead.request.catch(() => {});
    }
    const page = read && await this.#opened(read);
    if (page) boxes ??= boxesOf(page);
    const isMerged = await this.#change(async draft => {
      if (page) {
        // If the browser has lost the key, the draft has another one.
        if (!draft.isDamaged) draft.sealed = new Map(boxes.filter(({row}) => row).map(box => [box.name, box]));
        const pending = await this.#pending(draft);
        // Without a cursor the server does not list deleted notifications. The cache may contain
        // such notifications if they were fetched one by one before the first page.
        const how = {after: cached, before, replaces: cursor === undefined, pending, date: this.#now(), boxes};
        if (!await inbox.merge(draft, page, how)) return false;
      } else {
        if ((await draft.read('cursor'))?.cursor !== cursor) return false;
        draft.write('cursor', {cursor, date: this.#now()});
      }
      await inbox.expire(draft, answer.time);
      return true;
    }, {durability: 'relaxed'});
    if (isMerged && page) for (const {item, isStorable} of page.items) if (isStorable) unstored.delete(item.id); else unstored.set(item.id, item);
    this.#announce();
    // Another tab has merged a page meanwhile: the next page begins at the cursor of that page.
    if (!isMerged) return 'more';
    if (page?.hasMore) return 'more';
    await this.#change(draft => inbox.shrink(draft));
    return 'done';
  }

  /** A cached notification, without a request; null if it is not cached. */
  async cachedNotification(id) {
    const item = (await this.#cachedItem(checked(id)))?.item;
    return item && !isPast(item, this.#now()) ? item : null;
  }

  /** A stored notification with its payload, tag and date; undefined if it is not stored. */
  async #cachedItem(id) {
    const entry = (await this.#loaded()).entries.get(id);
    if (!entry) return undefined;
    const payload = entry.item.hasPayload ? payloadIn(entry, await this.#read(boxOf(entry))) : undefined;
    return {...entry, item: payload === undefined ? withoutPayload(entry.item) : {...entry.item, payload}};
  }

  /**
   * Fetches a notification by its id, as `{item, isFresh, date, failure}`.
   *
   * If the network fails or changes the answer, the call returns the cached notification with its
   * date. If the server says that the notification is gone, the client deletes its copy and
   * throws. The call also fetches a payload that can be fetched only once (`isReadOnce`), and does
   * not cache it. The server returns it for a minute after the first fetch: show the payload, then
   * call `confirmTaken`.
   */
  async notification(id) {
    const before = (await this.#own.head()).change, cached = await this.#cachedItem(id);
    try {
      const query = await this.#ownKey();
      const answer = await this.#call('GET', `/api/notifications/${checked(id)}`, {query, condition: cached?.item.hasPayload ? cached.tag : null});
      if (answer.status === 304) {
        await this.#change(async draft => {
          const entry = draft.entries.get(id);
          if (entry && await inbox.isUntouched(draft, id, before)) draft.setEntry(id, {...entry, date: this.#now()});
        });
        return {item: cached.item, isFresh: true, date: null, failure: null};
      }
      return {item: await this.#take(answer, id, before), isFresh: true, date: null, failure: null};
    } catch (failure) {
      if (isGone(failure)) await this.#removeItems([id]);
      if (!failure.allowsCached || !cached?.item.hasPayload || isPast(cached.item, this.#now())) throw failure;
      const date = Math.max(cached.date, (await this.#read('cursor'))?.date ?? 0);
      return {item: cached.item, isFresh: false, date: new Date(date), failure};
    }
  }

  /**
   * For the worker: the notification of a push; null if the notification is gone. The client
   * stores it, so that the page can show it.
   *
   * The request is a list of one id, since a list has no read-once payloads: after a fetch of such
   * a payload, the server would erase it within a minute, before the user looks at it.
   */
  async preview(id) {
    const query = [['ids', String(checked(id))]];
    if (this.#app) query.push(['app', this.#app]);
    query.push(...await this.#ownKey());
    const before = (await this.#own.head()).change;
    const page = await this.#opened(readPage(await this.#call('GET', '/api/notifications', {query}), {ids: [id]}));
    const [found] = page.items;
    if (!found) {
      await this.#removeItems([id]);
      return null;
    }
    return this.#keep(found, before);
  }

  /** The notification of an answer, which the client stores. */
  async #take(answer, id, before) {
    const item = readItem(answer, id), isStorable = !answer.isNoStore && !item.isReadOnce && !item.isNeverStored;
    const {items: [found]} = await this.#opened({items: [{item, isStorable}]});
    return await this.#keep(found, before, answer.tag) ?? found.item;
  }

  /**
   * Stores a fetched notification, without its payload unless that is storable. Stores nothing if a
   * newer state was stored since the change with the number `before`. Returns the notification with
   * the changes of the outbox; null if it was dismissed.
   */
  async #keep({item, isStorable}, before, tag = null) {
    let shown;
    await this.#change(async draft => {
      const {read, dismissed} = await this.#pending(draft), {id} = item;
      shown = dismissed.has(id) ? null : {...item, isRead: read.get(id) ?? item.isRead};
      if (!shown || !await inbox.isUntouched(draft, id, before)) return;
      // If the tag belonged to another state, a 304 would wrongly confirm the stored state.
      const isOfTag = isStorable && shown.isRead === item.isRead;
      await inbox.put(draft, isStorable ? shown : withoutPayload(shown), {tag: isOfTag ? tag : null, date: this.#now()});
    });
    this.#announce();
    return shown;
  }

  async #removeItems(ids) {
    await this.#change(async draft => { for (const id of ids) await inbox.remove(draft, id); });
    this.#announce();
    await this.#closeNotifications(ids);
  }

  // MARK: The outbox

  /** Confirms that a read-once payload has arrived, so that the server erases it at once. */
  async confirmTaken(id) {
    try {
      await this.#call('POST', `/api/notifications/${checked(id)}/taken`);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    await this.#removeItems([id]);
  }

  /** The user's actions: the client stores each task, and sends it when it can reach the server. */
  outbox = Object.freeze({
    /**
     * Marks notifications as read or unread, at once in this browser. Returns whether the server
     * has accepted it by now. If it refuses, the next `sync` restores the notification.
     */
    markRead: async (ids, isRead = true) => {
      const wanted = [ids].flat().map(checked);
      checkedOption('isRead', isRead, 'true or false');
      let names;
      await this.#change(async draft => {
        names = [];
        await inbox.mark(draft, wanted, isRead);
        // In one request, the server marks up to 500 notifications as read, but only one as unread.
        const size = isRead ? 500 : 1;
        for (let start = 0; start < wanted.length; start += size) {
          names.push(await this.#enqueue(draft, {kind: 'read', ids: wanted.slice(start, start + size), isRead}));
        }
      });
      this.#announce();
      if (isRead) await this.#closeNotifications(wanted);
      return await this.#flush() && !await this.#isRefused(names);
    },

    /** Dismisses a notification on all of the user's devices, and returns as `markRead` does. */
    dismiss: async id => {
      let name;
      await this.#change(async draft => {
        await inbox.remove(draft, checked(id));
        name = await this.#enqueue(draft, {kind: 'dismiss', ids: [id]});
      });
      this.#announce();
      await this.#closeNotifications([id]);
      return await this.#flush() && !await this.#isRefused([name]);
    },

    /**
     * Sends any JSON value except null to the account's own devices only once: all attempts have
     * the same key. Returns the notification's id, or null if the message waits, or if another tab
     * or the worker has sent it. A refusal throws and removes it.
     */
    send: async payload => {
      checkedOption('payload', payload, 'a JSON value except null');
      const key = crypto.randomUUID();
      let name;
      // Another call of this tab may send the message, and gives its id to this call.
      this.#sent.set(key, null);
      try {
        await this.#change(async draft => { name = await this.#enqueue(draft, {kind: 'send', ids: [], payload, key}); });
        await this.#flush();
        const left = await this.#read(name);
        if (!left) return this.#sent.get(key);
        if (isWaiting(left)) return null;
        await this.outbox.discard(left);
        throw new PushClientError('problem', left.failure.title, {problem: left.failure});
      } finally {
        this.#sent.delete(key);
      }
    },

    /** The number of waiting tasks. */
    count: async () => (await this.outbox.tasks()).length,
    /** The waiting tasks, the oldest first. */
    tasks: async () => (await this.#tasks()).filter(isWaiting).map(({failure, ...task}) => task),
    /**
     * The last hundred tasks that the client has given up, and waiting messages that are too large
     * for a proxy: tell the user, then `discard` them.
     */
    failures: async () => (await this.#tasks()).filter(({failure}) => failure)
      .map(({failure, ...task}) => ({...task, code: failure.status === 0 ? null : failure.code, problem: failure.status ? failure : null})),
    /** Removes a waiting or failed task; has no effect if the task is gone. */
    discard: async task => {
      const {key} = checkedOption('task', task, 'a task of the outbox');
      await this.#change(async draft => {
        for (const name of await draft.names('outbox/')) if ((await draft.read(name))?.key === key) draft.remove(name);
      });
    },
  });

  async #tasks() {
    await this.#checkAccount();
    const rows = [...(await this.#own.list('outbox/')).keys()];
    return (await Promise.all(rows.map(name => this.#read(name)))).filter(Boolean);
  }

  async #enqueue(draft, call) {
    // A new change of a notification replaces an earlier change to read or unread.
    for (const name of call.ids.length === 1 ? await draft.names('outbox/') : []) {
      const before = await draft.read(name);
      if (before?.ids.length === 1 && before.ids[0] === call.ids[0] && before.kind === 'read') draft.remove(name);
    }
    const number = draft.head.order = (draft.head.order ?? 0) + 1;
    const name = `outbox/${String(number).padStart(12, '0')}`;
    draft.write(name, {key: crypto.randomUUID(), ...call, date: this.#now(), firstTry: null, failure: null});
    return name;
  }

  async #pending(draft) {
    const pending = {read: new Map(), dismissed: new Set()};
    for (const name of (await draft.names('outbox/')).sort()) {
      const call = await draft.read(name);
      // A refused change does not count.
      if (call?.failure) continue;
      if (call?.kind === 'read') for (const id of call.ids) pending.read.set(id, call.isRead);
      if (call?.kind === 'dismiss') pending.dismissed.add(call.ids[0]);
    }
    return pending;
  }

  /** Sends the waiting tasks. Returns whether the server has answered all of them. */
  async #flush() {
    try {
      await this.#drain(this.#api.deadline());
      return true;
    } catch (error) {
      if (!error.allowsCached && error.code !== 'unauthorized') throw error;
      await this.#wakeWorkerLater();
      return false;
    }
  }

  /**
   * Sends the waiting tasks in their order; throws the first error that makes the other tasks
   * wait, or at the end that of a message whose answer was hidden. Only one tab or worker sends at
   * a time: a repeated call would be harmless, but is unnecessary.
   */
  async #drain(deadline) {
    const drain = async () => {
      let hidden = null;
      for (const name of [...(await this.#own.list('outbox/')).keys()].sort()) {
        const call = await this.#read(name);
        if (!call || !isWaiting(call)) continue;
        await this.#deliver(name, call, deadline).catch(error => {
          // The browser hides the answer of a proxy, which may be the refusal of a large message,
          // from a page of another origin.
          const {kind, status} = error.interference ?? {};
          if (call.kind !== 'send' || kind !== 'missingEcho' || status !== 0) throw error;
          hidden ??= error;
        });
      }
      if (hidden) throw hidden;
    };
    return alone(`${this.#channelName} outbox`, deadline, drain, () => { throw new PushClientError('busy', 'Another tab is sending.', {retryAfter: null}); });
  }

  async #deliver(name, call, deadline) {
    // The server stores a key for 24 hours. A later retry could send the message twice.
    const isLate = call.kind === 'send' && call.firstTry !== null && Math.abs(this.#now() - call.firstTry) > 23 * 3_600_000;
    if (isLate) return this.#fail(name, call, {status: 0});
    if (call.kind === 'send' && call.firstTry === null) {
      // A failure stores the task again, with this time.
      call = {...call, firstTry: this.#now()};
      await this.#change(async draft => { if (await draft.row(name)) draft.write(name, call); });
    }
    let unmarked = [];
    try {
      const answer = await this.#request(call, deadline);
      if (call.kind === 'send') {
        const {id} = readItem(answer);
        if (this.#sent.has(call.key)) this.#sent.set(call.key, id);
      }
      // Of several ids, the server marks those that exist.
      if (call.ids.length > 1) unmarked = call.ids.filter(id => ![member(answer.json, 'read')].flat().includes(id));
    } catch (error) {
      const {kind, status} = error.interference ?? {};
      // A proxy's refusal must not block the other tasks. Anybody can forge it, so the message
      // still waits.
      if (call.kind === 'send' && kind === 'missingEcho' && status === 413) return this.#fail(name, call, {code: 'payload-too-large'});
      if (error.code !== 'problem') throw error;
      if (!isGone(error) || call.ids.length !== 1) return this.#fail(name, call, error.problem);
      await this.#removeItems(call.ids);
    }
    await this.#change(async draft => {
      draft.remove(name);
      await inbox.mark(draft, unmarked, false);
    });
  }

  #request({kind, ids, isRead, payload, key}, deadline) {
    if (ids.length > 1) return this.#call('POST', '/api/notifications/read', {body: {Ids: ids}, deadline});
    const path = `/api/notifications/${ids[0]}`;
    if (kind === 'read') return this.#ownKey().then(query => this.#call('PATCH', path, {query, body: {Read: isRead}, deadline}));
    if (kind === 'dismiss') return this.#call('DELETE', path, {deadline});
    // The server would read an object as a long-form request; a string is the payload itself.
    const body = typeof payload === 'string' ? payload : {Payload: payload, ...(this.#app ? {App: this.#app} : {})};
    const query = this.#app && typeof payload === 'string' ? [['app', this.#app]] : [];
    return this.#signedIn(deadline, async (authorization, epoch) => {
      await this.#confirm(authorization, epoch, deadline);
      return this.#ask('POST', '/api/notifications', {body, query, key, deadline, authorization}, epoch);
    });
  }

  /**
   * Marks a task as failed until the app discards it, or until it succeeds after all. The
   * notification was shown as if the task were done; the next page restores the server's state.
   */
  async #fail(name, call, failure) {
    await this.#change(async draft => {
      if (!await draft.row(name)) return;
      draft.write(name, {...call, failure});
      if (call.kind !== 'send') draft.write('cursor', {date: (await draft.read('cursor'))?.date ?? null});
      const names = (await draft.names('outbox/')).sort(), calls = await Promise.all(names.map(other => draft.read(other)));
      const failed = names.filter((_, place) => calls[place] && !isWaiting(calls[place]));
      for (const old of failed.slice(0, Math.max(0, failed.length - MAXIMUM.failures))) draft.remove(old);
    });
  }

  /** Whether the server has refused one of these tasks for good. */
  async #isRefused(names) {
    return (await Promise.all(names.map(name => this.#read(name)))).some(call => call?.failure);
  }

  // MARK: Registering

  /**
   * Asks for permission, subscribes and registers. Call this in the handler of a user's click:
   * browsers require a click.
   *
   * `tags` are the topics of this device. Throws `denied` if the user does not allow
   * notifications, and `unavailable` if the browser has no Web Push, or the user has switched it
   * off. Throws `offline` with the `reason` `pushService` if the browser's push service does not
   * answer in time. A browser that cannot run the worker throws before it asks the user; call
   * `startWorker` before the click, so that nothing delays the question.
   */
  async register(options = {}) {
    const {tags = []} = checkedOptions(options, {tags: 'a list of texts'});
    await this.#checkAccount();
    checkPush();
    if (!await this.#worker()) await this.startWorker();
    checkPermission(await Notification.requestPermission());
    // The deadline begins only after the user's answer.
    return this.#inTime(this.#registerAllowed(tags, this.#api.deadline()));
  }

  async #registerAllowed(tags, deadline) {
    await this.#startWorker(deadline);
    const id = await this.#subscribe(tags, deadline);
    await this.#endRegistration('stream', deadline);
    return id;
  }

  /**
   * Registers again if the browser's subscription, the server's key or the session has changed,
   * the server no longer has the device, or a week has passed. Call this at each start, and after
   * signing in. Without a network the call returns the stored id.
   *
   * Returns null if this device was never registered. Throws `signedOut` if nobody is signed in,
   * `denied` if the user no longer allows notifications, and `unavailable` if the browser no longer
   * has Web Push. With end-to-end encryption, the call also gives the server this device's keys, if
   * the server has lost them. It throws `keyReplaced` if the server lists other keys; the
   * registration is then still valid.
   *
   * The server removes a device that is gone according to its push service. If a new password, an
   * administrator or a sign-out ends a session, the server also removes the session's device.
   */
  async registerIfNeeded() {
    await this.#checkAccount();
    const stored = await this.#read('registration');
    if (!stored) return null;
    checkPush();
    checkPermission(Notification.permission);
    const subscription = await (await this.#worker())?.pushManager.getSubscription();
    const isSame = subscription && stored.handle === JSON.stringify(subscription.toJSON()) && Boolean(stored.shared) === this.#settings.isDeviceShared;
    const age = this.#now() - stored.date, session = await this.#read('session');
    const isOfSession = !session || stored.session === sessionOf(session.token);
    // A clock that was set back does not make a registration younger.
    const isDue = !isSame || !isOfSession || age < 0 || age >= 7 * DAY, deadline = this.#api.deadline();
    try {
      // The user, or the browser, has removed the worker.
      if (!await this.#worker()) await this.#startWorker(deadline);
      if (isDue) return await this.#subscribe(stored.tags, deadline);
      const list = await this.#listed(deadline), own = (await this.#devices(list)).find(({id, retiredAt}) => id === stored.id && retiredAt === null);
      // The push service has perhaps ended the subscription of a retired device. A shared
      // subscription may still serve other accounts.
      if (!own && !this.#settings.isDeviceShared) await pushed(deadline, subscription.unsubscribe());
      // A server of the previous version returns the key from another path.
      const key = own && (own.serverKey ?? await this.#pushKey(deadline));
      const isOfKey = boundKey(subscription) === key || (boundKey(subscription) === null && (stored.key ?? key) === key);
      if (!own || !isOfKey) return await this.#subscribe(stored.tags, deadline);
      await this.#giveKeys(stored.id, deadline, list);
    } catch (error) {
      if (!error.allowsCached) throw error;
    }
    return stored.id;
  }

  /**
   * The account's devices: `{id, app, platform, topics, isThisDevice, createdAt, lastPush,
   * retiredAt, serverKey}`. Only devices with Web Push have a `serverKey`. Devices that moved to
   * another account are retired.
   */
  async devices() {
    return this.#devices(await this.#listed(this.#api.deadline()));
  }

  /**
   * Ends a device of the account, such as a lost phone; an unknown id has no effect. After the end
   * of this device, calls that need it throw `notRegistered` until it is registered again.
   */
  async endDevice(id) {
    await this.#call('DELETE', `/api/register/${checkedOption('id', id, 'the id of a device')}`);
    await this.#change(async draft => {
      const stored = await draft.read('registration');
      // The date makes the next `registerIfNeeded` register again.
      if (stored?.id === id) draft.write('registration', {...stored, id: null, date: 0});
    });
  }

  /**
   * Adds this device to a topic. Throws `notRegistered` before `register`: the device of `events`
   * has no topics.
   */
  async joinTopic(topic) {
    await this.#changeTopic('PUT', topic);
  }

  /** Removes this device from a topic. */
  async leaveTopic(topic) {
    await this.#changeTopic('DELETE', topic);
  }

  async #changeTopic(method, topic) {
    checkedOption('topic', topic, 'a topic, without slashes, backslashes and control characters');
    await this.#call(method, `/api/devices/${await this.#ownDevice()}/topics/${escape(topic)}`);
    await this.#change(async draft => {
      const stored = await draft.read('registration'), others = (stored?.tags ?? []).filter(other => lowered(other) !== lowered(topic));
      // A later registration replaces all topics.
      if (stored) draft.write('registration', {...stored, tags: method === 'PUT' ? [...others, topic] : others});
    });
  }

  /**
   * Sends a test push to this device: `{state, reason}`, with the push service's words. `state` is
   * `accepted`, `queued` or `failed`. Throws `notRegistered` before `register`.
   */
  async testPush() {
    const answer = await this.#call('POST', `/api/devices/${await this.#ownDevice()}/test`), state = member(answer.json, 'state');
    if (typeof state !== 'string') throw unexpected(answer, 'the outcome of a test push');
    return {state, reason: member(answer.json, 'reason') ?? null};
  }

  async #ownDevice() {
    await this.#checkAccount();
    return await this.registrationID() ?? (() => { throw new PushClientError('notRegistered', 'Call `register` first. The device of an event stream has no topics and no test pushes.'); })();
  }

  /** The server's list of the account's devices, in JSON. */
  async #listed(deadline) {
    const answer = await this.#call('GET', '/api/register', {deadline}), list = answer.json;
    if (!Array.isArray(list) || !list.every(json => typeof member(json, 'id') === 'string')) throw unexpected(answer, 'a list of devices');
    return list;
  }

  async #devices(list) {
    const own = await this.#ownDevices();
    return list.map(json => {
      const [id, app, platform, tags] = ['id', 'app', 'platform', 'tags'].map(name => member(json, name));
      const times = ['createdat', 'lastpush', 'retiredat'].map(name => timeOf(member(json, name)));
      return {
        id, app: app ?? null, platform: platform ?? null, topics: Array.isArray(tags) ? tags.map(String) : [], isThisDevice: own.includes(id),
        createdAt: times[0], lastPush: times[1], retiredAt: times[2], serverKey: member(json, 'serverkey') ?? null,
      };
    });
  }

  /** The id of this device's registration for Web Push; null if it has none. */
  async registrationID() {
    return (await this.#read('registration'))?.id ?? null;
  }

  /** The ids under which the server knows this browser: its registration and its event stream. */
  async #ownDevices() {
    const rows = await Promise.all(['registration', 'stream'].map(name => this.#read(name)));
    return rows.flatMap(row => row?.id ?? []);
  }

  /**
   * Whether a push is for this account: its `accountHint` must be that of this account's
   * registration. A push without a hint is for an account that does not share its browser. After
   * the end of its session, a client gets no push.
   */
  async isRecipient(message) {
    checkedOption('message', message, 'a text');
    if (!this.#isInSession(await this.#store.head())) return false;
    const hint = pushedHint(message), id = pushedID(message);
    if (hint === null) return !this.#settings.isDeviceShared;
    const registration = await this.registrationID();
    return id !== null && registration !== null && hint === await accountHint(registration, id);
  }

  /** Ends this device's registration and its subscription. A second call does nothing. */
  async unregister() {
    await this.#checkAccount();
    await this.#unsubscribe();
    await this.#endRegistration('registration', this.#api.deadline());
  }

  /**
   * Installs the worker, which also sends the tasks of the outbox. A page that never calls
   * `register` calls this at its start.
   */
  async startWorker() {
    await this.#startWorker(this.#api.deadline());
  }

  async #startWorker(deadline) {
    const {worker, name} = this.#settings;
    const url = new URL(worker, location.href);
    if (this.#settings.isDeviceShared) url.searchParams.set('shared', '');
    else if (name) url.searchParams.set('name', name);
    const channel = new BroadcastChannel(WORKER_CHANNEL), refused = new Promise((_, fail) => {
      channel.onmessage = ({data}) => {
        if (data.worker === url.href) fail(new TypeError(`The worker ${url.pathname} does not start: ${data.message}`));
      };
    });
    try {
      await this.#installWorker(url, deadline, refused);
    } finally {
      channel.close();
    }
  }

  /** Installs the worker. `refused` fails with the worker's reason if it refuses its options. */
  async #installWorker(url, deadline, refused) {
    const {scope} = this.#settings;
    refused.catch(() => {});
    let registered;
    try {
      registered = await within(deadline, navigator.serviceWorker.register(workerURL(url), {scope, type: 'module', updateViaCache: 'none'}), 'The worker has not loaded in time.');
    } catch (cause) {
      if (cause instanceof PushClientError) throw cause;
      if (navigator.onLine === false) throw offline('The worker cannot be loaded.', {cause});
      throw new PushClientError('unavailable', `The browser cannot start the worker ${url.pathname}: ${cause?.name}. It must exist and run without an error, and the browser must support workers that are modules.`, {cause});
    }
    // Without this check, `ready` would wait for ever.
    if (!location.href.startsWith(registered.scope)) {
      throw new PushClientError('unavailable', `The worker of ${registered.scope} does not control this page: put its file beside the page, or in a folder above.`);
    }
    const {installing} = registered, discarded = new Promise((_, fail) => {
      installing?.addEventListener('statechange', () => {
        if (installing.state !== 'redundant') return;
        // The message with the reason may come after this event.
        setTimeout(fail, 500, new PushClientError('unavailable', `The worker ${url.pathname} did not start: look at the browser's console.`));
      });
    });
    await within(deadline, Promise.race([navigator.serviceWorker.ready, refused, discarded]), 'The worker has not started in time.');
  }

  /** The server's key of Web Push, which signs its pushes. */
  async #pushKey(deadline) {
    const query = this.#app ? [['app', this.#app]] : [];
    const answer = await this.#call('GET', '/api/webpush/key', {query, deadline}), key = member(answer.json, 'key');
    if (typeof key !== 'string') throw unexpected(answer, 'a key');
    return key;
  }

  async #subscribe(tags, deadline) {
    const key = await this.#pushKey(deadline), stored = await this.#read('registration');
    const {pushManager} = await this.#worker() ?? {};
    if (!pushManager) throw new PushClientError('unavailable', 'There is no worker with Web Push.');
    let subscription = await pushed(deadline, pushManager.getSubscription());
    // A subscription is bound to its key: the push service refuses pushes that another key has
    // signed.
    if (subscription && (boundKey(subscription) ?? stored?.key ?? key) !== key) {
      await pushed(deadline, subscription.unsubscribe());
      subscription = null;
    }
    subscription ??= await pushed(deadline, pushManager.subscribe({userVisibleOnly: true, applicationServerKey: key}));
    const handle = subscription.toJSON();
    const body = {Platform: 'webpush', Handle: handle, Tags: tags};
    if (this.#settings.isDeviceShared) body.Shared = true;
    return this.#register('registration', body, {handle: JSON.stringify(handle), key, tags, shared: this.#settings.isDeviceShared}, deadline);
  }

  /**
   * Registers under the stored id. If the server says that this id is gone, registers once under a
   * new id.
   */
  async #register(name, body, details, deadline) {
    if (this.#app) body.App = this.#app;
    const put = id => this.#call('PUT', `/api/register/${id}`, {body, deadline});
    // Stores the id before the server has it, so that a sign-out names it even during the request
    // or after a lost answer.
    const note = async id => {
      await this.#change(async draft => draft.write(name, {id, date: 0, ...details, handle: null}));
      return id;
    };
    let id = (await this.#read(name))?.id ?? await note(await this.#requestID(deadline));
    try {
      await put(id);
    } catch (error) {
      if (error.problem?.code !== 'registration-gone') throw error;
      id = await note(await this.#requestID(deadline));
      await put(id);
    }
    const session = sessionOf((await this.#read('session'))?.token ?? '');
    await this.#change(async draft => draft.write(name, {id, date: this.#now(), session, ...details}));
    await this.#giveKeys(id, deadline);
    return id;
  }

  // MARK: End-to-end encryption

  /**
   * The app that each request names; null leaves the choice to the server. End-to-end payloads are
   * bound to an app, so a client that opens them always names its app. If the account does not
   * belong to the app `default`, the server refuses that name as `unknown-app`.
   */
  get #app() {
    return this.#settings.app ?? (this.#settings.endToEnd ? 'default' : null);
  }

  /**
   * The keys of the account's devices: `{id, isThisDevice, fingerprint}`, 30 digits that people
   * compare between two screens. Devices without readable keys are left out.
   */
  async deviceKeys() {
    const found = await this.#keysIn(await this.#listed(this.#api.deadline())), own = await this.#deviceKeys();
    // The server could list a key of its own as this device's, and as a new device's elsewhere.
    return found.map(({id, isThisDevice, key}) => ({id, isThisDevice, fingerprint: (isThisDevice && own ? own.key : key).fingerprint}));
  }

  /**
   * Approves another device of the account, so that senders encrypt for it. Before this call, a
   * person must have compared the device's fingerprint on both screens. If the server now lists
   * the device with another fingerprint, the call throws.
   */
  async approveDevice(id, fingerprint) {
    checkedOption('id', id, 'the id of a device');
    checkedOption('fingerprint', fingerprint, 'a text');
    const deadline = this.#api.deadline(), own = await this.#deviceKeys();
    const listed = (await this.#keysIn(await this.#listed(deadline))).find(device => device.id === id);
    if (!own || listed?.key.fingerprint !== fingerprint) throw new PushClientError('refused', 'The device has other keys than those that were compared.');
    await this.#setKey(id, await own.approve(listed.key.text), deadline);
  }

  /**
   * Gives this device's public keys to the server, in place of all keys that the server lists for
   * this device. An app needs this call only after `keyReplaced`, which `register`,
   * `registerIfNeeded` and `events` throw.
   */
  async setDeviceKey() {
    const deadline = this.#api.deadline(), own = await this.#ownDevices(), keys = await this.#deviceKeys();
    await this.#checkAccount();
    if (!keys || own.length === 0) throw new PushClientError('notRegistered', 'This device is not registered, or has no keys.');
    for (const id of own) await this.#setKey(id, keys.key.text, deadline);
  }

  async #setKey(id, text, deadline) {
    await this.#call('PUT', `/api/devices/${escape(id)}/key`, {body: {Key: text}, deadline});
  }

  /** The readable keys of the account's devices in the server's list. */
  async #keysIn(list) {
    const account = await this.#identity(), own = await this.#ownDevices();
    const keys = await Promise.all(list.map(async json => {
      const [id, key] = [member(json, 'id'), await DeviceKey.read(member(json, 'key')).catch(() => null)];
      return key?.account === account ? [{id, isThisDevice: own.includes(id), key}] : [];
    }));
    const listed = keys.flat();
    // The stored text then contains the approvals by other devices, so a registration under
    // another id has them, too.
    await this.#change(async draft => {
      const stored = await draft.row('device');
      const isApproved = ({isThisDevice, key: {text}}) => isThisDevice && text.startsWith(stored?.text ?? ' ') && text !== stored.text;
      const approved = listed.find(isApproved)?.key;
      if (approved) draft.writeClear('device', {...stored, text: approved.text});
    });
    return listed;
  }

  /** This device's keys; null if it has none. */
  async #deviceKeys() {
    const stored = this.#settings.endToEnd && await this.#own.get('device');
    return stored ? DeviceKeys.from(stored) : null;
  }

  async #ownKey() {
    const keys = await this.#deviceKeys();
    return keys ? [['key', keys.key.id]] : [];
  }

  /**
   * Creates this device's keys once, and gives the public keys to the server, unless its `list` of
   * devices has them. Throws `keyReplaced` if the list has other keys of the account for the
   * device `id`.
   */
  async #giveKeys(id, deadline, list = null) {
    const account = await this.#identity();
    if (!this.#settings.endToEnd || account === null) return;
    const made = await this.#own.get('device') ?? (await DeviceKeys.make(account, this.#now() / 1000)).stored;
    // The keys are stored first: a sender may encrypt for them as soon as the server has them.
    // Another tab may have created keys meanwhile.
    await this.#change(async draft => { if (!await draft.row('device')) draft.writeClear('device', made); });
    const listed = (await this.#keysIn(list ?? await this.#listed(deadline))).find(device => device.id === id)?.key;
    const own = await this.#deviceKeys();
    if (!own) throw signedOut();
    const {key} = own;
    if (!listed) await this.#setKey(id, key.text, deadline);
    else if (listed.id !== key.id) throw new PushClientError('keyReplaced', 'The server lists other keys for this device.');
  }

  /**
   * Returns a page with opened end-to-end payloads. An item whose payload cannot be opened has no
   * payload, and the reason in `unreadable`. A client without `endToEnd` has no keys.
   */
  async #opened(page) {
    const {senders, isRequired} = this.#settings.endToEnd ?? {}, device = await this.#deviceKeys();
    const app = this.#app, now = this.#now() / 1000;
    const open = async item => {
      const isEncrypted = typeof item.payload === 'string' && item.payload.startsWith('sealpost-e2e.');
      if (!item.hasPayload || (!isEncrypted && !isRequired)) return item;
      try {
        if (!device && isEncrypted) throw new UnreadableError('notForThisDevice');
        const {json, message, sentAt} = await openPayload(item.payload, {device, senders, app, now});
        return {...item, payload: JSON.parse(json), message, sentAt};
      } catch (error) {
        if (error instanceof SyntaxError) return {...withoutPayload(item), unreadable: 'malformed'};
        if (!(error instanceof UnreadableError)) throw error;
        return {...withoutPayload(item), unreadable: error.reason};
      }
    };
    const items = await Promise.all(page.items.map(async ({item, ...rest}) => ({item: await open(item), ...rest})));
    // The messages are in the order of the page, not in the order in which they were decrypted.
    const messages = items.map(({item}) => item).filter(({message}) => message !== undefined);
    if (messages.length === 0) return {...page, items};
    let seen;
    await this.#change(async draft => {
      // The server could deliver a message again under another notification.
      seen = Object.fromEntries(Object.entries(await draft.read('messages') ?? {}).filter(([, {sentAt}]) => now - sentAt <= LONGEST_LIFE));
      for (const {id, message, sentAt} of messages) seen[message] ??= {id, sentAt};
      draft.write('messages', seen);
    });
    const check = ({message, sentAt, ...item}) =>
      message === undefined || seen[message].id === item.id ? item : {...withoutPayload(item), unreadable: 'replayed'};
    return {...page, items: items.map(({item, ...rest}) => ({item: check(item), ...rest}))};
  }

  async #endRegistration(name, deadline) {
    const stored = await this.#read(name);
    if (!stored) return;
    try {
      if (stored.id !== null) await this.#call('DELETE', `/api/register/${stored.id}`, {deadline});
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    await this.#change(async draft => draft.remove(name));
  }

  async #requestID(deadline) {
    const answer = await this.#call('POST', '/api/register', {deadline}), id = answer.json;
    // The id becomes a part of a path.
    if (typeof id !== 'string' || !/^[A-Za-z0-9_.-]{1,128}$/.test(id) || /^\.{1,2}$/.test(id)) throw unexpected(answer, 'a registration id');
    return id;
  }

  async #unsubscribe() {
    // Other accounts share the subscription. From now on the server pushes to it only for those
    // accounts.
    if (this.#settings.isDeviceShared) return;
    // Without a network this still ends the subscription here; the push service learns of it
    // later.
    try {
      await (await (await this.#worker())?.pushManager?.getSubscription())?.unsubscribe();
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }

  /** This page's registration of a worker, or the worker's own; undefined if there is none. */
  async #worker() {
    if (globalThis.registration?.pushManager) return globalThis.registration;
    return globalThis.navigator?.serviceWorker?.getRegistration?.(this.#settings.scope ?? undefined);
  }

  /**
   * Whether a shown notification belongs to this account. Safari's placeholders name no account.
   */
  #isOwn({data}) {
    return (data?.name ?? (data?.secureId ? this.#settings.name : '')) === this.#settings.name;
  }

  /** Closes the notifications that the worker has shown: those with the given ids, or all. */
  async #closeNotifications(ids) {
    const worker = await this.#worker();
    if (!worker?.getNotifications) return;
    for (const shown of await worker.getNotifications()) {
      if (!this.#isOwn(shown)) continue;
      if (ids ? ids.includes(shownID(shown)) : shown.tag.startsWith('sealpost')) shown.close();
    }
    if (!ids) navigator.clearAppBadge?.()?.catch(() => {});
  }

  /**
   * Syncs, closes the shown notifications that are no longer unread, and sets the badge. Such
   * notifications were read or dismissed on another device or recalled, or have expired. The
   * notification with the id `kept` stays. Returns the reason if the sync has failed; otherwise
   * null.
   */
  async closeSeen(kept = null) {
    checkedOption('kept', kept, 'a whole number from 0 or null');
    // The notifications are listed before the sync, so that the sync knows all of them.
    const listed = await (await this.#worker())?.getNotifications?.() ?? [];
    const {failure} = await this.sync({limit: 0});
    if (failure) return failure;
    const unread = new Set(await this.#unread());
    for (const shown of listed) {
      const id = shownID(shown);
      if (this.#isOwn(shown) && Number.isSafeInteger(id) && id !== kept && !unread.has(id)) shown.close();
    }
    globalThis.navigator?.setAppBadge?.(unread.size)?.catch(() => {});
    return null;
  }

  /** Asks the browser to wake the worker when there is a network again, if it can. */
  async #wakeWorkerLater() {
    try {
      await (await this.#worker())?.sync?.register('sealpost');
    } catch (error) {
      // The user or the browser does not allow background sync. The next start of the page sends
      // what waits.
      if (!(error instanceof DOMException)) throw error;
    }
  }

  // MARK: Events

  /**
   * Notifications as they arrive, without Web Push: over server-sent events, for as long as the
   * page is open.
   *
   * Yields each notification as `{id, item}`; `item` is null if the notification is gone, or if
   * another device has made a change. The inbox and `updates` have these notifications, too. If a
   * notification cannot be fetched, it comes after the next sync. The client reconnects with
   * growing delays until `signal` is aborted. Abort the signal before you call `register`, which
   * ends the stream's registration. Throws `signedOut` when the user signs out, and `keyReplaced`
   * as `registerIfNeeded` does.
   *
   * All tabs of an account share one connection, because browsers allow only six connections to an
   * origin: the tab with the lock reads the stream and tells the other tabs. If a stream sends
   * nothing for `silence` seconds, it counts as lost. A tab that the browser suspends gives the
   * lock up. If the tab with the lock is silent all the same, another tab takes the lock.
   */
  async *events(options = {}) {
    const {signal, silence = 45} = checkedOptions(options, {signal: 'an AbortSignal', silence: 'a number of seconds above 0'});
    const name = `${this.#channelName} events`, end = new AbortController();
    const found = [], stop = () => { end.abort(); ring(); };
    // `change` is the number of the last change of the inbox that the reading tab has seen;
    // `began` and `resumed` are its numbers when this tab began and when it was last resumed.
    let last = null, change = null, began = Infinity, resumed = -1, isReading = false, channel, awake;
    let ring = () => {}, hear = () => {}, newSession = new AbortController();
    const give = event => {
      // Dropped notifications are still in the inbox.
      if (found.push(event) > 1000) found.shift();
      // The next stream continues after a notification, and not after the id of another device's change.
      if (event.id !== undefined && event.item !== null) last = String(event.id);
      ring();
    };
    const receive = ({data}) => {
      // The next tab says at once that it has the lock, unless the browser has suspended it
      // meanwhile.
      if (data.isLeaving) hear(HANDOVER * (1 + Math.random())); else hear();
      change = data.change ?? change;
      if (Number.isSafeInteger(data.id) && !(data.change <= resumed)) give({id: data.id});
      if (!data.isNewSession) return;
      newSession.abort();
      newSession = new AbortController();
    };
    const lead = async ending => {
      isReading = true;
      ending.addEventListener('abort', () => { isReading = false; });
      channel.postMessage({});
      for await (const event of this.#streams(() => ({last, change, renewal: newSession.signal}), ending, silence)) {
        if (ending.aborted) break;
        change = event.change ?? change;
        channel.postMessage({id: event.id, change: event.change});
        if (event.id !== undefined) give(event);
      }
    };
    if (signal?.aborted) return;
    signal?.addEventListener('abort', stop);
    // Otherwise the next account's stream would go on in this loop.
    const session = this.#sessionEnd.signal, leave = () => {
      found.length = 0;
      give({error: signedOut()});
      end.abort();
    };
    session.addEventListener('abort', leave);
    const sessions = this.#listen();
    const start = () => {
      channel = new BroadcastChannel(name);
      channel.onmessage = receive;
      awake = new AbortController();
      // A tab with the lock but without a network is silent for up to a minute between two
      // attempts.
      const leading = inOneTab(name, awake.signal, lead, {silenceTimeout: 4000 * silence, onHear: listener => { hear = listener; }});
      leading.catch(error => give({error}));
    }, suspend = () => {
      if (isReading) channel.postMessage({isLeaving: true});
      awake.abort();
      channel.close();
    }, resume = () => {
      if (!awake.signal.aborted || end.signal.aborted) return;
      give({since: change ?? began});
      start();
    };
    start();
    const ignore = onSuspension(suspend, resume);
    end.signal.addEventListener('abort', suspend);
    try {
      // This tab may take over before it hears from the tab with the lock. It then yields what came
      // since now. The lock's state is known once the browser has answered a later question.
      await this.#checkAccount();
      began = (await this.#own.head()).change;
      await globalThis.navigator?.locks?.query();
      if (!isReading) change ??= began;
      for (;;) {
        while (found.length > 0) {
          const [{id, item, error, since}] = found;
          if (error) throw error;
          let event;
          try {
            // This tab has got no messages while it was suspended.
            if (since !== undefined) {
              const {change: number} = await this.#own.head(), missed = await this.#changedSince(since);
              [change, resumed] = [Math.max(change, number), number];
              const missing = missed.map(entry => ({id: entry.item.id})).filter(({id}) => !found.some(other => other.id === id));
              found.splice(0, 1, ...missing);
              if (missing.length > 0 && found.length === missing.length) last = String(missing.at(-1).id);
              continue;
            }
            event = {id, item: item === undefined ? await this.cachedNotification(id) : item};
          } catch (failure) {
            if (failure.code !== 'storage' || end.signal.aborted) throw failure;
            await new Promise(done => setTimeout(done, 2000));
            continue;
          }
          found.shift();
          yield event;
        }
        if (end.signal.aborted) return;
        await new Promise(done => { ring = done; });
      }
    } finally {
      signal?.removeEventListener('abort', stop);
      session.removeEventListener('abort', leave);
      ignore();
      end.abort();
      sessions.close();
    }
  }

  /**
   * Reads streams, one after the other, until `signal` is aborted. Yields `{}` if bytes without a
   * new notification arrive.
   *
   * The end of a session, as after `changePassword`, ends the stream's registration. A new
   * registration has no pushes of earlier notifications, so those come from a sync. So do
   * notifications that could not be fetched: the client opens the next stream after a pause. This
   * tab does not know whether the tab that read before had the same registration. After
   * `changePassword` in any tab, the signal `renewal` of `place` ends the stream or the pause, and
   * the next stream opens at once.
   */
  async *#streams(place, signal, silence) {
    let device = null, pause = 0, used = null, isTriedAgain = false, mayMiss = true;
    // The ids of notifications that came from a sync, in case their pushes come, too.
    const synced = new Set();
    while (!signal.aborted) {
      const {renewal} = place();
      try {
        used = (await this.#read('session'))?.token;
        device ??= await this.#register('stream', {Platform: 'stream'}, {}, this.#api.deadline());
        let isOpen = false;
        for await (const {id} of this.#stream(device, place().last, {signal, renewal, silence})) {
          // The server keeps no changes of other devices for a stream that was closed.
          if (!isOpen) await this.#synced();
          isOpen = true;
          const {change} = place(), missed = mayMiss ? await this.#changedSince(change ?? Infinity) : [];
          for (const {item} of missed) {
            synced.add(item.id);
            yield {id: item.id, item: await this.cachedNotification(item.id)};
          }
          mayMiss = true;
          const event = id === undefined || synced.delete(id) ? {} : {id, item: await this.#arrived(id)};
          mayMiss = false;
          yield {...event, change: (await this.#own.head()).change};
          pause = 0;
          isTriedAgain = false;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error.problem?.status === 404) [device, mayMiss] = [null, true];
        else if (error.code === 'unauthorized' && !isTriedAgain && await this.#isReplaced(used)) isTriedAgain = true;
        // Another tab that the browser has suspended may block the database for a while.
        else if (!error.allowsCached && error.code !== 'storage') throw error;
        pause = Math.min(60_000, Math.max(2000, pause * 2, (error.retryAfter ?? 0) * 1000));
      }
      if (!renewal.aborted) await new Promise(done => {
        const timer = setTimeout(done, Math.max(2000, pause));
        for (const end of [signal, renewal]) end.addEventListener('abort', () => { clearTimeout(timer); done(); }, {once: true});
      });
      if (renewal.aborted) [device, mayMiss, pause] = [null, true, 0];
    }
  }

  /**
   * The entries of the unread notifications that have changed since the change with this number, in
   * the order of their changes.
   */
  async #changedSince(number) {
    const changed = (await this.#entries()).filter(({change, item}) => change > number && !item.isRead);
    return changed.sort((one, other) => one.change - other.change);
  }

  /**
   * Whether the stored token differs from `used`. Waits for the end of a `changePassword` in any
   * tab: the server ends the old token before the client has the new one.
   */
  async #isReplaced(used) {
    const read = async () => (await this.#read('session'))?.token !== used;
    // `alone` waits half of the time.
    return alone(`${this.#channelName} password`, this.#api.deadline(2), read, read);
  }

  /**
   * The notification of a push, or null. A push without a notification may mean that another
   * device has made a change.
   */
  async #arrived(id) {
    const item = await this.preview(id);
    if (!item) await this.#synced();
    return item;
  }

  /** Calls `closeSeen`, and throws the reason if its sync has failed. */
  async #synced() {
    const failure = await this.closeSeen();
    if (failure) throw failure;
  }

  /**
   * Reads one stream until it ends. Streams are not signed. The notifications that the client
   * fetches for the ids are signed. After `renewal`, the stream ends once all that has arrived is
   * read.
   */
  async *#stream(device, last, {signal, renewal, silence}) {
    const limit = new AbortController(), end = () => limit.abort();
    let timer;
    const wait = seconds => {
      clearTimeout(timer);
      timer = setTimeout(end, seconds * 1000);
    }, drain = () => wait(DRAIN);
    wait(this.#settings.deadline);
    signal.addEventListener('abort', end);
    try {
      const body = await this.#signedIn(this.#api.deadline(), authorization => this.#openStream(device, last, authorization, limit.signal));
      const lines = new EventLines(), reader = body.getReader();
      for (;;) {
        // The server sends at least a heartbeat every 15 seconds.
        wait(renewal.aborted ? DRAIN : silence);
        renewal.addEventListener('abort', drain);
        const {done, value} = await reader.read().catch(() => { throw offline('The stream has ended.'); });
        renewal.removeEventListener('abort', drain);
        clearTimeout(timer);
        if (done) return;
        yield {};
        for (const id of lines.take(value)) yield {id};
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      renewal.removeEventListener('abort', drain);
      limit.abort();
    }
  }

  async #openStream(device, last, authorization, signal) {
    const request = {method: 'GET', path: '/api/stream', query: queryOf([['device', device]]), token: this.#settings.makeToken(), nonce: randomNonce(), condition: null};
    const account = await this.#identity(), response = await this.#api.send(request, {authorization, account, lastEvent: last, signal}), answer = headOf(response);
    checkHead(request, answer);
    if (answer.status !== 200) {
      Object.assign(answer, await this.#api.receive(response, signal));
      success(await this.#api.check(request, answer, account));
    }
    checkAccount(request, answer, account);
    const type = answer.field('content-type') ?? 'no type';
    if (!/^text\/event-stream\b/.test(type)) {
      throw interference('unexpectedBody', 'an event stream', printable(type), {status: answer.status, path: request.path});
    }
    return response.body;
  }

  // MARK: Calls

  /** Sends a request with the account's token. */
  async #call(method, path, given = {}) {
    const options = {...given, deadline: given.deadline ?? this.#api.deadline()};
    return this.#signedIn(options.deadline, (authorization, epoch) => this.#ask(method, path, {...options, authorization}, epoch));
  }

  /**
   * Calls `send` with the account's token. If the server refuses the token, calls it again with a
   * new token.
   */
  async #signedIn(deadline, send) {
    const authorization = await this.#authorization(null, deadline), epoch = this.#epoch;
    try {
      return await send(authorization, epoch);
    } catch (error) {
      if (error.code !== 'unauthorized' || epoch !== this.#epoch) throw error;
      const renewed = await this.#authorization(authorization, deadline);
      if (renewed === null) throw error;
      return send(renewed, epoch);
    }
  }

  /**
   * Sends one request, whose answer must be for the client's account. If the client does not know
   * its account yet, it takes the account from the answer.
   */
  async #ask(method, path, options, epoch) {
    const account = await this.#identity(), answer = await this.#api.ask(method, path, {...options, account});
    // Another account has signed in here meanwhile.
    if (epoch !== this.#epoch) throw signedOut();
    if (account === null && answer.account !== null) await this.#learn(answer);
    const accepted = success(answer);
    this.#confirmed = options.authorization;
    return accepted;
  }

  /**
   * Checks that a credential is the account's, before it sends a payload: the app's token provider
   * may have returned the token of another user. An accepted answer confirms the credential. The
   * token of a sign-in in this client needs no such answer.
   */
  async #confirm(authorization, epoch, deadline) {
    if (authorization === this.#confirmed) return;
    const session = await this.#read('session');
    if (session?.isOwn && authorization === `Bearer ${session.token}`) return;
    await this.#ask('GET', `${SESSIONS}/current`, {authorization, deadline}, epoch);
  }

  /** The identifier of the account; null if unknown. */
  async #identity() {
    return (await this.#read('identity'))?.id ?? null;
  }

  async #learn(answer) {
    const known = await this.#change(async draft => {
      const stored = await draft.read('identity');
      if (!stored) draft.write('identity', {id: answer.account});
      return stored?.id ?? answer.account;
    });
    // Another tab has learned another account meanwhile.
    if (known !== answer.account) throw interference('wrongAccount', known, printable(answer.account), answer);
  }

  /** Throws `signedOut` if nobody is signed in, or another tab has ended the account. */
  async #checkAccount(head = null) {
    if (this.#isInSession(head ?? await this.#store.head())) return;
    this.account = null;
    throw signedOut();
  }

  /**
   * The `Authorization` of a request. If the server has refused the value `refused`, returns
   * another value, or null if there is none.
   */
  async #authorization(refused, deadline) {
    const session = await this.#read('session'), stored = session && `Bearer ${session.token}`;
    // The account is checked last: another tab may sign out between the two reads.
    await this.#checkAccount();
    // The client renews a token a minute before its end, since a request takes time. Without a
    // token provider the client uses the token until its end.
    const isEnding = session?.expiresAt && session.expiresAt - this.#now() < 60_000;
    if (stored && stored !== refused && !(isEnding && this.#settings.token)) return stored;
    if (!this.#settings.token) {
      if (refused !== null) return null;
      throw new PushClientError('unauthorized', 'There is no token.');
    }
    const renewal = this.#renewal ??= this.#renew(deadline), forget = () => { if (this.#renewal === renewal) this.#renewal = null; };
    // A renewal that never ends is abandoned: the next call starts a new one.
    return within(deadline, renewal, 'There was no token in time.').finally(forget);
  }

  async #renew(deadline) {
    const known = await this.#identity(), session = this.#newSession(this.account, known, deadline);
    const {token, expiresAt, id} = await this.#api.observed({kind: 'token', method: null, route: null}, session);
    await this.#change(async draft => {
      draft.write('session', {token, expiresAt: expiresAt?.getTime() ?? null});
      if (isIdentifier(id) && !await draft.read('identity')) draft.write('identity', {id});
    });
    return `Bearer ${token}`;
  }

  /**
   * A session from the app's token provider. Throws `unauthorized` if the provider returns no
   * token, `offline` if the provider fails, and the interference `wrongAccount` if the provider
   * returns another identifier than `known`, which is null if unknown.
   */
  async #newSession(account, known, deadline) {
    const {token, name} = this.#settings;
    let given;
    try {
      given = typeof token === 'string' ? await this.#api.postForToken(token, account, deadline) : await token?.({account, name});
    } catch (cause) {
      throw cause instanceof PushClientError ? cause : offline("The app's token provider has failed.", {cause});
    }
    const {token: text, expiresAt} = sessionIn(typeof given === 'string' ? {Token: given, ExpiresAt: null} : given);
    if (text === null) throw new PushClientError('unauthorized', "The app's token provider has no token.");
    const id = member(given, 'account');
    if (known !== null && isIdentifier(id) && id !== known) throw interference('wrongAccount', known, printable(id), {status: 0, path: SESSIONS});
    return {token: text, expiresAt, id};
  }

  // MARK: Rows

  #now() {
    return this.#settings.now?.() ?? Date.now();
  }

  async #read(name, rows = this.#own) {
    const [key, row] = await Promise.all([rows.get('key'), rows.get(name)]), value = await unseal(key, name, row);
    if (rows === this.#own && ENCRYPTED.includes(name)) this.#recent[name] = value;
    return value;
  }

  /**
   * Makes a change and commits it in one transaction. If another commit has happened meanwhile,
   * makes the change again on the new state.
   *
   * Throws `signedOut` and changes nothing if the account has ended since this client was opened.
   */
  async #change(body, {isAnyEpoch = false, durability, deadline} = {}) {
    // Each retry follows a commit by another tab, or by another call in this tab.
    for (let tries = 1; ; tries += 1) {
      if (tries > 1000) throw new PushClientError('storage', 'Other tabs change the stored data all the time.');
      const [head, stored] = await Promise.all([this.#store.head(), this.#store.get('key')]);
      if (!isAnyEpoch) await this.#checkAccount(head);
      const {entries, ivs, damaged} = await this.#load(head), draft = new Draft(this.#store, head, stored, entries);
      if (!stored) {
        draft.key = await newKey();
        draft.isDamaged = head.revision > 0;
        draft.writeClear('key', draft.key);
      }
      // The next sync fetches everything again. Unreadable notifications count as deleted, because
      // no page lists notifications that the server has deleted meanwhile.
      for (const [name, {ids}] of damaged) {
        draft.remove(name);
        draft.remove('cursor');
        for (const id of ids) await inbox.remove(draft, id);
      }
      const result = await body(draft), rows = await draft.rows();
      if (rows === null) return result;
      if (!await this.#store.commit(head.revision, rows, draft.head, durability, deadline)) continue;
      for (const name of ENCRYPTED) if (draft.changes.has(name)) this.#recent[name] = draft.values.get(name);
      const after = new Map(ivs);
      for (const name of draft.packs) after.set(name, rows.get(name)?.iv);
      this.#cache = {revision: head.revision + 1, epoch: draft.head.epoch, entries: draft.entries, ivs: after, damaged: [], sorted: null};
      return result;
    }
  }

  /**
   * All entries without payloads, the oldest first. The entries stay in memory; after a change by
   * another tab, this function decrypts only the changed entries. Callers must not change the
   * array.
   */
  async #entries() {
    const cache = await this.#loaded();
    return cache.sorted ??= [...cache.entries.values()].sort(inOrder);
  }

  /** The cache of entries, as of the latest revision of the store; empty after the session's end. */
  async #loaded() {
    const head = await this.#own.head(), isKnown = head.revision === this.#cache.revision;
    const cache = this.#isInSession(head) ? await this.#load(head) : null;
    // Another account may have signed in while the entries were read.
    if (cache === null || (!isKnown && !this.#isInSession(await this.#store.head()))) return {entries: new Map(), sorted: []};
    if (cache.damaged.length === 0) return cache;
    await this.#change(() => {}, {isAnyEpoch: true});
    return this.#loaded();
  }

  /** The cache of entries as of a revision, without unreadable packs, which `damaged` has. */
  async #load({revision, epoch}) {
    const known = this.#cache, entries = new Map(), ivs = new Map(), damaged = [];
    if (known.revision === revision) return known;
    const [key, rows] = await Promise.all([this.#store.get('key'), this.#store.list('entries/')]);
    await Promise.all([...rows].map(async ([name, row]) => {
      const isKnown = known.ivs.get(name)?.every((byte, index) => byte === row.iv[index]);
      const list = isKnown ? row.ids.map(id => known.entries.get(id)) : await unseal(key, name, row);
      if (!list) return damaged.push([name, row]);
      ivs.set(name, row.iv);
      for (const entry of list) entries.set(entry.item.id, isKnown ? entry : {...entry, item: withTimes(entry.item), pack: name});
    }));
    return this.#cache = {revision, epoch, entries, ivs, damaged, sorted: null};
  }

  #announce(name = this.#channelName, message = {ended: this.#ended}) {
    if (typeof BroadcastChannel === 'undefined') return;
    // Browsers evict a page with an open channel from the back/forward cache at the next message.
    const channel = new BroadcastChannel(name);
    channel.postMessage(message);
    channel.close();
  }

  /** Closes the database; calls fail from then on. */
  close() {
    this.#store.close();
  }

  /**
   * The value of the promise of a call that begins now. The call and all its parts end after
   * `deadline` seconds; then the error is `offline` if a request had no answer by its deadline.
   *
   * The timers of a hidden page fire late and together. If a request's timer was late, the call
   * gets its usual time after the request, so that it can read the cached inbox.
   */
  async #inTime(promise) {
    const start = Date.now(), milliseconds = this.#settings.deadline * 1000, message = 'The call has not ended in time.';
    const isLate = () => this.#api?.lateAt >= start;
    try {
      return await within(start + milliseconds, promise, message, () => isLate() ? 'offline' : 'storage');
    } catch (error) {
      const end = isLate() ? this.#api.lateAt + milliseconds * LOCAL : 0;
      if (Date.now() >= end) throw error;
      return within(end, promise, message);
    }
  }

  static {
    // The functions that wait for the user or for changes, and those that limit themselves.
    const unlimited = ['constructor', 'register', 'signOut', 'events', 'updates', 'close'];
    for (const [name, {value: call}] of Object.entries(Object.getOwnPropertyDescriptors(this.prototype))) {
      if (!call || unlimited.includes(name)) continue;
      this.prototype[name] = function (...given) { return this.#inTime(call.apply(this, given)); };
    }
  }
}

async function storeOf({store, name, deadline = DEFAULTS.deadline}) {
  if (store) return store;
  if (typeof indexedDB === 'undefined') throw new PushClientError('unavailable', 'This browser has no IndexedDB.');
  return IndexedStore.open(name ? `sealpost ${name}` : 'sealpost', deadline / 2);
}

let policy;
/**
 * A worker's address for a page that enforces Trusted Types, whose Content-Security-Policy allows
 * the policy `sealpost`. The policy makes addresses of the page's own origin only.
 */
function workerURL(url) {
  try {
    policy ??= globalThis.trustedTypes?.createPolicy('sealpost', {
      createScriptURL: text => new URL(text).origin === location.origin ? text : null,
    });
  } catch {
    // The page does not allow the policy, which it needs only if it enforces Trusted Types.
  }
  return policy?.createScriptURL(url.href) ?? url;
}

/**
 * The value of a promise of the browser's push manager. Converts the browser's errors into errors
 * of this client.
 */
async function pushed(deadline, promise) {
  try {
    return await within(deadline, promise, "The browser's push service has not answered in time.");
  } catch (cause) {
    if (cause instanceof PushClientError) throw Object.assign(cause, {reason: 'pushService'});
    if (cause?.name === 'NotAllowedError') throw new PushClientError('denied', 'Notifications are not allowed.', {cause});
    throw new PushClientError('unavailable', `The browser's push service refuses: ${cause?.name}. Perhaps the user has switched it off.`, {cause, reason: 'pushService'});
  }
}

/** The key that a subscription is bound to; null if the browser does not reveal it. */
function boundKey(subscription) {
  const key = subscription.options?.applicationServerKey;
  return key ? base64URL(new Uint8Array(key)) : null;
}

/**
 * Runs `work` in one tab or worker of an origin at a time. A tab that the browser has suspended
 * keeps its lock: after half of the time until the deadline, this tab runs `otherwise` without the
 * lock.
 */
async function alone(name, deadline, work, otherwise) {
  const locks = globalThis.navigator?.locks;
  if (!locks) return work();
  const limit = new AbortController(), timer = setTimeout(() => limit.abort(), Math.max(0, deadline - Date.now()) / 2);
  try {
    return await locks.request(name, {signal: limit.signal}, () => (clearTimeout(timer), work()));
  } catch (error) {
    if (error.name !== 'AbortError') throw error;
    return otherwise();
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Calls `suspend` when the browser suspends this page, by freezing it or for the back/forward
 * cache, and `resume` when the page runs again; each may be called twice. The result is a function
 * that ends the calls.
 */
function onSuspension(suspend, resume) {
  // Pages that only start or end have `persisted` false.
  const {document} = globalThis, [away, back] = [suspend, resume].map(call => ({persisted}) => { if (persisted !== false) call(); });
  const events = [[document, 'freeze', away], [document, 'resume', back], [globalThis, 'pagehide', away], [globalThis, 'pageshow', back]];
  for (const [target, name, call] of events) target?.addEventListener?.(name, call);
  return () => { for (const [target, name, call] of events) target?.removeEventListener?.(name, call); };
}

/**
 * Runs `work` in one tab of an origin at a time, until `signal` ends it. A tab that sends no
 * message for `silenceTimeout` milliseconds loses the lock, because browsers also suspend tabs
 * that have a lock.
 */
async function inOneTab(name, signal, work, {silenceTimeout, onHear}) {
  const locks = globalThis.navigator?.locks;
  if (!locks) return work(signal);
  for (let isSilent = false; !signal.aborted;) {
    const waiting = new AbortController(), working = new AbortController();
    let timer;
    const hear = (limit = silenceTimeout) => {
      clearTimeout(timer);
      timer = setTimeout(() => { isSilent = true; waiting.abort(); }, limit);
    }, end = () => { waiting.abort(); working.abort(); };
    signal.addEventListener('abort', end);
    onHear(hear);
    hear();
    try {
      await locks.request(name, isSilent ? {steal: true} : {signal: waiting.signal}, () => {
        isSilent = false;
        clearTimeout(timer);
        onHear(() => {});
        if (working.signal.aborted) return null;
        // A page that is about to be suspended cannot wait for the end of `work`.
        return Promise.race([work(working.signal), new Promise(done => working.signal.addEventListener('abort', done))]);
      });
    } catch (error) {
      // `signal` has ended the wait, or another tab has taken the lock.
      if (error.name !== 'AbortError') throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      working.abort();
    }
  }
}

/** Whether this page can receive pushes. On an iPhone it must be on the home screen. */
export const isPushAvailable = () =>
  typeof Notification !== 'undefined' && (typeof PushManager !== 'undefined') && Boolean(globalThis.navigator?.serviceWorker ?? globalThis.registration);

function checkPush() {
  if (!isPushAvailable()) throw new PushClientError('unavailable', 'This browser has no Web Push for this page.');
}

function checkPermission(permission) {
  if (permission !== 'granted') throw new PushClientError('denied', 'Notifications are not allowed.');
}

/**
 * The first characters of a session's token, as the server's lists show them; empty for the token
 * of an identity provider.
 */
const sessionOf = token => token.startsWith('spt_') ? token.slice(0, 12) : '';

function readSession(answer) {
  const session = sessionIn(answer.json);
  if (session.token === null) throw unexpected(answer, 'a session');
  return session;
}

/** A session's token and the time of its end; each is null if the session has none. */
function sessionIn(json) {
  const token = member(json, 'token');
  return {token: typeof token === 'string' && token !== '' ? token : null, expiresAt: timeOf(member(json, 'expiresat'))};
}

/** An id, which becomes a part of a path. */
const checked = id => checkedOption('id', id, 'a whole number from 0');

/** The ids in an event stream (WHATWG HTML section 9.2.6), however the network splits it. */
export class EventLines {
  #decoder = new TextDecoder();
  #rest = '';
  #data = [];
  #count = 0;

  take(bytes) {
    const lines = (this.#rest + this.#decoder.decode(bytes, {stream: true})).split(/\r\n|\n|\r(?!$)/), ids = [];
    this.#rest = lines.pop();
    // A stream with an endless line is not the server's.
    if (this.#rest.length > 65_536) throw offline('The stream has a line without an end.');
    for (const line of lines) {
      if (line.startsWith('data:')) {
        this.#data.push(line.slice(5).trim());
        this.#count += line.length;
        // A stream with an endless event is not the server's either.
        if (this.#count > 16_384) throw offline('The stream has an event without an end.');
      }
      if (line !== '' || this.#data.length === 0) continue;
      const id = pushedID(this.#data.join('\n'));
      if (id !== null) ids.push(id);
      [this.#data, this.#count] = [[], 0];
    }
    return ids;
  }
}

/** The text of a push's member; null for any other push. */
function textInPush(message, name) {
  try {
    const found = member(JSON.parse(message), name);
    return typeof found === 'string' ? found : null;
  } catch {
    return null;
  }
}

/**
 * The hint that identifies a push's account, `{"secureId":"4711","accountHint":"aV0mTHJ1xBI"}`;
 * null if the push has none.
 */
export const pushedHint = message => textInPush(message, 'accounthint');

/**
 * The hint of a shared registration's push: an HMAC keyed with the registration id, which no push
 * service learns.
 */
export async function accountHint(registration, id) {
  return base64URL((await hmac(utf8(registration), utf8(`hint ${id}`))).subarray(0, 8));
}

/** The id of a shown notification; Safari's placeholder has the data of its push. */
const shownID = ({data}) => data?.id ?? pushedID(JSON.stringify(data ?? null));

/** The id in a push, `{"secureId":"4711"}`; null for any other text. */
export function pushedID(message) {
  const id = textInPush(message, 'secureid');
  return /^[0-9]{1,16}$/.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : null;
}
