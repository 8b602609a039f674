// Signed answers: RFC 9421 and 9530. docs/http.md has the rules, docs/evidence/vectors the tests.

import {createHash, createPublicKey, verify} from 'node:crypto';

/** The components that a signature must cover, in this order. */
const COMPONENTS = [
  '"@status"', '"content-digest"', '"mytoken";req', '"@method";req', '"@path";req', '"@query";req', '"sealpost-account"',
];
const sha256 = (bytes, encoding) => createHash('sha256').update(bytes).digest(encoding);

/**
 * Imports a pinned key: 32 bytes in base64url for Ed25519, or a JSON Web Key of Ed25519 or P-256.
 *
 * The result's `id` is the key's thumbprint (RFC 7638).
 */
export function importKey(pinned) {
  const given = typeof pinned === 'string' ? {kty: 'OKP', crv: 'Ed25519', x: pinned} : pinned, {kty, crv, x, y} = given;
  const algorithm = {'OKP Ed25519': 'ed25519', 'EC P-256': 'ecdsa-p256-sha256'}[`${kty} ${crv}`];
  try {
    if (!algorithm) throw new TypeError('the key is neither of Ed25519 nor of P-256');
    // Node 18 reads shorter keys, too.
    if ([x, y].some(value => value !== undefined && Buffer.from(value, 'base64url').length !== 32)) throw new TypeError('32 bytes are due');
    const key = createPublicKey({key: {kty, crv, x, y}, format: 'jwk'});
    const canonical = key.export({format: 'jwk'});
    return {id: sha256(JSON.stringify({crv, kty, x: canonical.x, y: canonical.y}), 'base64url'), algorithm, key};
  } catch (cause) {
    throw new TypeError('signingKeys: a public key cannot be read; give 32 bytes in base64url, or a JWK of Ed25519 or P-256', {cause});
  }
}

/** The value of `Accept-Signature`. */
export const acceptSignature = ({id}) => `sig=(${COMPONENTS.join(' ')});keyid="${id}"`;

/** Whether a `Content-Digest` has exactly one SHA-256, which must be that of the content. */
export const digestMatches = (field, body) =>
  membersOf(field)?.get('sha-256')?.split(';', 1)[0] === `:${sha256(body, 'base64')}:`;

/** The signed text; `parameters` are those of `Signature-Input`, byte for byte. */
export function signatureBase(request, answer, parameters) {
  const values = [
    String(answer.status), answer.field('content-digest'), request.token, request.method, request.path || '/', `?${request.query ?? ''}`,
    answer.field('sealpost-account'),
  ];
  return `${COMPONENTS.map((name, index) => `${name}: ${values[index]}\n`).join('')}"@signature-params": (${COMPONENTS.join(' ')})${parameters}`;
}

/**
 * Verifies that a pinned key has signed exactly this answer to this request, within `tolerance`
 * seconds of `now`.
 *
 * Returns null, or the kind of the interference: `insufficientCoverage`, `signature` or
 * `wrongClock`.
 */
export function signatureFailure(request, answer, {keys, tolerance, now}) {
  const input = membersOf(answer.field('signature-input'))?.get('sig') ?? '', end = input.indexOf(')');
  const parameters = parametersOf(input.slice(end + 1)), covered = input.slice(1, Math.max(end, 1)).split(' ');
  const pinned = keys.find(({id}) => parameters?.get('keyid') === `"${id}"`);
  if (!pinned || input[0] !== '(') return 'signature';
  if (covered.join(' ') !== COMPONENTS.join(' ')) {
    return covered.every(name => COMPONENTS.includes(name)) && new Set(covered).size < COMPONENTS.length ? 'insufficientCoverage' : 'signature';
  }
  if ((parameters.get('alg') ?? `"${pinned.algorithm}"`) !== `"${pinned.algorithm}"`) return 'signature';
  if (answer.field('sealpost-account') === null || !digestMatches(answer.field('content-digest'), answer.body)) return 'signature';
  const base = signatureBase(request, answer, input.slice(end + 1));
  const text = membersOf(answer.field('signature'))?.get('sig') ?? '', signature = Buffer.from(text.slice(1, -1), 'base64');
  if (!isVisible(base) || text !== `:${signature.toString('base64')}:`) return 'signature';
  const hash = pinned.algorithm === 'ed25519' ? null : 'sha256';
  if (!verify(hash, Buffer.from(base), {key: pinned.key, dsaEncoding: 'ieee-p1363'}, signature)) return 'signature';
  const [created, expires] = ['created', 'expires'].map(name => parameters.get(name)).map(value => value === undefined ? null : Number(value));
  const isCurrent = Number.isSafeInteger(created) && created !== null && Math.abs(now - created) <= tolerance;
  return isCurrent && (expires === null || now <= expires) ? null : 'wrongClock';
}

/** Whether a signature base is ASCII without control characters, except for its line feeds. */
const isVisible = text => /^[\n\x20-\x7E]*$/.test(text);

/**
 * The members of a dictionary (RFC 9651) as text, by key; null if the field is missing or
 * malformed, or a key appears twice.
 */
function membersOf(field) {
  const members = new Map();
  let start = 0, isQuoted = false;
  for (let index = 0; field !== null && index <= field.length; index += 1) {
    if (isQuoted && field[index] === '\\') index += 1;
    else if (field[index] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (field[index] === ',' || index === field.length)) {
      const [key, ...value] = field.slice(start, index).trim().split('=');
      if (key === '' || members.has(key)) return null;
      members.set(key, value.join('='));
      start = index + 1;
    }
  }
  return isQuoted || field === null ? null : members;
}

/**
 * The parameters of a member as text, by name; null if a parameter appears twice. The server's
 * values contain no semicolons.
 */
function parametersOf(text) {
  const pairs = text.split(';').slice(1).map(pair => pair.split(/=(.*)/s, 2)), parameters = new Map(pairs);
  return parameters.size === pairs.length ? parameters : null;
}
