// Runs the vectors that test every client; docs/evidence/vectors/README.md explains them. A local
// server sends the answers of the vectors.

import assert from 'node:assert/strict';
import {generateKeyPairSync, randomInt, sign} from 'node:crypto';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import net from 'node:net';
import {test} from 'node:test';

import {Client, InterferenceError, ProblemError, UnreachableError} from '../src/index.js';
import {echoOf} from '../src/exchange.js';
import {acceptSignature, digestMatches, importKey, signatureBase, signatureFailure} from '../src/signature.js';

const folder = process.env.SEALPOST_VECTORS ?? new URL('../../../docs/evidence/vectors', import.meta.url).pathname;
const read = name => JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8'));
const {pinned, acceptSignature: asked, toleranceSeconds: tolerance} = read('keys'), keys = [importKey(pinned.publicKey)];
const bytesOf = ({body, bodyBase64}) => Buffer.from(bodyBase64 ?? body ?? '', bodyBase64 === undefined ? 'utf8' : 'base64');

function answerOf(answer) {
  const headers = new Headers(answer.fields.map(([name, value]) => [name, value]));
  return {status: answer.status, field: name => headers.get(name)?.trim() ?? null, body: bytesOf(answer)};
}

/** Sends a vector's answer over a socket, unchanged. */
async function repeat(t, {status, fields, end, ...content}) {
  const body = bytesOf(content), isFramed = fields.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const lines = [...fields, ...(isFramed ? [] : [['Content-Length', body.length + (end === 'cut' ? 10 : 0)]]), ['Connection', 'close']];
  const head = `HTTP/1.1 ${status} X\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  const server = net.createServer(socket => socket.on('error', () => {}).once('data', () => socket.end(Buffer.concat([Buffer.from(head, 'latin1'), body]))));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}

test('the echo of each token is right, and nothing else is a token', () => {
  const {echoes, refused} = read('echo');
  for (const {token, echo} of echoes) assert.equal(echoOf(token), echo);
  for (const text of refused) assert.equal(echoOf(text), null, text);
});

test('digests are compared as the server makes them', () => {
  const {contents, comparisons} = read('digests');
  for (const content of contents) assert.ok(digestMatches(content.field, content.zeros ? Buffer.alloc(content.zeros) : bytesOf(content)), content.name);
  for (const {name, field, matches} of comparisons.fields) assert.equal(digestMatches(field.trim(), bytesOf(comparisons)), matches, name);
});

test('a key is known by its thumbprint, and asked for by it', () => {
  assert.deepEqual([keys[0].id, acceptSignature(keys[0])], [pinned.keyid, asked]);
  for (const wrong of ['', 'AAAA', pinned.publicKey + 'AAAA', {kty: 'EC', crv: 'P-384', x: 'AAAA', y: 'AAAA'}, {kty: 'EC', crv: 'P-256', x: pinned.publicKey}, 7]) {
    assert.throws(() => importKey(wrong), TypeError);
  }
});

/**
 * The vectors of signed answers whose requests this library can send: it sends neither conditions
 * nor nonces.
 */
const SIGNED = read('signatures').vectors.filter(({request, answer}) => answer.status !== 304 && !request.nonce);

test('the base of each signature is that of the server, and each changed byte is refused', () => {
  const {now} = read('signatures');
  for (const {name, request, answer, base} of SIGNED) {
    const given = answerOf(answer), input = given.field('signature-input');
    assert.equal(signatureBase(request, given, input.slice(input.indexOf(')') + 1)), base, name);
    const verdict = (asked, received) => signatureFailure(asked, received, {keys, tolerance, now});
    assert.equal(verdict(request, given), null, name);
    for (const field of ['content-digest', 'sealpost-account', 'signature-input', 'signature']) {
      const value = given.field(field);
      for (let index = 0; index < value.length; index += 1) {
        const changed = value.slice(0, index) + String.fromCharCode(value.charCodeAt(index) ^ 1) + value.slice(index + 1);
        assert.notEqual(verdict(request, {...given, field: other => other === field ? changed : given.field(other)}), null, `${name}: ${field} ${index}`);
      }
    }
    for (const part of ['method', 'path', 'query', 'token']) assert.notEqual(verdict({...request, [part]: `${request[part] ?? ''}x`}, given), null, `${name}: ${part}`);
    assert.notEqual(verdict(request, {...given, status: 299}), null);
    for (let count = 0; count < 50 && given.body.length > 0; count += 1) {
      const body = Buffer.from(given.body);
      body[randomInt(body.length)] ^= 1 << randomInt(8);
      assert.notEqual(verdict(request, {...given, body}), null);
    }
  }
});

test('answers signed with P-256 are verified, too', () => {
  const {now} = read('signatures'), {publicKey, privateKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'}), key = importKey(publicKey.export({format: 'jwk'}));
  for (const {request, answer} of SIGNED) {
    const given = answerOf(answer), parameters = `;created=${now};keyid="${key.id}";alg="ecdsa-p256-sha256"`;
    const signature = sign('sha256', Buffer.from(signatureBase(request, given, parameters)), {key: privateKey, dsaEncoding: 'ieee-p1363'});
    const signedBy = text => ({...given, field: name => ({
      'signature-input': `other=("@status");nonce="\\", sig=()", sig=${/\(.*\)/.exec(asked)[0]}${text}`, signature: `sig=:${signature.toString('base64')}:, other=::`,
    })[name] ?? given.field(name)});
    const verdict = text => signatureFailure(request, signedBy(text), {keys: [...keys, key], tolerance, now});
    assert.equal(verdict(parameters), null);
    for (const wrong of [parameters.replace('ecdsa-p256-sha256', 'ed25519'), parameters.replace(key.id, keys[0].id), `${parameters};created=${now}`, parameters.replace(';created', ';expires')]) {
      assert.equal(verdict(wrong), 'signature');
    }
  }
});

/** The verdict of a call, in the words of the vectors. */
async function verdictOf(call) {
  try {
    await call;
    return 'accepted';
  } catch (error) {
    if (error instanceof ProblemError) return 'accepted';
    if (error instanceof InterferenceError) return error.kind;
    if (error instanceof UnreachableError) return error.status === null ? 'truncated' : 'missingEcho';
    throw error;
  }
}

/**
 * The cases, by name, for which this library has another verdict than the vectors: it does not
 * know which form the answers to `call` should have, and does not accept answers of earlier
 * servers.
 */
const OTHERS = {
  'an empty body': {unsigned: 'accepted'}, 'a body put into another form': {unsigned: 'accepted'}, 'an id with a fraction': {unsigned: 'accepted'},
  'an id as a text': {unsigned: 'accepted'}, 'another notification': {unsigned: 'accepted'}, 'the answer to another question': {unsigned: 'accepted'},
  'an item in place of a list': {unsigned: 'accepted'}, 'a list without a cursor': {unsigned: 'accepted'},
  'a cursor of 1,025 bytes': {unsigned: 'accepted'}, 'a cursor of 1,026 bytes in 342 characters': {unsigned: 'accepted'},
  'an invented 304': {signed: 'unexpectedNotModified'}, 'the version before has answered': {signed: 'insufficientCoverage'},
};

test('each interference is named as it is due, with signatures and without', async t => {
  const cases = read('interference').cases.filter(({call, request}) => call !== 'conditional' && !request.nonce);
  for (const {name, account, deviceTime, request, answer, verdict} of cases) {
    const server = await repeat(t, answer), path = request.path + (request.query === null ? '' : `?${request.query}`);
    for (const [kind, pins] of [['signed', [pinned.publicKey]], ['unsigned', undefined]]) {
      const publisher = new Client({
        server, account, signingKeys: pins, token: 'x', now: () => deviceTime * 1000, makeToken: () => request.token, signatureTolerance: tolerance, deadline: 30_000, retryDelay: 1e6,
      });
      const [name1, query] = path.split('?');
      const call = publisher.call(request.method, name1, {query: query === undefined ? {} : Object.fromEntries(new URLSearchParams(query))});
      assert.equal(await verdictOf(call), OTHERS[name]?.[kind] ?? verdict[kind], `${name}, ${kind}`);
    }
  }
});

test('waits are those of the vectors', async t => {
  const {cases: [{request, answer}], retryAfter} = read('interference');
  const body = JSON.stringify({type: 'urn:sealpost:problem:busy', title: 'x', status: 503, instance: 'x'});
  for (const {field, seconds} of retryAfter) {
    const fields = [...answer.fields.filter(([name]) => /^mytoken$/i.test(name)), ['Retry-After', field]];
    const server = await repeat(t, {...answer, status: 503, fields, body});
    const publisher = new Client({server, token: 'x', makeToken: () => request.token, deadline: 30_000, retryDelay: 1e6});
    await assert.rejects(publisher.call('GET', request.path), error => error.code === 'busy' && error.retryAfter === seconds, field);
  }
});

test('a wait may end at a date', async () => {
  const body = JSON.stringify({type: 'urn:sealpost:problem:busy', title: 'x', status: 503, instance: 'x'});
  for (const [date, isLater] of [[new Date(Date.now() + 3_600_000).toUTCString(), true], [new Date(Date.now() + 3_600_000).toISOString(), false], ['soon GMT', false]]) {
    const fetch = async (_, {headers}) => new Response(body, {status: 503, headers: {MyToken: String(headers.MyToken * 17 + 3), 'Retry-After': date}});
    const call = new Client({server: 'https://push.example.com', token: 'x', fetch, deadline: 30_000, retryDelay: 1e6}).call('GET', '/api/x');
    await assert.rejects(call, ({retryAfter}) => isLater ? retryAfter > 3500 && retryAfter <= 3600 : retryAfter === null, date);
  }
});
