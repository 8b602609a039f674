/**
 * Sealpost in a browser: registers with Web Push, collects what a push only names, keeps it sealed, and believes no answer that is
 * not the server's own.
 *
 * One module for the page and for its service worker (`sealpost-worker.js`), without a build step and without dependencies. The
 * rules are those of the Swift client; `docs/vectors` shows each of them. The guide is `docs/web.md`.
 *
 * ```js
 * const push = await Sealpost.open({signatures: {keys: ['<a pinned key>', '<the next one>']}, title: 'Clinic'});
 * if (!push.account) await push.signIn(name, password);
 * show(await push.kept());                                 // at once, without a network
 * show(await push.sync());                                 // and what the server says now
 * for await (const change of push.updates()) show(await push.kept());
 * ```
 */

// MARK: - Errors

/** What to tell a user, by the `advice` of an error. An app has its own words for these; its own language, too. */
export const ADVICE = {
  offline: 'There is no connection. What you see may be out of date.',
  portal: 'This network wants something of you first. Open its sign-in page, then try again.',
  interference: 'Something on this network changes our answers. Try another network.',
  update: 'This app needs an update, or this network changes our answers. Try another network first.',
  clock: 'The clock of this device is wrong. Set it, then try again.',
  signIn: 'You are signed out. Sign in again.',
  wait: 'The server is busy. Try again later.',
  refused: 'The server does not allow this.',
  unavailable: 'This browser cannot do this.',
};

/** Which advice an interference calls for. */
const ADVICE_OF_KIND = {missingEcho: 'portal', redirect: 'portal', signature: 'update', wrongClock: 'clock', wrongAccount: 'update'};

/**
 * Why a call failed. `code` says which way:
 *
 * - `offline`: the network failed, or the deadline passed;
 * - `interference`: the answer is not the server's own to this request; `interference` says what was seen;
 * - `unauthorized`: the token is no longer good, and there is no way to get another; `signedOut`: the user has signed out, perhaps
 *   in another tab;
 * - `busy`: the server refuses for now (408, 429, 503, or 409 while it works on the same message), perhaps for `retryAfter` seconds; `problem`: it refuses. Both have `problem`;
 * - `unavailable`: this browser lacks something; `denied`: the user does not allow notifications; `uncertain`: a message may have been
 *   sent or not, and it is too late to ask with the same key;
 * - `invalidServer`: the server's address is not one of HTTP;
 * - `insecureServer`: it is one of `http`, on another machine or where keys are pinned;
 * - `noSignatureKeys`: the app has not chosen `signatures`, or pins an empty list.
 */
export class SealpostError extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.name = 'SealpostError';
    this.code = code;
    Object.assign(this, details);
  }

  /** A key of `ADVICE`. */
  get advice() {
    if (this.code === 'interference') return ADVICE_OF_KIND[this.interference.kind] ?? 'interference';
    const advice = {offline: 'offline', unauthorized: 'signIn', signedOut: 'signIn', busy: 'wait', unavailable: 'unavailable'};
    return advice[this.code] ?? 'refused';
  }

  /** Whether what is kept is still to be shown: the network failed, an answer was not the server's own, or the server cannot answer now. */
  get leavesWhatIsKept() {
    return ['offline', 'interference', 'busy'].includes(this.code) || this.problem?.status >= 500;
  }
}

/**
 * A proof that an answer is not the server's own. It never holds anything of a payload or a credential, and may be logged.
 *
 * `kind` is one of `redirect`, `missingEcho`, `wrongEcho`, `oversized`, `truncated`,
 * `insufficientCoverage`, `signature`, `wrongClock`, `wrongAccount`, `unexpectedNotModified`,
 * `notJSON`, `unexpectedBody` and `wrongID`. The status is 0 where there was none.
 */
function interference(kind, expected, seen, {status, path}) {
  const found = {kind, expected, seen: seen ?? null, status, path};
  const text = `${kind}: expected ${expected}, saw ${seen ?? 'nothing'}, status ${status} of ${path}`;
  return new SealpostError('interference', text, {interference: found});
}

/** For a log: short, and no control characters. */
const printable = text => text.slice(0, 80).replace(/[^\x20-\x7E]/g, '?');

// MARK: - MyToken

/** The greatest `MyToken`: its echo still fits a signed 32-bit integer. */
export const GREATEST_TOKEN = 126_322_567;

/** An unpredictable `MyToken`, which is good for one request. */
export function randomToken() {
  const numbers = new Uint32Array(1), count = GREATEST_TOKEN + 1;
  // Numbers beyond the last full multiple would make small tokens more likely.
  const end = 2 ** 32 - (2 ** 32 % count);
  do crypto.getRandomValues(numbers); while (numbers[0] >= end);
  return String(numbers[0] % count);
}

/** What the server sends back, `n * 17 + 3` in decimal; null for what is no `MyToken`. */
export function echoOf(token) {
  if (!/^[0-9]+$/.test(token) || Number(token) > GREATEST_TOKEN) return null;
  return String(Number(token) * 17 + 3);
}

// MARK: - Bytes

const utf8 = text => new TextEncoder().encode(text);
// Without `ignoreBOM` a byte order mark would vanish, and the text would no longer be what came.
const text = bytes => new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
const base64 = bytes => {
  let binary = '';
  for (let start = 0; start < bytes.length; start += 8192) binary += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(binary);
};
const base64URL = bytes => base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const sha256 = async bytes => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

/** Bytes of base64 in its only right spelling: with padding, and pad bits of zero. Null for any other text. */
function bytesOf(spelled) {
  if (spelled.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(spelled)) return null;
  const bytes = Uint8Array.from(atob(spelled), character => character.charCodeAt(0));
  return base64(bytes) === spelled ? bytes : null;
}

// MARK: - Structured fields (RFC 9651)

/** A reason not to accept a signature. */
class SignatureFailure extends Error {
  constructor(reason, description) {
    super(description);
    this.reason = reason;
  }
}

/** Reads structured fields in one pass; no field of ours comes near its bound. */
class FieldParser {
  static maximumLength = 16_384;

  /** The entries of a dictionary in their order, repeated keys included: `[{key, member}]`. */
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

  /** `[{key, kind, value}]`, in their order. */
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

/** An item or a parameter as a field spells it. */
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

/** The value of `Content-Digest` of a content. */
export async function digestField(body) {
  return `sha-256=:${base64(await sha256(body))}:`;
}

/** Whether a `Content-Digest` is that of a content: it must have one SHA-256, and other algorithms are ignored. */
export async function digestMatches(field, body) {
  try {
    return base64(digestIn(field)) === base64(await sha256(body));
  } catch (error) {
    if (error instanceof SignatureFailure) return false;
    throw error;
  }
}

function digestIn(field) {
  const found = FieldParser.dictionary(field, 'content-digest').filter(({key}) => key === 'sha-256');
  if (found.length === 0) throw new SignatureFailure('missing', 'the digest has no sha-256');
  if (found.length > 1) throw new SignatureFailure('duplicate', 'the digest has more than one sha-256');
  const {kind, value} = found[0].member;
  if (kind !== 'bytes' || value.length !== 32) throw new SignatureFailure('malformed', "the digest's sha-256 is none");
  return value;
}

/**
 * The components that a server of the version before signs, in this order: the answer's status and
 * content, and the request's token, method, path and query.
 */
const EXCHANGE = ['"@status"', '"content-digest"', '"mytoken";req', '"@method";req', '"@path";req', '"@query";req'];
/** The components that must be signed, in this order: the account of the answer, too. */
const COMPONENTS = [...EXCHANGE, '"sealpost-account"'];
/** A 304 has no content; a digest in it would overwrite that of a stored answer (RFC 9111 section 3.2). */
const forStatus = (components, status) => status === 304 ? components.map(name => name === '"content-digest"' ? '"etag"' : name) : components;

/**
 * The value of `Accept-Signature` that asks for what is demanded.
 *
 * Until the client knows its `account`, a server of the version before may sign what it can.
 */
export function acceptSignature(keyid, account) {
  const lists = [['sig', COMPONENTS], ...(account === null ? [['sig0', EXCHANGE]] : [])];
  return lists.map(([label, components]) => `${label}=(${components.join(' ')});keyid="${keyid}"`).join(', ');
}

/** Public keys, in base64 for URLs, ready to verify with: `[{id, key}]`. The id is the thumbprint (RFC 7638). */
export async function importKeys(publicKeys) {
  return Promise.all(publicKeys.map(async x => {
    const bytes = bytesOf(x.replaceAll('-', '+').replaceAll('_', '/') + '='.repeat((4 - x.length % 4) % 4));
    if (bytes?.length !== 32) throw new TypeError(`"${printable(String(x))}" is no public key of Ed25519: 32 bytes in base64url`);
    const thumbprint = base64URL(await sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${base64URL(bytes)}"}`)));
    let key;
    try {
      key = await crypto.subtle.importKey('raw', bytes, {name: 'Ed25519'}, false, ['verify']);
    } catch {
      throw new SealpostError('unavailable', 'This browser does not verify Ed25519, so answers cannot be checked with pinned keys.');
    }
    return {id: thumbprint, key};
  }));
}

/**
 * The text that is signed, made of the client's own request and of the answer. It has no account
 * where that is null, as with a server of the version before.
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
 * Verifies that an answer has a current signature by one of the keys over exactly what is demanded.
 *
 * Returns the signed time, in seconds, and whether the signature covers the account. Throws a
 * `SignatureFailure` for any other answer.
 *
 * The algorithm is always the key's. Signatures by other keys are ignored.
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
  // `verify` gives false for a signature of another length, too.
  if (!await crypto.subtle.verify({name: 'Ed25519'}, pinned.key, signature, utf8(base))) {
    throw new SignatureFailure('badSignature', 'the signature is not over this answer to this request');
  }
  return {time: checkTime(list, {tolerance, now}), isAccountCovered};
}

/** The last parameter of a name counts. */
const parameter = (list, name) => list.parameters.findLast(({key}) => key === name);

function signatureUnder(label, answer) {
  const signatures = FieldParser.dictionary(answer.field('signature') ?? '', 'Signature');
  if (isRepeated(signatures.map(({key}) => key))) throw new SignatureFailure('duplicate', 'a signature appears twice');
  const member = signatures.find(({key}) => key === label)?.member;
  if (!member) throw new SignatureFailure('missing', `there is no Signature ${label}`);
  if (member.kind !== 'bytes') throw new SignatureFailure('malformed', `the Signature ${label} is not of bytes`);
  return member.value;
}

/** Whether the account is covered. It may be left out only while the client does not know its own. */
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

/** The digest, which must match the content, or the `ETag` of a 304, which must have no content. */
async function validatorOf(answer) {
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

function checkTime(list, {tolerance, now}) {
  const created = parameter(list, 'created'), end = parameter(list, 'expires');
  if (created?.kind !== 'integer') throw new SignatureFailure('missing', 'the signature does not say when it was made');
  const age = now - created.value;
  if (Math.abs(age) > tolerance) throw new SignatureFailure('stale', `the signature was made ${Math.round(age)} s ago`);
  if (end && end.kind !== 'integer') throw new SignatureFailure('malformed', "the signature's end is no time");
  if (end && now > end.value) throw new SignatureFailure('stale', 'the signature has expired');
  return created.value;
}

// MARK: - Checks of an answer

/** The checks that need no body. They come first, so that nothing is read of what a portal sends. */
export function checkHead(request, answer) {
  const where = {status: answer.status, path: request.path};
  if (answer.isRedirect || (answer.status >= 300 && answer.status <= 399 && answer.status !== 304)) {
    throw interference('redirect', 'an answer', 'a redirect', where);
  }
  const echo = answer.field('mytoken'), expected = echoOf(request.token);
  if (!echo) throw interference('missingEcho', expected, null, where);
  if (echo !== expected) throw interference('wrongEcho', expected, printable(echo), where);
}

/**
 * Tells the server's own answer from everything else, and gives what is needed of it. Throws a `SealpostError` for an interference.
 *
 * - `request`: `method`, `path`, `query` (null without one), `token` and `condition` (null without one), as sent.
 * - `answer`: `status`, `field(name)` (null if it is not there), `body` (bytes), `end`: `complete`, `cut` or `oversized`.
 * - `keys`: of `importKeys`; none: answers are told by `MyToken` alone. `now` is in seconds.
 * - `account`: the identifier of the client's account; null if the client does not know it.
 *
 * The result has the answer's `account`; null if that is nobody's, or not covered by the signature.
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
    // What is not signed may be wrong, but is the best that there is.
    const date = Date.parse(answer.field('date') ?? '');
    time = Number.isNaN(date) ? null : date / 1000;
  }
  // Without signatures the account shows accidents, as the echo does.
  const seen = isAccountCovered ? checkAccount(request, answer, account) : null;
  if (answer.status === 304) checkNotModified(request, answer, where);
  return {
    status: answer.status, path: request.path, account: seen, time, tag: answer.field('etag'), json: readBody(answer, where),
    // Unknown where answers are signed: there all of them are `no-store`, for the caches of proxies.
    isNoStore: keys.length === 0 && /(^|,)\s*no-store\s*(,|$)/i.test(answer.field('cache-control') ?? ''),
    retryAfter: /^[0-9]{1,9}$/.test(answer.field('retry-after') ?? '') ? Number(answer.field('retry-after')) : null,
  };
}

function checkEnd(request, answer, where) {
  const count = answer.body.length;
  if (answer.end === 'oversized') throw interference('oversized', 'an answer of the API', `more than ${count} bytes`, where);
  const announced = announcedLength(request, answer);
  if (answer.end === 'cut') throw interference('truncated', announced === null ? 'an end' : `${announced} bytes`, `${count} bytes`, where);
  if (announced !== null && announced !== count) throw interference('truncated', `${announced} bytes`, `${count} bytes`, where);
}

/** How many bytes the body must have; null where nothing tells, and for a body that the browser has decompressed. */
function announcedLength(request, answer) {
  // A page of another origin cannot see whether it was compressed. The browser compares the length itself, and cuts such an answer.
  if (answer.hidesCoding || [204, 304].includes(answer.status) || request.method === 'HEAD') return null;
  if (!['', 'identity'].includes((answer.field('content-encoding') ?? '').toLowerCase())) return null;
  const length = answer.field('content-length') ?? '';
  return /^[0-9]{1,15}$/.test(length) ? Number(length) : null;
}

/** The path that begins sessions. Its 201 names the account in its body. */
const SESSIONS = '/api/sessions';

/**
 * The account that an answer is for; null if it is for nobody, or does not say. Throws for a
 * foreign one. `own` is the client's account; null if the client does not know it.
 */
function checkAccount(request, answer, own) {
  const seen = answer.field('sealpost-account'), {status} = answer, {path} = request;
  if (seen === null) return null;
  if (seen === 'none') {
    // Credentials may be missing or refused. Everything else the server says only to somebody.
    if (status >= 400 && ![403, 404, 409, 410, 412].includes(status)) return null;
  } else if (isIdentifier(seen) && (own === null || seen === own || (path === SESSIONS && status === 201))) {
    return seen;
  }
  throw interference('wrongAccount', own ?? 'an account', printable(seen), {status, path});
}

/** Whether a text can be the identifier of an account, which clients only compare. */
const isIdentifier = text => typeof text === 'string' && text !== '' && text.length <= 128;

/** A 304 answers a request with a condition, and repeats its validator. */
function checkNotModified(request, answer, where) {
  if (request.condition === null) throw interference('unexpectedNotModified', 'an answer without a condition', '304', where);
  const seen = answer.field('etag');
  if (seen === null || opaque(seen) !== opaque(request.condition)) {
    throw interference('unexpectedNotModified', printable(request.condition), seen && printable(seen), where);
  }
}

/** A tag as the server made it: proxies that compress mark it as weak, or append the coding's name. */
const opaque = tag => tag.replace(/^W\//, '').replace(/-gzip"$/, '"');

/** The body's JSON; undefined if there is none. */
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

/** Throws for what the server's parser refuses: more than 64 levels, and half a surrogate pair. */
function checkJSON(json, depth) {
  if (typeof json === 'string' && /\p{Surrogate}/u.test(json)) throw new SyntaxError('half a surrogate pair');
  if (typeof json !== 'object' || json === null) return;
  if (depth === 64) throw new SyntaxError('more than 64 levels');
  for (const [name, value] of Object.entries(json)) {
    checkJSON(name, 0);
    checkJSON(value, depth + 1);
  }
}

// MARK: - What the calls are answered with

/** A member of an object, whatever the case of its name. */
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

/** A notification as apps see it; null for JSON that is none. */
function itemOf(json) {
  const id = member(json, 'id'), isRead = member(json, 'read'), payload = member(json, 'payload');
  if (!Number.isSafeInteger(id) || typeof isRead !== 'boolean') return null;
  const time = value => typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? new Date(value) : null;
  return {
    id, payload, hasPayload: payload !== undefined, isRead,
    createdAt: time(member(json, 'createdat')), expiresAt: time(member(json, 'expiresat')),
    isReadOnce: member(json, 'readonce') === true, isNeverStored: member(json, 'store') === 'never',
  };
}

/** How many bytes of UTF-8 a cursor may have. */
const MAXIMUM_CURSOR = 1024;

const withoutPayload = item => ({...item, payload: undefined, hasPayload: false});

/** The notification of an answer; with an `id`, it must be that one. */
export function readItem(answer, id) {
  const item = itemOf(answer.json);
  if (!item) throw unexpected(answer, 'a notification');
  if (id !== undefined && item.id !== id) throw interference('wrongID', String(id), String(item.id), answer);
  return item;
}

/**
 * A page of the list: `items` with `isKept`, `deleted`, `cursor`, `hasMore`. Of a list of some `ids` there is no cursor.
 *
 * If an answer must not be kept, and none of its items is a reason for that, no payload of the page is kept.
 */
export function readPage(answer, {ids} = {}) {
  const [list, gone, cursor, hasMore] = ['notifications', 'deleted', 'cursor', 'more'].map(name => member(answer.json, name));
  if (!Array.isArray(list) || !Array.isArray(gone) || typeof hasMore !== 'boolean' || (!ids && typeof cursor !== 'string')) {
    throw unexpected(answer, 'a list of notifications');
  }
  // Those of the server have some forty bytes; it comes back in each request.
  if (!ids && utf8(cursor).length > MAXIMUM_CURSOR) throw unexpected(answer, `a cursor of at most ${MAXIMUM_CURSOR} bytes`);
  const items = list.map(json => itemOf(json) ?? (() => { throw unexpected(answer, 'a list of notifications'); })());
  if (!gone.every(Number.isSafeInteger)) throw unexpected(answer, 'a list of ids');
  if (ids) {
    const stranger = items.find(item => !ids.includes(item.id));
    if (stranger) throw interference('wrongID', ids.join(), String(stranger.id), answer);
  }
  const isUnexplained = answer.isNoStore && !items.some(item => item.isReadOnce || item.isNeverStored);
  return {
    items: items.map(item => ({item, isKept: !isUnexplained && !item.isReadOnce && !item.isNeverStored})),
    deleted: gone, cursor, hasMore, time: answer.time,
  };
}

const lowered = name => name.replace(/[A-Z]/g, letter => letter.toLowerCase());

/**
 * The identifier of the account that a session is of; null if the server has none. Throws unless
 * the session is that of this user.
 *
 * Names are compared without the case of ASCII letters; other letters tell accounts apart.
 */
export function readAccount(answer, username) {
  const name = member(answer.json, 'name'), id = member(answer.json, 'account') ?? null;
  // A server of the version before does not say whose a new session is.
  if (name === undefined && id === null && answer.account === null && answer.path === SESSIONS) return null;
  if (typeof name !== 'string' || (id !== null && !isIdentifier(id))) throw unexpected(answer, 'the session of a user');
  if (lowered(name) !== lowered(username)) throw interference('wrongAccount', 'the own name', 'another name', answer);
  if (answer.account !== null && answer.account !== id) throw interference('wrongAccount', id ?? 'an account', printable(answer.account), answer);
  return id;
}

/** The answer itself if it is a success or 304; the server's refusals are thrown. */
export function success(answer) {
  if ((answer.status >= 200 && answer.status <= 299) || answer.status === 304) return answer;
  const [type, title, status, detail] = ['type', 'title', 'status', 'detail'].map(name => member(answer.json, name));
  if (typeof type !== 'string' || typeof title !== 'string' || status !== answer.status) {
    throw unexpected(answer, `a problem of status ${answer.status}`);
  }
  const problem = {code: type.replace(/^urn:sealpost:problem:/, ''), title, status, detail: detail ?? null};
  if (status === 401) throw new SealpostError('unauthorized', title, {problem});
  // A 408 came before the request was whole, and the last one while another of the same key is at work: neither is a decision.
  const isForNow = [408, 429, 503].includes(status) || problem.code === 'idempotency-key-in-use';
  if (isForNow) throw new SealpostError('busy', title, {problem, retryAfter: answer.retryAfter});
  throw new SealpostError('problem', title, {problem});
}

const isGone = error => error.code === 'problem' && [404, 410].includes(error.problem.status);

// MARK: - Conversation

/** Everything but letters, digits, `-`, `_` and `.` is encoded, as the other clients do it: the query is signed as it is sent. */
const escape = value => encodeURIComponent(value).replace(/[!~*'()]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
const queryOf = parameters => parameters.length ? parameters.map(([name, value]) => `${name}=${escape(value)}`).join('&') : null;

/** Whether what is sent stays on this machine. The host is one of a URL, which has one spelling for each address. */
const isThisMachine = host => host === 'localhost' || host === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(host);

/** One request at a time to the server: each with a `MyToken` of its own, its answer checked before anything of it is used. */
class Conversation {
  constructor({server, keys, tolerance, timeout, maximumBody, fetch, now, makeToken}) {
    let base;
    try {
      base = new URL(server);
    } catch {
      throw new SealpostError('invalidServer', "The server's address is not a URL.");
    }
    if (!/^https?:$/.test(base.protocol)) throw new SealpostError('invalidServer', "The server's address is not one of HTTP.");
    if (base.protocol === 'http:' && (keys.length > 0 || !isThisMachine(base.hostname))) {
      const why = keys.length > 0 ? 'where keys are pinned' : 'to another host than 127.0.0.1, ::1 or localhost';
      throw new SealpostError('insecureServer', `http sends passwords and tokens in clear, and is not used ${why}: use https.`);
    }
    /** A path in it, as behind a proxy that serves several, stands before those of the API, and is not signed. */
    this.base = base.origin + base.pathname.replace(/\/+$/, '');
    Object.assign(this, {keys, tolerance, timeout, maximumBody, fetch, now, makeToken});
  }

  /** A deadline, in milliseconds since 1970, for a call that begins now. */
  deadline(factor = 1) {
    return Date.now() + this.timeout * 1000 * factor;
  }

  /** The server's answer if it is a success or 304. */
  async call(method, path, options) {
    return success(await this.ask(method, path, options));
  }

  /** The server's own answer, whatever its status. Sent once more if the connection failed before any of an answer came. */
  async ask(method, path, {isRepeatable = true, ...options} = {}) {
    const deadline = options.deadline ?? this.deadline();
    for (const isLast of isRepeatable ? [false, true] : [true]) {
      try {
        return await this.askOnce(method, path, {...options, deadline, isLast});
      } catch (error) {
        if (isLast || error.code !== 'offline' || !error.isBeforeAnswer || Date.now() >= deadline) throw error;
      }
    }
  }

  async askOnce(method, path, {query = [], body, condition = null, key, authorization, account = null, deadline, isLast}) {
    const request = {method, path, query: queryOf(query), token: this.makeToken(), condition};
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), Math.max(0, deadline - Date.now()));
    try {
      const response = await this.send(request, {body, key, authorization, account, signal: limit.signal, isLast});
      const answer = headOf(response);
      try {
        checkHead(request, answer);
      } catch (error) {
        // Nothing of it is read: a portal may send without an end.
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
    return checkAnswer(request, answer, {keys: this.keys, tolerance: this.tolerance, now: this.now() / 1000, account});
  }

  /** The head of the answer. Throws `offline`, or an interference if the browser withholds what was answered. */
  async send(request, {body, key, authorization, account, lastEvent, signal, isLast = true}) {
    const headers = {MyToken: request.token};
    if (authorization) headers.Authorization = authorization;
    if (request.condition !== null) headers['If-None-Match'] = request.condition;
    if (key) headers['Idempotency-Key'] = `"${key}"`;
    if (lastEvent) headers['Last-Event-ID'] = lastEvent;
    if (this.keys.length > 0) headers['Accept-Signature'] = acceptSignature(this.keys[0].id, account);
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    try {
      return await this.fetch(this.base + request.path + (request.query === null ? '' : `?${request.query}`), {
        method: request.method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal,
        // No caches, no cookies, no passwords that the browser keeps, and no redirects.
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

  /** Whether something answers at the address of another origin, though not as a server that allows this page (Fetch section 4.10). */
  async isWithheld(signal) {
    if (typeof location === 'undefined' || new URL(this.base).origin === location.origin) return false;
    try {
      await this.fetch(`${this.base}/healthz`, {mode: 'no-cors', cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal});
      return true;
    } catch {
      return false;
    }
  }

  /** Reads the body, to its bound. */
  async receive(response, signal) {
    const pieces = [];
    let count = 0, end = 'complete';
    try {
      const reader = response.body?.getReader();
      for (;;) {
        const {done, value} = await (reader?.read() ?? {done: true});
        if (done) break;
        count += value.length;
        if (count > this.maximumBody) {
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
    return {body, end};
  }
}

/** What a promise gives, or `offline` when the time is up: what it waits for may never come. */
async function within(deadline, promise, message) {
  let timer;
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(offline(message)), Math.max(0, deadline - Date.now())); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const offline = (message, details) => new SealpostError('offline', message, details);

/** The value of a field without the blanks around it. No regular expression: one for the end tries each blank in between. */
function withoutBlanks(value) {
  if (value === null) return null;
  const isBlank = index => value[index] === ' ' || value[index] === '\t';
  let start = 0, end = value.length;
  while (start < end && isBlank(start)) start += 1;
  while (start < end && isBlank(end - 1)) end -= 1;
  return value.slice(start, end);
}

/** What `checkHead` needs of a response. */
const headOf = response => ({
  status: response.status, isRedirect: response.type === 'opaqueredirect', hidesCoding: response.type === 'cors',
  field: name => withoutBlanks(response.headers.get(name)),
});

// MARK: - Stores

/** What every store begins with. `revision` counts commits, `change` numbers changes of the inbox, `floor` is what is forgotten of them. */
const NEW_HEAD = {revision: 0, epoch: '', change: 0, floor: 0};

/** Errors of IndexedDB after the browser has closed a connection. The transaction has changed nothing. */
const LOST_CONNECTION = ['InvalidStateError', 'AbortError', 'UnknownError'];

function storeFailure(error) {
  if (error instanceof SealpostError) return error;
  const isFull = error?.name === 'QuotaExceededError';
  const text = isFull ? 'The browser has no room for more.' : `The browser cannot read or write its database: ${error?.name ?? 'no reason'}.`;
  return new SealpostError('unavailable', text, {cause: error});
}

/**
 * Rows by name in IndexedDB. A commit is one transaction, and is refused if there was another since the head was read: so page and
 * worker, who share it, cannot mix, and no transaction waits for cryptography.
 *
 * Browsers close connections, as of pages in the background: the next transaction opens a new one.
 */
export class IndexedStore {
  #name; #connection = null; #isClosed = false;

  static async open(name) {
    const store = new IndexedStore(name);
    await store.#connect();
    return store;
  }

  /** Use `open`. */
  constructor(name) {
    this.#name = name;
  }

  async head() {
    return await this.get('head') ?? NEW_HEAD;
  }

  get(name) {
    return this.#transact('readonly', (rows, give) => { rows.get(name).onsuccess = event => give(event.target.result); });
  }

  /** The rows whose names begin so, as a map. */
  list(prefix) {
    const range = IDBKeyRange.bound(prefix, `${prefix}\uFFFF`);
    return this.#transact('readonly', (rows, give) => {
      rows.getAllKeys(range).onsuccess = ({target: {result: names}}) => {
        rows.getAll(range).onsuccess = event => give(new Map(names.map((name, index) => [name, event.target.result[index]])));
      };
    });
  }

  /** Writes rows, null for those that go, and the head; false, and nothing is written, if the revision is no longer that. */
  commit(revision, changes, head) {
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
    });
  }

  /** Deletes the database. This needs no free space, and no connection: other tabs and the worker close theirs. */
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
    if (this.#isClosed) throw new SealpostError('unavailable', 'This client was closed.');
    const forget = () => { this.#connection = null; };
    return this.#connection ??= new Promise((done, fail) => {
      const opening = indexedDB.open(this.#name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore('rows');
      opening.onsuccess = () => {
        const database = opening.result;
        database.onclose = forget;
        database.onversionchange = () => {
          database.close();
          forget();
        };
        done(database);
      };
      opening.onerror = () => {
        forget();
        fail(storeFailure(opening.error));
      };
    });
  }

  /** Runs a transaction, once more over a new connection if the first one is gone. */
  async #transact(mode, body) {
    for (const isLast of [false, true]) {
      const connection = this.#connect(), database = await connection;
      try {
        return await new Promise((done, fail) => {
          let result;
          const transaction = database.transaction('rows', mode, {durability: 'strict'});
          transaction.oncomplete = () => done(result);
          transaction.onabort = () => fail(transaction.error ?? new DOMException('The connection was closed.', 'AbortError'));
          body(transaction.objectStore('rows'), value => { result = value; });
        });
      } catch (error) {
        if (isLast || !LOST_CONNECTION.includes(error?.name)) throw storeFailure(error);
        if (this.#connection === connection) this.#connection = null;
        database.close();
      }
    }
  }
}

/** The same for as long as the page lasts: for tests, and where a browser has no IndexedDB. */
export class MemoryStore {
  rows = new Map();

  async head() { return this.rows.get('head') ?? NEW_HEAD; }
  async get(name) { return this.rows.get(name); }
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

/** Seals a value for its name, so that no row can be put in the place of another. */
async function seal(key, name, value) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const data = await crypto.subtle.encrypt({name: 'AES-GCM', iv, additionalData: utf8(name)}, key, utf8(JSON.stringify(value)));
  return {iv, data: new Uint8Array(data)};
}

/** The value; undefined if the row is not there, or was not sealed with this key for this name. */
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

/** One change to come: reads of one revision, and what is to be written. */
class Draft {
  constructor(store, head, key) {
    Object.assign(this, {store, head: {...head}, key, changes: new Map(), known: new Map()});
  }

  /** The same each time: what another has committed meanwhile refuses this draft, and must not break it before. */
  async row(name) {
    if (this.changes.has(name)) return this.changes.get(name);
    if (!this.known.has(name)) this.known.set(name, await this.store.get(name));
    return this.known.get(name);
  }

  async read(name) {
    return unseal(this.key, name, await this.row(name));
  }

  /** Seals and writes; `clear` is what can be read without the key. */
  async write(name, value, clear = {}) {
    this.changes.set(name, {...clear, ...await seal(this.key, name, value)});
  }

  writeClear(name, value) {
    this.changes.set(name, value);
  }

  remove(name) {
    this.changes.set(name, null);
  }

  async names(prefix) {
    const names = new Set((await this.store.list(prefix)).keys());
    for (const [name, value] of this.changes) {
      if (!name.startsWith(prefix)) continue;
      if (value === null) names.delete(name); else names.add(name);
    }
    return [...names];
  }
}

// MARK: - The kept inbox

/** What is kept: beyond it the oldest give up their payloads, which can still be fetched one by one, and then go. */
const MAXIMUM = {count: 10_000, bytes: 16 << 20, tombstones: 2000, failures: 100};

const entryName = id => `entry/${id}`;
const goneName = id => `gone/${id}`;

const packed = item => ({...item, createdAt: item.createdAt?.toISOString() ?? null, expiresAt: item.expiresAt?.toISOString() ?? null});
const unpacked = item => {
  const time = value => value === null ? null : new Date(value);
  return {...item, payload: item.payload, createdAt: time(item.createdAt), expiresAt: time(item.expiresAt)};
};
const isPast = (item, time) => item.expiresAt !== null && time !== null && item.expiresAt.getTime() <= time;
const inOrder = (one, other) => (one.createdAt?.getTime() ?? 0) - (other.createdAt?.getTime() ?? 0) || one.id - other.id;

/** Changes of the inbox in a draft. Each of them has a number, which consumers of changes go by. */
const inbox = {
  /** Keeps an item, and says whether anything of it is new. */
  async put(draft, item, {tag = null, date}) {
    const name = entryName(item.id), old = await draft.read(name), wanted = packed(item);
    const isSame = old !== undefined && JSON.stringify(old.item) === JSON.stringify(wanted);
    const change = isSame ? (await draft.row(name)).change : draft.head.change += 1;
    await draft.write(name, {item: wanted, tag, date}, {change});
    draft.remove(goneName(item.id));
    return !isSame;
  },

  /** Marks those that are kept as read, or as not. */
  async mark(draft, ids, isRead) {
    for (const id of ids) {
      const kept = await draft.read(entryName(id));
      if (kept) await inbox.put(draft, {...unpacked(kept.item), isRead}, {date: kept.date});
    }
  },

  /**
   * Notes that an id is no longer shown, for consumers and for answers that are still on their way: so it does for one that is not
   * kept, too.
   */
  remove(draft, id) {
    draft.remove(entryName(id));
    draft.writeClear(goneName(id), {id, change: draft.head.change += 1});
  },

  /**
   * Whether nothing has happened to an id since a change of that number: an answer to a request of that time is then its latest state.
   * What has happened is newer, or comes again with the next page, whose cursor is of an earlier time.
   */
  async isUntouched(draft, id, since) {
    const [row, grave] = await Promise.all([draft.row(entryName(id)), draft.row(goneName(id))]);
    return (row?.change ?? 0) <= since && (grave?.change ?? 0) <= since && draft.head.floor <= since;
  },

  /** Whether an id has gone since, which ids never come back from. */
  async wasRemoved(draft, id, since) {
    return ((await draft.row(goneName(id)))?.change ?? 0) > since;
  },

  /**
   * Merges a page; false, and nothing is changed, if the cursor is no longer `after`.
   *
   * What the user has read or dismissed here, and the server has not been told yet, stays so; what has gone since the change `before`,
   * when the page was asked for, does not come back.
   */
  async merge(draft, page, {after, before, replaces, pending, date}) {
    if ((await draft.read('cursor'))?.cursor !== after) return false;
    if (replaces) {
      const staying = new Set(page.items.map(({item}) => entryName(item.id)));
      for (const name of await draft.names('entry/')) {
        if (!staying.has(name)) inbox.remove(draft, Number(name.slice(6)));
      }
    }
    for (const {item, isKept} of page.items) {
      if (pending.dismissed.has(item.id) || await inbox.wasRemoved(draft, item.id, before)) continue;
      const kept = isKept ? item : withoutPayload(item);
      await inbox.put(draft, {...kept, isRead: pending.read.get(item.id) ?? item.isRead}, {date});
    }
    for (const id of page.deleted) inbox.remove(draft, id);
    await draft.write('cursor', {cursor: page.cursor, date});
    return true;
  },

  /** Deletes what has expired by the server's time, which alone deletes. */
  async expire(draft, entries, time) {
    if (time === null) return;
    for (const {item} of entries) if (isPast(item, time * 1000)) inbox.remove(draft, item.id);
  },

  /** Keeps to the bounds. */
  async shrink(draft, entries) {
    let count = entries.length, bytes = entries.reduce((sum, entry) => sum + entry.size, 0);
    if (count > MAXIMUM.count || bytes > MAXIMUM.bytes) {
      for (const entry of entries) {
        if (count > MAXIMUM.count) {
          inbox.remove(draft, entry.item.id);
          [count, bytes] = [count - 1, bytes - entry.size];
        } else if (bytes > MAXIMUM.bytes && entry.item.hasPayload) {
          await draft.write(entryName(entry.item.id), {item: packed(withoutPayload(entry.item)), tag: null, date: entry.date}, {change: entry.change});
          bytes -= entry.size;
        }
      }
    }
    const graves = [...(await draft.store.list('gone/')).values()].sort((one, other) => one.change - other.change);
    for (const grave of graves.slice(0, Math.max(0, graves.length - MAXIMUM.tombstones))) {
      draft.remove(goneName(grave.id));
      draft.head.floor = Math.max(draft.head.floor, grave.change);
    }
  },

  /** Everything of the account goes but what is still to be told to the server. */
  async clear(draft) {
    for (const prefix of ['entry/', 'gone/', 'outbox/']) for (const name of await draft.names(prefix)) draft.remove(name);
    for (const name of ['cursor', ...OF_ACCOUNT]) draft.remove(name);
    // Numbers begin anew, so that no mark of before is one of these.
    Object.assign(draft.head, {change: 0, floor: 0, epoch: ''});
  },
};

/** The rows of the account itself. `identity` is its identifier, which the server's answers must have. */
const OF_ACCOUNT = ['session', 'identity', 'registration', 'stream'];

// MARK: - The client

const DEFAULTS = {
  app: null, tolerance: 300, timeout: 30, maximumBody: 8 << 20, limit: 500, name: '',
  title: null, icon: null, page: null, placeholder: 'New message. Open to read.', worker: 'sealpost-worker.js', scope: undefined,
  shared: false,
  // What tests choose.
  fetch: null, store: null, now: null, makeToken: randomToken,
};
/** What the worker must know, too. Nothing of it is secret. */
const SHARED = ['server', 'app', 'signatures', 'tolerance', 'title', 'icon', 'page', 'placeholder', 'shared'];
const DAY = 86_400_000;

/** The keys that an app pins. There is no default: an app writes down what it relies on. */
function pinnedKeys(signatures) {
  if (signatures === 'unsigned') return [];
  if (Array.isArray(signatures?.keys) && signatures.keys.length > 0) return signatures.keys;
  throw new SealpostError('noSignatureKeys', "Choose `signatures`: {keys: [...]} with one key at least, or 'unsigned'.");
}

/**
 * A device's side of the API, for one account in one browser: register, collect, read, dismiss, send.
 *
 * All values are kept in IndexedDB, sealed with a key that no script can export. Any number of tabs and the worker may use it at once.
 * Calls throw `SealpostError`.
 */
export class Sealpost {
  /**
   * Opens what is kept; needs no network.
   *
   * - `server`: where the API is; the page's own origin by default. A page of another origin must be in `server.allowedOrigins`.
   * - `signatures`, which every app chooses: `{keys: [...]}`, public keys that answers must be signed
   *   by, the first one being asked for; or `'unsigned'`: then `MyToken` alone tells the server's
   *   answers, which shows accidents, and attackers can calculate it.
   * - `app`: where the server sends for several apps. `tolerance`: how far clocks may be apart, in seconds. `timeout`: for each call.
   * - `token`: called when a token is needed and none is kept, or the kept one ends or is refused. It returns the answer of
   *   `POST /api/sessions`, or such a `{Token, ExpiresAt}` of the app's own backend.
   * - `title`, `icon`, `placeholder`, `page`: what the worker's notifications show, and which page a click opens.
   * - `worker`, `scope`: the service worker's file and scope. `name`: where one origin has several accounts, a name for each.
   * - `shared`: those accounts are signed in side by side, and share this browser's subscription: pushes tell whose they are. It is
   *   the same for all of them.
   */
  static async open(options = {}) {
    if (!globalThis.crypto?.subtle) throw new SealpostError('unavailable', 'This page was not loaded over https.');
    const settings = {...DEFAULTS, server: globalThis.location?.origin, ...options};
    settings.server = new URL(settings.server, globalThis.location?.href).href;
    settings.page = settings.page ?? globalThis.location?.href.replace(/#.*/, '') ?? null;
    settings.title = settings.title ?? globalThis.location?.hostname ?? 'Sealpost';
    const push = new Sealpost(settings, await storeOf(settings));
    await push.#begin();
    // What a sign-out without a network has left; it keeps nobody waiting.
    push.finishSigningOut().catch(error => console.warn(error));
    return push;
  }

  /** For the worker: with the settings that the page has last opened it with; null before that. */
  static async reopen(name = '', options = {}) {
    const store = await storeOf({name, ...options});
    const kept = await store.get('settings');
    if (!kept) return null;
    const push = new Sealpost({...DEFAULTS, ...kept, name, ...options}, store);
    await push.#begin();
    return push;
  }

  /** The names of all accounts that this origin has opened. */
  static async names() {
    const databases = await indexedDB.databases();
    return databases.filter(({name}) => /^sealpost( .+)?$/.test(name)).map(({name}) => name.slice('sealpost '.length)).sort();
  }

  #settings; #store; #keys; #api; #epoch = ''; #renewal = null; #cache = {revision: -1, entries: new Map()};
  #channel = null; #channelName; #sent = null; #telling = Promise.resolve();

  /** Use `open`. */
  constructor(settings, store) {
    this.#settings = settings;
    this.#store = store;
    this.#channelName = `sealpost ${settings.name}`;
    /** The name of the account that is signed in; null if there is none. */
    this.account = null;
  }

  get settings() { return this.#settings; }

  /** Whether the account is still the one that this client was opened for. */
  async isCurrent() {
    const [head, settings] = await Promise.all([this.#store.head(), this.#store.get('settings')]);
    return head.epoch === this.#epoch && SHARED.every(name => JSON.stringify(settings[name]) === JSON.stringify(this.#settings[name]));
  }

  async #begin() {
    const {server, tolerance, timeout, maximumBody, makeToken} = this.#settings;
    this.#keys = await importKeys(pinnedKeys(this.#settings.signatures));
    const fetch = this.#settings.fetch ?? ((...request) => globalThis.fetch(...request));
    this.#api = new Conversation({server, keys: this.#keys, tolerance, timeout, maximumBody, fetch, now: () => this.#now(), makeToken});
    await this.#change(async draft => {
      const kept = await draft.row('settings');
      // What was kept of another server or app is not this one's; what was believed without signatures is not read by who demands them.
      const isAnother = kept && ['server', 'app'].some(name => kept[name] !== this.#settings[name]);
      const isWeaker = kept && !kept.signatures?.keys && this.#keys.length > 0;
      if (isAnother) {
        await this.#endSession(draft, kept);
      } else if (isWeaker) {
        for (const prefix of ['entry/', 'gone/']) for (const name of await draft.names(prefix)) draft.remove(name);
        for (const name of ['cursor', 'identity']) draft.remove(name);
        // Beyond the mark of every consumer: none of them knows what is left.
        draft.head.floor = draft.head.change += 1;
      }
      // An inbox whose key is gone cannot be read by anybody: all of it goes.
      if (draft.isDamaged) await inbox.clear(draft);
      const account = isAnother || draft.isDamaged ? null : kept?.account ?? null;
      const settings = {...this.#sharedSettings(), account};
      if (JSON.stringify(settings) !== JSON.stringify(kept)) draft.writeClear('settings', settings);
      this.#epoch = draft.head.epoch ||= crypto.randomUUID();
      this.account = account;
    }, {isAnyEpoch: true});
  }

  #sharedSettings() {
    return Object.fromEntries(SHARED.map(name => [name, this.#settings[name]]));
  }

  /** The kept settings; those of this client where a sign-out has removed them, or the browser. */
  async #keptSettings(draft) {
    return await draft.row('settings') ?? {...this.#sharedSettings(), account: null};
  }

  // MARK: Signing in and out

  /**
   * Exchanges the password for a token, which is kept, sealed; the password is not. Another account's values go.
   *
   * The password is shown only to a server that has answered, and whose answer has passed the checks: no portal gets to see it.
   *
   * A session of another name is the interference `wrongAccount`, and from then on so is each
   * answer for another account. If an administrator has deleted the account and made a new one of
   * that name, the client drops all that it has kept of the old one.
   */
  async signIn(username, password) {
    const known = username === this.account ? await this.#identity() : null;
    await this.#api.ask('GET', `${SESSIONS}/current`, {account: known});
    const authorization = `Basic ${base64(utf8(`${username}:${password}`))}`;
    const answer = await this.#api.call('POST', SESSIONS, {authorization, account: known, isRepeatable: false});
    const {token, expiresAt} = readSession(answer);
    await this.useToken(token, {account: username, id: readAccount(answer, username), expiresAt});
  }

  /**
   * Signs in with a token that the app has got otherwise. `account` must stand for one user only.
   *
   * `id` is the `Account` of the token's session. Without it, the first answer decides which
   * account the client takes answers for.
   */
  async useToken(token, {account, id = null, expiresAt = null}) {
    let isAnother = false;
    await this.#change(async draft => {
      const settings = await this.#keptSettings(draft), known = (await draft.read('identity'))?.id;
      // The old account was deleted: of its session the server has nothing left to end.
      const isAnew = settings.account === account && known !== undefined && id !== null && id !== known;
      if (isAnew) for (const name of OF_ACCOUNT) draft.remove(name);
      isAnother = isAnew || (settings.account !== null && settings.account !== account);
      if (isAnother) await this.#endSession(draft, settings);
      draft.writeClear('settings', {...settings, account});
      await draft.write('session', {token, expiresAt: expiresAt?.getTime() ?? null});
      if (id !== null) await draft.write('identity', {id});
      this.#epoch = draft.head.epoch ||= crypto.randomUUID();
      this.account = account;
    }, {isAnyEpoch: true});
    this.#announce();
    if (isAnother) await this.#closeNotifications(null);
    await this.finishSigningOut();
  }

  /**
   * Deletes all that is kept of the account, ends every writer of it, and ends the device and the token at the server.
   *
   * The first two come first, and need neither a network nor free space. Returns whether the server
   * has said, in answers for this account, that device and session have ended. If not, that is
   * kept where it can be, and done as soon as the server can be reached: at the next start of the
   * page, and with each event of the worker. A device that the token can no longer end is ended
   * when the account signs in here again.
   *
   * Throws `unavailable` only if the browser cannot delete what is kept.
   */
  async signOut() {
    const {account} = this, {ending, isKept} = await this.#endHere();
    this.account = null;
    this.#announce();
    // A failure here, or a wait without end, keeps nobody from telling the server.
    await within(this.#api.deadline(), Promise.allSettled([this.#unsubscribe(), this.#closeNotifications(null)]), '').catch(() => {});
    const deadline = this.#api.deadline();
    // Nothing that is kept has waited for the app's token.
    const renew = () => within(deadline, this.#newSession(), '').then(({token}) => token, () => null);
    try {
      if (ending && !isKept) return (await this.#tellEnd(ending, deadline, renew)).isTold;
      const isDone = await this.#inTurn(() => this.#tellSignOuts({account, renew}));
      // Without a token there is a session at the server that nobody has ended.
      return isDone && (ending !== null || account === null);
    } catch (error) {
      if (!(error instanceof SealpostError)) throw error;
      return false;
    }
  }

  /**
   * Ends the account on this device. Returns the order for the server, null without device and
   * token, and whether the order is kept.
   */
  async #endHere() {
    let ending = null, draft = null;
    const end = async made => {
      const settings = await this.#keptSettings(made);
      ending = await this.#endSession(made, settings);
      made.writeClear('settings', {...settings, account: null});
      draft = made;
    };
    const limited = promise => within(this.#api.deadline(), promise, 'The browser has not answered in time.');
    try {
      await limited(this.#change(end, {isAnyEpoch: true}));
      return {ending, isKept: true};
    } catch {
      // The disk is full, or the database is out of order. Removing needs no room, and makes some.
    }
    await limited(this.#store.removeAll()).catch(cause => {
      throw new SealpostError('unavailable', 'The browser cannot delete what is kept.', {cause});
    });
    if (!draft) return {ending, isKept: false};
    const rows = new Map([...draft.changes].filter(([, row]) => row !== null));
    return {ending, isKept: await limited(this.#store.commit(0, rows, draft.head)).catch(() => false)};
  }

  /**
   * Tells the server of sign-outs that it has not heard of yet. Returns whether the server has said,
   * in answers for their own accounts, that all of them have ended.
   */
  finishSigningOut() {
    return this.#inTurn(() => this.#tellSignOuts());
  }

  /** One after the other: the second of two at the same time would find its token dead. */
  #inTurn(tell) {
    return this.#telling = this.#telling.catch(() => {}).then(tell);
  }

  /** `renew` is for the orders of that account only. */
  async #tellSignOuts({account = null, renew} = {}) {
    const deadline = this.#api.deadline();
    let isDone = true, isWaiting = false;
    for (const name of (await this.#store.list('ending/')).keys()) {
      const ending = await this.#read(name);
      try {
        const {isTold, left} = ending
          ? await this.#tellEnd(ending, deadline, ending.account === account ? renew : undefined) : {isTold: false, left: null};
        await this.#change(async draft => {
          if (!left) draft.remove(name);
          else if (await draft.row(name)) await draft.write(name, left);
        }, {isAnyEpoch: true});
        if (!isTold) isDone = false;
      } catch (error) {
        if (!(error instanceof SealpostError)) throw error;
        isDone = false;
        isWaiting = true;
      }
    }
    if (isWaiting) await this.#wakeWorkerLater();
    return isDone;
  }

  /**
   * Ends devices and session. Returns whether the server has confirmed that, and the order that is
   * `left` for another token of the account, or null. `renew` replaces a missing or dead token.
   */
  async #tellEnd(ending, deadline, renew = async () => null) {
    const {server, keys, account, id = null} = ending;
    const api = Object.assign(Object.create(Conversation.prototype), this.#api, {base: server, keys: await importKeys(keys)});
    let left = ending.registrations, isNobody = false;
    const tell = (path, token) => this.#end(api, path, `Bearer ${token}`, {account: id, deadline});
    const endDevices = async token => {
      const kept = [];
      for (const registration of left) if (await tell(`/api/register/${registration}`, token) !== 'ended') kept.push(registration);
      left = kept;
    };
    for (const give of ending.token === null ? [renew] : [() => ending.token, renew]) {
      const token = await give();
      if (token === null) break;
      await endDevices(token);
      // The session has ended already, or somebody has sent the request without its token.
      isNobody = await tell(`${SESSIONS}/current`, token) === 'nobody';
      if (!isNobody) break;
    }
    // Of an account that has signed in again; its session is not the one to end.
    const identity = await this.#identity(), isSameID = id === null || identity === null || id === identity;
    const isSame = isSameID && this.account !== null && this.account === account && this.#api.base === server;
    const own = isSame && left.length > 0 ? (await this.#read('session'))?.token : null;
    if (own) await endDevices(own);
    return {isTold: left.length === 0 && !isNobody, left: left.length > 0 ? {...ending, token: null, registrations: left} : null};
  }

  /**
   * Asks the server to end a device or a session. Returns `ended`, `refused`, or `nobody` if the
   * server knows no such token. Throws where another try may help, and for a foreign answer.
   */
  async #end(api, path, authorization, options) {
    try {
      await api.call('DELETE', path, {authorization, ...options});
      return 'ended';
    } catch (error) {
      if (error.leavesWhatIsKept) throw error;
      return error.code === 'unauthorized' ? 'nobody' : isGone(error) ? 'ended' : 'refused';
    }
  }

  /**
   * Makes what is kept unreadable. Returns the order for the server; null without device and token.
   *
   * Nobody writes any more who has begun before.
   */
  async #endSession(draft, settings) {
    const [session, identity, registration, stream] = await Promise.all(OF_ACCOUNT.map(name => draft.read(name)));
    const endings = await Promise.all((await draft.names('ending/')).map(async name => [name, await draft.read(name)]));
    await inbox.clear(draft);
    draft.key = await newKey();
    draft.writeClear('key', draft.key);
    for (const [name, ending] of endings) if (ending) await draft.write(name, ending); else draft.remove(name);
    const registrations = [registration?.id, stream?.id].filter(Boolean);
    const {server, signatures, account} = settings, keys = signatures?.keys ?? [];
    const token = session?.token ?? null, id = identity?.id ?? null;
    const isAny = token !== null || registrations.length > 0;
    const ending = isAny ? {server: server.replace(/\/+$/, ''), keys, account, id, token, registrations} : null;
    if (ending) await draft.write(`ending/${crypto.randomUUID()}`, ending);
    draft.head.epoch = crypto.randomUUID();
    this.#epoch = draft.head.epoch;
    return ending;
  }

  // MARK: What is kept

  /** The inbox as it is kept, at once and without a network; `date` is when it was last known to be right, null if never. */
  async kept() {
    return this.#inboxOf(await this.#entries(), {isFresh: false});
  }

  async #inboxOf(entries, {isFresh, unkept = new Map(), failure = null}) {
    const now = this.#now();
    const notifications = entries.map(({item}) => unkept.get(item.id) ?? item).filter(item => !isPast(item, now));
    const date = (await this.#read('cursor'))?.date ?? null;
    return {notifications, unreadCount: notifications.filter(item => !item.isRead).length, isFresh, failure, date: date === null ? null : new Date(date)};
  }

  /**
   * What has changed since a mark: `arrived`, the items that are new or changed; `deleted`, the ids to stop showing; the next `mark`.
   *
   * Nothing is lost between two calls, whoever has fetched it and whatever has failed in between. Without a mark, or if it is too old,
   * `isWhole` is true and `arrived` is the whole inbox.
   */
  async changes(mark = null) {
    let head, entries, rows;
    // All of one revision: a mark beyond what was read would lose what is in between.
    do {
      head = await this.#store.head();
      [entries, rows] = [await this.#entries(), await this.#store.list('gone/')];
    } while ((await this.#store.head()).revision !== head.revision);
    const [epoch, number] = (mark ?? '').split('/');
    const isWhole = epoch !== head.epoch || !(Number(number) >= head.floor);
    const since = isWhole ? 0 : Number(number);
    const now = this.#now();
    const arrived = entries.filter(({change, item}) => change > since && !isPast(item, now)).map(({item}) => item);
    const graves = isWhole ? [] : [...rows.values()];
    const deleted = graves.filter(({change}) => change > since).map(({id}) => id).sort((one, other) => one - other);
    return {arrived, deleted, isWhole, mark: `${head.epoch}/${head.change}`};
  }

  /** The changes as they come, from this tab, from others and from the worker. Ends with `signal`. */
  async *updates({mark, signal} = {}) {
    const channel = new BroadcastChannel(this.#channelName);
    let ring = () => {}, isRung = false;
    channel.onmessage = () => { isRung = true; ring(); };
    const end = () => ring();
    signal?.addEventListener('abort', end);
    try {
      mark ??= (await this.changes()).mark;
      while (!signal?.aborted) {
        const changes = await this.changes(mark);
        if (changes.isWhole || changes.mark !== mark) yield changes;
        mark = changes.mark;
        if (!isRung && !signal?.aborted) await new Promise(done => { ring = done; });
        isRung = false;
      }
    } finally {
      signal?.removeEventListener('abort', end);
      channel.close();
    }
  }

  // MARK: Collecting

  /**
   * Fetches what has changed since the last time, after what is still to be sent.
   *
   * `isFresh` is true if the server has just said that this is the inbox. If the network fails or interferes, it is false, `failure`
   * says why, and `date` is when the inbox was last known to be right; where nothing is kept, the call throws instead.
   */
  async sync() {
    const deadline = this.#api.deadline(4), unkept = new Map();
    let restart = null;
    try {
      // What the server does not take now does not keep the user from what is new.
      await this.#drain(deadline).catch(error => { if (error.code === 'offline' || !error.leavesWhatIsKept) throw error; });
      for (let pages = 0; ; pages += 1) {
        // Far more pages than an inbox has: somebody answers `More` for ever.
        if (pages === 1000) {
          const where = {status: 200, path: '/api/notifications'};
          throw interference('unexpectedBody', 'a last page', 'more pages than an inbox has', where);
        }
        const step = await this.#advance(restart === 'next', unkept, deadline);
        if (step === 'done') break;
        if (step === 'restart' && restart) {
          throw new SealpostError('problem', 'The server does not know its own cursor.', {problem: {code: 'invalid-cursor', status: 400}});
        }
        restart = step === 'restart' ? 'next' : restart && 'done';
      }
      return await this.#inboxOf(await this.#entries(), {isFresh: true, unkept});
    } catch (failure) {
      if (!failure.leavesWhatIsKept) throw failure;
      const kept = await this.#inboxOf(await this.#entries(), {isFresh: false, unkept, failure});
      if (kept.date === null) throw failure;
      return kept;
    }
  }

  /** One page: fetched, checked and merged. */
  async #advance(isRestart, unkept, deadline) {
    const before = (await this.#store.head()).change;
    const kept = (await this.#read('cursor'))?.cursor, cursor = isRestart ? undefined : kept;
    const query = [['limit', String(this.#settings.limit)]];
    if (this.#settings.app) query.push(['app', this.#settings.app]);
    if (cursor !== undefined) query.push(['since', cursor]);
    let answer;
    try {
      // If nothing follows a cursor, the server's answer has that cursor as its tag.
      answer = await this.#call('GET', '/api/notifications', {query, condition: cursor === undefined ? null : `"${cursor}"`, deadline});
    } catch (error) {
      if (error.problem?.code === 'invalid-cursor' && cursor !== undefined) return 'restart';
      throw error;
    }
    const page = answer.status === 304 ? null : readPage(answer);
    // Unseals what is kept once, and not with each page.
    await this.#entries();
    const isMerged = await this.#change(async draft => {
      if (page) {
        const pending = await this.#pending(draft);
        // Without a cursor the server names nothing that is gone, such as what was collected before the first page.
        const how = {after: kept, before, replaces: cursor === undefined, pending, date: this.#now()};
        if (!await inbox.merge(draft, page, how)) return false;
      } else {
        if ((await draft.read('cursor'))?.cursor !== cursor) return false;
        await draft.write('cursor', {cursor, date: this.#now()});
      }
      await inbox.expire(draft, await this.#entriesOf(draft), answer.time);
      return true;
    });
    if (isMerged && page) for (const {item, isKept} of page.items) if (isKept) unkept.delete(item.id); else unkept.set(item.id, item);
    this.#announce();
    // Another tab was faster: go on from its cursor.
    if (!isMerged) return 'more';
    if (page?.hasMore) return 'more';
    await this.#change(async draft => inbox.shrink(draft, await this.#entriesOf(draft)));
    return 'done';
  }

  /**
   * Fetches a notification by its id, as `{item, isFresh, date, failure}`.
   *
   * If the network fails or interferes, what is kept is given with its date. If the server says that it is gone, what is kept goes, and
   * the call throws. A payload that may be read only once (`isReadOnce`) comes this way and is not kept; the server gives it for a
   * minute: show it, then call `confirmTaken`.
   */
  async notification(id) {
    const before = (await this.#store.head()).change, name = entryName(id), kept = await this.#read(name);
    try {
      const answer = await this.#call('GET', `/api/notifications/${checked(id)}`, {condition: kept?.item.hasPayload ? kept.tag : null});
      if (answer.status === 304) {
        await this.#change(async draft => {
          const now = await draft.read(name);
          if (!now || !await inbox.isUntouched(draft, id, before)) return;
          await draft.write(name, {...now, date: this.#now()}, {change: (await draft.row(name)).change});
        });
        return {item: unpacked(kept.item), isFresh: true, date: null, failure: null};
      }
      return {item: await this.#take(answer, id, before), isFresh: true, date: null, failure: null};
    } catch (failure) {
      if (isGone(failure)) await this.#forget([id]);
      if (!failure.leavesWhatIsKept || !kept?.item.hasPayload || isPast(unpacked(kept.item), this.#now())) throw failure;
      const date = Math.max(kept.date, (await this.#read('cursor'))?.date ?? 0);
      return {item: unpacked(kept.item), isFresh: false, date: new Date(date), failure};
    }
  }

  /**
   * For the worker: the item of a push, or null if there is none any more. It is kept for the page.
   *
   * It is asked for as a list of one, which has no payload of what may be read once: else its minute would begin before its reader is there.
   */
  async collect(id) {
    const query = [['ids', String(checked(id))]];
    if (this.#settings.app) query.push(['app', this.#settings.app]);
    const before = (await this.#store.head()).change;
    const answer = await this.#call('GET', '/api/notifications', {query}), page = readPage(answer, {ids: [id]});
    const [found] = page.items;
    if (!found) {
      await this.#forget([id]);
      return null;
    }
    await this.#change(async draft => {
      const pending = await this.#pending(draft);
      if (pending.dismissed.has(id) || !await inbox.isUntouched(draft, id, before)) return;
      const item = found.isKept ? found.item : withoutPayload(found.item);
      await inbox.put(draft, {...item, isRead: pending.read.get(id) ?? item.isRead}, {date: this.#now()});
    });
    this.#announce();
    return found.item;
  }

  /** Keeps the item of an answer, if that is allowed, and nothing newer was kept since the change `before`. */
  async #take(answer, id, before) {
    const item = readItem(answer, id), isKept = !answer.isNoStore && !item.isReadOnce && !item.isNeverStored && item.hasPayload;
    await this.#change(async draft => {
      const pending = await this.#pending(draft);
      if (pending.dismissed.has(id) || !await inbox.isUntouched(draft, id, before)) return;
      const isRead = pending.read.get(id) ?? item.isRead;
      // With a tag of another state a 304 would say that this one is right.
      if (isKept) return void await inbox.put(draft, {...item, isRead}, {tag: isRead === item.isRead ? answer.tag : null, date: this.#now()});
      // Its entry stays, without the payload, and so does the change's number: nothing has changed for consumers but what is kept.
      const row = await draft.row(entryName(id));
      if (row) await draft.write(entryName(id), {item: packed(withoutPayload({...item, isRead})), tag: null, date: this.#now()}, {change: row.change});
    });
    this.#announce();
    return item;
  }

  async #forget(ids) {
    await this.#change(async draft => { for (const id of ids) inbox.remove(draft, id); });
    this.#announce();
    await this.#closeNotifications(ids);
  }

  // MARK: Reading, dismissing, sending

  /**
   * Marks one notification, or several, as read or not: at once here, and at the server when it can be reached. Whether the server has
   * it by now. If it has refused, the `outbox` says so, and the notification is as before after the next `sync`.
   */
  async markRead(ids, isRead = true) {
    const wanted = [ids].flat().map(checked);
    let names;
    await this.#change(async draft => {
      names = [];
      await inbox.mark(draft, wanted, isRead);
      // The server marks as many in one request; not as "not read", which is for one.
      const size = isRead ? 500 : 1;
      for (let start = 0; start < wanted.length; start += size) {
        names.push(await this.#enqueue(draft, {kind: 'read', ids: wanted.slice(start, start + size), isRead}));
      }
    });
    this.#announce();
    if (isRead) await this.#closeNotifications(wanted);
    return await this.#tell() && !await this.#isRefused(names);
  }

  /** Dismisses a notification on all of the user's devices: at once here, and at the server when it can be reached; as `markRead`. */
  async dismiss(id) {
    let name;
    await this.#change(async draft => {
      inbox.remove(draft, checked(id));
      name = await this.#enqueue(draft, {kind: 'dismiss', ids: [id]});
    });
    this.#announce();
    await this.#closeNotifications([id]);
    return await this.#tell() && !await this.#isRefused([name]);
  }

  /** Confirms that a payload that may be read only once has arrived, so that it is erased at once. */
  async confirmTaken(id) {
    try {
      await this.#call('POST', `/api/notifications/${checked(id)}/taken`);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    await this.#forget([id]);
  }

  /**
   * Sends any JSON value to the account's own devices, when the server can be reached, and once: the key stays the same for all tries.
   *
   * Returns its id, or null if it waits in the `outbox`. A refusal throws, and the message is then no longer there.
   */
  async send(payload) {
    const key = crypto.randomUUID();
    let name;
    await this.#change(async draft => { name = await this.#enqueue(draft, {kind: 'send', ids: [], payload, key}); });
    await this.#tell();
    const left = await this.#read(name);
    if (!left) return this.#sent?.name === name ? this.#sent.id : null;
    if (!left.failure) return null;
    await this.discard(key);
    throw new SealpostError('problem', left.failure.title, {problem: left.failure});
  }

  /**
   * What waits to be told to the server, the oldest first. `failure` says why something will not be tried again; `discard` it then. Of
   * those the last hundred are kept.
   */
  async outbox() {
    const rows = [...(await this.#store.list('outbox/')).keys()];
    return (await Promise.all(rows.map(name => this.#read(name)))).filter(Boolean);
  }

  /** Gives up something that waits, or forgets what has failed, by its `key`. */
  async discard(key) {
    await this.#change(async draft => {
      for (const name of await draft.names('outbox/')) if ((await draft.read(name))?.key === key) draft.remove(name);
    });
  }

  async #enqueue(draft, call) {
    // What was wanted of the same notification before no longer counts.
    for (const name of call.ids.length === 1 ? await draft.names('outbox/') : []) {
      const before = await draft.read(name);
      if (before?.ids.length === 1 && before.ids[0] === call.ids[0] && before.kind === 'read') draft.remove(name);
    }
    const number = draft.head.order = (draft.head.order ?? 0) + 1;
    const name = `outbox/${String(number).padStart(12, '0')}`;
    await draft.write(name, {key: crypto.randomUUID(), ...call, date: this.#now(), firstTry: null, failure: null});
    return name;
  }

  async #pending(draft) {
    const pending = {read: new Map(), dismissed: new Set()};
    for (const name of (await draft.names('outbox/')).sort()) {
      const call = await draft.read(name);
      // What the server has refused is not so.
      if (call?.failure) continue;
      if (call?.kind === 'read') for (const id of call.ids) pending.read.set(id, call.isRead);
      if (call?.kind === 'dismiss') pending.dismissed.add(call.ids[0]);
    }
    return pending;
  }

  /** Tells the server what waits. Whether nothing is left. */
  async #tell() {
    try {
      await this.#drain();
      return true;
    } catch (error) {
      if (!error.leavesWhatIsKept && error.code !== 'unauthorized') throw error;
      await this.#wakeWorkerLater();
      return false;
    }
  }

  /** Sends what waits, in its order; throws what stops it. One tab or worker at a time: each call may be repeated, but need not be. */
  async #drain(deadline = this.#api.deadline()) {
    const drain = async () => {
      for (const name of [...(await this.#store.list('outbox/')).keys()].sort()) {
        const call = await this.#read(name);
        if (call && !call.failure) await this.#deliver(name, call, deadline);
      }
    };
    if (!globalThis.navigator?.locks) return drain();
    // A tab that the browser has suspended keeps its lock: what waits then goes on waiting, and nothing else does.
    const limit = new AbortController(), end = Math.min(deadline, this.#api.deadline());
    const timer = setTimeout(() => limit.abort(), Math.max(0, end - Date.now()));
    try {
      return await navigator.locks.request(`${this.#channelName} outbox`, {signal: limit.signal}, () => (clearTimeout(timer), drain()));
    } catch (error) {
      if (error.name !== 'AbortError') throw error;
      throw new SealpostError('busy', 'Another tab is sending.', {retryAfter: null});
    } finally {
      clearTimeout(timer);
    }
  }

  async #deliver(name, call, deadline) {
    // The server remembers a key for 24 hours. Later a message that may have arrived would be sent twice.
    const isLate = call.kind === 'send' && call.firstTry !== null && this.#now() - call.firstTry > 23 * 3_600_000;
    if (isLate) return this.#fail(name, call, {code: 'uncertain', title: 'It is not known whether this was sent.', status: 0});
    if (call.kind === 'send' && call.firstTry === null) {
      await this.#change(async draft => { if (await draft.row(name)) await draft.write(name, {...call, firstTry: this.#now()}); });
    }
    let unmarked = [];
    try {
      const answer = await this.#request(call, deadline);
      if (call.kind === 'send') this.#sent = {name, id: readItem(answer).id};
      // Of several it marks those that are there.
      if (call.ids.length > 1) unmarked = call.ids.filter(id => ![member(answer.json, 'read')].flat().includes(id));
    } catch (error) {
      if (error.code !== 'problem' || error.leavesWhatIsKept) throw error;
      if (!isGone(error) || call.ids.length !== 1) return this.#fail(name, call, error.problem);
      await this.#forget(call.ids);
    }
    await this.#change(async draft => {
      draft.remove(name);
      await inbox.mark(draft, unmarked, false);
    });
  }

  #request({kind, ids, isRead, payload, key}, deadline) {
    if (ids.length > 1) return this.#call('POST', '/api/notifications/read', {body: {Ids: ids}, deadline});
    const path = `/api/notifications/${ids[0]}`;
    if (kind === 'read') return this.#call('PATCH', path, {body: {Read: isRead}, deadline});
    if (kind === 'dismiss') return this.#call('DELETE', path, {deadline});
    // An object would be taken for an order: a string is the payload itself.
    const body = typeof payload === 'string' ? payload : {Payload: payload, ...(this.#settings.app ? {App: this.#settings.app} : {})};
    const query = this.#settings.app && typeof payload === 'string' ? [['app', this.#settings.app]] : [];
    return this.#call('POST', '/api/notifications', {body, query, key, deadline});
  }

  /** Gives something up, of which the app is told until it is discarded. What was shown as done here comes back with the next page. */
  async #fail(name, call, failure) {
    await this.#change(async draft => {
      if (!await draft.row(name)) return;
      await draft.write(name, {...call, failure});
      if (call.kind !== 'send') await draft.write('cursor', {date: (await draft.read('cursor'))?.date ?? null});
      const names = (await draft.names('outbox/')).sort(), calls = await Promise.all(names.map(other => draft.read(other)));
      const failed = names.filter((_, place) => calls[place]?.failure);
      for (const old of failed.slice(0, Math.max(0, failed.length - MAXIMUM.failures))) draft.remove(old);
    });
  }

  /** Whether one of these was refused for good. */
  async #isRefused(names) {
    return (await Promise.all(names.map(name => this.#read(name)))).some(call => call?.failure);
  }

  // MARK: Registering

  /**
   * Asks for permission, subscribes and registers. Call it when the user has asked for it, by a click: browsers demand that.
   *
   * `tags` are the topics of this device. Throws `denied` if the user does not allow it, `unavailable` if the browser has no Web Push.
   */
  async enablePush({tags = []} = {}) {
    if (!isPushAvailable()) throw new SealpostError('unavailable', 'This browser has no Web Push for this page.');
    if (await Notification.requestPermission() !== 'granted') throw new SealpostError('denied', 'Notifications are not allowed.');
    await this.startWorker();
    const id = await this.#subscribe(tags);
    await this.#unregister('stream');
    return id;
  }

  /**
   * Registers again if the browser's subscription, the server's key or the session has changed, or a week has passed. Call it at each
   * start, and after signing in.
   *
   * A session that is ended at the server, by a new password, by an administrator or by signing out, takes its device along.
   */
  async refresh() {
    const kept = await this.#read('registration');
    if (!kept || !isPushAvailable() || Notification.permission !== 'granted') return null;
    const subscription = await (await this.#worker())?.pushManager.getSubscription();
    const isSame = subscription && kept.handle === JSON.stringify(subscription.toJSON()) && Boolean(kept.shared) === this.#settings.shared;
    const age = this.#now() - kept.date, session = await this.#read('session');
    const isOfSession = !session || kept.session === sessionOf(session.token);
    // A clock that was set back does not make a registration younger.
    if (isSame && isOfSession && age >= 0 && age < 7 * DAY) return kept.id;
    return this.#subscribe(kept.tags);
  }

  /** The id of this device's registration; null if it has none. */
  async registrationID() {
    return (await this.#read('registration'))?.id ?? null;
  }

  /**
   * Whether a push is for this account: its `accountHint` must be that of this account's registration. One without a hint is for an
   * account that shares its browser with no other.
   */
  async isRecipient(message) {
    const hint = pushedHint(message), id = pushedID(message);
    if (hint === null) return !this.#settings.shared;
    const registration = await this.registrationID();
    return id !== null && registration !== null && hint === await accountHint(registration, id);
  }

  /** Ends this device's registration and its subscription. Ending it again does nothing. */
  async disablePush() {
    await this.#unsubscribe();
    await this.#unregister('registration');
  }

  /** Installs the worker, which also sends what waits; pages that never ask for push call it at their start. */
  async startWorker() {
    const {worker, scope, name} = this.#settings;
    const url = new URL(worker, location.href);
    if (this.#settings.shared) url.searchParams.set('shared', '');
    else if (name) url.searchParams.set('name', name);
    const registered = await navigator.serviceWorker.register(url, {scope, type: 'module', updateViaCache: 'none'});
    // Otherwise nothing would ever be ready.
    if (!location.href.startsWith(registered.scope)) {
      throw new SealpostError('unavailable', `The worker of ${registered.scope} is not that of this page: put its file beside the page, or above it.`);
    }
    await navigator.serviceWorker.ready;
  }

  async #subscribe(tags) {
    const query = this.#settings.app ? [['app', this.#settings.app]] : [];
    const answer = await this.#call('GET', '/api/webpush/key', {query}), key = member(answer.json, 'key');
    if (typeof key !== 'string') throw unexpected(answer, 'a key');
    const {pushManager} = await this.#worker();
    let subscription = await pushManager.getSubscription();
    const bound = subscription?.options?.applicationServerKey;
    // A subscription is bound to its key: the push service refuses pushes that are signed with another.
    if (bound && base64URL(new Uint8Array(bound)) !== key) {
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription ??= await pushManager.subscribe({userVisibleOnly: true, applicationServerKey: key});
    const handle = subscription.toJSON();
    const body = {Platform: 'webpush', Handle: handle, Tags: tags};
    if (this.#settings.shared) body.Shared = true;
    return this.#register('registration', body, {handle: JSON.stringify(handle), tags, shared: this.#settings.shared});
  }

  /** Registers under the kept id; if the server says that it is no longer good, under a new one, once. */
  async #register(name, body, details) {
    if (this.#settings.app) body.App = this.#settings.app;
    const put = id => this.#call('PUT', `/api/register/${id}`, {body});
    // Noted before the server has it, so that a sign-out meanwhile, or after a lost answer, names it, too.
    const note = async id => {
      await this.#change(async draft => draft.write(name, {id, date: 0, ...details, handle: null}));
      return id;
    };
    let id = (await this.#read(name))?.id ?? await note(await this.#requestID());
    try {
      await put(id);
    } catch (error) {
      if (error.problem?.code !== 'registration-gone') throw error;
      id = await note(await this.#requestID());
      await put(id);
    }
    const session = sessionOf((await this.#read('session'))?.token ?? '');
    await this.#change(async draft => draft.write(name, {id, date: this.#now(), session, ...details}));
    return id;
  }

  async #unregister(name) {
    const kept = await this.#read(name);
    if (!kept) return;
    try {
      await this.#call('DELETE', `/api/register/${kept.id}`);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    await this.#change(async draft => draft.remove(name));
  }

  async #requestID() {
    const answer = await this.#call('POST', '/api/register'), id = answer.json;
    // It becomes a part of a path.
    if (typeof id !== 'string' || !/^[A-Za-z0-9_.-]{1,128}$/.test(id) || /^\.{1,2}$/.test(id)) throw unexpected(answer, 'a registration id');
    return id;
  }

  async #unsubscribe() {
    // Other accounts have it, too; the server pushes to it for those only.
    if (this.#settings.shared) return;
    // Without a network it is done here all the same; the push service hears of it later.
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

  /** Takes back what the worker has shown of some ids, or of all. */
  async #closeNotifications(ids) {
    const worker = await this.#worker();
    if (!worker?.getNotifications) return;
    for (const shown of await worker.getNotifications()) {
      if ((shown.data?.name ?? '') !== this.#settings.name) continue;
      if (ids ? ids.includes(shown.data?.id) : shown.tag.startsWith('sealpost')) shown.close();
    }
    if (!ids) await navigator.clearAppBadge?.().catch(() => {});
  }

  /** Has the browser wake the worker when there is a network again, where it can. */
  async #wakeWorkerLater() {
    try {
      await (await this.#worker())?.sync?.register('sealpost');
    } catch (error) {
      // The user, or the browser, does not allow it: the next start of the page does the same.
      if (!(error instanceof DOMException)) throw error;
    }
  }

  // MARK: Events

  /**
   * Notifications as they arrive, without Web Push: over server-sent events, for as long as the page is open.
   *
   * Gives each as `{id, item}`, the item being null if it could not be fetched or is gone; the inbox and `updates` have them, too.
   * Connects again, later and later, until `signal` ends it. End it before `enablePush`, which ends the stream's registration.
   */
  async *events({signal, silence = 45} = {}) {
    let last = null, pause = 0;
    let device = null;
    while (!signal?.aborted) {
      try {
        device ??= await this.#register('stream', {Platform: 'stream'}, {});
        for await (const event of this.#stream(device, last, signal, silence)) {
          pause = 0;
          if (event.id === undefined) continue;
          last = String(event.id);
          yield {id: event.id, item: await this.collect(event.id).catch(error => {
            if (!error.leavesWhatIsKept) throw error;
            return null;
          })};
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error.problem?.status === 404) device = null;
        else if (!error.leavesWhatIsKept) throw error;
        pause = Math.min(60_000, Math.max(2000, pause * 2, (error.retryAfter ?? 0) * 1000));
      }
      await new Promise(done => {
        const timer = setTimeout(done, Math.max(2000, pause));
        signal?.addEventListener('abort', () => { clearTimeout(timer); done(); }, {once: true});
      });
    }
  }

  /** One stream to its end. Streams are not signed: what is fetched for their ids is. */
  async *#stream(device, last, signal, silence) {
    const authorization = await this.#authorization(null, this.#api.deadline()), account = await this.#identity();
    const request = {method: 'GET', path: '/api/stream', query: queryOf([['device', device]]), token: this.#settings.makeToken(), condition: null};
    const limit = new AbortController(), end = () => limit.abort();
    let timer = setTimeout(end, this.#settings.timeout * 1000);
    signal?.addEventListener('abort', end);
    try {
      const response = await this.#api.send(request, {authorization, account, lastEvent: last, signal: limit.signal}), answer = headOf(response);
      checkHead(request, answer);
      if (answer.status !== 200) {
        Object.assign(answer, await this.#api.receive(response, limit.signal));
        success(await this.#api.check(request, answer, account));
      }
      checkAccount(request, answer, account);
      const type = answer.field('content-type') ?? 'no type';
      if (!/^text\/event-stream\b/.test(type)) {
        throw interference('unexpectedBody', 'an event stream', printable(type), {status: answer.status, path: request.path});
      }
      const lines = new EventLines(), reader = response.body.getReader();
      for (;;) {
        const {done, value} = await reader.read().catch(() => { throw offline('The stream has ended.'); });
        if (done) return;
        clearTimeout(timer);
        // The server shows every 15 seconds that the stream lives.
        timer = setTimeout(end, silence * 1000);
        yield {};
        for (const id of lines.take(value)) yield {id};
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      limit.abort();
    }
  }

  // MARK: Calls

  /** A call with the account's token; if the server refuses it, once more with another. */
  async #call(method, path, given = {}) {
    const options = {...given, deadline: given.deadline ?? this.#api.deadline()};
    const authorization = await this.#authorization(null, options.deadline);
    const epoch = this.#epoch;
    try {
      return await this.#ask(method, path, {...options, authorization}, epoch);
    } catch (error) {
      if (error.code !== 'unauthorized' || epoch !== this.#epoch) throw error;
      const renewed = await this.#authorization(authorization, options.deadline);
      if (renewed === null) throw error;
      return this.#ask(method, path, {...options, authorization: renewed}, epoch);
    }
  }

  /** One call, whose answer must be for the client's account. The first answer decides which it is. */
  async #ask(method, path, options, epoch) {
    const account = await this.#identity(), answer = await this.#api.ask(method, path, {...options, account});
    // Another account has signed in here meanwhile.
    if (epoch !== this.#epoch) throw new SealpostError('signedOut', 'The account has signed out.');
    if (account === null && answer.account !== null) await this.#learn(answer);
    return success(answer);
  }

  /** The identifier of the account; null if it is not known yet. */
  async #identity() {
    return (await this.#read('identity'))?.id ?? null;
  }

  async #learn(answer) {
    const known = await this.#change(async draft => {
      const kept = await draft.read('identity');
      if (!kept) await draft.write('identity', {id: answer.account});
      return kept?.id ?? answer.account;
    });
    // Another tab was faster.
    if (known !== answer.account) throw interference('wrongAccount', known, printable(answer.account), answer);
  }

  /** The field that signs a request in; with `refused`, another one than that, or null if there is none. */
  async #authorization(refused, deadline) {
    const head = await this.#store.head();
    if (this.account === null || head.epoch !== this.#epoch) throw new SealpostError('signedOut', 'Nobody is signed in.');
    const session = await this.#read('session'), kept = session && `Bearer ${session.token}`;
    // A tenth of a minute is for the way. Without a provider the token is used to its end.
    const isEnding = session?.expiresAt && session.expiresAt - this.#now() < 60_000;
    if (kept && kept !== refused && !(isEnding && this.#settings.token)) return kept;
    if (!this.#settings.token) {
      if (refused !== null) return null;
      throw new SealpostError('unauthorized', 'There is no token.');
    }
    const renewal = this.#renewal ??= this.#renew(), forget = () => { if (this.#renewal === renewal) this.#renewal = null; };
    // One that never ends is left alone: the next call asks anew.
    return within(deadline, renewal, 'There was no token in time.').finally(forget);
  }

  async #renew() {
    const {token, expiresAt, id} = await this.#newSession();
    await this.#change(async draft => {
      await draft.write('session', {token, expiresAt: expiresAt?.getTime() ?? null});
      if (isIdentifier(id) && !await draft.read('identity')) await draft.write('identity', {id});
    });
    return `Bearer ${token}`;
  }

  /** A session of the app's own making; for none, and for an app that makes none, it throws. */
  async #newSession() {
    const given = await this.#settings.token?.();
    const session = readSession({json: typeof given === 'string' ? {Token: given, ExpiresAt: null} : given, status: 200, path: SESSIONS});
    return {...session, id: member(given, 'account')};
  }

  // MARK: Rows

  #now() {
    return this.#settings.now?.() ?? Date.now();
  }

  async #read(name) {
    const [key, row] = await Promise.all([this.#store.get('key'), this.#store.get(name)]);
    return unseal(key, name, row);
  }

  /**
   * Makes one change, in one transaction, and again from the start if another was faster.
   *
   * Throws `signedOut`, and changes nothing, if the account has ended since this client was opened.
   */
  async #change(body, {isAnyEpoch = false} = {}) {
    for (;;) {
      const head = await this.#store.head();
      if (!isAnyEpoch && (head.epoch !== this.#epoch || this.account === null)) {
        this.account = null;
        throw new SealpostError('signedOut', 'The account has signed out.');
      }
      let key = await this.#store.get('key');
      const draft = new Draft(this.#store, head, key);
      if (!key) {
        draft.key = await newKey();
        draft.isDamaged = head.revision > 0;
        draft.writeClear('key', draft.key);
      }
      const result = await body(draft);
      if (draft.changes.size === 0 || await this.#store.commit(head.revision, draft.changes, draft.head)) return result;
    }
  }

  /** All entries, the oldest first. Only those that have changed are unsealed again. */
  async #entries() {
    const head = await this.#store.head();
    if (this.#cache.revision !== head.revision) {
      const [key, rows] = await Promise.all([this.#store.get('key'), this.#store.list('entry/')]);
      const entries = await this.#unsealAll(rows, key), damaged = [...rows.keys()].filter(name => !entries.has(name));
      if (damaged.length > 0 && await this.#giveUp(damaged)) return this.#entries();
      this.#cache = {revision: head.revision, entries};
    }
    return [...this.#cache.entries.values()].sort((one, other) => inOrder(one.item, other.item));
  }

  /**
   * Gives up rows that cannot be read, and the cursor with them, so that the next page brings all again; whether there were any. They are
   * told as deleted: what is gone at the server meanwhile no page would name.
   */
  async #giveUp(names) {
    return this.#change(async draft => {
      let isAny = false;
      for (const name of names) {
        // Another may have written it meanwhile, or signed out.
        if (!await draft.row(name) || await draft.read(name) !== undefined) continue;
        isAny = true;
        inbox.remove(draft, Number(name.slice(6)));
        draft.remove('cursor');
      }
      return isAny;
    }, {isAnyEpoch: true});
  }

  /** The same as a draft will leave them. */
  async #entriesOf(draft) {
    const rows = await draft.store.list('entry/');
    for (const [name, row] of draft.changes) {
      if (!name.startsWith('entry/')) continue;
      if (row === null) rows.delete(name); else rows.set(name, row);
    }
    return [...(await this.#unsealAll(rows, draft.key)).values()].sort((one, other) => inOrder(one.item, other.item));
  }

  async #unsealAll(rows, key) {
    const all = await Promise.all([...rows].map(async ([name, row]) => {
      const known = this.#cache.entries.get(name);
      if (known && base64(known.iv) === base64(row.iv)) return [name, known];
      const value = await unseal(key, name, row);
      // A row that cannot be read is not shown.
      return value && [name, {item: unpacked(value.item), date: value.date, tag: value.tag, change: row.change, size: row.data.length, iv: row.iv}];
    }));
    return new Map(all.filter(Boolean));
  }

  #announce() {
    if (typeof BroadcastChannel === 'undefined') return;
    this.#channel ??= new BroadcastChannel(this.#channelName);
    this.#channel.postMessage('changed');
  }

  /** Lets go of the database; calls fail from then on. */
  close() {
    this.#channel?.close();
    this.#store.close();
  }
}

async function storeOf({store, name}) {
  if (store) return store;
  if (typeof indexedDB === 'undefined') throw new SealpostError('unavailable', 'This browser has no IndexedDB.');
  return IndexedStore.open(name ? `sealpost ${name}` : 'sealpost');
}

/** Whether this page can be pushed to. On an iPhone that needs it to be on the home screen. */
export const isPushAvailable = () =>
  typeof Notification !== 'undefined' && (typeof PushManager !== 'undefined') && Boolean(globalThis.navigator?.serviceWorker ?? globalThis.registration);

/** The first characters of a session's token, as the server's lists show them; nothing of another's token. */
const sessionOf = token => token.startsWith('spt_') ? token.slice(0, 12) : '';

function readSession(answer) {
  const token = member(answer.json, 'token'), end = member(answer.json, 'expiresat');
  if (typeof token !== 'string' || token === '') throw unexpected(answer, 'a session');
  return {token, expiresAt: typeof end === 'string' && !Number.isNaN(Date.parse(end)) ? new Date(end) : null};
}

/** An id, which becomes a part of a path. */
function checked(id) {
  if (!Number.isSafeInteger(id)) throw new TypeError(`${String(id).slice(0, 40)} is no id of a notification`);
  return id;
}

/** The ids in an event stream (WHATWG HTML section 9.2.6), however it comes in pieces. */
export class EventLines {
  #decoder = new TextDecoder();
  #rest = '';
  #data = [];
  #count = 0;

  take(bytes) {
    const lines = (this.#rest + this.#decoder.decode(bytes, {stream: true})).split(/\r\n|\n|\r(?!$)/), ids = [];
    this.#rest = lines.pop();
    // Something that never ends a line is no stream of ours.
    if (this.#rest.length > 65_536) throw offline('The stream has a line without an end.');
    for (const line of lines) {
      if (line.startsWith('data:')) {
        this.#data.push(line.slice(5).trim());
        this.#count += line.length;
        // Nor is an event without an end.
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

/** The hint of a push whose it is, `{"secureId":"4711","accountHint":"aV0mTHJ1xBI"}`; null if it has none. */
export function pushedHint(message) {
  try {
    const hint = member(JSON.parse(message), 'accounthint');
    return typeof hint === 'string' ? hint : null;
  } catch {
    return null;
  }
}

/** The hint of a shared registration's push: an HMAC under the registration id, which no push service learns. */
export async function accountHint(registration, id) {
  const key = await crypto.subtle.importKey('raw', utf8(registration), {name: 'HMAC', hash: 'SHA-256'}, false, ['sign']);
  const code = await crypto.subtle.sign('HMAC', key, utf8(`hint ${id}`));
  return base64URL(new Uint8Array(code).subarray(0, 8));
}

/** The id that a push names, `{"secureId":"4711"}`; null for any other text. */
export function pushedID(message) {
  try {
    const id = member(JSON.parse(message), 'secureid');
    return typeof id === 'string' && /^[0-9]{1,16}$/.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : null;
  } catch {
    return null;
  }
}
